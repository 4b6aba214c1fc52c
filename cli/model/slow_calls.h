/* SPDX-License-Identifier: Apache-2.0 */
/* Slow system calls that the user chose by name: what a thread slept in these was no waiting for
 * work, whatever it was for. */
#ifndef SLOW_CALLS_H
#define SLOW_CALLS_H

#include "sample.h"

#define SLOW_CALLS 16 /* different ones of a thread; others count as any */

/* What is left of the time asleep in each; zeroed: nothing. */
struct slow_calls {
	struct slow_call {
		int32_t call;
		uint64_t ns;
	} all[SLOW_CALLS];
	size_t n;
};

/* Those of a thread that are listed, as far as they are inside the window. */
void slow_calls_of(struct slow_calls *slow, const struct sample *sample,
		   const struct thread_row *thread);

/* Takes up to so many ns from those of this call. Returns how much. */
uint64_t slow_calls_take(struct slow_calls *slow, int32_t call, uint64_t ns);

#endif
