/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef TESTS_BPF_CULPRIT_RACE_H
#define TESTS_BPF_CULPRIT_RACE_H

#define RACERS 2
#define RACE_TURNS 500   /* in one run of the program */
#define RACER_KEYS 65536 /* a power of two; both together have each serial of a key once */

struct racer {
	__u32 n, refused;
	__u32 mixed; /* entries that have its key, but something of the other */
	__u32 keys[RACER_KEYS];
};

/* How often a limit had its name, and not. */
struct limit {
	__u32 named, unnamed;
};

#endif
