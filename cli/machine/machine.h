/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the machine's configuration for a latency-sensitive process. Pure: reads files below a
 * root, which tests create. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/model/culprit.h"

enum finding_level { FINDING_OK, FINDING_NOTE, FINDING_WARNING };

struct finding {
	enum finding_level level;
	const char *topic;
	char text[256];  /* raw, not escaped */
	const char *why; /* meaning, or advice; NULL: none */
};

/* Starts zeroed; findings are added. */
struct machine {
	const char *root;       /* "" for this machine */
	pid_t pid;              /* of the target; 0: none */
	struct cpu_quota quota; /* of its cgroup; zeros: none */
	struct cpu_rules rules; /* of its control groups; zeros: unknown */
	struct finding *findings;
	size_t n, capacity;
	int error; /* -ENOMEM, or 0 */
};

/* Runs all checks. Returns 0 or -ENOMEM. */
int machine_look(struct machine *machine);

void machine_clear(struct machine *machine);

/* Write the findings. Return 0 or a negative errno. */
int machine_text(const struct machine *machine, FILE *out);
int machine_json(const struct machine *machine, FILE *out);

/* --- For machine_look() --- */

/* Adds a finding; why is static, or NULL. */
__attribute__((format(printf, 5, 6))) void finding_add(struct machine *machine,
						       enum finding_level level, const char *topic,
						       const char *why, const char *format, ...);

/* Reads the start of a file. Returns the length; -1: unreadable, text is "". */
__attribute__((format(printf, 4, 5))) long machine_read(const struct machine *machine, char *text,
							size_t size, const char *format, ...);

#endif
