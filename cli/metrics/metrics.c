// SPDX-License-Identifier: Apache-2.0
/* List of all metrics. Names, types, units and labels are a contract with users who stored them:
 * man/kernel_delay-metrics.5. */
#include "metrics.h"

#include "cli/base/columns.h"
#include "cli/model/words.h"
#include "metric_family.h"

#define P "kernel_delay_"
#define SECONDS "seconds"
#define BYTES "bytes"
#define PROCESS "process,container,pod"
#define POINTS(...)                                                                                \
	.points = (const struct metric_point[]){ __VA_ARGS__ },                                    \
	.n_points = sizeof((const struct metric_point[]){ __VA_ARGS__ }) /                         \
		    sizeof(struct metric_point)
#define STATE_LABEL(label) "state=\"" label "\""
#define STATE_POINT(state, key, title, ...) { STATE_LABEL(key), state, false },
#define OUTCOME_POINT(outcome, key, title) { "result=\"" key "\"", outcome, false },
/* Only few threads have event loop rounds. */
#define PERIOD_POINT_OF(columns, kind, label)                                                      \
	{ STATE_LABEL(label), columns + PERIOD_##kind, (kind) == OPEN_ROUND },
#define PERIOD_POINT(kind, key, label) PERIOD_POINT_OF(THREAD_PERIODS, kind, label)
#define PERIOD_NS_POINT(kind, key, label) PERIOD_POINT_OF(THREAD_PERIOD_NS, kind, label)
#define PERIOD_MAX_POINT(kind, key, label) PERIOD_POINT_OF(THREAD_MAX, kind, label)
#define PERIOD_OPEN_POINT(kind, key, label)                                                        \
	{ STATE_LABEL(label), THREAD_OPEN + PERIOD_##kind, true },
#define PERIOD_MIN_POINT(kind, key, label) { STATE_LABEL(label), THREAD_MIN + PERIOD_##kind, true },
#define NO_POINT(...)
#define IO_POINTS(read, written)                                                                   \
	POINTS({ "direction=\"read\"", read, false }, { "direction=\"write\"", written, false })
#define COUNTER_FAMILY(name, unit, labels, help, counters)                                         \
	{ P name, METRIC_COUNTER, unit, labels, help, METRIC_THREAD, POINTS(counters) },
#define FIGURE_POINT(member, key, condition, label, ...) { label, THREAD_COUNTER_##member, false },
#define VALUE(of) POINTS({ "", of, false })
#define VALUE_IF_ANY(of) POINTS({ "", of, true })
#define POINT_ALWAYS VALUE
#define POINT_IF_ANY VALUE_IF_ANY
#define RUN_FAMILY(id, type, when, name, unit, help, value)                                        \
	{ P name, METRIC_##type, unit, "", help, METRIC_RUN, POINT_##when(RUN_##id) },
/* Events of a kind: count, total time, longest. */
#define EVENTS_NAMED(kind, counted, name, labels, LONGEST_VALUE, count, seconds, longest)          \
	{ P counted, METRIC_COUNTER, "", labels, count, kind, VALUE(EVENTS_COUNT) },               \
		{ P name "_seconds",  METRIC_COUNTER, SECONDS, labels, seconds, kind,              \
		  VALUE(EVENTS_TOTAL) },                                                           \
	{                                                                                          \
		P name "_max_seconds", METRIC_GAUGE, SECONDS, labels, longest, kind,               \
			LONGEST_VALUE(EVENTS_MAX)                                                  \
	}
#define EVENTS(kind, name, ...) EVENTS_NAMED(kind, name "s", name, __VA_ARGS__)
/* A family of a list, which has name and help; labels follow from its fields. */
#define LIST_OF(id, of, kinds, of_type, of_unit, of_figure, column)                                \
	{                                                                                          \
		.list = &(of), .figure = (of_figure), .type = (of_type), .unit = (of_unit),        \
		.kind = (kinds) + (id), VALUE(column)                                              \
	}
#define LIST_FAMILY(id, of, type, figure, unit, column)                                            \
	LIST_OF(id, of, METRIC_LISTS, type, unit, figure, column)
#define LIST_EVENTS(id, of)                                                                        \
	LIST_FAMILY(id, of, METRIC_COUNTER, ROW_COUNT, "", EVENTS_COUNT),                          \
		LIST_FAMILY(id, of, METRIC_COUNTER, ROW_TOTAL, SECONDS, EVENTS_TOTAL),             \
		LIST_FAMILY(id, of, METRIC_GAUGE, ROW_MAX, SECONDS, EVENTS_MAX)
#define LIST_DISTRIBUTION(id, of)                                                                  \
	LIST_OF(id, of, METRIC_LIST_TIMES, METRIC_HISTOGRAM, SECONDS, ROW_TIMES, 0)
#define STATISTIC_POINT(of, label)                                                                 \
	{                                                                                          \
		"statistic=\"" label "\"", STATISTIC_##of, false                                   \
	}
#define STATISTIC_FAMILY(kind, name, unit, help, ...)                                              \
	{ P name,                                                                                  \
	  METRIC_GAUGE,                                                                            \
	  unit,                                                                                    \
	  "thread,measure,statistic",                                                              \
	  help,                                                                                    \
	  kind,                                                                                    \
	  POINTS(STATISTIC_POINT(MIN, "min"), STATISTIC_POINT(MEAN, "mean"),                       \
		 STATISTIC_POINT(MAX, "max"), STATISTIC_POINT(STDDEV, "stddev"),                   \
		 STATISTIC_POINT(JITTER, "jitter"), STATISTIC_POINT(EWMA, "ewma")),                \
	  __VA_ARGS__ },
/* HELP texts are read one at a time: each says what it is about. */
#define LONGEST(what) "The longest " what " in the last one to two minutes."

const struct metric_columns metric_columns[METRIC_KINDS] = {
	[METRIC_BUILD] = { ONE_COLUMN, 0, 0, ONE_COLUMN },
	[METRIC_CAPTURE] = { ONE_COLUMN, 0, 0, 0 },
	[METRIC_ENDING] = { ONE_COLUMN, 0, 0, ONE_COLUMN },
	[METRIC_RUN] = { RUN_COLUMNS, 0, 0, RUN_COLUMNS },
	[METRIC_WINDOW] = { HISTOGRAM_COLUMNS, 0, 0, HISTOGRAM_COLUMNS },
	[METRIC_TRIGGER] = { TRIGGER_COLUMNS, 0, 0, TRIGGER_COLUMNS },
	[METRIC_BUSY... METRIC_LOSS] = { ONE_COLUMN, 0, 0, ONE_COLUMN },
	[METRIC_ABSENCE] = { ONE_COLUMN, 0, 0, 0 },
	[METRIC_DISK... METRIC_SOFTIRQ_DELAY] = { EVENTS_COLUMNS, EVENTS_MAX, 1, EVENTS_COLUMNS },
	[METRIC_PROCESS] = { PROCESS_COLUMNS, 0, 0, PROCESS_ALIVE },
	[METRIC_IMAGE] = { ONE_COLUMN, 0, 0, 0 },
	[METRIC_USAGE] = { USAGE_COLUMNS, 0, 0, USAGE_MEMORY },
	[METRIC_THREAD] = { THREAD_COLUMNS, THREAD_MAX, PERIODS, THREAD_MEMBERS },
	[METRIC_READY_BY... METRIC_OVERSLEPT] = { EVENTS_COLUMNS, EVENTS_MAX, 1, EVENTS_COLUMNS },
	[METRIC_LISTS... METRIC_LISTS_LAST] = { LIST_COLUMNS, EVENTS_MAX, 1, LIST_COLUMNS },
	[METRIC_IO] = { IO_COLUMNS, 0, 0, IO_COLUMNS },
	[METRIC_CALL... METRIC_WAIT_END] = { EVENTS_COLUMNS, EVENTS_MAX, 1, EVENTS_COLUMNS },
	[METRIC_PROFILE] = { ONE_COLUMN, 0, 0, ONE_COLUMN },
	[METRIC_STATISTIC_TIME... METRIC_STATISTIC_RATE] = { STATISTIC_COLUMNS, 0, 0, 0 },
	[METRIC_PERIOD_TIMES...
		METRIC_LIST_TIMES_LAST] = { HISTOGRAM_COLUMNS, 0, 0, HISTOGRAM_COLUMNS },
};

const struct metric_bucket metric_buckets[METRIC_BUCKETS] = {
	{ 1000, "1e-06" },           { 2000, "2e-06" },         { 5000, "5e-06" },
	{ 10000, "1e-05" },          { 20000, "2e-05" },        { 50000, "5e-05" },
	{ 100000, "0.0001" },        { 200000, "0.0002" },      { 500000, "0.0005" },
	{ 1000000, "0.001" },        { 2000000, "0.002" },      { 5000000, "0.005" },
	{ 10000000, "0.01" },        { 20000000, "0.02" },      { 50000000, "0.05" },
	{ 100000000, "0.1" },        { 200000000, "0.2" },      { 500000000, "0.5" },
	{ 1000000000, "1.0" },       { 2000000000, "2.0" },     { 5000000000, "5.0" },
	{ 10000000000, "10.0" },     { 20000000000, "20.0" },   { 50000000000, "50.0" },
	{ 100000000000, "100.0" },   { 200000000000, "200.0" }, { 500000000000, "500.0" },
	{ 1000000000000, "1000.0" },
};

/* In output order. */
const struct metric_family metric_families[] = {
	{ P "build", METRIC_INFO, "", "version", "The program that took the samples.", METRIC_BUILD,
	  VALUE(ONE_VALUE) },
	{ P "capture", METRIC_INFO, "", "process,pid,host,kernel,start_trigger,stop_trigger",
	  "What was sampled; triggers as they were given.", METRIC_CAPTURE,
	  VALUE_IF_ANY(ONE_VALUE) },
	{ P "captures", METRIC_COUNTER, "", "result",
	  "Samples, by how they ended. Those that were skipped had windows shorter than the "
	  "trigger delta.",
	  METRIC_ENDING, VALUE(ONE_VALUE) },
	SAMPLE_FIGURES_WINDOW(RUN_FAMILY) /* "measured_seconds" and so on */
	{ P "window_seconds", METRIC_HISTOGRAM, SECONDS, "",
	  "Time from the start trigger to the stop trigger, of skipped windows, too. Without both "
	  "triggers, the lengths of samples.",
	  METRIC_WINDOW, VALUE(0) },

	{ P "busy_seconds", METRIC_COUNTER, SECONDS, "",
	  "Time inside windows that threads lived and did not wait for work, of all threads "
	  "together.",
	  METRIC_BUSY, VALUE(ONE_VALUE) },
	{ P "kept_seconds", METRIC_COUNTER, SECONDS, "cause",
	  "The part of busy_seconds in which threads were kept from running, by what kept them.",
	  METRIC_CAUSE, VALUE(ONE_VALUE) },
	{ P "pressure_seconds", METRIC_COUNTER, SECONDS, "of,resource,waiting",
	  "Time inside windows, but those of triggers, in which threads waited for what was "
	  "short: some of them, or all (full) that had something to do, of the machine or the "
	  "process's control group.",
	  METRIC_PRESSURE, VALUE(ONE_VALUE) },
	{ P "processes", METRIC_GAUGE, "", PROCESS,
	  "Processes alive at the end of the last sample, if the target may be several.",
	  METRIC_PROCESS, VALUE(PROCESS_ALIVE) },
	{ P "began_processes", METRIC_COUNTER, "", PROCESS, "Processes that began inside a window.",
	  METRIC_PROCESS, VALUE(PROCESS_BEGAN) },
	{ P "ended_processes", METRIC_COUNTER, "", PROCESS, "Processes that ended inside a window.",
	  METRIC_PROCESS, VALUE(PROCESS_ENDED) },
	{ P "process_busy_seconds", METRIC_COUNTER, SECONDS, PROCESS,
	  "How much of busy_seconds these processes account for.", METRIC_PROCESS,
	  VALUE(PROCESS_BUSY) },
	{ P "process_kept_seconds", METRIC_COUNTER, SECONDS, PROCESS,
	  "How much of process_busy_seconds their threads were kept from running.", METRIC_PROCESS,
	  VALUE(PROCESS_DELAY) },
	{ P "container", METRIC_INFO, "", PROCESS ",image", "The image of a process's container.",
	  METRIC_IMAGE, VALUE_IF_ANY(ONE_VALUE) },
	{ P "process_cpu_seconds", METRIC_COUNTER, SECONDS, PROCESS,
	  "CPU time that processes used inside windows; with --resources.", METRIC_USAGE,
	  VALUE(USAGE_CPU) },
	{ P "resident_memory_bytes", METRIC_GAUGE, BYTES, PROCESS,
	  "Resident memory of processes at the end of the last sample; with --resources.",
	  METRIC_USAGE, VALUE_IF_ANY(USAGE_MEMORY) },
	{ P "resident_memory_peak_bytes", METRIC_GAUGE, BYTES, PROCESS,
	  "The most resident memory that processes have had since they began; with --resources.",
	  METRIC_USAGE, VALUE_IF_ANY(USAGE_PEAK) },
	{ P "tcp_retransmissions", METRIC_COUNTER, "", PROCESS,
	  "TCP segments sent again by sockets that processes had open at the end of a window. "
	  "Several sent again at once count as one; with --resources.",
	  METRIC_USAGE, VALUE(USAGE_RESENT) },
	{ P "threads", METRIC_GAUGE, "", "thread", "Threads alive at the end of the last sample.",
	  METRIC_THREAD, VALUE(THREAD_MEMBERS) },
	{ P "ended_threads", METRIC_COUNTER, "", "thread", "Threads that ended inside a window.",
	  METRIC_THREAD, VALUE(THREAD_ENDED) },
	{ P "thread_seconds", METRIC_COUNTER, SECONDS, "thread,state",
	  "Time that threads spent in each state; the states of a thread add up to its life inside "
	  "the windows.",
	  METRIC_THREAD, POINTS(LEDGER_WORDS(STATE_POINT)) },
	{ P "thread_exec_seconds", METRIC_COUNTER, SECONDS, "thread",
	  "Run time by the kernel's own count (sum_exec_runtime), in samples that have it.",
	  METRIC_THREAD, VALUE_IF_ANY(THREAD_EXEC) },
	{ P "thread_periods", METRIC_COUNTER, "", "thread,state",
	  "Periods in a state that began and ended inside a window.", METRIC_THREAD,
	  POINTS(PERIOD_WORDS(PERIOD_POINT, PERIOD_POINT)) },
	{ P "thread_period_seconds", METRIC_COUNTER, SECONDS, "thread,state",
	  "Total length of the periods that thread_periods counts.", METRIC_THREAD,
	  POINTS(PERIOD_WORDS(PERIOD_NS_POINT, PERIOD_NS_POINT)) },
	{ P "thread_max_seconds", METRIC_GAUGE, SECONDS, "thread,state",
	  "The longest period in a state, of the last one to two minutes: one that ended inside a "
	  "window, or what a window's end had seen of one that went on.",
	  METRIC_THREAD, POINTS(PERIOD_WORDS(PERIOD_MAX_POINT, PERIOD_MAX_POINT)) },
	{ P "thread_open_seconds", METRIC_GAUGE, SECONDS, "thread,state",
	  "How long threads had been in their state at the end of the last sample: the longest.",
	  METRIC_THREAD, POINTS(OPEN_PERIOD_WORDS(PERIOD_OPEN_POINT, PERIOD_OPEN_POINT)) },
	{ P "thread_min_seconds", METRIC_GAUGE, SECONDS, "thread,state",
	  "The shortest period in a state that began and ended in the last sample.", METRIC_THREAD,
	  POINTS(PERIOD_WORDS(PERIOD_MIN_POINT, NO_POINT)) },
	{ P "thread_period_duration_seconds", METRIC_HISTOGRAM, SECONDS, "thread,state",
	  "Lengths of periods in a state that ended inside a window, wherever they began; with "
	  "--histogram.",
	  METRIC_PERIOD_TIMES, VALUE(0) },
	THREAD_COUNTERS(COUNTER_FAMILY, FIGURE_POINT,
			FIGURE_POINT) /* "context_switches" and so on */
	{ P "used_cpus", METRIC_GAUGE, "", "thread", "CPUs that threads ran on in the last sample.",
	  METRIC_THREAD, VALUE(THREAD_CPUS) },

	{ P "ready_by_seconds", METRIC_COUNTER, SECONDS, "thread,culprit",
	  "Time that threads waited for a CPU or were throttled, by the name of who had the CPU, "
	  "or hardirq, softirq, idle, throttled, deadline, stolen, own, rest, unexplained. "
	  "Each thread has up to 16 names; the rest is other.",
	  METRIC_READY_BY, VALUE(EVENTS_TOTAL) },
	{ P "ready_by_max_seconds", METRIC_GAUGE, SECONDS, "thread,culprit",
	  "The longest that a culprit kept a thread from its CPU in one wait, in the last one to "
	  "two minutes.",
	  METRIC_READY_BY, VALUE(EVENTS_MAX) },
	EVENTS_NAMED(METRIC_BLOCKED, "blocked", "blocked", "thread,kind", VALUE,
		     "Sleeps, interruptible or not, that ended inside a window, by what the thread "
		     "waited for.",
		     "Time asleep inside windows, by what the thread waited for; all kinds add up "
		     "to its states blocked and blocked_uninterruptible.",
		     "The longest sleep, as a whole or so far, in the last one to two minutes."),
	EVENTS_NAMED(
		METRIC_OVERSLEPT, "overslept", "overslept", "thread", VALUE,
		"Sleeps that ran into their time-out, where that and the end of the sleep lie "
		"inside a window.",
		"How much later than their time-out sleeps ended.",
		"The latest end of a sleep after its time-out, in the last one to two minutes."),
	LIST_EVENTS(LIST_STOPS, stop_list),
	LIST_FAMILY(LIST_MOVERS, mover_list, METRIC_COUNTER, ROW_COUNT, "", EVENTS_COUNT),
	EVENTS(METRIC_DISK, "disk_request", "device", VALUE,
	       "Requests to disks whose completion ended a wait of a thread. Up to 16 disks have "
	       "names; the rest is other.",
	       "Time that the disk took for the requests that ended waits, from when its driver "
	       "got them.",
	       LONGEST("request to a disk that ended a wait")),

	LIST_FAMILY(LIST_COUNTERS, counter_list, METRIC_COUNTER, ROW_COUNT, "", EVENTS_COUNT),
	{ P "io_calls", METRIC_COUNTER, "", "thread,kind,direction",
	  "System calls that read or wrote, by kind of descriptor: network, file, pipe (unix "
	  "sockets, too), tty, other. Calls that failed do not count; with --resources.",
	  METRIC_IO, IO_POINTS(IO_READ_CALLS, IO_WRITTEN_CALLS) },
	{ P "io_bytes", METRIC_COUNTER, BYTES, "thread,kind,direction",
	  "Bytes that system calls read or wrote, by kind of descriptor; with --resources.",
	  METRIC_IO, IO_POINTS(IO_READ_BYTES, IO_WRITTEN_BYTES) },
	{ P "io_uring_calls", METRIC_COUNTER, "", "thread",
	  "Calls of io_uring_enter; what they read and wrote is not in io_bytes.", METRIC_THREAD,
	  VALUE_IF_ANY(THREAD_RINGS) },
	LIST_EVENTS(LIST_BLOCKS, block_list),
	LIST_FAMILY(LIST_BLOCKS, block_list, METRIC_COUNTER, ROW_BYTES, BYTES, LIST_BYTES),
	LIST_DISTRIBUTION(LIST_BLOCKS, block_list),
	EVENTS(METRIC_CALL, "syscall", "thread,syscall", VALUE,
	       "System calls that began and returned inside the same window.",
	       "Time in system calls that began and returned inside the same window.",
	       "The longest system call of the last one to two minutes: one that returned inside "
	       "a window, or what a window's end had seen of one that went on."),
	{ P "syscall_duration_seconds", METRIC_HISTOGRAM, SECONDS, "thread,syscall",
	  "Durations of system calls that returned inside a window, wherever they began; with "
	  "--histogram.",
	  METRIC_CALL_TIMES, VALUE(0) },
	SAMPLE_FIGURES_CALLS(RUN_FAMILY) /* "syscall_entry_seconds" */
	EVENTS(METRIC_OPEN_CALL, "open_syscall", "thread,syscall", VALUE_IF_ANY,
	       "System calls in progress at an edge of a window.",
	       "Time inside windows of system calls in progress at an edge.",
	       "The longest that a system call had been in progress at the end of a window, in "
	       "the last one to two minutes."),
	LIST_EVENTS(LIST_HARDIRQS, hardirq_list),
	SAMPLE_FIGURES_IRQS(RUN_FAMILY) /* "hardirq_entry_seconds" and so on */
	LIST_EVENTS(LIST_SOFTIRQS, softirq_list),
	EVENTS(METRIC_INTERRUPTION, "interruption", "thread,cause", VALUE,
	       "Interruptions of threads, however short, by each cause that had a part in them: "
	       "hardirq, softirq, preempted, throttled, page_fault, stolen, unexplained; with "
	       "--interruptions.",
	       "Time that each cause of interruptions took from threads.",
	       LONGEST("interruption by that cause")),
	EVENTS(METRIC_LATE_TICK, "late_tick", "thread", VALUE,
	       "Interruptions in which a tick of the thread's CPU came at least 0.1 ms late, since "
	       "that CPU did not run; with --interruptions.",
	       "By how much ticks came late.", LONGEST("delay of a tick")),

	EVENTS(METRIC_SOFTIRQ_DELAY, "softirq_delay", "cpu,vector", VALUE,
	       "Softirqs that a CPU ran after they had been raised on it, of whatever process they "
	       "were for; with --interruptions.",
	       "Time from raising softirqs until they ran.",
	       LONGEST("time from raising a softirq until it ran")),

	EVENTS(METRIC_SLOW_CALL, "slow_syscall", "thread,syscall", VALUE,
	       "System calls listed as slow, unfinished ones, too; with -s.",
	       "Time in system calls listed as slow, up to the end of the window.",
	       LONGEST("slow system call")),
	EVENTS(METRIC_WAIT, "wait", "thread,state", VALUE, "Waits listed as long; with --off-cpu.",
	       "Time in waits listed as long.", LONGEST("wait")),
	EVENTS(METRIC_WAIT_END, "wait_end", "thread,context", VALUE,
	       "Long waits for anything but a CPU, by the context that ended them; with --off-cpu.",
	       "Time in long waits, by the context that ended them.",
	       LONGEST("wait that this context ended")),
	{ P "profile_samples", METRIC_COUNTER, "", "thread,mode",
	  "Samples of running code, by the mode of the CPU; with --profile.", METRIC_PROFILE,
	  VALUE(ONE_VALUE) },
	SAMPLE_FIGURES_TRACES(RUN_FAMILY) /* "slow_syscall_threshold_seconds" and so on */

	{ P "upcalls", METRIC_COUNTER, "", "cpu,error",
	  "Upcalls of Open vSwitch by the error they ended with, if any.", METRIC_UPCALL,
	  VALUE(ONE_VALUE) },
	{ P "trigger_hits", METRIC_COUNTER, "", "trigger,result",
	  "Hits of triggers, by what they did.", METRIC_TRIGGER,
	  POINTS(OUTCOME_WORDS(OUTCOME_POINT)) },
	{ P "trigger_unmet_conditions", METRIC_COUNTER, "", "trigger,condition",
	  "Hits that did not count: the trigger's condition was false, or it could not be tested "
	  "since the memory was not there (unread).",
	  METRIC_TRIGGER,
	  POINTS({ "condition=\"false\"", TRIGGER_UNMET, true },
		 { "condition=\"unread\"", TRIGGER_UNREAD, true }) },
	{ P "trigger_cost_seconds", METRIC_COUNTER, SECONDS, "trigger",
	  "Estimated time that the triggers' probes took from threads.", METRIC_TRIGGER,
	  VALUE_IF_ANY(TRIGGER_COST) },
	TRIGGER_FIGURES(RUN_FAMILY) /* "trigger_foreign_hits" and so on */

	{ P "lost_events", METRIC_COUNTER, "", "reason",
	  "What is missing from the other metrics, by reason. Those of series are values left out "
	  "to keep the number of series low.",
	  METRIC_LOSS, VALUE(ONE_VALUE) },
	/* clang-format off */
	STATISTIC_FAMILY(METRIC_STATISTIC_TIME, "over_samples_seconds", SECONDS,
		"Times of a thread over all samples of a run, at its end; threads have their TID. "
		"Of 16 threads the 16 measures that vary most, and all of the sum of threads.",
		.billionths = false)
	STATISTIC_FAMILY(METRIC_STATISTIC_COUNT, "over_samples", "",
		"Counts of a thread over all samples of a run, as in over_samples_seconds.",
		.billionths = true)
	STATISTIC_FAMILY(METRIC_STATISTIC_RATE, "over_samples_per_second", "",
		"Rates of a thread over all samples of a run, as in over_samples_seconds; those of "
		"times are shares, up to 1 for each thread.",
		.billionths = true)
	/* clang-format on */
	SAMPLE_FIGURES_LOSSES(RUN_FAMILY) /* "unreported_switches" and so on */
	{ P "absent_sections", METRIC_GAUGE, "", "section",
	  "1 for each section of the report that this kernel does not allow, or not in full.",
	  METRIC_ABSENCE, VALUE_IF_ANY(ONE_VALUE) },
	SAMPLE_FIGURES_OWN(RUN_FAMILY) /* "own_cpu_seconds" and so on */
};

const size_t metric_n_families = sizeof(metric_families) / sizeof(*metric_families);

const char *metric_family_name(const struct metric_family *family)
{
	return family->list ? family->list->metrics[family->figure].name : family->name;
}

const char *metric_family_help(const struct metric_family *family)
{
	return family->list ? family->list->metrics[family->figure].help : family->help;
}

static void labels_add(struct columns *columns, const struct metric_family *family)
{
	const struct field *field = family->list ? family->list->fields : NULL;

	columns_add(columns, field ? "thread" : *family->labels ? family->labels : "-");
	for (; field && field->key; field++)
		if (field->label)
			columns_print(columns, ",%s", field->label);
}

const char *metric_type_name(enum metric_type type)
{
	static const char *const names[] = {
		[METRIC_COUNTER] = "counter",
		[METRIC_GAUGE] = "gauge",
		[METRIC_INFO] = "info",
		[METRIC_HISTOGRAM] = "histogram",
	};

	return names[type];
}

int metrics_list(FILE *out)
{
	struct columns columns;

	columns_begin(&columns, out);
	columns_left(&columns, "NAME", 44);
	columns_add(&columns, "TYPE       UNIT     LABELS\n");
	for (size_t i = 0; i < metric_n_families; i++) {
		const struct metric_family *family = &metric_families[i];

		columns_left(&columns, metric_family_name(family), 44);
		columns_left(&columns, metric_type_name(family->type), 11);
		columns_left(&columns, *family->unit ? family->unit : "-", 9);
		labels_add(&columns, family);
		columns_add(&columns, "\n    ");
		columns_add(&columns, metric_family_help(family));
		columns_add(&columns, "\n");
	}
	return columns_end(&columns);
}
