/* SPDX-License-Identifier: Apache-2.0 */
/* Destinations and formats of a run's reports. */
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

struct output_settings {
	mode_t mode;    /* of files */
	uint64_t limit; /* bytes; 0: no limit */
	struct report_options report;
	enum color_when color;
	bool no_pager;
};

struct output {
	const struct output_format *format;
	const char *file; /* with % sequences; NULL: standard output */
	char *attributes; /* as the command line has them; NULL: none */
	struct output_settings settings;
};

struct outputs_config {
	struct output all[OUTPUTS_MAX]; /* none: text */
	size_t n;
	const char *compare; /* a saved capture; NULL: none */
	bool quiet;          /* no text unless requested */
	bool has_command;    /* a command owns standard output: default text goes to standard
			      * error */
	struct output_settings settings; /* where an output has none of its own */
	bool one;    /* a single report, then the run ends: a pager may show it */
	bool live;   /* samples are shown live; no text unless requested */
	bool listen; /* serve metrics; no text unless requested */
	struct output served;
	char address[ADDRESS_LEN];
	uint16_t port;
	const char *allow_host; /* as in struct exporter_hosts */
};

struct outputs;
struct comparison;

/* Opens the configured outputs. Existing files stay until they are replaced. Served metrics are
 * those of process pid and this capture; NULL: samples come from another run. Returns 0, or an
 * exit status after printing what failed. The caller calls outputs_close() in either case. */
exit_status outputs_open(struct outputs **outputs, const struct outputs_config *config, pid_t pid,
			 const struct capture *capture);

/* Reads the capture to compare with, if any: call it without privileges, and before the first
 * sample. sample_time: of the samples to come, ns; 0: unknown. Returns as outputs_open(). */
exit_status outputs_read_baseline(struct outputs *outputs, uint64_t sample_time);

/* All functions below write to every output with such records. They return 0, or an exit status
 * after printing what failed. */

exit_status outputs_write(struct outputs *outputs, const struct sample *sample);

/* Writes a line such as "# Start sampling" (text), see report_text_mark(). Files keep it until
 * the sample follows. */
exit_status outputs_mark(struct outputs *outputs, const char *what, uint64_t trigger,
			 const struct timespec *when);

/* Writes a window that was too short (text), see report_text_skipped(). */
exit_status outputs_skipped(struct outputs *outputs, uint64_t delta, const struct timespec *when);

/* Writes the run's trigger statistics (not to folded stacks) after the last sample; in metrics
 * along with it. */
exit_status outputs_triggers(struct outputs *outputs, const struct trigger_stats *stats);

/* Updates the trigger statistics in live metrics. */
exit_status outputs_triggers_now(struct outputs *outputs, const struct trigger_stats *stats);

/* True if metrics are served during the run. */
bool outputs_are_served(const struct outputs *outputs);

/* The process that serves them; 0: none. NULL is allowed. */
pid_t outputs_child(const struct outputs *outputs);

/* Call every few milliseconds: updates the served metrics. */
exit_status outputs_refresh(struct outputs *outputs);

/* Call after the last sample. After several samples without triggers, writes their summary
 * (text, JSON, metrics), and the comparison with a saved capture (text, JSON). Streams only now
 * get metrics, since they take one text. Warns of outputs that there is nothing in. */
exit_status outputs_finish(struct outputs *outputs);

/* Prints how many samples, and rows of them, each output has. */
void outputs_tell(const struct outputs *outputs);

/* Differences from the saved capture, after outputs_finish(); NULL: none. */
const struct comparison *outputs_comparison(const struct outputs *outputs);

/* Shows the text kept for a pager. Call when the run no longer costs anything: reading may take
 * long. */
exit_status outputs_show(struct outputs *outputs);

/* True if any output contains full samples: not only metrics or folded stacks. */
bool outputs_have_samples(const struct outputs *outputs);

/* True if the operator gets the text. */
bool outputs_have_text(const struct outputs *outputs);

/* True if a report may go to a pager. */
bool outputs_have_pager(const struct outputs *outputs);

/* NULL is allowed. */
void outputs_close(struct outputs *outputs);

#endif
