/* SPDX-License-Identifier: Apache-2.0 */
/* The report's sections with stacks, against golden files; and folded stacks, read back by a parser
 * of its own: the last blank separates frames from the figure, ';' separates frames. */
#include "report.h"

#include <errno.h>
#include <regex.h>

#include "cli/model/losses.h"
#include "cli/model/sample.h"
#include "cli/text/text.h"
#include "traces_sample.h"

static void is_finished_golden(struct sample *sample, const char *name, const char *const *parts)
{
	is_i64(sample_finish(sample), 0, "%s: the sample is finished", name);
	is_golden(sample, &report_plain, name, parts);
}

/* The report as text, which is the caller's. */
static char *report_with(struct sample *sample, struct report_options options)
{
	return report_checked(report_text, sample, &options, "a report");
}

static char *report(struct sample *sample)
{
	return report_with(sample, report_plain);
}

/* The figures of upstream's real report, with our stacks. */
static struct sample calls_begin(void)
{
	struct sample sample = traces_begin();
	struct trace_row row = trace(TRACE_CALL, 9719, "ovs-vswitchd", "sendmmsg");

	sample.traces.calls_wanted = true;
	row.result = 3, row.cpu = 1;
	row.kernel = &kernel_module, row.user = &user_main;
	trace_add(&sample, row);

	row = trace(TRACE_CALL, 9731, "revalidator6", "futex");
	row.start = 3650619909589, row.end = 3650620143698;
	row.result = -11, row.waited = 233456, row.cpu = 1023;
	row.timed = true, row.ran = 1500, row.ready = 1999;
	row.wakers[0] = (struct waker){ .tid = 9719, .from = KD_FROM_TASK, .name = "\033[2J" };
	row.kernel = &kernel_futex, row.user = &user_cut;
	trace_add(&sample, row);

	row = trace(TRACE_CALL, 9725, "urcu2", "ppoll"); /* still inside */
	row.start = 3649619927997, row.end = 0;
	row.kernel = &kernel_futex, row.waited = 1000;
	row.timed = true, row.ran = 900; /* another wait was longer */
	row.no_user = "the process cannot be read";
	trace_add(&sample, row);
	return sample;
}

TEST(calls)
{
	struct sample sample = calls_begin();
	struct trace_row row = trace(TRACE_CALL, 9719, "ovs-vswitchd", "mmap");

	row.end = row.start + 1999, row.result = 0x7f1234567000, row.limited = true;
	trace_add(&sample, row);
	row.user_ip = 0x7f0011223344, row.result = -4095, row.call = 400;
	row.timed = true, row.ran = 2000;
	row.end = row.start + 2000;
	trace_add(&sample, row);
	row.limited = false, row.result = -514, row.call = KD_CALL_UNKNOWN;
	row.end = row.start + 2001;
	trace_add(&sample, row);
	row = trace(TRACE_CALL, 32768, "", "landlock_restrict_self");
	row.end = row.start + 5000 * SECOND, row.result = INT64_MIN;
	row.user = &user_hostile;
	trace_add(&sample, row);
	is_finished_golden(&sample, "traces_calls",
			   PARTS("# SYSCALL EVENTS", ".traces.stacks", ".traces.syscalls"));
	sample_clear(&sample);
}

static struct trace_row wait_row(pid_t tid, uint32_t state, uint64_t start, uint64_t us)
{
	struct trace_row row = trace(TRACE_WAIT, tid, tid % 2 ? "odd" : "even", NULL);

	row.state = state;
	row.start = 3650 * SECOND + start;
	row.end = row.start + us * 1000;
	row.kernel = &kernel_futex;
	return row;
}

/* Paths of calls, and of waits that are put together. */
TEST(paths)
{
	static const char *const paths[] = { "/srv/db/journal", "a\x1b[2J\n)\xff \\",
					     "/a very long one" };
	struct sample sample = traces_begin();
	struct trace_row row;

	sample.traces.kernel_stacks_wanted = sample.traces.user_stacks_wanted = false;
	sample.traces.calls_wanted = sample.traces.waits_wanted = true;
	for (size_t i = 0; i <= COUNT(paths); i++) {
		row = trace(TRACE_CALL, 11, "paths", "openat");
		row.path = i < COUNT(paths) ? paths[i] : NULL;
		row.at = i == 1 ? "fd 5, /srv" : NULL;
		row.path_cut = i == 2;
		row.no_path = !row.path;
		trace_add(&sample, row);
		row.blocker.lock = i == 2 ? 0x7ffc00 : 0;
		row.kind = TRACE_WAIT, row.state = KD_BLOCKED, row.awaited = (uint32_t)i;
		row.end += i, row.start -= i;
		trace_add(&sample, row);
		row.path = i == 1 ? "/another" : row.path;
		row.blocker.lock = i == 2 ? 0x7ffc08 : i == 3 ? 0 : row.blocker.lock;
		trace_add(&sample, row);
	}
	is_finished_golden(&sample, "traces_paths",
			   PARTS("# SYSCALL EVENTS", "# OFF-CPU", ".traces.syscalls[].at",
				 ".traces.syscalls[].path", ".traces.syscalls[].path_hex",
				 ".traces.syscalls[].path_cut", ".traces.syscalls[].no_path",
				 ".traces.waits[].path"));
	sample_clear(&sample);
}

/* Who had the locks that calls and waits were for, and which disks were asked. */
TEST(blockers)
{
	static const struct blocker blockers[] = {
		{ .lock = 0x7ffc00,
		  .kind = KD_LOCK_MUTEX,
		  .holder = 4711,
		  .holder_name = "worker" },
		{ .lock = 0x7ffc40, .kind = KD_LOCK_JOIN, .holder = 4712 },
		{ .lock = 0xffff888100a01234,
		  .kind = KD_LOCK_KERNEL_MUTEX,
		  .holder = 4713,
		  .holder_pid = 4700,
		  .holder_name = "\x1b[2J\n) of 1" },
		{ .lock = 0xffff888100a05678, .kind = KD_LOCK_KERNEL_SEMAPHORE },
		{ .request = 12345678, .disk = "nvme0n1" },
		{ .request = 999, .disk = "\n\x7f" },
		{ .lock = 0xffff888100a09abc, .kind = KD_LOCK_KERNEL_RWSEM_READ, .request = 1000 },
	};
	struct sample sample = traces_begin();
	struct trace_row row;

	sample.traces.kernel_stacks_wanted = sample.traces.user_stacks_wanted = false;
	sample.traces.calls_wanted = sample.traces.waits_wanted = true;
	for (size_t i = 0; i < COUNT(blockers); i++) {
		row = trace(TRACE_CALL, 11, "blocked", "fsync");
		row.blocker = blockers[i];
		trace_add(&sample, row);
		row.kind = TRACE_WAIT, row.state = KD_BLOCKED, row.awaited = (uint32_t)i;
		row.end += i, row.start -= i;
		trace_add(&sample, row);
		/* Another holder, no disk. */
		row.blocker.holder += i % 2;
		row.blocker.request = i == 5 ? 1 : 0;
		row.end--;
		trace_add(&sample, row);
	}
	is_finished_golden(&sample, "traces_blockers",
			   PARTS("# SYSCALL EVENTS", "# OFF-CPU", ".traces.syscalls[].lock_kind",
				 ".traces.syscalls[].holder_name", ".traces.syscalls[].disk",
				 ".traces.waits[].lock", ".traces.waits[].holder_tid"));
	sample_clear(&sample);
}

TEST(waits)
{
	struct sample sample = traces_begin();
	struct trace_row row;

	sample.traces.waits_wanted = true;
	for (unsigned int i = 0; i < 3; i++) {
		row = wait_row(11, KD_BLOCKED, i * 1000000, 1234567 + i);
		row.call = syscall_number("futex");
		row.awaited = KD_AWAITED_LOCK;
		row.user = &user_main;
		row.wakers[0] = (struct waker){ 0, 12 + (pid_t)(i == 0), KD_FROM_TASK, "even" };
		trace_add(&sample, row);
	}
	row = wait_row(12, KD_BLOCKED_UNINT, 5, 999);
	row.call = syscall_number("fsync");
	row.awaited = KD_AWAITED_DISK;
	row.wakers[0] = (struct waker){ 9, 0, KD_FROM_DISK, "disk" };
	trace_add(&sample, row);
	row = wait_row(12, KD_READY_WOKEN, 7, 50);
	row.wakers[0].tid = 77;
	row.limited = true, row.user_ip = 0x401000;
	trace_add(&sample, row);
	row = wait_row(12, KD_READY_PREEMPTED, 8, 49);
	row.kernel = NULL, row.user = &user_cut;
	trace_add(&sample, row);
	row = wait_row(11, KD_STOPPED, 9, 48);
	row.call = KD_CALL_UNKNOWN;
	row.wakers[0] = (struct waker){ 9, 7, KD_FROM_TASK, "\x1b[2J\n;x" };
	row.user = &user_hostile;
	trace_add(&sample, row);
	sample.traces.wait_filter = "!work,\x1b[2J";
	sample.traces.left_out = 1234, sample.traces.left_out_ns = 5 * SECOND;
	is_finished_golden(&sample, "traces_waits",
			   PARTS("# OFF-CPU", ".traces.waits", ".traces.waits_left_out",
				 ".traces.waits_left_out_ns"));
	sample_clear(&sample);
}

/* Who woke whom: as far as all waits that are put together ended so, and one step beyond. */
TEST(wakers)
{
	static const struct waker a = { 40, 1, KD_FROM_TASK, "a" },
				  b = { 30, 2, KD_FROM_TASK, "b" },
				  udp = { 30, 3, KD_FROM_NETWORK, "udp" },
				  timer = { 20, 0, KD_FROM_TIMER, "timer" },
				  old = { 0, 0, KD_FROM_UNKNOWN, "interrupt" };
	const struct {
		struct waker wakers[4][KD_WAKERS]; /* of the longest wait first */
	} sums[] = {
		{ { { a, b, timer }, { a, b, timer } } },
		{ { { a, b, timer }, { a, b } } },
		{ { { a, b, timer }, { a, udp, timer } } },
		{ { { a, b, timer }, { a, b, timer }, { b, b, timer } } },
		{ { { a }, { a, b } } },
		{ { { udp, timer }, { udp, timer } } },
		{ { { timer }, { a } } },
		{ { { old }, { old } } },
		{ { { { 0 } }, { a } } },
		{ { { { 0 } } } },
	};
	struct sample sample = traces_begin();

	sample.traces.waits_wanted = true;
	for (size_t i = 0; i < COUNT(sums); i++) {
		for (size_t j = 0; j < 4 && (!j || trace_wakers(&(struct trace_row){
							   .wakers = { sums[i].wakers[j][0] } }));
		     j++) {
			struct trace_row row = wait_row(11, KD_BLOCKED, j, 900 - 10 * i - j);

			row.awaited = (uint32_t)i;
			memcpy(row.wakers, sums[i].wakers[j], sizeof(row.wakers));
			trace_add(&sample, row);
		}
	}
	is_finished_golden(&sample, "traces_wakers",
			   PARTS("# OFF-CPU", ".traces.waits[].ended_by"));
	sample_clear(&sample);
}

TEST(samples)
{
	struct sample sample = traces_begin();

	sample.traces.profile_hz = 49;
	for (unsigned int i = 0; i < 49; i++) {
		struct trace_row row = trace(TRACE_SAMPLE, 21, "pmd-c01", NULL);

		row.start = row.end = 3650 * SECOND + i;
		row.state = i % 7 ? KD_USER : KD_KERNEL;
		row.user = i % 7 == 1 ? &user_cpp : &user_main;
		if (row.state == KD_KERNEL) {
			row.kernel = &kernel_module;
			row.call = syscall_number("sendmmsg");
		}
		trace_add(&sample, row);
		if (i)
			continue;
		row.tid = 22, row.kernel = NULL, row.user = NULL; /* a thread of its own */
		trace_add(&sample, row);
	}
	is_finished_golden(&sample, "traces_samples", PARTS("# ON-CPU", ".traces.profile_hz"));
	sample_clear(&sample);
}

/* Waits of ten processes at one place, and at an address that is of one each; one that has no
 * title any more, and one that had ended before it was read. */
TEST(multiple)
{
	struct sample sample = traces_begin();

	trace_processes(&sample, 10);
	sample.traces.waits_wanted = sample.traces.calls_wanted = true;
	for (int i = 0; i < 11; i++) {
		struct trace_row row = trace(TRACE_WAIT, 812 + i, "postgres", "futex");

		row.pid = row.tid;
		row.state = KD_BLOCKED;
		row.kernel = &kernel_futex;
		row.user = &user_main;
		row.end = row.start + 1000000 * (uint64_t)(i + 1);
		trace_add(&sample, row);
		row.user = &user_cut;
		if (i > 8)
			trace_add(&sample, row);
	}
	for (int i = 0; i < 2; i++) {
		struct trace_row row = trace(TRACE_CALL, 900 + i, "postgres", "read");

		row.pid = i ? 900 : 813;
		row.user = i ? NULL : &user_main;
		row.no_user = i ? "the process ended before its mappings were read" : NULL;
		trace_add(&sample, row);
	}
	is_finished_golden(
		&sample, "traces_several",
		PARTS("# PROCESSES", "# SYSCALL EVENTS", "# OFF-CPU", ".traces.syscalls[].pid"));
	sample_clear(&sample);
}

/* Nothing to list, without stacks, of a program of another architecture. */
TEST(bare)
{
	struct sample sample = traces_begin();
	struct trace_row row = trace(TRACE_CALL, 1, "x", NULL);

	sample.traces.calls_wanted = sample.traces.waits_wanted = true;
	sample.traces.profile_hz = 997;
	is_finished_golden(&sample, "traces_none",
			   PARTS("# SYSCALL EVENTS", "# OFF-CPU", "# ON-CPU", ".traces"));
	sample.traces.kernel_stacks_wanted = sample.traces.user_stacks_wanted = false;
	sample.foreign_calls = true;
	row.call = 168;
	trace_add(&sample, row);
	row.kind = TRACE_WAIT, row.state = KD_BLOCKED;
	trace_add(&sample, row);
	row.kind = TRACE_SAMPLE, row.state = KD_USER, row.call = KD_CALL_NONE;
	trace_add(&sample, row);
	is_finished_golden(&sample, "traces_no_stacks",
			   PARTS("# SYSCALL EVENTS", "# OFF-CPU", "# ON-CPU",
				 ".traces.kernel_stacks_asked", ".traces.user_stacks_asked"));
	sample_clear(&sample);
}

TEST(footer)
{
	struct sample sample = traces_begin();

	sample.traces.lost = 1234;
	sample.traces.beyond = 1;
	sample.traces.failed = 2;
	sample.traces.failure = "the child was ended\nby signal 31";
	sample.traces.limited = 99;
	sample.traces.stack_share = 12500;
	sample.traces.incomplete = 1;
	sample.traces.kernel_hidden = true;
	is_finished_golden(&sample, "traces_losses",
			   PARTS("# WARNING", ".losses", ".traces.kernel_symbols_hidden"));
	sample.traces = (struct trace_list){ .lost = 1, .beyond = 2, .failed = 1, .limited = 1 };
	is_finished_golden(&sample, "traces_losses_of_one", PARTS("# WARNING", ".lost"));
}

/* --strict and the footer must agree: a warning is there exactly if there is a loss. */
TEST(warnings)
{
	for (unsigned int i = 0; i < 7; i++) {
		struct sample sample = traces_begin();
		uint64_t *const counts[] = { &sample.traces.lost, &sample.traces.beyond,
					     &sample.traces.failed, &sample.traces.limited,
					     &sample.traces.incomplete };
		char *text;

		if (i < COUNT(counts))
			*counts[i] = 1;
		else
			sample.traces.kernel_hidden = i == COUNT(counts);
		text = report(&sample);
		ok(!strstr(text, "# WARNING") == !sample_lost(&sample), "case %u", i);
		ok(!strstr(text, "# NOTE") == (i < 3 || i == 6), "case %u: or a note", i);
		free(text);
	}
}

/* Threads that wait at one place are one row, or each has its own: of many only the largest; or
 * only threads of some names. All are in the sums, and what is left out is said. */
TEST(threads)
{
	static const struct {
		const char *name;
		struct report_options options;
	} cases[] = { { "traces_in_all", { 0 } },
		      { "traces_in_thread", { .waits_per_thread = true } },
		      { "traces_in_names", { .threads = "od?" } } };
	struct sample sample = traces_begin();

	sample.traces.waits_wanted = true;
	sample.traces.kernel_stacks_wanted = sample.traces.user_stacks_wanted = false;
	for (unsigned int i = 1; i <= 80; i++) {
		struct trace_row row = wait_row((pid_t)i, KD_BLOCKED, i, i);

		row.kernel = NULL;
		trace_add(&sample, row);
	}
	for (size_t i = 0; i < COUNT(cases); i++) {
		is_golden(&sample, &cases[i].options, cases[i].name, PARTS("# OFF-CPU"));
		sample.traces.wait_calls_chosen = true, sample.traces.left_out = 1;
	}
	sample_clear(&sample);
}

/* Whatever is in names, lines are ours: printable, and as many as without it. */
TEST(hostile)
{
	struct sample sample = traces_begin();
	struct trace_row row = trace(TRACE_CALL, 1, "a\nb\x1b[2J", "read");
	unsigned int lines = 0, wrong = 0;
	static char name[100000];
	struct frame frame = { name, 1, name, name, 0 };
	struct stack stack = { .frames = &frame, .n = 1, .stop = name };
	char *text;

	memset(name, '\x1b', sizeof(name) - 1);
	sample.traces.calls_wanted = true;
	row.user = &user_hostile;
	trace_add(&sample, row);
	row.user = row.kernel = &stack;
	row.no_user = name;
	trace_add(&sample, row);
	row.user = NULL;
	trace_add(&sample, row);
	text = report(&sample);
	for (const char *at = text; *at; at++) {
		unsigned char byte = (unsigned char)*at;

		lines += byte == '\n';
		wrong += (byte < ' ' && byte != '\n') || byte > '~';
	}
	is_u64(wrong, 0, "no control characters");
	/* 3 of title; 4 of the section; 3 rows; 8 frames and a reason with 1 kernel stack
	 * missing; two stacks of a frame and a reason; one of these and a reason */
	is_u64(lines, 3 + 4 + 3 + 10 + 4 + 3, "no lines of theirs");
	ok(strlen(text) < 50000, "names are cut off");
	free(text);
	sample_clear(&sample);
}

static int folded_write(const struct sample *sample, const struct report_options *options,
			FILE *out)
{
	const int lines = report_folded(sample, options, out);

	return lines < 0 ? lines : 0;
}

/* --- Folded stacks --- */

/* What flamegraph.pl takes for a line with two figures, and what it may be at all. */
#define TWO_FIGURES "[[:space:]][0-9.]+[[:space:]]+[0-9.]+$"
#define LINE "^[^;[:space:]]+(;[^;[:space:]]+)* [0-9]+$"

static char *folded_with(const struct sample *sample, struct report_options options)
{
	return report_checked(folded_write, sample, &options, "folded stacks");
}

static char *folded(const struct sample *sample)
{
	return folded_with(sample, report_plain);
}

/* Checks the form of all lines. Returns the sum of the figures. */
static uint64_t check_lines(char *text, unsigned int lines, const char *what)
{
	regex_t line, two;
	uint64_t total = 0;
	unsigned int n = 0, wrong = 0;
	char *at, *rest = text;

	need(!regcomp(&line, LINE, REG_EXTENDED) && !regcomp(&two, TWO_FIGURES, REG_EXTENDED));
	while ((at = strsep(&rest, "\n")) && rest) {
		if (regexec(&line, at, 0, NULL, 0) || !regexec(&two, at, 0, NULL, 0)) {
			wrong++;
			tap_print_string("wrong", at);
		} else {
			total += strtoull(strrchr(at, ' ') + 1, NULL, 10);
		}
		n++;
	}
	is_u64(wrong, 0, "%s: every line has frames and a figure", what);
	is_u64(n, lines, "%s: lines", what);
	ok(!at || !*at, "%s: the last one ends", what);
	regfree(&line);
	regfree(&two);
	return total;
}

/* Each process has lines of its own. */
TEST(folded_several)
{
	struct sample sample = traces_begin();
	char *text;

	trace_processes(&sample, 2);
	sample.traces.waits_wanted = true;
	for (int i = 0; i < 6; i++) {
		struct trace_row row = trace(TRACE_WAIT, 812 + i, "postgres", NULL);

		row.pid = 812 + i % 2;
		row.user = &user_main;
		row.end = row.start + 100;
		trace_add(&sample, row);
	}
	text = folded(&sample);
	ok(!strncmp(text, "postgres-812;_start;", 20) && strstr(text, "\npostgres-813;_start;"),
	   "a line has the process's PID");
	is_u64(check_lines(text, 2, "of two processes"), 600, "all of their time");
	free(text);
	text = folded_with(&sample, (struct report_options){ .waits_per_thread = true });
	ok(strstr(text, "postgres-813/817;_start;") != NULL,
	   "and the thread's TID, if it is asked");
	is_u64(check_lines(text, 6, "of six threads"), 600, "all of their time");
	free(text);
	sample_clear(&sample);
}

TEST(frames)
{
	struct sample sample = traces_begin();
	struct trace_row row = trace(TRACE_WAIT, 1, "pmd-c01/id:8", NULL);
	char *text;

	sample.traces.waits_wanted = true;
	row.kernel = &kernel_module, row.user = &user_main;
	row.end = row.start + 10000;
	trace_add(&sample, row);
	trace_add(&sample, row);
	text = folded(&sample);
	is_str(text,
	       "pmd-c01/id:8;_start;main;ovs-vswitchd+0x32b30;ovs_mutex_lock_at;__lll_lock_wait;"
	       "[no_symbol]_[k];nf_tables+0xffffffffc0a01234_[k];genl_rcv_[k];ovs_dp_cmd_del_[k] "
	       "20000\n",
	       "the outermost first, user before kernel");
	free(text);

	sample.traces.n = 0;
	row.kernel = NULL, row.user = &user_cut;
	trace_add(&sample, row);
	text = folded(&sample);
	is_str(text,
	       "pmd-c01/"
	       "id:8;[by_frame_pointers];[incomplete];[unknown];libstripped.so.1+0x1234;clock_"
	       "gettime 10000\n",
	       "an incomplete one");
	free(text);

	row.user = NULL;
	sample.traces.n = 0;
	trace_add(&sample, row);
	text = folded(&sample);
	is_str(text, "pmd-c01/id:8;[no_user_stack] 10000\n", "none");
	free(text);
	sample.traces.user_stacks_wanted = false;
	text = folded(&sample);
	is_str(text, "pmd-c01/id:8 10000\n", "none, and none was asked for");
	free(text);
	sample_clear(&sample);
}

TEST(names)
{
	struct sample sample = traces_begin();
	struct trace_row row = trace(TRACE_WAIT, 1, "worker 1;2", NULL);
	char *text;

	sample.traces.waits_wanted = true;
	row.end = row.start + 5;
	row.user = &user_cpp;
	trace_add(&sample, row);
	text = folded(&sample);
	is_str(text,
	       "worker_1:2;std::map<int,_a:_b>::operator[](int&&);operator_new(unsigned_long) 5\n",
	       "blanks and semicolons are no part of frames");
	free(text);
	sample.traces.n = 0;
	row.user = &user_hostile;
	trace_add(&sample, row);
	memset(row.name, 0, sizeof(row.name));
	row.kernel = &user_hostile;
	trace_add(&sample, row);
	memset(row.name, ' ', sizeof(row.name));
	trace_add(&sample, row);
	text = folded(&sample);
	for (const char *at = text; *at; at++)
		if ((unsigned char)*at < ' ' && *at != '\n')
			ok(false, "a control character");
	is_u64(check_lines(text, 3, "hostile names"), 15, "hostile names: total");
	free(text);
	sample_clear(&sample);
}

/* A call, a wait in it and samples at once: the second frame keeps them apart. */
TEST(kinds)
{
	struct sample sample = traces_begin();
	char *text;

	for (unsigned int i = 0; i < 300; i++) {
		struct trace_row row = trace((enum trace_kind)(i % 3), 1 + (pid_t)(i % 2), "t",
					     NULL);

		row.user = i % 5 ? &user_main : &user_cut;
		row.kernel = i % 7 ? &kernel_futex : NULL;
		row.end = row.start + i;
		trace_add(&sample, row);
	}
	sample.traces.calls_wanted = sample.traces.waits_wanted = true;
	sample.traces.profile_hz = 100;
	text = folded(&sample);
	ok(strstr(text, "t;syscall;_start;main;") && strstr(text, "t;off-cpu;_start;main;") &&
		   strstr(text, "t;on-cpu;_start;main;"),
	   "several kinds are told apart");
	/* calls and waits: i; a sample: 10 ms */
	is_u64(check_lines(text, 3 * 2 * 2, "kinds"),
	       100 * 10000000ULL + 299 * 300 / 2 - (2 + 299) * 100 / 2, "kinds: total");
	free(text);
	text = folded_with(&sample, (struct report_options){ .waits_per_thread = true });
	ok(strstr(text, "t-1;syscall;_start;main;") && strstr(text, "t-2;off-cpu;_start;main;"),
	   "each thread can have lines of its own");
	is_u64(check_lines(text, 3 * 2 * 2 * 2, "per thread"),
	       100 * 10000000ULL + 299 * 300 / 2 - (2 + 299) * 100 / 2, "per thread: total");
	free(text);

	sample.traces.calls_wanted = sample.traces.waits_wanted = false;
	text = folded(&sample);
	ok(!strstr(text, "on-cpu"), "one kind needs no name");
	free(text);
	sample_clear(&sample);
}

/* What several samples append is as good as one larger sample. */
TEST(append)
{
	struct sample sample = traces_begin();
	struct trace_row row = trace(TRACE_CALL, 1, "t", "futex");
	FILE *out = tmpfile();
	char *text;

	sample.traces.calls_wanted = true;
	row.user = &user_main;
	row.end = 0; /* unfinished: up to the end of the sample */
	row.start = sample.end - 4000;
	trace_add(&sample, row);
	ok(report_folded(&sample, &report_plain, out) > 0, "a sample");
	ok(report_folded(&sample, &report_plain, out) > 0, "another one");
	text = golden_text(out);
	is_u64(check_lines(text, 2, "two samples"), 8000, "two samples: total");
	free(text);
	sample_clear(&sample);
}

TEST(ends)
{
	struct sample sample = traces_begin();
	struct trace_row row = trace(TRACE_CALL, 1, "t", "futex");
	char *text = folded(&sample);

	is_str(text, "", "nothing of an empty sample");
	free(text);
	row.end = row.start;
	trace_add(&sample, row);
	text = folded(&sample);
	is_str(text, "", "nothing of what took no time");
	free(text);
	sample_clear(&sample);
}
