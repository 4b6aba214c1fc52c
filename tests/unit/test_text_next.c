/* SPDX-License-Identifier: Apache-2.0 */
/* Advice by the target's name, and by who does not answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text/text.h"
#include "cli/text/text_next.h"
#include "verdict_said.h"

#define WIDTH 72 /* of the screen's line, without NEXT */

static void next_is(const char *name, bool waits, const char *want)
{
	struct thread_row row = runner(1, "main");
	struct sample sample = verdict_sample(&row, 1);
	struct capture capture = { .process = "" };
	char advice[512] = "";

	sample.capture = &capture;
	memcpy(capture.process, name, strlen(name));
	if (!text_next(advice, sizeof(advice), &sample, waits))
		strcpy(advice, "none");
	is_str(advice, want, "%s %s", name, waits ? "waits" : "computes");
	ok(strlen(advice) <= WIDTH, "it fits on the line");
}

TEST(programs)
{
	next_is("java", true, "jstack 4711 shows where its threads wait, and who has the monitors");
	next_is("java", false, "jstack 4711, or --profile, shows what it computes");
	next_is("python3.11", true, "py-spy dump --pid 4711 shows where its threads wait");
	next_is("postgres", true, "SELECT pid, pg_blocking_pids(pid), query FROM pg_stat_activity");
	next_is("postgres", false,
		"SELECT pid, state, query FROM pg_stat_activity says what it runs");
	next_is("mariadbd", true, "SHOW ENGINE INNODB STATUS says which transactions wait");
	next_is("mysqld", false, "SHOW FULL PROCESSLIST says which queries it runs");
	next_is("redis-server", false, "redis-cli SLOWLOG GET says which commands take long");
	next_is("valkey-server", true, "valkey-cli LATENCY DOCTOR says what it waits for");
	next_is("ovs-vswitchd", false,
		"ovs-appctl coverage/show, dpif-netdev/pmd-perf-show say what it does");
	next_is("javac", true, "none");
	next_is("", true, "none");
}

TEST(processes)
{
	struct process_row processes[] = { { .pid = 1, .name = "postgres" },
					   { .pid = 2, .name = "postgres" } };
	struct thread_row row = runner(1, "main");
	struct sample sample = verdict_sample(&row, 1);
	char advice[512];

	sample.processes = processes, sample.n_processes = 2;
	ok(text_next(advice, sizeof(advice), &sample, true), "processes of one name");
	memcpy(processes[1].name, "other", sizeof("other"));
	ok(!text_next(advice, sizeof(advice), &sample, true), "of several");
}

/* The sentence and the advice of a thread that slept for a second. */
static void said_is(struct descriptor_row *sleep, const char *want, const char *what)
{
	struct thread_row row = spent(LEDGER_BLOCKED, SECOND);
	struct sample sample = verdict_sample(&row, 1);
	struct verdict verdict = { 0 };
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	row.descriptors = sleep, row.n_descriptors = 1;
	row.ledger.awaited[sleep->awaited] = sleep->waits;
	need(out && !verdict_find(&verdict, &sample));
	need(!report_text_verdict(&sample, out) && !report_text_advice(&sample, out));
	need(!fclose(out));
	is_str(text, want, "%s", what);
	verdict_clear(&verdict);
	free(text);
}

#define NEXT "NEXT    "
#define SHARE "100 % (1.00 s of 1.00 s, longest 1.00 s): main[1] "

TEST(unanswered)
{
	struct descriptor_row sleep = { .awaited = KD_AWAITED_WORK,
					.wchan = "do_sys_poll",
					.call = KD_CALL_NONE,
					.is = { .fd = -1 },
					.unanswered = 1900 * MILLI,
					.asked_fd = 3,
					.asked = "127.0.0.53:53",
					.waits = times(1, SECOND, SECOND) };

	said_is(&sleep,
		SHARE "got no answer for 1.90 s from 127.0.0.53:53 (fd 3).\n" NEXT
		      "see whether 127.0.0.53:53 answers others\n",
		"of an address");
	sleep.awaited_pid = 12;
	memcpy(sleep.awaited_name, "postgres", sizeof("postgres"));
	strcpy(sleep.awaited_state, "asleep in futex_do_wait");
	said_is(&sleep,
		SHARE "got no answer for 1.90 s from postgres[12], which is asleep in "
		      "futex_do_wait (fd 3, 127.0.0.53:53).\n" NEXT
		      "look at the process at the other end: kernel_delay 12\n",
		"of a process");
	strcpy(sleep.awaited_state, "stopped");
	*sleep.asked = '\0';
	said_is(&sleep,
		SHARE "got no answer for 1.90 s from postgres[12], which is stopped (fd 3).\n" NEXT
		      "see who stopped it; kill -CONT 12 lets it go on\n",
		"of a stopped one");
	sleep.awaited_pid = 0;
	*sleep.awaited_name = *sleep.awaited_state = '\0';
	said_is(&sleep,
		SHARE "got no answer for 1.90 s from the other end (fd 3).\n" NEXT
		      "ss -xtp shows who is at the other end\n",
		"of nobody known");
	sleep.unanswered = 0, sleep.awaited_pid = 12;
	strcpy(sleep.awaited_name, "sleep");
	strcpy(sleep.awaited_state, "stopped");
	said_is(&sleep,
		SHARE "waited for its child sleep[12], which is stopped.\n" NEXT
		      "see who stopped it; kill -CONT 12 lets it go on\n",
		"its child");
}
