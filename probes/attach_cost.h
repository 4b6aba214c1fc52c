/* SPDX-License-Identifier: Apache-2.0 */
/* What a hit costs, measured: from bare metal to a virtual machine the price of an
 * exception varies tenfold. */
#ifndef ATTACH_COST_H
#define ATTACH_COST_H

#include <stdint.h>

#include "trigger.h"

struct attachment;
struct bpf_program;

/* About what one hit of such a trigger costs the thread that makes it, in ns. For a
 * probe in files the program, which must be loaded, is attached to a function of
 * this process; for one in the kernel, or if that fails, it is a typical figure.
 * The caller closes *attachment, which may be NULL, when there is time for that. */
uint64_t attach_cost(struct attachment **attachment, const struct bpf_program *program,
		     const struct trigger *trigger);

#endif
