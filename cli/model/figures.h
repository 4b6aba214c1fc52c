/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's figures by name: of its system calls, its culprits, what it was blocked for and so on.
 * Metrics have them as series, and conditions compare them. */
#ifndef FIGURES_H
#define FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "thread_row.h"

struct figures {
	char name[64]; /* "": unknown, or figures that have no names */
	uint64_t count, total, bytes;
	struct complete complete;
};

/* Where they are. */
struct figures_source {
	/* Reads the i-th ones of a thread; false: there are no more. */
	bool (*read)(const struct figures_source *source, const struct thread_row *thread, size_t i,
		     struct figures *figures);
	const struct row_list *list; /* of figures_of_list() */
	size_t of;                   /* see below */
};

/* of: enum open_kind, except OPEN_CALL. */
bool figures_of_period(const struct figures_source *source, const struct thread_row *thread,
		       size_t i, struct figures *figures);

/* By name of the call. */
bool figures_of_call(const struct figures_source *source, const struct thread_row *thread, size_t i,
		     struct figures *figures);

/* Time that others had the CPU, by culprit. They are not counted. */
bool figures_of_culprit(const struct figures_source *source, const struct thread_row *thread,
			size_t i, struct figures *figures);

/* By what the thread was blocked for. A wait that is still open is not counted, but in the total.
 */
bool figures_of_awaited(const struct figures_source *source, const struct thread_row *thread,
			size_t i, struct figures *figures);

/* Full interruptions, and their parts by cause. */
bool figures_of_interruption(const struct figures_source *source, const struct thread_row *thread,
			     size_t i, struct figures *figures);
bool figures_of_cause(const struct figures_source *source, const struct thread_row *thread,
		      size_t i, struct figures *figures);

/* By kind of descriptor. of: offset of a struct kd_io in struct io_row. */
bool figures_of_io(const struct figures_source *source, const struct thread_row *thread, size_t i,
		   struct figures *figures);

/* Rows of the list, by their first name. */
bool figures_of_list(const struct figures_source *source, const struct thread_row *thread, size_t i,
		     struct figures *figures);

/* of: offset of a struct kd_count in struct thread_row. */
bool figures_of_events(const struct figures_source *source, const struct thread_row *thread,
		       size_t i, struct figures *figures);

/* of: offset of a uint64_t in struct thread_row; count and total. */
bool figures_of_counter(const struct figures_source *source, const struct thread_row *thread,
			size_t i, struct figures *figures);

#endif
