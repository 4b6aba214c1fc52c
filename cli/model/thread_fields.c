// SPDX-License-Identifier: Apache-2.0
#include "thread_fields.h"

#include "words.h"

/* In this order they are written. Keys are a promise to readers: they are added to, never
 * changed. man/kernel_delay.schema.json says what they mean. */

#define LEDGER_FIELD(state, key, title, ...) FIELD_SUM(key "_ns", struct ledger, ns[state]),
static const struct field ledger_fields[] = {
	FIELD_SUM("life_ns", struct ledger, life),
	LEDGER_WORDS(LEDGER_FIELD) /* "user_ns" and so on */
	FIELD_FIGURE("sum_exec_runtime_ns", MERGE_SUM, struct ledger, exec,
		     .known = offsetof(struct ledger, exec_known)),
	FIELDS_END,
};

/* Not among the ledger's: those add up. */
static const struct field ticks_fields[] = {
	FIELD_FIGURE("user_ns", MERGE_SUM, struct thread_row, ledger.ticks_user,
		     .known = offsetof(struct thread_row, ledger.exec_known)),
	FIELD_FIGURE("system_ns", MERGE_SUM, struct thread_row, ledger.ticks_system,
		     .known = offsetof(struct thread_row, ledger.exec_known)),
	FIELDS_END,
};

#define CALL(key, kind, member, ...) FIELD(key, kind, struct call_row, member, __VA_ARGS__)
const struct field call_fields[] = {
	CALL("number", FIELD_CALL, number, .flags = FIELD_REQUIRED),
	FIELDS_COUNTED(struct call_row, ),
	CALL("buckets", FIELD_WHOLE, times, .of = OPEN_CALL),
	FIELDS_END,
};

#define THREAD(key, kind, member, ...) FIELD(key, kind, struct thread_row, member, __VA_ARGS__)
static const struct field run_fields[] = {
	FIELD_COUNT(struct thread_row, run.),
	FIELD_TOTAL(struct thread_row, run.),
	FIELD_MIN(struct thread_row, run.),
	FIELD_MAX(struct thread_row, run.),
	THREAD("buckets", FIELD_WHOLE, run_times, .of = OPEN_RUN),
	FIELDS_END,
};

static const struct field ready_fields[] = {
	FIELDS_COUNTED(struct thread_row, ready.),
	THREAD("buckets", FIELD_WHOLE, ready_times, .of = OPEN_READY),
	FIELDS_END,
};

static const struct field stopped_fields[] = {
	FIELDS_COUNTED(struct thread_row, stopped.),
	{ .key = "buckets", .kind = FIELD_WHOLE, .of = OPEN_STOPPED },
	FIELDS_END,
};

static const struct field overslept_fields[] = {
	FIELD_COUNT(struct kd_overslept, by.),
	FIELD_SUM("requested_ns", struct kd_overslept, requested),
	FIELD_TOTAL(struct kd_overslept, by.),
	FIELD_MAX(struct kd_overslept, by.),
	FIELD_FIGURE("slack_ns", MERGE_MAX, struct kd_overslept, slack),
	FIELD_SUM("late_count", struct kd_overslept, late.count),
	FIELD_SUM("late_total_ns", struct kd_overslept, late.total),
	FIELD_FIGURE("late_max_ns", MERGE_MAX, struct kd_overslept, late.max),
	FIELDS_END,
};

static const struct field long_poll_fields[] = {
	FIELD_COUNT(struct thread_row, long_poll.),
	FIELD_TOTAL(struct thread_row, long_poll.),
	FIELD_MIN(struct thread_row, long_poll.),
	FIELD_MAX(struct thread_row, long_poll.),
	{ .key = "buckets", .kind = FIELD_WHOLE, .of = OPEN_ROUND },
	FIELDS_END,
};

static const struct field count_fields[] = {
	FIELDS_COUNTED(struct kd_count, ),
	FIELDS_END,
};

static const struct field majors_fields[] = {
	FIELDS_COUNTED(struct kd_majors, times.),
	FIELD_SUM("blocked_ns", struct kd_majors, asleep),
	FIELDS_END,
};

#define LOCK(key, kind, member, ...) FIELD(key, kind, struct lock_row, member, __VA_ARGS__)
const struct field lock_fields[] = {
	LOCK("address", FIELD_ADDRESS, address),
	LOCK("kind", FIELD_LOCK, kind),
	LOCK("symbol", FIELD_NAME, is.symbol, .flags = FIELD_IF_ANY),
	LOCK("offset", FIELD_U64, is.offset, .flags = FIELD_IF_ANY),
	LOCK("object", FIELD_NAME, is.object, .flags = FIELD_IF_ANY),
	LOCK("called_from", FIELD_NAME, called_from, .flags = FIELD_IF_ANY),
	LOCK("holder_tid", FIELD_I32, holder, .flags = FIELD_IF_ANY),
	LOCK("holder_pid", FIELD_I32, holder_pid, .flags = FIELD_IF_ANY),
	LOCK("holder_name", FIELD_NAME, holder_name, .flags = FIELD_IF_ANY),
	FIELDS_COUNTED(struct lock_row, waits.),
	FIELD_SUM("holder_running_ns", struct lock_row, meanwhile.running),
	FIELD_SUM("holder_ready_ns", struct lock_row, meanwhile.ready),
	FIELD_SUM("holder_asleep_ns", struct lock_row, meanwhile.asleep),
	LOCK("holder_slept_in", FIELD_SLEPT_IN, slept_in),
	FIELD_SUM("ended_by_others", struct lock_row, others),
	LOCK("released_by_tid", FIELD_I32, released_by, .flags = FIELD_IF_ANY),
	LOCK("released_by_name", FIELD_NAME, released_name, .flags = FIELD_IF_ANY),
	FIELDS_END,
};

#define AWAITED_FIELD(kind, key, title)                                                            \
	THREAD(key, FIELD_OBJECT, ledger.awaited[kind], .fields = count_fields,                    \
	       .flags = FIELD_IF_ANY),
static const struct field blocked_fields[] = {
	AWAITED_WORDS(AWAITED_FIELD) /* "work" and so on */
	FIELDS_END,
};

static const struct field sleeping_fields[] = {
	FIELD_SUM("count", struct sleeping, count),
	FIELD_FIGURE("max_ns", MERGE_MAX, struct sleeping, max),
	FIELDS_END,
};

#define ASLEEP_FIELD(kind, key, title)                                                             \
	THREAD(key, FIELD_OBJECT, ledger.asleep[kind], .fields = sleeping_fields,                  \
	       .flags = FIELD_IF_ANY),
static const struct field asleep_fields[] = {
	AWAITED_WORDS(ASLEEP_FIELD) /* "work" and so on */
	FIELDS_END,
};

#define INTERRUPTED(key, kind, member) FIELD(key, kind, struct interruption_sum, member)
static const struct field interrupted_fields[] = {
	FIELDS_COUNTED(struct interruption_sum, count.),
	INTERRUPTED("buckets", FIELD_TIMES, times),
	FIELDS_END,
};

#define INTERRUPTED_FIELD(cause, key, title)                                                       \
	THREAD(key, FIELD_OBJECT, interrupted[cause], .fields = interrupted_fields,                \
	       .flags = FIELD_IF_ANY),
static const struct field interruption_fields[] = {
	INTERRUPTION_WORDS(INTERRUPTED_FIELD) /* "hardirq" and so on */
	THREAD("all", FIELD_OBJECT, interrupted[INTERRUPTION_CAUSES], .fields = interrupted_fields,
	       .flags = FIELD_IF_ANY),
	FIELDS_END,
};

#define CULPRIT(key, kind, member, ...) FIELD(key, kind, struct culprit, member, __VA_ARGS__)
const struct field culprit_fields[] = {
	CULPRIT("kind", FIELD_WORD, kind, .words = culprit_kinds, .of = CULPRIT_KINDS,
		.flags = FIELD_REQUIRED),
	CULPRIT("tid", FIELD_I32, tid, .flags = FIELD_IF_ANY),
	CULPRIT("pid", FIELD_I32, pid, .flags = FIELD_IF_ANY),
	CULPRIT("name", FIELD_NAME, name, .flags = FIELD_IF_ANY),
	CULPRIT("policy", FIELD_WORD, policy, .words = culprit_policies, .of = CULPRIT_POLICIES,
		.flags = FIELD_IF_ANY),
	CULPRIT("priority", FIELD_I32, priority, .flags = FIELD_IF_ANY),
	CULPRIT("own", FIELD_BOOL, own, .flags = FIELD_IF_ANY),
	CULPRIT("kernel", FIELD_BOOL, kernel, .flags = FIELD_IF_ANY),
	CULPRIT("ksoftirqd", FIELD_BOOL, ksoftirqd, .flags = FIELD_IF_ANY),
	CULPRIT("rt_limit", FIELD_BOOL, rt_limit, .flags = FIELD_IF_ANY),
	CULPRIT("group", FIELD_NAME, group, .flags = FIELD_IF_ANY),
	CULPRIT("same_group", FIELD_BOOL, same_group, .flags = FIELD_IF_ANY),
	CULPRIT("quota_ns", FIELD_U64, quota_ns, .flags = FIELD_IF_ANY),
	CULPRIT("period_ns", FIELD_U64, period_ns, .flags = FIELD_IF_ANY),
	FIELD_SUM("woken_ns", struct culprit, woken_ns),
	FIELD_SUM("preempted_ns", struct culprit, preempted_ns),
	FIELD_FIGURE("longest_ns", MERGE_MAX, struct culprit, longest_ns),
	FIELDS_END,
};

#define IO(prefix, member)                                                                         \
	FIELD_SUM(prefix "_calls", struct io_row, member.calls),                                   \
		FIELD_SUM(prefix "_bytes", struct io_row, member.bytes)
static const struct field io_row_fields[] = {
	IO("read", read),
	IO("written", written),
	FIELDS_END,
};

#define IO_KIND(of_kind, text, title)                                                              \
	{ .key = (text),                                                                           \
	  .kind = FIELD_OBJECT,                                                                    \
	  .at = (of_kind) * sizeof(struct io_row),                                                 \
	  .size = sizeof(struct io_row),                                                           \
	  .fields = io_row_fields,                                                                 \
	  .flags = FIELD_IF_ANY },
const struct field io_fields[] = {
	IO_WORDS(IO_KIND) /* "network" and so on */
	FIELDS_END,
};

#define OBJECT(text, of)                                                                           \
	{                                                                                          \
		.key = (text), .kind = FIELD_OBJECT, .fields = (of)                                \
	}
#define LIST(key, rows, of, ...)                                                                   \
	FIELD_LIST(key, struct thread_row, rows, .list = &(of), __VA_ARGS__)
#define ROWS(key, rows, of) FIELD_LIST(key, struct thread_row, rows, .fields = (of))
#define COUNTER_FIELD(member, key, condition, label) FIELD_SUM(key, struct thread_row, member),

const struct field thread_fields[] = {
	THREAD("tid", FIELD_I32, tid, .flags = FIELD_REQUIRED),
	THREAD("pid", FIELD_I32, pid, .flags = FIELD_IF_ANY),
	THREAD("process_start_ns", FIELD_U64, process_start, .flags = FIELD_IF_ANY),
	THREAD("name", FIELD_NAME, name),
	THREAD("members", FIELD_U32, members, .flags = FIELD_ONE),
	THREAD("ended", FIELD_BOOL, ended),
	THREAD("ledger", FIELD_OBJECT, ledger, .fields = ledger_fields),
	OBJECT("ticks", ticks_fields),
	ROWS("syscalls", calls, call_fields),
	LIST("hardirqs", hardirqs, hardirq_list),
	LIST("softirqs", softirqs, softirq_list),
	OBJECT("run", run_fields),
	OBJECT("ready", ready_fields),
	ROWS("ready_by", culprits, culprit_fields),
	OBJECT("blocked", blocked_fields),
	{ .key = "still_blocked",
	  .kind = FIELD_OBJECT,
	  .fields = asleep_fields,
	  .flags = FIELD_IF_ANY },
	THREAD("kernel_function", FIELD_NAME, kernel_function, .flags = FIELD_IF_ANY),
	THREAD("overslept", FIELD_OBJECT, overslept, .fields = overslept_fields,
	       .flags = FIELD_IF_ANY),
	THREAD("major_fault_times", FIELD_OBJECT, majors, .fields = majors_fields,
	       .flags = FIELD_IF_ANY),
	ROWS("locks", locks, lock_fields),
	LIST("descriptors", descriptors, descriptor_list),
	OBJECT("stopped", stopped_fields),
	LIST("stopped_by", stops, stop_list),
	LIST("affinity_by", movers, mover_list),
	{ .key = "interruptions",
	  .kind = FIELD_OBJECT,
	  .fields = interruption_fields,
	  .flags = FIELD_IF_ANY },
	THREAD("late_ticks", FIELD_OBJECT, late_ticks, .fields = count_fields,
	       .flags = FIELD_IF_ANY),
	THREAD("stolen", FIELD_OBJECT, stolen, .fields = count_fields, .flags = FIELD_IF_ANY),
	OBJECT("long_poll", long_poll_fields),
	THREAD("io", FIELD_OBJECT, io, .fields = io_fields, .flags = FIELD_IF_ANY),
	FIELD_FIGURE("io_uring_calls", MERGE_SUM, struct thread_row, io_uring_calls,
		     .flags = FIELD_IF_ANY),
	FIELD_FIGURE("forks", MERGE_SUM, struct thread_row, forks, .flags = FIELD_IF_ANY),
	FIELD_FIGURE("execs", MERGE_SUM, struct thread_row, execs, .flags = FIELD_IF_ANY),
	LIST("counters", counters, counter_list, .flags = FIELD_IF_ANY),
	LIST("block_requests", blocks, block_list, .flags = FIELD_IF_ANY),
	EACH_THREAD_COUNTER(COUNTER_FIELD) /* "voluntary_switches" and so on */
	THREAD("cpus", FIELD_CPUS, cpus, .merge = MERGE_ANY),
	THREAD("cpus_beyond", FIELD_BOOL, cpus_beyond, .merge = MERGE_ANY),
	{ .key = "in_flight", .kind = FIELD_OPEN },
	FIELDS_END,
};
