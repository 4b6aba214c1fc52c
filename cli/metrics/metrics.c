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
#define METRIC_LIST(of) METRIC_LISTS + LIST_##of
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
#define LONGEST "The longest of them over the last one to two minutes."

const struct metric_columns metric_columns[METRIC_KINDS] = {
	[METRIC_BUILD] = { ONE_COLUMN, 0, 0, ONE_COLUMN },
	[METRIC_CAPTURE] = { ONE_COLUMN, 0, 0, 0 },
	[METRIC_ENDING] = { ONE_COLUMN, 0, 0, ONE_COLUMN },
	[METRIC_RUN] = { RUN_COLUMNS, 0, 0, RUN_COLUMNS },
	[METRIC_WINDOW] = { HISTOGRAM_COLUMNS, 0, 0, HISTOGRAM_COLUMNS },
	[METRIC_TRIGGER] = { TRIGGER_COLUMNS, 0, 0, TRIGGER_COLUMNS },
	[METRIC_BUSY... METRIC_LOSS] = { ONE_COLUMN, 0, 0, ONE_COLUMN },
	[METRIC_ABSENCE] = { ONE_COLUMN, 0, 0, 0 },
	[METRIC_DISK] = { EVENTS_COLUMNS, EVENTS_MAX, 1, EVENTS_COLUMNS },
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
	  "Samples by how they ended; skipped ones are windows shorter than the trigger delta.",
	  METRIC_ENDING, VALUE(ONE_VALUE) },
	SAMPLE_FIGURES_WINDOW(RUN_FAMILY) /* "measured_seconds" and so on */
	{ P "window_seconds", METRIC_HISTOGRAM, SECONDS, "",
	  "Durations from start to stop trigger, also of skipped windows; without both triggers, "
	  "durations of samples.",
	  METRIC_WINDOW, VALUE(0) },

	{ P "busy_seconds", METRIC_COUNTER, SECONDS, "",
	  "Life of all threads inside the windows, less what they waited for work.", METRIC_BUSY,
	  VALUE(ONE_VALUE) },
	{ P "kept_seconds", METRIC_COUNTER, SECONDS, "cause",
	  "The part of busy_seconds in which threads were kept from running, by what kept them.",
	  METRIC_CAUSE, VALUE(ONE_VALUE) },
	{ P "processes", METRIC_GAUGE, "", PROCESS,
	  "Processes alive at the end of the last sample, if the target may be several.",
	  METRIC_PROCESS, VALUE(PROCESS_ALIVE) },
	{ P "began_processes", METRIC_COUNTER, "", PROCESS, "Processes that began inside a window.",
	  METRIC_PROCESS, VALUE(PROCESS_BEGAN) },
	{ P "ended_processes", METRIC_COUNTER, "", PROCESS, "Processes that ended inside a window.",
	  METRIC_PROCESS, VALUE(PROCESS_ENDED) },
	{ P "process_busy_seconds", METRIC_COUNTER, SECONDS, PROCESS,
	  "The part of busy_seconds that is of these processes.", METRIC_PROCESS,
	  VALUE(PROCESS_BUSY) },
	{ P "process_kept_seconds", METRIC_COUNTER, SECONDS, PROCESS,
	  "The part of that in which they were kept from running.", METRIC_PROCESS,
	  VALUE(PROCESS_DELAY) },
	{ P "container", METRIC_INFO, "", PROCESS ",image", "The images of processes' containers.",
	  METRIC_IMAGE, VALUE_IF_ANY(ONE_VALUE) },
	{ P "process_cpu_seconds", METRIC_COUNTER, SECONDS, PROCESS,
	  "CPU time of processes inside the windows; this and what follows of bytes, memory and "
	  "requests with --resources.",
	  METRIC_USAGE, VALUE(USAGE_CPU) },
	{ P "resident_memory_bytes", METRIC_GAUGE, BYTES, PROCESS,
	  "Resident memory of processes at the end of the last sample.", METRIC_USAGE,
	  VALUE_IF_ANY(USAGE_MEMORY) },
	{ P "resident_memory_peak_bytes", METRIC_GAUGE, BYTES, PROCESS,
	  "The most that they have had in their lives.", METRIC_USAGE, VALUE_IF_ANY(USAGE_PEAK) },
	{ P "tcp_retransmissions", METRIC_COUNTER, "", PROCESS,
	  "Segments that TCP sent again, of sockets that processes had open at a window's end; "
	  "several that are sent again at once count as one.",
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
	  "The kernel's own count of run time, in samples for which it is known.", METRIC_THREAD,
	  VALUE_IF_ANY(THREAD_EXEC) },
	{ P "thread_periods", METRIC_COUNTER, "", "thread,state",
	  "Periods in a state that began and ended inside a window.", METRIC_THREAD,
	  POINTS(PERIOD_WORDS(PERIOD_POINT, PERIOD_POINT)) },
	{ P "thread_period_seconds", METRIC_COUNTER, SECONDS, "thread,state",
	  "Durations of the periods of thread_periods.", METRIC_THREAD,
	  POINTS(PERIOD_WORDS(PERIOD_NS_POINT, PERIOD_NS_POINT)) },
	{ P "thread_max_seconds", METRIC_GAUGE, SECONDS, "thread,state",
	  "The longest period that ended inside a window, wherever it began, or was still open at "
	  "its end, counted up to there; over the last one to two minutes.",
	  METRIC_THREAD, POINTS(PERIOD_WORDS(PERIOD_MAX_POINT, PERIOD_MAX_POINT)) },
	{ P "thread_open_seconds", METRIC_GAUGE, SECONDS, "thread,state",
	  "The longest period that was still open at the end of the last sample, counted up to "
	  "there.",
	  METRIC_THREAD, POINTS(OPEN_PERIOD_WORDS(PERIOD_OPEN_POINT, PERIOD_OPEN_POINT)) },
	{ P "thread_min_seconds", METRIC_GAUGE, SECONDS, "thread,state",
	  "The shortest of the periods of thread_periods in the last sample.", METRIC_THREAD,
	  POINTS(PERIOD_WORDS(PERIOD_MIN_POINT, NO_POINT)) },
	{ P "thread_period_duration_seconds", METRIC_HISTOGRAM, SECONDS, "thread,state",
	  "Distribution of the durations of periods that ended inside a window, wherever they "
	  "began; with --histogram.",
	  METRIC_PERIOD_TIMES, VALUE(0) },
	THREAD_COUNTERS(COUNTER_FAMILY, FIGURE_POINT,
			FIGURE_POINT) /* "context_switches" and so on */
	{ P "used_cpus", METRIC_GAUGE, "", "thread", "CPUs that threads ran on in the last sample.",
	  METRIC_THREAD, VALUE(THREAD_CPUS) },

	{ P "ready_by_seconds", METRIC_COUNTER, SECONDS, "thread,culprit",
	  "Time that threads waited for a CPU, or were throttled, by the name of who had the CPU, "
	  "or hardirq, softirq, idle, throttled, deadline, stolen, own, rest, unexplained. Of each "
	  "thread the first 16 have names, the others are other.",
	  METRIC_READY_BY, VALUE(EVENTS_TOTAL) },
	{ P "ready_by_max_seconds", METRIC_GAUGE, SECONDS, "thread,culprit",
	  "The most that one took in one wait; over the last one to two minutes.", METRIC_READY_BY,
	  VALUE(EVENTS_MAX) },
	EVENTS_NAMED(METRIC_BLOCKED, "blocked", "blocked", "thread,kind", VALUE,
		     "Sleeps, interruptible or not, that ended in a window, by what they waited "
		     "for.",
		     "Their time inside the windows; that of all kinds is that of the states "
		     "blocked and blocked_uninterruptible.",
		     "The longest of them, as a whole or so far; over the last one to two "
		     "minutes."),
	EVENTS_NAMED(METRIC_OVERSLEPT, "overslept", "overslept", "thread", VALUE,
		     "Sleeps that lasted until their time-out; it and their end lie inside a "
		     "window.",
		     "By how much they ended later than requested.",
		     "The largest of these times; over the last one to two minutes."),
	EVENTS_NAMED(METRIC_LIST(STOPS), "stopped_by", "stopped_by", "thread,kind,stopper", VALUE,
		     "Stops of which a part lies in a window: kind is signal, tracer or "
		     "unexplained, stopper the name of the signal's sender or the tracer, or "
		     "terminal. Of each thread the first 16 have names, the others are other.",
		     "Their time inside the windows; that of all is that of the state stopped.",
		     "The longest of them inside a window; over the last one to two minutes."),
	{ P "moved_by", METRIC_COUNTER, "", "thread,mover",
	  "Moves to another CPU that a call of sched_setaffinity caused (affinity in "
	  "migrations_by), by the name of the calling thread. Of each thread the first 16 names "
	  "are kept; the rest is other.",
	  METRIC_LIST(MOVERS), VALUE(EVENTS_COUNT) },
	EVENTS(METRIC_DISK, "disk_request", "device", VALUE,
	       "Requests to disks whose completion ended a wait of a thread; of the first 16 "
	       "disks, "
	       "the others are other.",
	       "How long they took since the driver got them.", LONGEST),

	{ P "perf_events", METRIC_COUNTER, "", "thread,event,cpu",
	  "Perf events that were counted while threads ran; cpu only with per-cpu of "
	  "--counters; with --counters.",
	  METRIC_LIST(COUNTERS), VALUE(EVENTS_COUNT) },
	{ P "io_calls", METRIC_COUNTER, "", "thread,kind,direction",
	  "System calls that read or wrote, by the kind of descriptor: network, file, pipe (also "
	  "unix sockets), tty, other. Those that failed are not counted.",
	  METRIC_IO, IO_POINTS(IO_READ_CALLS, IO_WRITTEN_CALLS) },
	{ P "io_bytes", METRIC_COUNTER, BYTES, "thread,kind,direction", "What they moved.",
	  METRIC_IO, IO_POINTS(IO_READ_BYTES, IO_WRITTEN_BYTES) },
	{ P "io_uring_calls", METRIC_COUNTER, "", "thread",
	  "Calls of io_uring_enter, whose bytes are in none of these.", METRIC_THREAD,
	  VALUE_IF_ANY(THREAD_RINGS) },
	EVENTS(METRIC_LIST(BLOCKS), "block_request", "thread,device,operation", VALUE,
	       "Requests to disks that threads made and that were completed inside a window: read, "
	       "write, other.",
	       "How long they took since they were made.", LONGEST),
	{ P "block_request_bytes", METRIC_COUNTER, BYTES, "thread,device,operation", "Their bytes.",
	  METRIC_LIST(BLOCKS), VALUE(LIST_BYTES) },
	{ P "block_request_duration_seconds", METRIC_HISTOGRAM, SECONDS, "thread,device,operation",
	  "Distribution of their durations.", METRIC_LIST_TIMES + LIST_BLOCKS, VALUE(0) },
	EVENTS(METRIC_CALL, "syscall", "thread,syscall", VALUE,
	       "System calls that returned inside a window they began in.", "Their durations.",
	       "The longest system call that returned inside a window, wherever it began, or was "
	       "still open at its end, counted up to there; over the last one to two minutes."),
	{ P "syscall_duration_seconds", METRIC_HISTOGRAM, SECONDS, "thread,syscall",
	  "Distribution of the durations of system calls that returned inside a window, wherever "
	  "they began; with --histogram.",
	  METRIC_CALL_TIMES, VALUE(0) },
	SAMPLE_FIGURES_CALLS(RUN_FAMILY) /* "syscall_entry_seconds" */
	EVENTS(METRIC_OPEN_CALL, "open_syscall", "thread,syscall", VALUE_IF_ANY,
	       "System calls that were open at an edge of a window.",
	       "Their time inside the window.",
	       "The longest that was still open at the end of a window, counted up to there; over "
	       "the last one to two minutes."),
	EVENTS(METRIC_LIST(HARDIRQS), "hardirq", "thread,action", VALUE,
	       "Hard interrupts that came while a thread ran; [unhandled] if that action did not "
	       "handle it.",
	       "Their durations.", LONGEST),
	SAMPLE_FIGURES_IRQS(RUN_FAMILY) /* "hardirq_entry_seconds" and so on */
	EVENTS(METRIC_LIST(SOFTIRQS), "softirq", "thread,vector", VALUE,
	       "Soft interrupts that came while a thread ran.", "Their durations.", LONGEST),
	EVENTS(METRIC_INTERRUPTION, "interruption", "thread,cause", VALUE,
	       "Interruptions of threads, however short, in which a cause had a part: hardirq, "
	       "softirq, "
	       "preempted, throttled, page_fault, stolen, unexplained; with --interruptions.",
	       "What those causes took.", LONGEST),
	EVENTS(METRIC_LATE_TICK, "late_tick", "thread", VALUE,
	       "Interruptions in which a tick of the thread's CPU came 0.1 ms late or more, as "
	       "that CPU did not run; with --interruptions.",
	       "How late they came.", LONGEST),

	EVENTS(METRIC_SLOW_CALL, "slow_syscall", "thread,syscall", VALUE,
	       "System calls that were listed as slow, including unfinished ones.",
	       "Their durations, up to the end of the window.", LONGEST),
	EVENTS(METRIC_WAIT, "wait", "thread,state", VALUE, "Waits that were listed as long.",
	       "Their durations.", LONGEST),
	EVENTS(METRIC_WAIT_END, "wait_end", "thread,context", VALUE,
	       "Listed waits for anything but a CPU, by the context that ended them.",
	       "Their durations.", LONGEST),
	{ P "profile_samples", METRIC_COUNTER, "", "thread,mode",
	  "Samples of running code, by where the thread was.", METRIC_PROFILE, VALUE(ONE_VALUE) },
	SAMPLE_FIGURES_TRACES(RUN_FAMILY) /* "slow_syscall_threshold_seconds" and so on */

	{ P "upcalls", METRIC_COUNTER, "", "cpu,error",
	  "Upcalls of Open vSwitch by the error they ended with, if any.", METRIC_UPCALL,
	  VALUE(ONE_VALUE) },
	{ P "trigger_hits", METRIC_COUNTER, "", "trigger,result",
	  "Hits of triggers, by what became of them.", METRIC_TRIGGER,
	  POINTS(OUTCOME_WORDS(OUTCOME_POINT)) },
	{ P "trigger_unmet_conditions", METRIC_COUNTER, "", "trigger,condition",
	  "Hits that did not count, as the trigger's condition was false, or could not be tested "
	  "(unread), as memory was not there.",
	  METRIC_TRIGGER,
	  POINTS({ "condition=\"false\"", TRIGGER_UNMET, true },
		 { "condition=\"unread\"", TRIGGER_UNREAD, true }) },
	{ P "trigger_cost_seconds", METRIC_COUNTER, SECONDS, "trigger",
	  "Estimated time that the triggers' probes took from threads.", METRIC_TRIGGER,
	  VALUE_IF_ANY(TRIGGER_COST) },
	TRIGGER_FIGURES(RUN_FAMILY) /* "trigger_foreign_hits" and so on */

	{ P "lost_events", METRIC_COUNTER, "", "reason",
	  "What is missing from the other metrics. For series: values that were left out.",
	  METRIC_LOSS, VALUE(ONE_VALUE) },
	STATISTIC_FAMILY(
		METRIC_STATISTIC_TIME, "over_samples_seconds", SECONDS,
		"What times of threads were over the samples of a run, at its end; with the "
		"TID. Of 16 threads those 16 measures that vary most, and all of all threads.",
		.billionths = false) STATISTIC_FAMILY(METRIC_STATISTIC_COUNT, "over_samples", "",
						      "The same of what is no time.",
						      .billionths = true)
		STATISTIC_FAMILY(METRIC_STATISTIC_RATE, "over_samples_per_second", "",
				 "The same of rates; of times these are shares of the time, up to "
				 "1 for each "
				 "thread.",
				 .billionths = true)
			SAMPLE_FIGURES_LOSSES(RUN_FAMILY) /* "unreported_switches" and so on */
	{ P "absent_sections", METRIC_GAUGE, "", "section",
	  "1 for each section of the report that this kernel does not allow, or not in full.",
	  METRIC_ABSENCE, VALUE_IF_ANY(ONE_VALUE) },
	SAMPLE_FIGURES_OWN(RUN_FAMILY) /* "own_cpu_seconds" and so on */
};

const size_t metric_n_families = sizeof(metric_families) / sizeof(*metric_families);

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

		columns_left(&columns, family->name, 44);
		columns_left(&columns, metric_type_name(family->type), 11);
		columns_left(&columns, *family->unit ? family->unit : "-", 9);
		columns_add(&columns, *family->labels ? family->labels : "-");
		columns_add(&columns, "\n    ");
		columns_add(&columns, family->help);
		columns_add(&columns, "\n");
	}
	return columns_end(&columns);
}
