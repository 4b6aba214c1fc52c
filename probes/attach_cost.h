/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what a hit costs. The price of an exception varies tenfold from bare metal to a
 * virtual machine, and with the instruction under the probe. */
#ifndef ATTACH_COST_H
#define ATTACH_COST_H

#include <stddef.h>
#include <stdint.h>

#include "sites.h"

/* Measured costs of functions of this process that begin like the probed ones. */
struct attach_costs;
struct bpf_program;

/* The triggers of a run must outlive the result. Returns NULL without memory. */
struct attach_costs *attach_costs_new(const struct trigger_sites *triggers, size_t n);

/* Detaches the measuring probes. NULL is allowed. */
void attach_costs_free(struct attach_costs *costs);

/* Measures, which takes about 10 ms. Earlier measurements count half. */
void attach_costs_measure(struct attach_costs *costs);

/* Returns the measuring program, which is harmless at any site. NULL if measuring failed, or no
 * trigger is in files. */
const struct bpf_program *attach_costs_program(const struct attach_costs *costs);

/* Returns the approximate CPU time, in ns, that a hit of a site costs its thread. A typical
 * figure for kernel probes, or if measuring failed. */
uint64_t attach_cost(const struct attach_costs *costs, const struct trigger *trigger,
		     const struct site *site);

/* Says in a few words why a hit costs that: what the kernel at hand does with the instruction, by
 * what it costs beside one that every kernel single-steps. */
const char *attach_cost_reason(const struct attach_costs *costs, const struct trigger *trigger,
			       const struct site *site);

/* Returns the mean cost over all sites of a trigger; 0 if it has none. */
uint64_t attach_cost_mean(const struct attach_costs *costs, const struct trigger_sites *trigger);

#endif
