/* SPDX-License-Identifier: Apache-2.0 */
/* Metric families listed in metrics.c, and where their values are. */
#ifndef METRIC_FAMILY_H
#define METRIC_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/base/clock.h"
#include "cli/model/rows.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"
#include "cli/model/words.h"

/* --- Figures of a run --- */

/* Single-valued metrics of a run, in output order: FIGURE(id, type, when, name, unit, help,
 * value). A COUNTER sums over samples, a GAUGE has the last sample's value; trigger figures
 * cover the full run. when: ALWAYS, or IF_ANY (only if nonzero). value: an expression, in ns if
 * the unit is seconds. */

/* Use const struct sample *sample. */
#define SAMPLE_FIGURES_WINDOW(FIGURE)                                                              \
	FIGURE(MEASURED, COUNTER, ALWAYS, "measured_seconds", "seconds",                           \
	       "Time that the windows of samples covered.",                                        \
	       sample->end > sample->start ? sample->end - sample->start : 0)                      \
	FIGURE(DUMP, GAUGE, IF_ANY, "last_sample_timestamp_seconds", "seconds",                    \
	       "When the last sample was reported, in seconds since 1970.",                        \
	       clock_ns(&sample->wall_dump))                                                       \
	FIGURE(RESTARTS, COUNTER, IF_ANY, "target_restarts", "",                                   \
	       "How often the process ended and its successor was followed instead.",              \
	       sample->restarts)

#define SAMPLE_FIGURES_CALLS(FIGURE)                                                               \
	FIGURE(CALL_ENTRY, GAUGE, IF_ANY, "syscall_entry_seconds", "seconds",                      \
	       "What entering and leaving the kernel is estimated to take in each system call; "   \
	       "it "                                                                               \
	       "counts as kernel, not as user.",                                                   \
	       sample->entry.call_ns)

#define SAMPLE_FIGURES_IRQS(FIGURE)                                                                \
	FIGURE(IRQ_ENTRY, GAUGE, IF_ANY, "hardirq_entry_seconds", "seconds",                       \
	       "What entering and leaving the kernel is estimated to take in each hard "           \
	       "interrupt; it "                                                                    \
	       "counts as hardirq, not as what was interrupted.",                                  \
	       sample->entry.irq_ns)                                                               \
	FIGURE(FAULT_ENTRY, GAUGE, IF_ANY, "page_fault_entry_seconds", "seconds",                  \
	       "What entering and leaving the kernel is estimated to take in each page fault; it " \
	       "counts as page_fault, not as user.",                                               \
	       sample->entry.fault_ns)

#define SAMPLE_FIGURES_TRACES(FIGURE)                                                              \
	FIGURE(CALL_THRESHOLD, GAUGE, IF_ANY, "slow_syscall_threshold_seconds", "seconds",         \
	       "System calls that take this long count as slow (-s).",                             \
	       sample->traces.calls_wanted ? sample->traces.call_threshold : 0)                    \
	FIGURE(WAIT_THRESHOLD, GAUGE, IF_ANY, "wait_threshold_seconds", "seconds",                 \
	       "Waits that take this long are listed (--off-cpu).",                                \
	       sample->traces.waits_wanted ? sample->traces.wait_threshold : 0)                    \
	FIGURE(LEFT_OUT, COUNTER, IF_ANY, "left_out_waits", "",                                    \
	       "Long waits that --wait-filter left out.", sample->traces.left_out)                 \
	FIGURE(LEFT_OUT_NS, COUNTER, IF_ANY, "left_out_wait_seconds", "seconds",                   \
	       "Time in long waits that --wait-filter left out.", sample->traces.left_out_ns)      \
	FIGURE(PROFILE_HZ, GAUGE, IF_ANY, "profile_frequency_hertz", "hertz",                      \
	       "Samples of running code per second and CPU.", sample->traces.profile_hz)

#define SAMPLE_FIGURES_LOSSES(FIGURE)                                                              \
	FIGURE(RESYNCED, COUNTER, ALWAYS, "unreported_switches", "",                               \
	       "Context switches that the kernel did not report.", sample->resynced)               \
	FIGURE(UNTIMED, COUNTER, ALWAYS, "page_faults_untimed_seconds", "seconds",                 \
	       "Time inside windows when there were too many page faults to time them.",           \
	       sample->page_faults_untimed)                                                        \
	FIGURE(LIMITED, COUNTER, ALWAYS, "limited_stacks", "",                                     \
	       "User stacks left out by the rate limit.", sample->traces.limited)                  \
	FIGURE(INCOMPLETE, COUNTER, ALWAYS, "incomplete_stacks", "",                               \
	       "User stacks that could not be unwound to the end.", sample->traces.incomplete)

#define SAMPLE_FIGURES_OWN(FIGURE)                                                                 \
	FIGURE(OWN_CPU, COUNTER, ALWAYS, "own_cpu_seconds", "seconds",                             \
	       "CPU time that kernel_delay itself has used since it was attached.",                \
	       sample->own.cpu_ns)                                                                 \
	FIGURE(OWN_WAKEUPS, COUNTER, ALWAYS, "own_wakeups", "",                                    \
	       "How often a thread of kernel_delay itself was woken up.", sample->own.wakeups)

#define SAMPLE_FIGURES(FIGURE)                                                                     \
	SAMPLE_FIGURES_WINDOW(FIGURE)                                                              \
	SAMPLE_FIGURES_CALLS(FIGURE)                                                               \
	SAMPLE_FIGURES_IRQS(FIGURE)                                                                \
	SAMPLE_FIGURES_TRACES(FIGURE)                                                              \
	SAMPLE_FIGURES_LOSSES(FIGURE)                                                              \
	SAMPLE_FIGURES_OWN(FIGURE)

/* Use const struct trigger_stats *stats. */
#define TRIGGER_FIGURES(FIGURE)                                                                    \
	FIGURE(FOREIGN, COUNTER, ALWAYS, "trigger_foreign_hits", "",                               \
	       "Trigger hits by other processes, or by threads for which the tables had no "       \
	       "space.",                                                                           \
	       stats->tally.foreign)                                                               \
	FIGURE(OUTSIDE, COUNTER, IF_ANY, "trigger_outside_hits", "",                               \
	       "Hits of probes by processes that are not watched but run the same files, where "   \
	       "the "                                                                              \
	       "target is several processes. They do not count, but cost as much.",                \
	       stats->tally.outside)                                                               \
	FIGURE(NESTED, COUNTER, ALWAYS, "nested_windows", "",                                      \
	       "Windows as long as the trigger delta that were missed, as all banks were in use.", \
	       stats->tally.nested)                                                                \
	FIGURE(ARMED, COUNTER, IF_ANY, "trigger_armed_seconds", "seconds",                         \
	       "Time from arming the triggers to the end of the run, with the time for which "     \
	       "--max-overhead took the probes out.",                                              \
	       stats->to > stats->from ? stats->to - stats->from : 0)                              \
	FIGURE(PROBES_OFF, COUNTER, IF_ANY, "trigger_off_seconds", "seconds",                      \
	       "Time for which --max-overhead took the probes out.", stats->duty.off)              \
	FIGURE(PROBES_PHASES, COUNTER, IF_ANY, "trigger_off_phases", "",                           \
	       "How often --max-overhead took the probes out.", stats->duty.phases)                \
	FIGURE(PROBES_DROPPED, COUNTER, IF_ANY, "trigger_dropped_windows", "",                     \
	       "Windows given up because --max-overhead took the probes out.",                     \
	       stats->duty.dropped)                                                                \
	FIGURE(WORK_ON, COUNTER, IF_ANY, "trigger_seen_work_seconds", "seconds",                   \
	       "CPU time of threads that hit probes while these were in place, less what the "     \
	       "probes cost.",                                                                     \
	       stats->duty.worked_on)                                                              \
	FIGURE(WORK_OFF, COUNTER, IF_ANY, "trigger_unseen_work_seconds", "seconds",                \
	       "CPU time of threads that hit probes while these were taken out.",                  \
	       stats->duty.worked_off)                                                             \
	FIGURE(PAYER_COST, GAUGE, IF_ANY, "trigger_worst_cost_seconds", "seconds",                 \
	       "What the probes are estimated to have cost the thread that hit them most.",        \
	       stats->payer.cost)                                                                  \
	FIGURE(PAYER_CPU, GAUGE, IF_ANY, "trigger_worst_cpu_seconds", "seconds",                   \
	       "CPU time of the thread that the probes cost most.", stats->payer.cpu)

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_INFO, METRIC_HISTOGRAM };

/* Kinds of rows: values with equal labels share a row. */
enum metric_kind {
	METRIC_BUILD,
	METRIC_CAPTURE,
	METRIC_ENDING, /* by ending of samples */
	METRIC_RUN,
	METRIC_WINDOW,
	METRIC_TRIGGER,
	METRIC_BUSY,
	METRIC_CAUSE,
	METRIC_PRESSURE,
	METRIC_UPCALL,
	METRIC_LOSS,
	METRIC_ABSENCE,
	METRIC_DISK,
	METRIC_SOFTIRQ_DELAY,
	METRIC_PROCESS,
	METRIC_IMAGE,  /* container image of a process */
	METRIC_USAGE,  /* of a process */
	METRIC_THREAD, /* from here on of a thread: */
	METRIC_READY_BY,
	METRIC_BLOCKED,
	METRIC_OVERSLEPT,
	METRIC_LISTS, /* plus enum list_id */
	METRIC_LISTS_LAST = METRIC_LISTS + LISTS - 1,
	METRIC_IO,
	METRIC_CALL,
	METRIC_OPEN_CALL,
	METRIC_INTERRUPTION,
	METRIC_LATE_TICK,
	METRIC_SLOW_CALL,
	METRIC_WAIT,
	METRIC_WAIT_END,
	METRIC_PROFILE,
	METRIC_STATISTIC_TIME, /* over samples */
	METRIC_STATISTIC_COUNT,
	METRIC_STATISTIC_RATE,
	METRIC_PERIOD_TIMES, /* histograms */
	METRIC_CALL_TIMES,
	METRIC_LIST_TIMES, /* plus enum list_id */
	METRIC_LIST_TIMES_LAST = METRIC_LIST_TIMES + LISTS - 1,
	METRIC_KINDS,
};

/* Limit on named rows per thread and kind, and on disks: names come and go, series stay. */
#define METRIC_NAMED_ROWS 16
#define METRIC_OTHER "other" /* and the row of the others */

/* Buckets of a histogram, except the last, unbounded one. */
#define METRIC_BUCKETS 28

/* Columns of the rows. A maximum has two: of this period and the previous one. */
enum { ONE_VALUE, ONE_COLUMN };
enum {
	STATISTIC_MIN,
	STATISTIC_MEAN,
	STATISTIC_MAX,
	STATISTIC_STDDEV,
	STATISTIC_JITTER,
	STATISTIC_EWMA,
	STATISTIC_COLUMNS,
};
enum { EVENTS_COUNT, EVENTS_TOTAL, EVENTS_MAX, EVENTS_BEFORE, EVENTS_COLUMNS };
#define RUN_COLUMN(id, ...) RUN_##id,
enum { SAMPLE_FIGURES(RUN_COLUMN) TRIGGER_FIGURES(RUN_COLUMN) RUN_COLUMNS }; /* RUN_MEASURED ... */
#undef RUN_COLUMN
enum { PROCESS_BEGAN, PROCESS_ENDED, PROCESS_BUSY, PROCESS_DELAY, PROCESS_ALIVE, PROCESS_COLUMNS };
enum { USAGE_CPU, USAGE_RESENT, USAGE_MEMORY, USAGE_PEAK, USAGE_COLUMNS };
enum { IO_READ_CALLS, IO_WRITTEN_CALLS, IO_READ_BYTES, IO_WRITTEN_BYTES, IO_COLUMNS };
enum { LIST_BYTES = EVENTS_COLUMNS, LIST_COLUMNS };
enum { TRIGGER_COST = KD_OUTCOMES, TRIGGER_UNMET, TRIGGER_UNREAD, TRIGGER_COLUMNS };
enum {
	HISTOGRAM_BEYOND = METRIC_BUCKETS, /* counts are not cumulative */
	HISTOGRAM_SUM,
	HISTOGRAM_COLUMNS,
};
#define PERIOD_COLUMN(kind, key, label) PERIOD_##kind,
enum metric_period { PERIOD_WORDS(PERIOD_COLUMN, PERIOD_COLUMN) PERIODS }; /* PERIOD_OPEN_RUN ... */
#undef PERIOD_COLUMN
enum {
	THREAD_EXEC = LEDGER_STATES, /* after the states */
	THREAD_ENDED,
#define FIGURE_COLUMN(member, ...) THREAD_COUNTER_##member,
	EACH_THREAD_FIGURE(FIGURE_COLUMN) /* THREAD_COUNTER_voluntary and so on */
#undef FIGURE_COLUMN
	THREAD_RINGS,
	THREAD_CALL_ROWS,    /* its rows of METRIC_CALL, except "other" */
	THREAD_CULPRIT_ROWS, /* and of METRIC_READY_BY */
	THREAD_LIST_ROWS,    /* and of METRIC_LISTS */
	THREAD_PERIODS = THREAD_LIST_ROWS + LISTS,
	THREAD_PERIOD_NS = THREAD_PERIODS + PERIODS,
	THREAD_MAX = THREAD_PERIOD_NS + PERIODS,
	THREAD_MAX_BEFORE = THREAD_MAX + PERIODS,
	THREAD_MEMBERS = THREAD_MAX_BEFORE + PERIODS,
	THREAD_CPUS,
	THREAD_MIN,
	THREAD_OPEN = THREAD_MIN + PERIODS,
	THREAD_COLUMNS = THREAD_OPEN + PERIODS,
};

/* Behavior of a kind's columns. */
struct metric_columns {
	unsigned int n;
	unsigned int max, n_max; /* maxima: first column, number */
	unsigned int last;       /* columns from here on only hold the last sample */
};

/* A series of a family, one per row of its kind. */
struct metric_point {
	const char *labels; /* added to the row's, formatted, without braces */
	unsigned int column;
	bool not_zero; /* omitted while its value is 0 */
};

struct metric_family {
	const char *name; /* counters without _total, infos without _info */
	enum metric_type type;
	const char *unit; /* "": none; "seconds": values are ns */
	const char *labels;
	const char *help; /* without backslash, quote or line feed */
	enum metric_kind kind;
	const struct metric_point *points;
	size_t n_points;
	bool billionths; /* without unit: values are in billionths */
	/* NULL: none. Else it has name, help and labels for this figure of its rows. */
	const struct row_list *list;
	enum list_figure figure;
};

const char *metric_family_name(const struct metric_family *family);
const char *metric_family_help(const struct metric_family *family);

extern const struct metric_family metric_families[];
extern const size_t metric_n_families;
extern const struct metric_columns metric_columns[METRIC_KINDS];

/* Upper limit of a bucket in ns, and in seconds in its only allowed spelling. */
struct metric_bucket {
	uint64_t ns;
	const char *le;
};
extern const struct metric_bucket metric_buckets[METRIC_BUCKETS];

const char *metric_type_name(enum metric_type type);

#endif
