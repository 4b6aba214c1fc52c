/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "text.h"

#include <stdio.h>
#include <string.h>

#include "../syscall_names.h"
#include "columns.h"
#include "number.h"
#include "text_footer.h"
#include "text_thread.h"
#include "text_traces.h"
#include "text_upcalls.h"
#include "timestamp.h"

static void mark(struct columns *columns, const char *what, uint64_t trigger,
		 const struct timespec *when)
{
	char time[TIMESTAMP_LEN];

	timestamp_format(time, when);
	columns_add(columns, "# ");
	columns_add(columns, what);
	if (trigger) {
		columns_add(columns, " (trigger@");
		columns_count(columns, trigger, 0);
		columns_add(columns, ")");
	}
	columns_add(columns, " @");
	columns_add(columns, time);
	columns_add(columns, "\n");
}

int report_text_mark(FILE *out, const char *what, uint64_t trigger, const struct timespec *when)
{
	struct columns columns;

	columns_begin(&columns, out);
	mark(&columns, what, trigger, when);
	return columns_end(&columns);
}

static void title(struct columns *columns, const struct sample *sample)
{
	char delta[NUMBER_LEN], what[80] = "Sample dump";

	if (sample->start_triggered && sample->stop_triggered) {
		number_grouped(delta, sample->end - sample->start);
		snprintf(what, sizeof(what), "Triggered sample dump, stop-start delta %s ns",
			 delta);
	}
	mark(columns, what, 0, &sample->wall_dump);
}

int report_text(const struct sample *sample, FILE *out)
{
	struct text text = {
		.sample = sample,
		.poll = syscall_number("poll"),
		.ppoll = syscall_number("ppoll"),
	};

	columns_begin(&text.columns, out);
	title(&text.columns, sample);
	columns_add(&text.columns,
		    "TID        THREAD           <RESOURCE SPECIFIC>\n"
		    "---------- ---------------- --------------------------------------"
		    "--------------------------------------\n");
	for (size_t i = 0; i < sample->n_threads; i++) {
		if (i)
			columns_add(&text.columns, "\n");
		text_thread(&text, &sample->threads[i]);
	}
	text_upcalls(&text.columns, sample);
	text_traces(&text.columns, sample);
	text_footer(&text.columns, sample);
	return columns_end(&text.columns);
}
