/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that tell from what kind of interrupt threads are woken, and the memory for who
 * woke whom. Part of tracing. */
#ifndef SESSION_WAKERS_H
#define SESSION_WAKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "session.h"

#define WAKERS_PROGRAMS 4

struct bpf_link;
struct kernel_delay;
struct programs;

struct wakers {
	struct kernel_delay *skel;
	bool on;
	struct bpf_link *links[WAKERS_PROGRAMS];
};

/* Before loading: only where waits leave traces, or are recorded. Returns 0 or a negative errno. */
int wakers_select(struct wakers *wakers, struct kernel_delay *skel,
		  const struct tracing_config *wanted, uint32_t slots);

/* After loading. What the kernel lacks is noted with the programs. Returns 0, or after printing
 * what failed EX_NOPERM or EX_OSERR. */
exit_status wakers_attach(struct wakers *wakers, struct programs *programs);

/* Detaches; harmless on a zeroed one. */
void wakers_close(struct wakers *wakers);

#endif
