/* SPDX-License-Identifier: Apache-2.0 */
/* Pressure (PSI): for how long threads of the machine, or of a control group, waited for what
 * was short. */
#ifndef PRESSURE_H
#define PRESSURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "culprit.h"

/* What may be short: ROW(kind, key, title). Keys are a promise, see words.h. */
#define PRESSURE_WORDS(ROW)                                                                        \
	ROW(PRESSURE_CPU, "cpu", "CPU")                                                            \
	ROW(PRESSURE_MEMORY, "memory", "memory")                                                   \
	ROW(PRESSURE_IO, "io", "I/O")
#define PRESSURE_KIND(kind, key, title) kind,
enum pressure_kind { PRESSURE_WORDS(PRESSURE_KIND) PRESSURES };
#undef PRESSURE_KIND
extern const char *const pressure_keys[PRESSURES], *const pressure_titles[PRESSURES];

/* Time in which some threads waited for it, ns, and in which all of them did that were not idle. */
struct pressure {
	bool known;
	uint64_t some, full;
};

struct pressure_set {
	bool known; /* of any kind */
	struct pressure of[PRESSURES];
};

/* Of a time about as long as the window. */
struct pressures {
	uint64_t ns; /* that time; 0: nothing is known */
	struct pressure_set machine, group;
	char path[CULPRIT_GROUP_LEN]; /* of the group, as in struct culprit; "": none */
};

/* Figures of a set, as conditions name them: "cpu" of some, "cpu_full" of all. */
#define PRESSURE_FIGURES (2 * PRESSURES)
extern const char *const pressure_figures[PRESSURE_FIGURES];

/* Reads one; false: unknown. */
bool pressure_figure(const struct pressure_set *set, size_t i, uint64_t *ns);

#endif
