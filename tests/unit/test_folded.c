/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks, read back by a parser of its own: the last blank separates frames
 * from the figure, ';' separates frames. */
#include "report.h"

#include <errno.h>
#include <regex.h>

#include "cli/text/folded.h"
#include "traces_sample.h"

/* What flamegraph.pl takes for a line with two figures, and what it may be at all. */
#define TWO_FIGURES "[[:space:]][0-9.]+[[:space:]]+[0-9.]+$"
#define LINE "^[^;[:space:]]+(;[^;[:space:]]+)* [0-9]+$"

static char *folded_with(const struct sample *sample, struct report_options options)
{
	return report_checked(report_folded, sample, &options, "folded stacks");
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

	if (regcomp(&line, LINE, REG_EXTENDED) || regcomp(&two, TWO_FIGURES, REG_EXTENDED))
		abort();
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
TEST(several)
{
	struct sample sample = traces_begin();
	char *text;

	trace_processes(&sample, 2);
	sample.traces.waits_asked = true;
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

	sample.traces.waits_asked = true;
	row.kernel = &kernel_module, row.user = &user_main;
	row.end = row.start + 10000;
	trace_add(&sample, row);
	trace_add(&sample, row);
	text = folded(&sample);
	is_str(text,
	       "pmd-c01/id:8;_start;main;ovs-vswitchd+0x32b30;ovs_mutex_lock_at;__lll_lock_wait;"
	       "[kernel]_[k];nf_tables+0xffffffffc0a01234_[k];genl_rcv_[k];ovs_dp_cmd_del_[k] "
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
	sample.traces.user_stacks_asked = false;
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

	sample.traces.waits_asked = true;
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
	sample.traces.calls_asked = sample.traces.waits_asked = true;
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

	sample.traces.calls_asked = sample.traces.waits_asked = false;
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

	sample.traces.calls_asked = true;
	row.user = &user_main;
	row.end = 0; /* unfinished: up to the end of the sample */
	row.start = sample.end - 4000;
	trace_add(&sample, row);
	is_i64(report_folded(&sample, &report_plain, out), 0, "a sample");
	is_i64(report_folded(&sample, &report_plain, out), 0, "another one");
	text = golden_text(out);
	is_u64(check_lines(text, 2, "two samples"), 8000, "two samples: total");
	free(text);
	sample_clear(&sample);
}

TEST(ends)
{
	struct sample sample = traces_begin();
	struct trace_row row = trace(TRACE_CALL, 1, "t", "futex");
	FILE *full = fopen("/dev/full", "w");
	char *text = folded(&sample);

	is_str(text, "", "nothing of an empty sample");
	free(text);
	row.end = row.start;
	trace_add(&sample, row);
	text = folded(&sample);
	is_str(text, "", "nothing of what took no time");
	free(text);
	sample.traces.rows[0].end++;
	is_i64(report_folded(&sample, &report_plain, full), -ENOSPC, "no room");
	fclose(full);
	sample_clear(&sample);
}
