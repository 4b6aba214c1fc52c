// SPDX-License-Identifier: Apache-2.0
/* The list of all metrics. Names, types, units and labels are a contract with those
 * who have stored them: man/kernel_delay-metrics.5. */
#include "metrics.h"

#include "columns.h"
#include "metric_family.h"

#define P "kernel_delay_"
#define SECONDS "seconds"
#define POINTS(...)                                                                                \
	.points = (const struct metric_point[]){ __VA_ARGS__ },                                    \
	.n_points = sizeof((const struct metric_point[]){ __VA_ARGS__ }) /                         \
		    sizeof(struct metric_point)
#define VALUE(of) POINTS({ "", of, false })
#define VALUE_IF_ANY(of) POINTS({ "", of, true })

const struct metric_columns metric_columns[METRIC_KINDS] = {
	[METRIC_BUILD] = { ONE_COLUMN, 0, 0, ONE_COLUMN },
	[METRIC_CAPTURE] = { ONE_COLUMN, 0, 0, 0 },
	[METRIC_ENDING] = { ONE_COLUMN, 0, 0, ONE_COLUMN },
	[METRIC_RUN] = { RUN_COLUMNS, 0, 0, RUN_DUMP },
	[METRIC_WINDOW] = { HISTOGRAM_COLUMNS, 0, 0, HISTOGRAM_COLUMNS },
	[METRIC_TRIGGER] = { TRIGGER_COLUMNS, 0, 0, TRIGGER_COLUMNS },
	[METRIC_UPCALL] = { ONE_COLUMN, 0, 0, ONE_COLUMN },
	[METRIC_LOSS] = { ONE_COLUMN, 0, 0, ONE_COLUMN },
	[METRIC_ABSENCE] = { ONE_COLUMN, 0, 0, 0 },
	[METRIC_THREAD] = { THREAD_COLUMNS, THREAD_MAX, PERIODS, THREAD_MEMBERS },
	[METRIC_CALL] = { EVENTS_COLUMNS, EVENTS_MAX, 1, EVENTS_COLUMNS },
	[METRIC_OPEN_CALL] = { EVENTS_COLUMNS, EVENTS_MAX, 1, EVENTS_COLUMNS },
	[METRIC_HARDIRQ] = { EVENTS_COLUMNS, EVENTS_MAX, 1, EVENTS_COLUMNS },
	[METRIC_SOFTIRQ] = { EVENTS_COLUMNS, EVENTS_MAX, 1, EVENTS_COLUMNS },
	[METRIC_SLOW_CALL] = { EVENTS_COLUMNS, EVENTS_MAX, 1, EVENTS_COLUMNS },
	[METRIC_WAIT] = { EVENTS_COLUMNS, EVENTS_MAX, 1, EVENTS_COLUMNS },
	[METRIC_PROFILE] = { ONE_COLUMN, 0, 0, ONE_COLUMN },
	[METRIC_PERIOD_TIMES] = { HISTOGRAM_COLUMNS, 0, 0, HISTOGRAM_COLUMNS },
	[METRIC_CALL_TIMES] = { HISTOGRAM_COLUMNS, 0, 0, HISTOGRAM_COLUMNS },
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

const char *const metric_states[LEDGER_STATES] = {
	[LEDGER_USER] = "user",
	[LEDGER_KERNEL] = "kernel",
	[LEDGER_HARDIRQ] = "hardirq",
	[LEDGER_SOFTIRQ] = "softirq",
	[LEDGER_READY_WOKEN] = "ready_woken",
	[LEDGER_READY_PREEMPTED] = "ready_preempted",
	[LEDGER_BLOCKED] = "blocked",
	[LEDGER_BLOCKED_UNINT] = "blocked_uninterruptible",
	[LEDGER_STOPPED] = "stopped",
};

/* In the order in which they are written. */
const struct metric_family metric_families[] = {
	{ P "build", METRIC_INFO, "", "version", "The program that took the samples.", METRIC_BUILD,
	  VALUE(ONE_VALUE) },
	{ P "capture", METRIC_INFO, "", "process,pid,host,kernel,start_trigger,stop_trigger",
	  "What was sampled; triggers as they were given.", METRIC_CAPTURE,
	  VALUE_IF_ANY(ONE_VALUE) },
	{ P "captures", METRIC_COUNTER, "", "result",
	  "Samples by how they ended; skipped are windows shorter than the trigger delta.",
	  METRIC_ENDING, VALUE(ONE_VALUE) },
	{ P "measured_seconds", METRIC_COUNTER, SECONDS, "", "Time inside the windows of samples.",
	  METRIC_RUN, VALUE(RUN_MEASURED) },
	{ P "last_sample_timestamp_seconds", METRIC_GAUGE, SECONDS, "",
	  "When the last sample was reported, in seconds since 1970.", METRIC_RUN,
	  VALUE_IF_ANY(RUN_DUMP) },
	{ P "window_seconds", METRIC_HISTOGRAM, SECONDS, "",
	  "Durations from start to stop trigger, of skipped windows too; without both of these "
	  "triggers, durations of samples.",
	  METRIC_WINDOW, VALUE(0) },

	{ P "threads", METRIC_GAUGE, "", "thread", "Threads alive at the end of the last sample.",
	  METRIC_THREAD, VALUE(THREAD_MEMBERS) },
	{ P "ended_threads", METRIC_COUNTER, "", "thread", "Threads that ended inside a window.",
	  METRIC_THREAD, VALUE(THREAD_ENDED) },
	{ P "thread_seconds", METRIC_COUNTER, SECONDS, "thread,state",
	  "Time of threads by state; the states of a thread add up to its life inside the windows.",
	  METRIC_THREAD,
	  POINTS({ "state=\"user\"", LEDGER_USER, false },
		 { "state=\"kernel\"", LEDGER_KERNEL, false },
		 { "state=\"hardirq\"", LEDGER_HARDIRQ, false },
		 { "state=\"softirq\"", LEDGER_SOFTIRQ, false },
		 { "state=\"ready_woken\"", LEDGER_READY_WOKEN, false },
		 { "state=\"ready_preempted\"", LEDGER_READY_PREEMPTED, false },
		 { "state=\"blocked\"", LEDGER_BLOCKED, false },
		 { "state=\"blocked_uninterruptible\"", LEDGER_BLOCKED_UNINT, false },
		 { "state=\"stopped\"", LEDGER_STOPPED, false }) },
	{ P "thread_exec_seconds", METRIC_COUNTER, SECONDS, "thread",
	  "The kernel's own count of run time, of samples in which it is known.", METRIC_THREAD,
	  VALUE_IF_ANY(THREAD_EXEC) },
	{ P "thread_periods", METRIC_COUNTER, "", "thread,state",
	  "Periods in a state that began and ended inside a window.", METRIC_THREAD,
	  POINTS({ "state=\"running\"", THREAD_PERIODS + PERIOD_RUNNING, false },
		 { "state=\"ready\"", THREAD_PERIODS + PERIOD_READY, false },
		 { "state=\"stopped\"", THREAD_PERIODS + PERIOD_STOPPED, false },
		 { "state=\"long_poll\"", THREAD_PERIODS + PERIOD_LONG_POLL, true }) },
	{ P "thread_period_seconds", METRIC_COUNTER, SECONDS, "thread,state",
	  "Durations of the periods of thread_periods.", METRIC_THREAD,
	  POINTS({ "state=\"running\"", THREAD_PERIOD_NS + PERIOD_RUNNING, false },
		 { "state=\"ready\"", THREAD_PERIOD_NS + PERIOD_READY, false },
		 { "state=\"stopped\"", THREAD_PERIOD_NS + PERIOD_STOPPED, false },
		 { "state=\"long_poll\"", THREAD_PERIOD_NS + PERIOD_LONG_POLL, true }) },
	{ P "thread_max_seconds", METRIC_GAUGE, SECONDS, "thread,state",
	  "The longest of these periods, of the last one to two minutes.", METRIC_THREAD,
	  POINTS({ "state=\"running\"", THREAD_MAX + PERIOD_RUNNING, false },
		 { "state=\"ready\"", THREAD_MAX + PERIOD_READY, false },
		 { "state=\"stopped\"", THREAD_MAX + PERIOD_STOPPED, false },
		 { "state=\"long_poll\"", THREAD_MAX + PERIOD_LONG_POLL, true }) },
	{ P "thread_min_seconds", METRIC_GAUGE, SECONDS, "thread,state",
	  "The shortest of these periods, of the last sample.", METRIC_THREAD,
	  POINTS({ "state=\"running\"", THREAD_MIN_RUNNING, true },
		 { "state=\"long_poll\"", THREAD_MIN_LONG_POLL, true }) },
	{ P "thread_period_duration_seconds", METRIC_HISTOGRAM, SECONDS, "thread,state",
	  "How the durations of the periods of thread_periods are distributed; with --histogram.",
	  METRIC_PERIOD_TIMES, VALUE(0) },
	{ P "context_switches", METRIC_COUNTER, "", "thread,type",
	  "Switches away from threads: they waited, or were preempted.", METRIC_THREAD,
	  POINTS({ "type=\"voluntary\"", THREAD_VOLUNTARY, false },
		 { "type=\"involuntary\"", THREAD_INVOLUNTARY, false }) },
	{ P "migrations", METRIC_COUNTER, "", "thread", "Moves of threads to another CPU.",
	  METRIC_THREAD, VALUE(THREAD_MIGRATIONS) },
	{ P "used_cpus", METRIC_GAUGE, "", "thread", "CPUs that threads ran on in the last sample.",
	  METRIC_THREAD, VALUE(THREAD_CPUS) },

	{ P "syscalls", METRIC_COUNTER, "", "thread,syscall",
	  "System calls that returned inside a window they began in.", METRIC_CALL,
	  VALUE(EVENTS_COUNT) },
	{ P "syscall_seconds", METRIC_COUNTER, SECONDS, "thread,syscall", "Their durations.",
	  METRIC_CALL, VALUE(EVENTS_TOTAL) },
	{ P "syscall_max_seconds", METRIC_GAUGE, SECONDS, "thread,syscall",
	  "The longest of them, of the last one to two minutes.", METRIC_CALL, VALUE(EVENTS_MAX) },
	{ P "syscall_duration_seconds", METRIC_HISTOGRAM, SECONDS, "thread,syscall",
	  "How the durations of system calls are distributed; with --histogram.", METRIC_CALL_TIMES,
	  VALUE(0) },
	{ P "open_syscalls", METRIC_COUNTER, "", "thread,syscall",
	  "System calls that were open at an edge of a window.", METRIC_OPEN_CALL,
	  VALUE(EVENTS_COUNT) },
	{ P "open_syscall_seconds", METRIC_COUNTER, SECONDS, "thread,syscall",
	  "Their time inside the window.", METRIC_OPEN_CALL, VALUE(EVENTS_TOTAL) },
	{ P "hardirqs", METRIC_COUNTER, "", "thread,action",
	  "Hard interrupts that came while a thread ran; [unhandled] by that action.",
	  METRIC_HARDIRQ, VALUE(EVENTS_COUNT) },
	{ P "hardirq_seconds", METRIC_COUNTER, SECONDS, "thread,action", "Their durations.",
	  METRIC_HARDIRQ, VALUE(EVENTS_TOTAL) },
	{ P "hardirq_max_seconds", METRIC_GAUGE, SECONDS, "thread,action",
	  "The longest of them, of the last one to two minutes.", METRIC_HARDIRQ,
	  VALUE(EVENTS_MAX) },
	{ P "softirqs", METRIC_COUNTER, "", "thread,vector",
	  "Soft interrupts that came while a thread ran.", METRIC_SOFTIRQ, VALUE(EVENTS_COUNT) },
	{ P "softirq_seconds", METRIC_COUNTER, SECONDS, "thread,vector", "Their durations.",
	  METRIC_SOFTIRQ, VALUE(EVENTS_TOTAL) },
	{ P "softirq_max_seconds", METRIC_GAUGE, SECONDS, "thread,vector",
	  "The longest of them, of the last one to two minutes.", METRIC_SOFTIRQ,
	  VALUE(EVENTS_MAX) },

	{ P "slow_syscalls", METRIC_COUNTER, "", "thread,syscall",
	  "System calls that were listed as slow, unfinished ones too.", METRIC_SLOW_CALL,
	  VALUE(EVENTS_COUNT) },
	{ P "slow_syscall_seconds", METRIC_COUNTER, SECONDS, "thread,syscall",
	  "Their durations, up to the end of the window.", METRIC_SLOW_CALL, VALUE(EVENTS_TOTAL) },
	{ P "slow_syscall_max_seconds", METRIC_GAUGE, SECONDS, "thread,syscall",
	  "The longest of them, of the last one to two minutes.", METRIC_SLOW_CALL,
	  VALUE(EVENTS_MAX) },
	{ P "waits", METRIC_COUNTER, "", "thread,state", "Waits that were listed as long.",
	  METRIC_WAIT, VALUE(EVENTS_COUNT) },
	{ P "wait_seconds", METRIC_COUNTER, SECONDS, "thread,state", "Their durations.",
	  METRIC_WAIT, VALUE(EVENTS_TOTAL) },
	{ P "wait_max_seconds", METRIC_GAUGE, SECONDS, "thread,state",
	  "The longest of them, of the last one to two minutes.", METRIC_WAIT, VALUE(EVENTS_MAX) },
	{ P "profile_samples", METRIC_COUNTER, "", "thread,mode",
	  "Samples of running code, by where the thread was.", METRIC_PROFILE, VALUE(ONE_VALUE) },
	{ P "slow_syscall_threshold_seconds", METRIC_GAUGE, SECONDS, "",
	  "From which duration on system calls are slow.", METRIC_RUN,
	  VALUE_IF_ANY(RUN_CALL_THRESHOLD) },
	{ P "wait_threshold_seconds", METRIC_GAUGE, SECONDS, "",
	  "From which duration on waits are long.", METRIC_RUN, VALUE_IF_ANY(RUN_WAIT_THRESHOLD) },
	{ P "profile_frequency_hertz", METRIC_GAUGE, "hertz", "",
	  "Samples of running code per second and CPU.", METRIC_RUN, VALUE_IF_ANY(RUN_PROFILE_HZ) },

	{ P "upcalls", METRIC_COUNTER, "", "cpu,error",
	  "Upcalls of Open vSwitch by the error they ended with, if any.", METRIC_UPCALL,
	  VALUE(ONE_VALUE) },
	{ P "trigger_hits", METRIC_COUNTER, "", "trigger,result",
	  "Hits of triggers by what became of them.", METRIC_TRIGGER,
	  POINTS({ "result=\"used\"", KD_HIT_USED, false },
		 { "result=\"skipped\"", KD_HIT_SKIPPED, false },
		 { "result=\"missed\"", KD_HIT_MISSED, false },
		 { "result=\"overlapped\"", KD_HIT_OVERLAPPED, false },
		 { "result=\"idle\"", KD_HIT_IDLE, false },
		 { "result=\"unmatched\"", KD_HIT_UNMATCHED, false }) },
	{ P "trigger_cost_seconds", METRIC_COUNTER, SECONDS, "trigger",
	  "Time that the triggers' probes took from threads, estimated.", METRIC_TRIGGER,
	  VALUE_IF_ANY(TRIGGER_COST) },
	{ P "trigger_foreign_hits", METRIC_COUNTER, "", "", "Hits of triggers by other processes.",
	  METRIC_RUN, VALUE(RUN_FOREIGN) },
	{ P "nested_windows", METRIC_COUNTER, "", "",
	  "Windows not shorter than the trigger delta that began while another one was open.",
	  METRIC_RUN, VALUE(RUN_NESTED) },

	{ P "lost_events", METRIC_COUNTER, "", "reason",
	  "What is missing in the other metrics. For series: values that were left out.",
	  METRIC_LOSS, VALUE(ONE_VALUE) },
	{ P "unreported_switches", METRIC_COUNTER, "", "",
	  "Context switches that the kernel did not report.", METRIC_RUN, VALUE(RUN_RESYNCED) },
	{ P "limited_stacks", METRIC_COUNTER, "", "", "User stacks left out by the rate limit.",
	  METRIC_RUN, VALUE(RUN_LIMITED) },
	{ P "incomplete_stacks", METRIC_COUNTER, "", "", "User stacks that end too early.",
	  METRIC_RUN, VALUE(RUN_INCOMPLETE) },
	{ P "absent_sections", METRIC_GAUGE, "", "section",
	  "1 for each section of the report that this kernel does not allow, or not all of it.",
	  METRIC_ABSENCE, VALUE_IF_ANY(ONE_VALUE) },
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

size_t metric_kind_series(enum metric_kind kind)
{
	size_t series = 0;

	for (size_t i = 0; i < metric_n_families; i++) {
		const struct metric_family *family = &metric_families[i];

		if (family->kind == kind)
			series += family->type == METRIC_HISTOGRAM ? METRIC_BUCKETS + 3
								   : family->n_points;
	}
	return series;
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
