/* SPDX-License-Identifier: Apache-2.0 */
/* Where the reports of a run go, and in what forms. */
#ifndef OUTPUTS_H
#define OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "cli/base/exit_status.h"
#include "cli/model/report_options.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"
#include "output_format.h"
#include "terminal.h"

#define OUTPUTS_MAX 8
#define ADDRESS_LEN 64

struct output {
	const struct output_format *format;
	const char *file; /* with % sequences; NULL: standard output */
};

struct outputs_config {
	struct output all[OUTPUTS_MAX]; /* none: the text */
	size_t n;
	mode_t mode;         /* of files */
	uint64_t limit;      /* bytes, for each output; 0: no limit */
	const char *compare; /* a saved capture; NULL: none */
	uint64_t ewma;       /* weight of the last sample in moving averages, millionths */
	bool quiet;          /* no text unless asked for */
	bool has_command;    /* whose standard output it is: text that was not asked for goes to
				standard error */
	struct report_options report;
	enum color_when color;
	bool no_pager;
	bool one;    /* report, after which the run ends: it may go through a pager */
	bool live;   /* somebody sees the samples; no text unless asked for */
	bool listen; /* serve metrics; the same */
	char address[ADDRESS_LEN];
	uint16_t port;
	const char *allow_host; /* as struct exporter_hosts has it */
};

struct outputs;
struct comparison;

/* Opens what the configuration asks for. Files that are there stay until something takes
 * their place. What is served is of the process pid and of this capture; NULL: samples
 * are those of another run. Returns 0, or after printing what failed an exit status. The
 * caller ends it with outputs_close(), also after an error. */
exit_status outputs_open(struct outputs **outputs, const struct outputs_config *config, pid_t pid,
			 const struct capture *capture);

/* All of the following write to every output that has them. They return 0, or after
 * printing what failed an exit status. */

exit_status outputs_write(struct outputs *outputs, const struct sample *sample);

/* A line such as "# Start sampling" (text), see report_text_mark(). In files it is
 * kept until the sample follows. */
exit_status outputs_mark(struct outputs *outputs, const char *what, uint64_t trigger,
			 const struct timespec *when);

/* A window that was too short (text), see report_text_skipped(). */
exit_status outputs_skipped(struct outputs *outputs, uint64_t delta, const struct timespec *when);

/* At the end of a run what its triggers did (not in folded stacks), behind the last
 * sample or, in metrics, with it. */
exit_status outputs_triggers(struct outputs *outputs, const struct trigger_stats *stats);

/* What they did until now, for those who look while the run goes on. */
exit_status outputs_triggers_now(struct outputs *outputs, const struct trigger_stats *stats);

/* Whether anybody can look while the run goes on. */
bool outputs_are_served(const struct outputs *outputs);

/* The process that answers them; 0: there is none. NULL is allowed. */
pid_t outputs_child(const struct outputs *outputs);

/* To be called every few milliseconds: answers those who look with what was added. */
exit_status outputs_refresh(struct outputs *outputs);

/* After the last one. After several that no trigger made, what they were together (text, JSON,
 * metrics), and the comparison with a saved capture (text, JSON). Metrics are written to streams
 * only now: they take one text. */
exit_status outputs_finish(struct outputs *outputs);

/* What is different from the saved capture, after outputs_finish(); NULL: there is none. */
const struct comparison *outputs_comparison(const struct outputs *outputs);

/* Shows what was kept for a pager. To be called when the run costs nothing any more: people
 * may read for long. */
exit_status outputs_show(struct outputs *outputs);

/* Whether somebody gets whole samples: neither metrics nor folded stacks only. */
bool outputs_have_samples(const struct outputs *outputs);

/* Whether the operator gets the text. */
bool outputs_have_text(const struct outputs *outputs);

/* Whether a report may go through a pager. */
bool outputs_have_pager(const struct outputs *outputs);

/* NULL is allowed. */
void outputs_close(struct outputs *outputs);

#endif
