/* SPDX-License-Identifier: Apache-2.0 */
/* The report's sections with stacks, against golden files. */
#include <errno.h>

#include "../../cli/report/text.h"
#include "golden.h"
#include "tap.h"
#include "traces_sample.h"

static void is_golden(struct sample *sample, const char *name)
{
	FILE *out = tmpfile();

	is_i64(sample_finish(sample), 0, "%s: the sample is finished", name);
	is_i64(report_text(sample, out), 0, "%s is written", name);
	golden_compare(out, name);
}

/* The report as text, which is the caller's. */
static char *report(struct sample *sample)
{
	FILE *out = tmpfile();
	size_t length;
	char *text;

	is_i64(report_text(sample, out), 0, "a report is written");
	text = golden_read(out, &length);
	fclose(out);
	is_u64(strlen(text), length, "without NULs");
	return text;
}

/* The figures of upstream's real report, with our stacks. */
static struct sample calls_begin(void)
{
	struct sample sample = traces_begin();
	struct trace_row row = trace(TRACE_CALL, 9719, "ovs-vswitchd", "sendmmsg");

	sample.traces.calls_asked = true;
	row.result = 3, row.cpu = 1;
	row.kernel = &kernel_module, row.user = &user_main;
	trace_add(&sample, row);

	row = trace(TRACE_CALL, 9731, "revalidator6", "futex");
	row.start = 3650619909589, row.end = 3650620143698;
	row.result = -11, row.waited = 233456, row.cpu = 1023;
	row.kernel = &kernel_futex, row.user = &user_cut;
	trace_add(&sample, row);

	row = trace(TRACE_CALL, 9725, "urcu2", "poll"); /* still inside */
	row.start = 3649619927997, row.end = 0;
	row.kernel = &kernel_futex, row.waited = 1000;
	row.no_user = "the process cannot be read";
	trace_add(&sample, row);
	return sample;
}

static void test_calls(void)
{
	struct sample sample = calls_begin();
	struct trace_row row = trace(TRACE_CALL, 9719, "ovs-vswitchd", "mmap");

	row.end = row.start + 1999, row.result = 0x7f1234567000, row.limited = true;
	trace_add(&sample, row);
	row.user_ip = 0x7f0011223344, row.result = -4095, row.call = 400;
	row.end = row.start + 2000;
	trace_add(&sample, row);
	row.limited = false, row.result = -514, row.call = KD_CALL_UNKNOWN;
	row.end = row.start + 2001;
	trace_add(&sample, row);
	row = trace(TRACE_CALL, 32768, "", "landlock_restrict_self");
	row.end = row.start + 5000 * SECOND, row.result = INT64_MIN;
	row.user = &user_hostile;
	trace_add(&sample, row);
	is_golden(&sample, "traces_calls");
	sample_clear(&sample);
}

/* Scripts that read upstream's report must be able to read ours. */
static void test_upstreams_layout(void)
{
	static const char *const lines[] = {
		"\n# SYSCALL EVENTS:\n",
		"\n           ENTRY (ns)           EXIT (ns)        TID COMM             "
		"DELTA (us)  SYSCALL",
		"\n  ------------------- ------------------- ---------- ---------------- "
		"----------  ----------------",
		"\n        3650618858022       3650618883600       9719 ovs-vswitchd             "
		"25  "
		"sendmmsg ",
		"\n        3650619909589       3650620143698       9731 revalidator6            "
		"234  "
		"futex ",
		"\n          do_futex+0xcb [kernel]\n",
		"\n          __lll_lock_wait+0x2b [libc.so.6]\n",
		"\n          [unknown] 0x7f0012345678\n",
	};
	struct sample sample = calls_begin();
	char *text = report(&sample);

	for (size_t i = 0; i < COUNT(lines); i++)
		ok(strstr(text, lines[i]), "as upstream: %s", lines[i] + 1);
	free(text);
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

static void test_waits(void)
{
	struct sample sample = traces_begin();
	struct trace_row row;

	sample.traces.waits_asked = true;
	for (unsigned int i = 0; i < 3; i++) {
		row = wait_row(11, KD_BLOCKED, i * 1000000, 1234567 + i);
		row.call = syscall_number("futex");
		row.user = &user_main;
		row.ended_by = 12 + (pid_t)(i == 0);
		strcpy(row.ended_by_name, "even");
		trace_add(&sample, row);
	}
	row = wait_row(12, KD_BLOCKED_UNINT, 5, 999);
	row.call = syscall_number("fsync");
	strcpy(row.ended_by_name, "interrupt");
	trace_add(&sample, row);
	row = wait_row(12, KD_READY_WOKEN, 7, 50);
	row.ended_by = 77;
	row.limited = true, row.user_ip = 0x401000;
	trace_add(&sample, row);
	row = wait_row(12, KD_READY_PREEMPTED, 8, 49);
	row.kernel = NULL, row.user = &user_cut;
	trace_add(&sample, row);
	row = wait_row(11, KD_STOPPED, 9, 48);
	row.call = KD_CALL_UNKNOWN;
	memcpy(row.ended_by_name, "\x1b[2J\n;x", 7);
	row.user = &user_hostile;
	trace_add(&sample, row);
	is_golden(&sample, "traces_waits");
	sample_clear(&sample);
}

static void test_samples(void)
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
	is_golden(&sample, "traces_samples");
	sample_clear(&sample);
}

/* Nothing to list, without stacks, of a program of another architecture. */
static void test_bare(void)
{
	struct sample sample = traces_begin();
	struct trace_row row = trace(TRACE_CALL, 1, "x", NULL);

	sample.traces.calls_asked = sample.traces.waits_asked = true;
	sample.traces.profile_hz = 997;
	is_golden(&sample, "traces_none");
	sample.traces.kernel_stacks_asked = sample.traces.user_stacks_asked = false;
	sample.foreign_calls = true;
	row.call = 168;
	trace_add(&sample, row);
	row.kind = TRACE_WAIT, row.state = KD_BLOCKED;
	trace_add(&sample, row);
	row.kind = TRACE_SAMPLE, row.state = KD_USER, row.call = KD_CALL_NONE;
	trace_add(&sample, row);
	is_golden(&sample, "traces_no_stacks");
	sample_clear(&sample);
}

/* Of many only the largest are shown; all are in the sum. */
static void test_many(void)
{
	struct sample sample = traces_begin();
	char *text, *at;
	unsigned int rows = 0;

	sample.traces.waits_asked = true;
	for (unsigned int i = 1; i <= 80; i++)
		trace_add(&sample, wait_row((pid_t)i, KD_BLOCKED, i, i));
	text = report(&sample);
	for (at = text; (at = strstr(at, "blocked interruptible")); at++)
		rows++;
	is_u64(rows, 50, "of 80 rows 50 are shown");
	ok(strstr(text, "              80              80         80 even"), "the largest");
	ok(!strstr(text, "              30              30         30 even"), "not the smallest");
	ok(strstr(text,
		  "\n  All: 80 waits, 3,240 us; the 50 rows with the largest totals out of 80 "
		  "are shown.\n"),
	   "and it is said, with the sum of all");
	free(text);
	sample_clear(&sample);
}

static void test_footer(void)
{
	struct sample sample = traces_begin();

	sample.traces.lost = 1234;
	sample.traces.beyond = 1;
	sample.traces.failed = 2;
	sample.traces.failure = "the child was ended\nby signal 31";
	sample.traces.limited = 99;
	sample.traces.stack_rate = 500;
	sample.traces.incomplete = 1;
	sample.traces.kernel_hidden = true;
	is_golden(&sample, "traces_losses");
	sample.traces = (struct trace_list){ .lost = 1, .beyond = 2, .failed = 1, .limited = 1 };
	is_golden(&sample, "traces_losses_of_one");
}

/* --strict and the footer must agree: a warning is there exactly if there is a loss. */
static void test_warnings(void)
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

/* Whatever is in names, lines are ours: printable, and as many as without it. */
static void test_hostile(void)
{
	struct sample sample = traces_begin();
	struct trace_row row = trace(TRACE_CALL, 1, "a\nb\x1b[2J", "read");
	unsigned int lines = 0, wrong = 0;
	static char name[100000];
	struct frame frame = { name, 1, name, name };
	struct stack stack = { &frame, 1, name };
	char *text;

	memset(name, '\x1b', sizeof(name) - 1);
	sample.traces.calls_asked = true;
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

static void test_output_error(void)
{
	struct sample sample = calls_begin();
	FILE *full = fopen("/dev/full", "w");

	is_i64(report_text(&sample, full), -ENOSPC, "no room for a report");
	fclose(full);
	sample_clear(&sample);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	test_calls();
	test_upstreams_layout();
	test_waits();
	test_samples();
	test_bare();
	test_many();
	test_footer();
	test_warnings();
	test_hostile();
	test_output_error();
	return done_testing();
}
