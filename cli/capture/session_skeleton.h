/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the two BPF objects a run takes. Part of the session. */
#ifndef SESSION_SKELETON_H
#define SESSION_SKELETON_H

#include <stdbool.h>

struct kernel_delay;
struct session_btf;

/* Opens the object with the code for traces, or the one without, which loads faster; they
 * have the same maps, programs and variables. Its types are looked up in what btf_open() has
 * made ready. Returns NULL if that fails; errno says why.
 * The caller destroys it. */
struct kernel_delay *skeleton_open(bool traces, const struct session_btf *btf);

#endif
