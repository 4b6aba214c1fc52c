/* SPDX-License-Identifier: Apache-2.0 */
/* Samples for tests of reports, and one with everything in it. */
#ifndef TESTS_UNIT_EVERYTHING_H
#define TESTS_UNIT_EVERYTHING_H

#include "cli/model/resource.h"
#include "cli/model/rows.h"
#include "need.h"
#include "traces_sample.h"

static struct sample sample_begin(void)
{
	return (struct sample){ .pid = 9719,
				.start = 100 * SECOND,
				.end = 101 * SECOND,
				.wall_dump = { .tv_sec = 1795218874, .tv_nsec = 981958999 } };
}

static struct thread_row thread(pid_t tid, const char *name)
{
	struct thread_row row = { .tid = tid, .members = 1 };

	memcpy(row.name, name, strlen(name) < sizeof(row.name) ? strlen(name) : sizeof(row.name));
	row.ledger = (struct ledger){ .life = SECOND };
	return row;
}

static uint32_t number(const char *name)
{
	return (uint32_t)syscall_number(name);
}

/* The figures of a real report of the tool whose layout this is. */
static struct thread_row upstreams_thread(struct call_row calls[static 4])
{
	static struct irq_row hardirqs[3], softirqs[2];
	struct thread_row row = thread(9719, "ovs-vswitchd");

	calls[0] = (struct call_row){ number("poll"), 6435,  315828939,
				      12292444,       { 0 }, 100 * SECOND + 5 };
	calls[1] = (struct call_row){ number("sendmmsg"), 8439, 235955112, 3788213, { 0 }, 0 };
	calls[2] = (struct call_row){ 401, 1, 47270, 47270, { 0 }, 0 };
	calls[3] = (struct call_row){ number("landlock_restrict_self"), 2, 2985, 1332, { 0 }, 0 };
	hardirqs[0] = (struct irq_row){
		.name = "virtio0-input.0", .count = 12, .total = 34567, .max = 5678
	};
	hardirqs[1] = (struct irq_row){
		.name = "i801_smbus", .unhandled = true, .count = 3, .total = 3000, .max = 1000
	};
	hardirqs[2] = (struct irq_row){
		.name = "a name of more than twenty bytes", .count = 1, .total = 999, .max = 999
	};
	softirqs[0] = (struct irq_row){
		.name = "net_rx", .vector = 3, .count = 12342, .total = 153102514, .max = 1856778
	};
	softirqs[1] = (struct irq_row){
		.name = "timer", .vector = 1, .count = 62, .total = 251218, .max = 36024
	};
	row.calls = calls, row.n_calls = 4;
	row.hardirqs = hardirqs, row.n_hardirqs = 3;
	row.softirqs = softirqs, row.n_softirqs = 2;
	row.long_poll =
		(struct kd_span){ .count = 6435, .total = 684663661, .min = 43855, .max = 3979067 };
	row.run =
		(struct kd_span){ .count = 3140, .total = 789736000, .min = 4326, .max = 6849055 };
	row.ready = (struct kd_count){
		.count = 1024, .total = 25358646, .max = 5533769, .began = 99 * SECOND
	};
	row.stopped = (struct kd_count){ .count = 1, .total = 200123456, .max = 200123456 };
	row.ledger = (struct ledger){
		.life = SECOND,
		.ns = { [LEDGER_USER] = 200000000,
			[LEDGER_KERNEL] = 387654320,
			[LEDGER_FAULT] = 46800000,
			[LEDGER_RECLAIM] = 10121,
			[LEDGER_HARDIRQ] = 38566,
			[LEDGER_SOFTIRQ] = 153353732,
			[LEDGER_READY_WOKEN] = 25000000,
			[LEDGER_READY_PREEMPTED] = 358646,
			[LEDGER_BLOCKED] = 60000000,
			[LEDGER_BLOCKED_UNINT] = 26784615,
			[LEDGER_STOPPED] = 100000000 },
		.awaited = { [KD_AWAITED_LOCK] = { 12, 30000000, 29000000, 100 * SECOND + 1000 },
			     [KD_AWAITED_WORK] = { 1, 31000000, 31000000, 0 },
			     [KD_AWAITED_OTHER] = { 7, 25784615, 12345678, 0 } },
		.asleep = { [KD_AWAITED_LOCK] = { 1, 29000000 } },
		.exec = 787856000,
		.ticks_user = 200000000,
		.ticks_system = 580000000,
		.has_exec = true
	};
	row.voluntary = 2116, row.involuntary = 1024, row.migrations = 7;
	row.wakeup_migrations = 1, row.balance_migrations = 2;
	row.affinity_migrations = 3, row.other_migrations = 1;
	row.minor_faults = 23456, row.major_faults = 12;
	row.forks = 3, row.execs = 1;
	row.stolen = (struct kd_count){ 2, 12345, 9876, 0 };
	memcpy(row.kernel_function, "clear_page", sizeof("clear_page"));
	row.majors = (struct kd_majors){ { 12, 33800000, 11500000, 0 }, 26784615 };
	row.cpus[0] = 0xb;
	return row;
}

#define CULPRIT(kind_, tid_, pid_, name_, woken, preempted, longest, ...)                          \
	{                                                                                          \
		.kind = CULPRIT_##kind_, .tid = tid_, .pid = pid_, .name = name_,                  \
		.woken_ns = woken, .preempted_ns = preempted, .longest_ns = longest, __VA_ARGS__   \
	}

/* Each kind of culprit, and what can be said of a task; more of them than are shown. */
static void everything_culprits(struct thread_row *row, struct thread_row *other)
{
	static struct culprit some[] = {
		CULPRIT(TASK, 812, 811, "backup-agent", 0, 500000000, 400000000, .policy = 1,
			.priority = 50, .group = "/system.slice/\x1b[31m"),
		CULPRIT(THROTTLED, 0, 0, "", 0, 100000000, 80000000, .group = "/batch",
			.quota_ns = 20000000, .period_ns = 100000000, .same_group = true),
		CULPRIT(TASK, 0, 4000, "java", 10, 20, 15, .priority = 19),
		CULPRIT(TASK, 13, 13, "ksoftirqd/0", 20, 0, 20, .kernel = true, .ksoftirqd = true),
		CULPRIT(IDLE, 0, 0, "", 19, 0, 19, .rt_limit = true),
		CULPRIT(DEADLINE, 0, 0, "", 0, 18, 18, .quota_ns = 5000000, .period_ns = 20000000),
		CULPRIT(HARDIRQ, 0, 0, "", 5, 0, 3, .own = false),
		CULPRIT(OWN, 0, 0, "", 70, 0, 7, .own = true),
		CULPRIT(REST, 0, 0, "", 900, 0, 300, .own = false),
		CULPRIT(UNKNOWN, 0, 0, "", 0, 1000000, 1000000, .own = false)
	};
	static struct culprit others[] = {
		CULPRIT(TASK, 3, 1, "own\n", UINT64_MAX, 1, UINT64_MAX, .own = true, .policy = 6),
		CULPRIT(TASK, 9, 9, "kworker", 4, 0, 4, .kernel = true, .policy = 5,
			.priority = -20),
		CULPRIT(TASK, 8, 8, "batch", 3, 0, 3, .policy = 3, .priority = 5, .rt_limit = true),
		CULPRIT(TASK, 7, 7, "", 2, 0, 2, .policy = CULPRIT_POLICY_UNKNOWN)
	};

	row->culprits = some, row->n_culprits = COUNT(some);
	other->culprits = others, other->n_culprits = COUNT(others);
	thread_times_sum(row);
	thread_times_sum(other);
}

/* Who stopped and moved it, and how late it was woken. */
static void everything_doers(struct thread_row *row)
{
	static struct stop_row stops[] = {
		{ KD_STOP_TRACER, 0, 2147483647, 4711, "sixteen letters!", { 1234, SECOND, 9, 0 } },
		{ KD_STOP_SIGNAL, 19, 4711, 4711, "\033[2J", { 2, 30, 20, 0 } },
		{ KD_STOP_SIGNAL, 21, 0, 0, "terminal", { 1, 20, 20, 0 } },
		{ KD_STOP_SIGNAL, 19, 0, 0, "", { 1, 15, 15, 0 } },
		{ KD_STOP_SIGNAL, 7, 12, 12, "", { 1, 15, 15, 0 } },
		{ KD_STOP_SIGNAL, 2147483647, 0, 0, "", { 1, 15, 15, 0 } },
		{ KD_STOP_UNKNOWN, 0, 0, 0, "", { 1, 10, 10, 0 } }
	};
	static struct mover_row movers[] = { { 2147483647, 4711, "sixteen letters!", UINT64_MAX },
					     { 4711, 4711, "\033[2J", 2 },
					     { 0, 0, "", 1 } };

	row->stops = stops, row->n_stops = COUNT(stops);
	row->movers = movers, row->n_movers = COUNT(movers);
	row->overslept = (struct kd_overslept){ { 12345, 300000000, 123456789, 0 },
						{ 1, 100000000, 100000000, 0 },
						1600000000,
						10000000 };
}

#define LOCK(address_, kind_, holder_, name, ...)                                                  \
	{                                                                                          \
		.address = address_, .kind = kind_, .holder = holder_, .holder_name = name,        \
		.slept_in = KD_CALL_NONE, __VA_ARGS__                                              \
	}

static void everything_locks(struct thread_row *row)
{
	static struct lock_row locks[] = {
		LOCK(0x7f0123456780, KD_LOCK_ROBUST, 2147483647, "sixteen letters!",
		     .waits = { 1234, 600000000, 123456789, 0 },
		     .meanwhile = { 60000000, 540000000, 0 }, .released_by = 2147483647,
		     .released_name = "sixteen letters!", .symbol = "queues", .offset = 0x1f8,
		     .object = "libqueue.so.1",
		     .called_from = "queue_push+0x1c [libqueue.so.1] < serve+0x48 [server]"),
		LOCK(1, KD_LOCK_MUTEX, 4711, "", .waits = { 2, 300000000, 200000000, 0 },
		     .meanwhile = { 0, 100000000, 200000000 }, .others = 1, .released_by = 4712,
		     .released_name = "\033[2J", .symbol = "\033[2Jqueue\xff", .object = "a\nb",
		     .called_from = "f\033[2J\xff+0x1 [a\nb]"),
		LOCK(UINT64_MAX, 0, 0, "", .waits = { 1, 100000000, 100000000, 0 }, .offset = 0x40,
		     .object = "PostgreSQL.1234"),
		LOCK(0x55d0c0ffee00, 0, 0, "", .waits = { 1, 4, 4, 0 }, .object = "[heap]"),
		LOCK(0, KD_LOCK_OTHER, 0, "", .waits = { 3, 3, 1, 0 }),
		LOCK(0xffff88811c6e4b40, KD_LOCK_KERNEL_RWSEM_WRITE, 4711, "holder",
		     .waits = { 2, 3, 2, 0 }, .meanwhile = { 1, 0, 2 }, .released_by = 4711,
		     .released_name = "holder",
		     .called_from = "log_write+0x2f < main+0x77 [server]"),
		LOCK(0xffff88811c6e43c0, KD_LOCK_KERNEL_MUTEX, 815, "outsider", .holder_pid = 800,
		     .waits = { 1, 2, 2, 0 }, .released_by = 815, .released_name = "outsider")
	};

	locks[1].slept_in = syscall_number("fsync");
	locks[5].slept_in = syscall_number("pwrite64");
	row->locks = locks, row->n_locks = COUNT(locks);
}

static void everything_block(struct thread_row *row, const char *device, uint32_t kind, uint64_t ns)
{
	struct block_row block = { .requests = { 1, ns, ns, 0 }, .bytes = 4096, .kind = kind };

	strncpy(block.device, device, sizeof(block.device) - 1);
	need(!distribution_add(&block.times, KD_HISTOGRAM_BITS, KD_HISTOGRAM_BUCKETS, ns) &&
	     !row_list_add(&block_list, &row->blocks, &row->n_blocks, &block));
	distribution_clear(&block.times);
}

static void everything_used(struct thread_row *row)
{
	static struct descriptor_row descriptors[] = {
		{ .awaited = KD_AWAITED_PIPE,
		  .wchan = "anon_pipe_read",
		  .call = 0,
		  .is = { .fd = 5, .inode = 9, .path = "/tmp/\033[2J\n\xff name" },
		  .waits = { 1234, 600000000, 123456789, 0 },
		  .ended_by = 2147483647,
		  .ended_pid = 4711,
		  .ended_name = "sixteen letters!" },
		{ .awaited = KD_AWAITED_SOCKET,
		  .wchan = "sk_wait_data",
		  .is = { .fd = 2147483647,
			  .inode = 10,
			  .protocol = "tcp",
			  .local = "10.0.0.1:45678",
			  .peer = "10.0.0.2:5432" },
		  .waits = { 2, 300000000, 200000000, 0 } },
		{ .awaited = KD_AWAITED_DISK,
		  .call = KD_CALL_NONE,
		  .is = { .fd = 7, .path = ".../file", .device = "vda1" },
		  .waits = { 1, 100000000, 100000000, 0 },
		  .requests = { 1, 90000000, 90000000, 0 },
		  .ended_by = 1,
		  .ended_name = "\033[2J" },
		{ .awaited = KD_AWAITED_TIMER,
		  .wchan = "\033[2J, and a name as long as a function of the kernel may have",
		  .is = { .fd = -1 },
		  .waits = { 2, 4, 3, 0 } },
		{ .call = KD_CALL_NONE, .is = { .fd = -1 }, .waits = { 3, 3, 1, 0 } }
	};
	static struct chain_row chains[] = {
		{ .wchan = "futex_do_wait",
		  .via = 2147483647,
		  .via_name = "sixteen letters!",
		  .tid = 4711,
		  .name = "\033[2J",
		  .state = CHAIN_ASLEEP,
		  .in_wchan = "anon_pipe_read",
		  .legs = { 1234, 600000000, 123456789, 0 } },
		{ .wchan = "do_epoll_wait",
		  .call = KD_CALL_NONE,
		  .via = 2,
		  .via_name = "worker",
		  .tid = 2,
		  .name = "worker",
		  .state = CHAIN_READY,
		  .in_call = KD_CALL_NONE,
		  .legs = { 1, 200000000, 200000000, 0 } },
		{ .call = KD_CALL_NONE, .in_call = KD_CALL_NONE, .legs = { 3, 3, 1, 0 } }
	};
	static struct io_row io[KD_IO_KINDS];
	static struct counter_row counters[] = {
		{ "cycles", -1, 4000000000, SECOND, SECOND, false },
		{ "instructions", 0, 5000000000, SECOND, SECOND, false },
		{ "instructions", 1023, 1000000000, SECOND, SECOND / 3, true },
		{ "cache-misses", -1, 12345678, SECOND, SECOND, false },
		{ "r3c", -1, 0, SECOND, 0, true },
		{ "page-faults", -1, UINT64_MAX, 0, 0, false }
	};

	descriptors[1].call = syscall_number("recvfrom");
	descriptors[3].call = syscall_number("clock_nanosleep");
	chains[0].call = syscall_number("futex");
	chains[0].in_call = syscall_number("read");
	row->descriptors = descriptors, row->n_descriptors = COUNT(descriptors);
	row->chains = chains, row->n_chains = COUNT(chains);
	row->followed = 61234567;
	row->computed = (struct computed){ 90, 128, "\033[2J", "library.so" };
	row->counters = counters, row->n_counters = COUNT(counters);
	row->io = io;
	row->io[KD_IO_NETWORK] = (struct io_row){ { 1000, 4000000 }, { 2000, 123456789 } };
	row->io[KD_IO_PIPE] = (struct io_row){ { 1, 1 }, { 0, 0 } };
	row->io[KD_IO_OTHER] = (struct io_row){ { 0, 0 }, { UINT64_MAX, UINT64_MAX } };
	row->io_uring_calls = 12;
	everything_block(row, "vda", KD_BLOCK_READ, 70000);
	everything_block(row, "vda", KD_BLOCK_READ, 1500000);
	everything_block(row, "a\033name that is\nlong", KD_BLOCK_OTHER, 5);
}

/* What the processes used is the sum over the threads. */
static void everything_resources(struct sample *sample)
{
	static struct resent_row resent = { .pid = 9719,
					    .count = 3,
					    .is = { .fd = 5,
						    .protocol = "tcp",
						    .local = "10.0.0.1:80",
						    .peer = "10.0.0.2:4711" } };

	sample->has_resources = true;
	need(!usage_sum(sample));
	sample->usages[0].memory = (struct memory){ 0, 123456789, 987654321 };
	sample->usages[0].resent = 3;
	sample->resent = &resent, sample->n_resent = 1;
}

static void everything_interruptions(struct sample *sample)
{
	static struct interruption list[] = {
		{ .since = 100 * SECOND + 1000,
		  .ns = 24185,
		  .tid = 9719,
		  .name = "ovs-vswitchd",
		  .cpu = 1,
		  .who = "local_timer",
		  .by = { [INTERRUPTION_HARDIRQ] = 12480, [INTERRUPTION_SOFTIRQ] = 11705 } },
		{ .since = 100 * SECOND + 50000000,
		  .ns = SECOND,
		  .tid = 9719,
		  .name = "ovs-vswitchd",
		  .cpu = 255,
		  .moved = true,
		  .open = true,
		  .cause = INTERRUPTION_PREEMPTED,
		  .who = "back\033agent",
		  .who_tid = 2147483647,
		  .who_others = 4294967295,
		  .by = { [INTERRUPTION_PREEMPTED] = SECOND } },
		{ .since = 102 * SECOND,
		  .ns = 5012000,
		  .tid = 9719,
		  .name = "ovs-vswitchd",
		  .cpu = 1,
		  .cause = INTERRUPTION_UNEXPLAINED,
		  .tick_late = 5000000,
		  .by = { [INTERRUPTION_HARDIRQ] = 12000, [INTERRUPTION_UNEXPLAINED] = 5000000 } }
	};

	static struct softirq_delay delays[] = {
		{ .cpu = 255,
		  .vector = 3,
		  .name = "net_rx",
		  .delays = { 4711, 123456789, 98765432, 101 * SECOND },
		  .raised = { 0, "swapper/255" },
		  .ran = { 2147483647, "ksoftirqd\033/255" } },
		{ .cpu = 1,
		  .vector = 1,
		  .name = "timer",
		  .delays = { 1, 5000, 5000, 0 },
		  .open = true,
		  .raised = { 9719, "ovs-vswitchd" } },
	};

	sample->softirq_delays = delays, sample->n_softirq_delays = COUNT(delays);
	sample->has_interruptions = sample->has_softirq_delays = true;
	sample->distributions = true;
	sample->interruptions_from = 10000;
	sample->interruptions = list, sample->n_interruptions = COUNT(list);
	for (size_t i = 0; i < COUNT(list); i++)
		need(!interruption_count(&sample->threads[0].interrupted, &list[i]));
}

/* One of each kind, each with all that it can have. */
static void everything_traces(struct sample *sample)
{
	struct trace_row row = trace(TRACE_CALL, 9719, "ovs-vswitchd", "sendmmsg");

	sample->traces = (struct trace_list){ .kernel_stacks_wanted = true,
					      .user_stacks_wanted = true,
					      .calls_wanted = true,
					      .waits_wanted = true,
					      .call_threshold = 1000,
					      .wait_threshold = 10000000,
					      .wait_filter = "!work,\x1b[2J",
					      .left_out = 1234,
					      .left_out_ns = 5 * SECOND,
					      .profile_hz = 49 };
	row.result = 3, row.cpu = 1, row.waited = 20000;
	row.kernel = &kernel_module, row.user = &user_main;
	row.path = "a\x1b[2J\n)\xff \\", row.at = "fd 5, /srv";
	row.blocker = (struct blocker){ .lock = 0xffff888100a01234,
					.kind = KD_LOCK_KERNEL_MUTEX,
					.holder = 4713,
					.holder_pid = 4700,
					.holder_name = "\x1b[2J\n) of 1",
					.request = 12345678,
					.disk = "nvme0n1" };
	trace_add(sample, row);
	row = trace(TRACE_WAIT, 9720, "worker", "futex");
	row.state = KD_BLOCKED, row.awaited = KD_AWAITED_LOCK;
	row.user = &user_hostile;
	row.wakers[0] = (struct waker){ 40, 1, KD_FROM_TASK, "\x1b[2J\n;x" };
	row.wakers[1] = (struct waker){ 20, 0, KD_FROM_TIMER, "timer" };
	trace_add(sample, row);
	row = trace(TRACE_SAMPLE, 9720, "worker", NULL);
	row.end = row.start, row.state = KD_USER, row.user = &user_cut;
	trace_add(sample, row);
	traces_finish(&sample->traces);
}

/* Everything that there can be in a sample of one process that lost nothing. */
__attribute__((unused)) static struct sample everything(struct thread_row rows[static 2])
{
	static const struct capture capture = { .version = "0.1-g1234567",
						.process = "ovs-vswitchd",
						.host = "host.example",
						.kernel = "6.1.0-18-amd64",
						.start_trigger = "u:vswitchd:\"quoted\"\\",
						.sample_count = 3 };
	static const struct absence absent = { "STOLEN", "is left out: the kernel refused" };
	static struct worker_row workers[] = { { 98, "flush-254:0" } };
	static struct upcall_row upcalls[] = { { 0, 0, 44 }, { 0, 2, 1 }, { 7, 135, 1 } };
	static struct call_row calls[4];
	static struct open_item open = {
		.count = 1, .inside = SECOND, .since = 98 * SECOND, .at_start = true, .at_end = true
	};
	struct sample sample = sample_begin();

	rows[0] = upstreams_thread(calls);
	rows[1] = thread(9720, "\033[2J\xff");
	rows[0].process_start = rows[1].process_start = 71000000;
	open.number = (int32_t)number("read");
	rows[1].open = &open, rows[1].n_open = 1;
	everything_culprits(&rows[0], &rows[1]);
	everything_doers(&rows[0]);
	everything_locks(&rows[0]);
	everything_used(&rows[0]);
	sample.capture = &capture;
	sample.number = 2;
	sample.wall_start = (struct timespec){ .tv_sec = 1795218873, .tv_nsec = 981958999 };
	sample.start_triggered = true, sample.started_on = 9720;
	sample.workers = workers, sample.n_workers = COUNT(workers);
	sample.upcalls = upcalls, sample.n_upcalls = COUNT(upcalls), sample.has_upcalls = true;
	sample.absent = &absent, sample.n_absent = 1;
	sample.entry = (struct entry_cost){ .call_ns = 156, .irq_ns = 2800, .fault_ns = 700 };
	sample.quota = (struct cpu_quota){ "/pods/web", 20000000, 100000000 };
	sample.disk_limit = (struct disk_limit){ "/pods/web", "vda", DISK_LIMIT_WRITES,
						 true,        1000,  990 };
	sample.faulted = (struct faulted_thread){
		.tid = 9720,
		.minor = { FAULTED_COPY, "" },
		.major = { FAULTED_FILE, "/var/lib/data" },
		.shared_pid = 9800,
		.shared_name = "saver",
	};
	sample.group_frozen_ns = 1234567, sample.group_frozen_last_ns = 234567;
	sample.disk_use = (struct disk_use){ "vda1", 712, "backup-agent", 88000, 100000 };
	sample.memory_limit = (struct memory_limit){ "/pods/web", "memory.max", true,
						     8388608,     8388000,      77 };
	sample.pressures = (struct pressures){
		.ns = 512345678,
		.machine = { true,
			     { { true, 234567890, 0 },
			       { true, 5987000, 1234000 },
			       { true, 61000000, 0 } } },
		.group = { true,
			   { { true, 491000000, 401000000 }, { false, 0, 0 }, { true, 0, 0 } } },
		.path = "/pods/web",
	};
	sample.own = (struct own_cost){ 3254321, 27, 512000000 };
	sample.threads = rows, sample.n_threads = 2;
	everything_resources(&sample);
	everything_interruptions(&sample);
	everything_traces(&sample);
	return sample;
}

__attribute__((unused)) static void everything_clear(struct sample *sample)
{
	row_list_free(&block_list, sample->threads[0].blocks, sample->threads[0].n_blocks);
	for (size_t i = 0; i < INTERRUPTION_SUMS; i++)
		distribution_clear(&sample->threads[0].interrupted[i].times);
	free(sample->threads[0].interrupted);
	free(sample->usages);
	traces_clear(&sample->traces);
}

#endif
