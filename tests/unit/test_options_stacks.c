/* SPDX-License-Identifier: Apache-2.0 */
/* The options about slow system calls, waits, running code and stacks. */
#define _GNU_SOURCE
#include <sys/syscall.h>

#include "options_run.h"

#define ANY UINT64_MAX /* not looked at */

/* What a command line must yield; what is not set here is the default. */
static const struct good {
	const char *args[ARGS];
	bool events;
	uint64_t threshold, off_cpu;
	unsigned int hz;
	uint64_t pages, stacks, bytes, share;
	bool no_stacks, no_bytes, no_share;
	bool chosen, lines, wakers;
	bool waits_chosen, timers, no_locks, no_ready; /* whether such waits are listed */
} good[] = {
	{ .args = { NULL } },
	/* the threshold: ns, and also after a space */
	{ { "-s" }, .events = true },
	{ { "--syscall-events" }, .events = true },
	{ { "-s50000" }, .events = true, .threshold = 50000 },
	{ { "-s", "50000" }, .events = true, .threshold = 50000 },
	{ { "--syscall-events=50000" }, .events = true, .threshold = 50000 },
	{ { "--syscall-events", "50000" }, .events = true, .threshold = 50000 },
	{ { "-s", "1.5ms" }, .events = true, .threshold = 1500000 },
	{ { "-s10us" }, .events = true, .threshold = 10000 },
	{ { "-s", "0" }, .events = true },
	{ { "-s", "-p", "9" }, .events = true },
	{ { "-s5", "-s" }, .events = true },
	{ { "-s", "--strict" }, .events = true },
	{ { "-s", "-e", "futex,recvmsg" }, .events = true, .chosen = true },
	{ { "-e!poll", "-s1us" }, .events = true, .threshold = 1000, .chosen = true },
	{ { "--syscall-filter=futex", "-s" }, .events = true, .chosen = true },
	/* as upstream, it may stand alone */
	{ { "--skip-syscall-poll-events" }, .chosen = true },
	{ { "--skip-syscall-poll-events", "-s" }, .events = true, .chosen = true },
	/* waits: seconds, as other durations */
	{ { "--off-cpu=10ms" }, .off_cpu = 10 * MS },
	{ { "--off-cpu", "0.5s" }, .off_cpu = 500 * MS },
	{ { "-e", "futex", "--off-cpu=1s" }, .off_cpu = 1000 * MS, .chosen = true },
	{ { "--off-cpu=1s", "--wait-filter=lock" },
	  .off_cpu = 1000 * MS,
	  .waits_chosen = true,
	  .no_ready = true },
	{ { "--off-cpu=1s", "--wait-filter", "!ready*,d[io]sk" },
	  .off_cpu = 1000 * MS,
	  .waits_chosen = true,
	  .timers = true,
	  .no_ready = true },
	{ { "--off-cpu=1s", "--wait-filter=lock", "--wait-filter=*" },
	  .off_cpu = 1000 * MS,
	  .waits_chosen = true,
	  .timers = true },
	{ { "--off-cpu=1s", "--wait-filter=!lo?k" },
	  .off_cpu = 1000 * MS,
	  .waits_chosen = true,
	  .timers = true,
	  .no_locks = true },
	{ { "--off-cpu=1ns" }, .off_cpu = 1 },
	{ { "--wakers", "--off-cpu=1ns" }, .off_cpu = 1, .wakers = true },
	{ { "--profile" }, .hz = 49 },
	{ { "--profile=997" }, .hz = 997 },
	{ { "--profile", "99" }, .hz = 99 },
	{ { "--profile", "-p", "9" }, .hz = 49 },
	{ { "--profile=1" }, .hz = 1 },
	{ { "--profile", "--lines" }, .hz = 49, .lines = true },
	{ { "--lines" }, .lines = true },
	{ { "--profile=10000" }, .hz = 10000 },
	/* sizes */
	{ { "--buffer-page-count", "1024" }, .pages = 1024 },
	{ { "--buffer-page-count=1025" }, .pages = 2048 },
	{ { "--buffer-page-count=4000" }, .pages = 4096 },
	{ { "--buffer-page-count=262144" }, .pages = 262144 },
	{ { "--buffer-page-count=1" }, .pages = ANY },
	{ { "--stack-trace-size=10" }, .stacks = 10 },
	{ { "--stack-trace-size", "0" }, .no_stacks = true },
	{ { "--user-stack-bytes=4K" }, .bytes = 4096 },
	{ { "--user-stack-bytes=16k" }, .bytes = 16384 },
	{ { "--user-stack-bytes", "131072" }, .bytes = 131072 },
	{ { "--user-stack-bytes=128KiB" }, .bytes = 131072 },
	{ { "--user-stack-bytes=5000" }, .bytes = 8192 },
	{ { "--user-stack-bytes=0" }, .no_bytes = true },
	{ { "--stack-overhead=1" }, .share = 10000 },
	{ { "--stack-overhead=0" }, .no_share = true },
	{ { "--stack-overhead=0.5" }, .share = 5000 },
	{ { "--stack-overhead", "100" }, .share = 1000000 },
	{ { "--stack-overhead=.0001" }, .share = 1 },
};

static uint64_t either(uint64_t set, bool is_zero, uint64_t otherwise)
{
	return is_zero ? 0 : set ? set : otherwise;
}

static bool lists(const struct options *options, uint32_t state, uint32_t awaited)
{
	return wait_filter_passes(
		&options->waits,
		&(struct trace_row){ .kind = TRACE_WAIT, .state = state, .awaited = awaited });
}

static void check_good(const struct good *want)
{
	const struct outcome *got = run(want->args, -1);
	const struct options *options = &got->options;
	char line[256];

	join(want->args, line);
	is_i64(got->status, 0, "'%s' is accepted", line);
	if (got->status)
		return;
	is_str(got->err, "", "'%s': no message", line);
	ok(options->call_events == want->events, "'%s': events", line);
	is_u64(options->call_threshold, want->threshold, "'%s': threshold", line);
	ok(options->calls_chosen == want->chosen, "'%s': chosen calls", line);
	is_u64(options->off_cpu, want->off_cpu, "'%s': off-CPU", line);
	ok(options->waits_chosen == want->waits_chosen, "'%s': chosen waits", line);
	ok(lists(options, KD_BLOCKED, KD_AWAITED_TIMER) == want->timers, "'%s': timers", line);
	ok(lists(options, KD_BLOCKED, KD_AWAITED_LOCK) != want->no_locks, "'%s': locks", line);
	ok(lists(options, KD_READY_WOKEN, 0) != want->no_ready, "'%s': ready", line);
	is_u64(options->profile_hz, want->hz, "'%s': profile", line);
	ok(options->outputs.report.lines == want->lines, "'%s': lines", line);
	ok(options->all_wakers == want->wakers, "'%s': wakers", line);
	if (want->pages != ANY)
		is_u64(options->buffer_pages, either(want->pages, false, 1024), "'%s': pages",
		       line);
	is_u64(options->stacks, either(want->stacks, want->no_stacks, 4096), "'%s': stacks", line);
	is_u64(options->stack_bytes, either(want->bytes, want->no_bytes, 131072), "'%s': bytes",
	       line);
	is_u64(options->stack_share, either(want->share, want->no_share, 10000), "'%s': share",
	       line);
	ok(options_want_traces(options) == (want->events || want->off_cpu || want->hz),
	   "'%s': whether there are traces", line);
}

/* Command lines that are refused, and why. */
static const struct refusal bad[] = {
	{ { "-s", "5x" }, "--syscall-events", "not a duration" },
	{ { "--syscall-events=" }, "--syscall-events", "not a duration" },
	{ { "-s-1" }, "--syscall-events", "not a duration" },
	{ { "vpp", "-s", "futex" }, "'futex'", "unexpected argument" },
	{ { "--skip-syscall-poll-events=1" }, "--skip-syscall-poll-events", "takes no value" },
	{ { "-e", "futex" }, "--syscall-filter", "needs --syscall-events" },
	{ { "-e", "futex", "--profile" }, "--syscall-filter", "needs --syscall-events" },
	{ { "--wait-filter=lock" }, "--wait-filter", "needs --off-cpu" },
	{ { "--off-cpu=1s", "--wait-filter=" }, "--wait-filter", "there are blocked, " },
	{ { "--off-cpu=1s", "--wait-filter=lock,," }, "--wait-filter", "'lock,,' has a word" },
	{ { "--off-cpu=1s", "--wait-filter=lock,mutex" },
	  "--wait-filter",
	  "timer, signal, kernel_lock; '*' is all" },
	{ { "--off-cpu=1s", "--wait-filter=!user" }, "--wait-filter", "that is neither" },
	{ { "--off-cpu=1s", "--wait-filter" }, "--wait-filter", "needs a value" },
	{ { "-s", "-e" }, "--syscall-filter", "needs a value" },
	{ { "-s", "-e", "futx" }, "--syscall-filter", "similar names: futex" },
	{ { "-s", "-e", "" }, "--syscall-filter", "a name is missing" },
	{ { "-s", "-e", "futex", "-e", "read" }, "--syscall-filter", "twice" },
	{ { "-s", "-e", "*poll*", "-e", "read" }, "--syscall-filter", "twice" },
	{ { "-s", "-e", "!*" }, "no system call is left", "--syscall-filter" },
	{ { "-s", "-e", "ppoll", "--skip-syscall-poll-events" },
	  "no system call is left",
	  "--syscall-filter" },
	{ { "--off-cpu" }, "--off-cpu", "needs a value" },
	{ { "--wakers", "-s" }, "option --wakers needs --off-cpu", "as in --off-cpu=1ms" },
	{ { "--off-cpu=0" }, "--off-cpu", "too short" },
	{ { "--off-cpu=5" },
	  "option --off-cpu: '5' has no unit\n",
	  "give one: 5ns, 5us, 5ms, 5s or 5min\n" },
	{ { "--off-cpu", "5." }, "--off-cpu: '5.'", "has no unit" },
	{ { "--off-cpu", "1e-3" }, "--off-cpu: '1e-3'", "give one: 1e-3ns, " },
	{ { "--off-cpu", "1e300" }, "--off-cpu", "has no unit" },
	{ { "--off-cpu=x" }, "--off-cpu", "not a duration" },
	{ { "--lines=1" }, "--lines", "takes no value" },
	{ { "--profile=0" }, "--profile", "out of range" },
	{ { "--profile=10001" }, "--profile", "out of range" },
	{ { "--profile=49Hz" }, "--profile", "not a whole number" },
	{ { "--buffer-page-count", "0" }, "--buffer-page-count", "out of range" },
	{ { "--buffer-page-count", "262145" }, "--buffer-page-count", "out of range" },
	{ { "--buffer-page-count", "4M" }, "--buffer-page-count", "not a whole number" },
	{ { "--stack-trace-size=-1" }, "--stack-trace-size", "not a whole number" },
	{ { "--stack-trace-size=1000001" }, "--stack-trace-size", "out of range" },
	{ { "--user-stack-bytes=131073" }, "--user-stack-bytes", "out of range" },
	{ { "--user-stack-bytes=129K" }, "--user-stack-bytes", "out of range" },
	{ { "--user-stack-bytes=99999999999999999999999999" },
	  "--user-stack-bytes",
	  "out of range" },
	{ { "--user-stack-bytes=18014398509481985K" }, "--user-stack-bytes", "out of range" },
	{ { "--user-stack-bytes=K" }, "--user-stack-bytes", "not a number of bytes" },
	{ { "--user-stack-bytes=" }, "--user-stack-bytes", "not a number of bytes" },
	{ { "--user-stack-bytes=1M" }, "--user-stack-bytes", "not a number of bytes" },
	{ { "--user-stack-bytes=4 K" }, "--user-stack-bytes", "not a number of bytes" },
	{ { "--user-stack-bytes=-1" }, "--user-stack-bytes", "not a number of bytes" },
	{ { "--stack-overhead=100.1" }, "--stack-overhead", "more than 100" },
	{ { "--stack-overhead=1ms" }, "--stack-overhead", "not a percentage" },
	{ { "--stack-overhead=1%" }, "--stack-overhead", "not a percentage" },
	{ { "--stack-overhead=-1" }, "--stack-overhead", "not a percentage" },
	{ { "--stack-overhead=" }, "--stack-overhead", "not a percentage" },
	{ { "-o", "folded:x" }, "--output", "needs stacks" },
};

/* Whatever sizes are asked for, the buffer is a power of two in which two records
 * of that size have room: a ring cannot take one that is larger than itself. */
static void test_sizes(void)
{
	static const char *const bytes[] = { "0", "4K", "64K", "128K" };
	static const char *const pages[] = { "1", "3", "64", "1000" };

	for (size_t i = 0; i < 16; i++) {
		char size[64], count[64];
		const char *args[ARGS] = { "-s", size, count };
		const struct outcome *got;
		uint64_t buffer;

		snprintf(size, sizeof(size), "--user-stack-bytes=%s", bytes[i / 4]);
		snprintf(count, sizeof(count), "--buffer-page-count=%s", pages[i % 4]);
		got = run(args, -1);
		is_i64(got->status, 0, "%s %s is accepted", size, count);
		buffer = got->options.buffer_pages * 4096;
		ok(buffer && !(buffer & (buffer - 1)), "%s %s: a power of two", size, count);
		ok(buffer >= 4096 * strtoull(pages[i % 4], NULL, 10), "%s %s: not less", size,
		   count);
		ok(buffer >= 2 * (1024 * strtoull(bytes[i / 4], NULL, 10)) +
				     2 * sizeof(struct kd_trace),
		   "%s %s: room for two", size, count);
	}
}

/* Which calls are left. */
static void test_calls(void)
{
	static const struct {
		const char *args[ARGS];
		bool futex, poll, read;
	} cases[] = {
		{ { "-s" }, true, true, true },
		{ { "-s", "-e", "futex,ppoll" }, true, true, false },
		{ { "-s", "-e", "!futex" }, false, true, true },
		{ { "-s", "--skip-syscall-poll-events" }, true, false, true },
		{ { "-s", "-e", "*", "--skip-syscall-poll-events" }, true, false, true },
		{ { "--skip-syscall-poll-events", "-e!futex", "-s" }, false, false, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct outcome *got = run(cases[i].args, -1);
		const bool *has = got->options.calls.has[0];
		char line[256];

		join(cases[i].args, line);
		is_i64(got->status, 0, "'%s' is accepted", line);
		ok(has[SYS_futex] == cases[i].futex, "'%s': futex", line);
		ok(has[SYS_ppoll] == cases[i].poll, "'%s': ppoll", line);
		ok(has[SYS_read] == cases[i].read, "'%s': read", line);
	}
}

int main(void)
{
	options_run_begin();
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		check_good(&good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_refusal(&bad[i]);
	test_sizes();
	test_calls();
	options_run_end();
	return done_testing();
}
