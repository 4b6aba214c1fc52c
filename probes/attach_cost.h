/* SPDX-License-Identifier: Apache-2.0 */
/* What a hit costs, measured: from bare metal to a virtual machine the price of an
 * exception varies tenfold, and so it does with the instruction under the probe. */
#ifndef ATTACH_COST_H
#define ATTACH_COST_H

#include <stddef.h>
#include <stdint.h>

#include "sites.h"

/* What has been measured, on functions of this process that begin as those do on
 * which there are probes. */
struct attach_costs;
struct bpf_program;

/* For the triggers of a run, which must outlive it. Returns NULL without memory. */
struct attach_costs *attach_costs_new(const struct trigger_sites *triggers, size_t n);

/* Detaches what was used to measure. NULL is allowed. */
void attach_costs_free(struct attach_costs *costs);

/* Measures, which takes some 10 ms. What was measured before counts half. */
void attach_costs_measure(struct attach_costs *costs);

/* The program that was used to measure, which does no harm at any site; NULL if that failed, or no
 * trigger is in files. */
const struct bpf_program *attach_costs_program(const struct attach_costs *costs);

/* About what one hit of a trigger's site costs the thread that makes it, in CPU
 * time, ns. For probes in the kernel, or if measuring failed, a typical figure. */
uint64_t attach_cost(const struct attach_costs *costs, const struct trigger *trigger,
		     const struct site *site);

/* Of all sites of a trigger on average; 0 if it has none. */
uint64_t attach_cost_mean(const struct attach_costs *costs, const struct trigger_sites *trigger);

#endif
