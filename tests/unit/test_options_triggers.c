/* SPDX-License-Identifier: Apache-2.0 */
/* The options about triggers and probes. */
#define _GNU_SOURCE
#include "options_run.h"

#define NONE UINT64_MAX

/* What a command line must yield; what is not set here is the default. */
static const struct good {
	const char *args[ARGS];
	const char *start, *stop, *glob;
	uint64_t delta, worst, long_poll, duration, count, banks, overhead;
	bool any_count, no_limit; /* count or overhead 0 */
	bool target_only, any, same_thread, verbose, list, check, skip_upcalls;
} good[] = {
	{ .args = { NULL } },
	{ { "--start-trigger", "up:f" }, .start = "up:f" },
	{ { "--stop-trigger=ur:f" }, .stop = "ur:f" },
	{ { "--start-trigger", "--check", "--stop-trigger", "5" },
	  .start = "--check",
	  .stop = "5" },
	/* a delta: ns, and also after a space */
	{ { "--start-trigger=a", "--stop-trigger=b", "--trigger-delta=50000" },
	  .start = "a",
	  .stop = "b",
	  .delta = 50000 },
	{ { "--start-trigger=a", "--stop-trigger=b", "--trigger-delta", "50000" },
	  .start = "a",
	  .stop = "b",
	  .delta = 50000 },
	{ { "--start-trigger=a", "--stop-trigger=b", "--trigger-delta", "1.5ms" },
	  .start = "a",
	  .stop = "b",
	  .delta = 1500000 },
	{ { "--start-trigger=a", "--stop-trigger=b", "--trigger-delta" },
	  .start = "a",
	  .stop = "b" },
	{ { "--start-trigger=a", "--trigger-delta", "--stop-trigger=b" },
	  .start = "a",
	  .stop = "b" },
	{ { "--start-trigger=a", "--stop-trigger=b", "--trigger-delta=365min" },
	  .start = "a",
	  .stop = "b",
	  .delta = 365 * 60 * S },
	{ { "--start-trigger=a", "--stop-trigger=b", "--trigger-same-thread" },
	  .start = "a",
	  .stop = "b",
	  .same_thread = true },
	{ { "--start-trigger=a", "--trigger-target-only" }, .start = "a", .target_only = true },
	{ { "--start-trigger=a", "--trigger-any" }, .start = "a", .any = true },
	{ { "--stop-trigger=b", "--trigger-target-only" }, .stop = "b", .target_only = true },
	/* the worst of many: no count, but some end */
	{ { "--start-trigger=a", "--stop-trigger=b", "--trigger-worst=3", "--duration=1min" },
	  .start = "a",
	  .stop = "b",
	  .worst = 3,
	  .duration = 60 * S,
	  .any_count = true },
	{ { "--start-trigger=a", "--stop-trigger=b", "--trigger-worst=3", "--sample-count=9" },
	  .start = "a",
	  .stop = "b",
	  .worst = 3,
	  .count = 9 },
	{ { "--long-poll" }, .long_poll = S },
	{ { "--long-poll", "0.2s" }, .long_poll = 200 * MS },
	{ { "--long-poll=50ms", "--trigger-target-only" },
	  .long_poll = 50 * MS,
	  .target_only = true },
	{ { "--long-poll", "--check" }, .long_poll = S, .check = true },
	{ { "--long-poll", "--trigger-worst=1", "--duration=1s" },
	  .long_poll = S,
	  .worst = 1,
	  .duration = S,
	  .any_count = true },
	{ { "--duration", "2.5s" }, .duration = 2500 * MS },
	{ { "--duration=1ns" }, .duration = 1 },
	{ { "--max-overhead", "0" }, .no_limit = true },
	{ { "--max-overhead", "100" }, .overhead = 100 },
	{ { "--window-banks=2" }, .banks = 2 },
	{ { "--window-banks", "7" }, .banks = 7 },
	{ { "-v" }, .verbose = true },
	{ { "--verbose" }, .verbose = true },
	{ { "--list-probes" }, .list = true },
	{ { "--list-probes=u:*" }, .list = true, .glob = "u:*" },
	{ { "--list-probes", "--strict" }, .list = true },
	{ { "--skip-upcall-stats" }, .skip_upcalls = true },
};

static void is_name(const char *got, const char *want, const char *line, const char *what)
{
	is_str(got, want ? want : "(none)", "'%s': %s", line, what);
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
	is_name(got->triggers[KD_START], want->start, line, "start");
	is_name(got->triggers[KD_STOP], want->stop, line, "stop");
	is_name(got->list_glob, want->glob, line, "glob");
	is_u64(options->trigger_deltas.others, want->delta, "'%s': delta", line);
	is_u64(options->trigger_worst, want->worst, "'%s': worst", line);
	is_u64(options->long_poll, want->long_poll, "'%s': long poll", line);
	is_u64(options->duration, want->duration ? want->duration : NONE, "'%s': duration", line);
	is_u64(options->sample_count,
	       want->any_count ? 0
	       : want->count   ? want->count
			       : 1,
	       "'%s': count", line);
	is_u64(options->window_banks, want->banks ? want->banks : 4, "'%s': banks", line);
	is_u64(options->max_overhead,
	       want->no_limit   ? 0
	       : want->overhead ? want->overhead
				: 10,
	       "'%s': overhead", line);
	ok(options->target_only == want->target_only, "'%s': target only", line);
	ok(options->any == want->any, "'%s': any", line);
	ok(options->same_thread == want->same_thread, "'%s': same thread", line);
	ok(options->verbose == want->verbose, "'%s': verbose", line);
	ok(options->list_probes == want->list, "'%s': list", line);
	ok(options->check == want->check, "'%s': check", line);
	ok(options->skip_upcall_stats == want->skip_upcalls, "'%s': upcalls", line);
}

/* Command lines that are refused, and why. */
static const struct refusal bad[] = {
	{ { "--start-trigger" }, "--start-trigger", "needs a value" },
	{ { "--start-trigger=a", "--start-trigger=b" }, "--start-trigger", "twice" },
	{ { "--stop-trigger=a", "--stop-trigger=a" }, "--stop-trigger", "twice" },
	{ { "--trigger-delta=x" }, "--trigger-delta", "not a duration" },
	{ { "--trigger-delta=-1" }, "--trigger-delta", "not a duration" },
	{ { "--trigger-delta=" }, "--trigger-delta", "not a duration" },
	{ { "--trigger-delta", "5x" }, "--trigger-delta", "not a duration" },
	{ { "--trigger-worst=0" }, "--trigger-worst", "out of range" },
	{ { "--trigger-worst=1001" }, "--trigger-worst", "out of range" },
	{ { "--long-poll=0" }, "--long-poll", "too short" },
	{ { "--long-poll", "4711" },
	  "option --long-poll: '4711' has no unit\n",
	  "4711s or 4711min; or the process with --pid 4711\n" },
	{ { "--long-poll=0.5" }, "--long-poll: '0.5' has no unit\n", "0.5s or 0.5min\n" },
	{ { "--duration=10" }, "--duration: '10' has no unit\n", "10s or 10min\n" },
	{ { "--duration=0" }, "--duration", "too short" },
	{ { "--max-overhead=101" }, "--max-overhead", "out of range" },
	{ { "--max-overhead=5%" }, "--max-overhead", "not a whole number" },
	{ { "--window-banks=1" }, "--window-banks", "out of range" },
	{ { "--window-banks=8" }, "--window-banks", "out of range" },
	{ { "--verbose=1" }, "--verbose", "takes no value" },
	{ { "--check" }, "--check", "needs a trigger" },
	{ { "--trigger-same-thread" }, "--trigger-same-thread", "needs two triggers" },
	{ { "--trigger-same-thread", "--start-trigger=a" }, "--trigger-same-thread", "two" },
	{ { "--trigger-target-only" }, "--trigger-target-only", "needs a trigger" },
	{ { "--trigger-any" }, "--trigger-any", "needs a trigger" },
	{ { "--start-trigger=a", "--trigger-any", "--trigger-target-only" },
	  "--trigger-any",
	  "cannot be combined" },
	{ { "--trigger-worst=3", "--duration=1s" }, "--trigger-worst", "needs two triggers" },
	{ { "--trigger-worst=3", "--start-trigger=a", "--stop-trigger=b" },
	  "--trigger-worst",
	  "needs an end" },
	{ { "--long-poll", "--start-trigger=a" }, "--long-poll", "cannot be combined" },
	{ { "--stop-trigger=b", "--long-poll" }, "--long-poll", "cannot be combined" },
};

static void test_no_effect(void)
{
	const char *args[ARGS] = { "--start-trigger=a", "--trigger-delta=5" };
	const struct outcome *got = run(args, -1);

	is_i64(got->status, 0, "a delta for one trigger is accepted, as by kernel_delay.py");
	ok(strstr(got->err, "warning: --trigger-delta has no effect"), "but not in silence");
}

int main(void)
{
	options_run_begin();
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		check_good(&good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_refusal(&bad[i]);
	test_no_effect();
	options_run_end();
	return done_testing();
}
