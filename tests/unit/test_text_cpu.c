/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences and advice for threads that wait for a CPU: knobs that help, quotas, interrupts. */
#include "report.h"

#include "verdict_sample.h"

static const struct report_options summary = { .extent = REPORT_SUMMARY, .top = 10 };

/* Knobs that have no effect on who has the CPU are not advised. */
TEST(knobs)
{
	const struct cpu_rules group = { .tid = 4711,
					 .rival = 812,
					 .decided_by = CPU_BY_GROUP,
					 .weighed = "/a",
					 .weight = 100 };
	struct cpu_rules idle = group, most = group, refused = group, class = { .tid = 4711 };
	struct cpu_rules nice = class, both = { .tid = 4711, .rt_period_ns = 1 };
	struct cpu_rules session = { .tid = 4711, .rival = 812, .decided_by = CPU_BY_AUTOGROUP };
	const struct {
		const struct cpu_rules *rules;
		uint32_t policy;
		int32_t priority;
		const char *next;
	} cases[] = {
		{ &group, 0, 0, "raise cpu.weight of /a (100), or taskset, chrt\n" },
		{ &idle, 0, 0, "write 0 to cpu.idle of /a, or taskset, chrt\n" },
		{ &most, 0, 0, "give it a CPU of its own, or a higher priority (taskset, chrt)\n" },
		{ &refused, 0, 0, "raise cpu.weight of /a (100), or taskset\n" },
		{ &group, 6, 0, "give it a CPU of its own (taskset)\n" },
		{ &group, 1, 99, "give it a CPU of its own (taskset)\n" },
		{ &group, 1, 98, "or a higher priority (taskset, chrt)\n" },
		{ &class, 0, 0, "it is SCHED_IDLE, and gets what is left: chrt -o -p 0 4711\n" },
		{ &nice, 0, 0, "or a higher priority (taskset, chrt, nice)\n" },
		{ &both, 0, 0, "or a higher priority (taskset, nice)\n" },
		{ &session, 0, 0,
		  "taskset, chrt, or echo -20 >/proc/4711/autogroup (its nice is -10)" },
	};
	struct culprit culprit = by(CULPRIT_TASK, "hog", 812, 400 * MILLI);
	struct thread_row row = runner(4711, "main");
	struct sample sample = verdict_sample(&row, 1);

	strcpy(idle.idle_group, "/a");
	most.weight = 10000;
	refused.rt_period_ns = SECOND;
	class.rival = 812, class.policy = 5, class.decided_by = CPU_BY_NICE;
	nice.rival = both.rival = 812, nice.decided_by = both.decided_by = CPU_BY_NICE;
	session.weight = -10;
	culprit.same_group = true;
	spend(&row, LEDGER_READY_WOKEN, 400 * MILLI);
	row.ready = times(100, 400 * MILLI, 9 * MILLI);
	row.culprits = &culprit, row.n_culprits = 1;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct made made;
		char *text;

		culprit.policy = cases[i].policy;
		culprit.priority = cases[i].priority;
		sample.cpu_rules = *cases[i].rules;
		report_text(judged(&sample), &summary, made_begin(&made));
		text = made_end(&made);
		ok(strstr(text, cases[i].next), "%s: %s", cases[i].next, strstr(text, "NEXT"));
		free(text);
	}
}

/* Who handled interrupts while a thread waited did not interrupt that thread; and what it ran
 * outside of calls comes behind what is more. */
TEST(handled)
{
	static const char *const said[] = { "waited for CPU 0, which handled softirqs.",
					    " ran in the kernel outside system calls" };
	struct culprit culprit = by(CULPRIT_SOFTIRQ, "", 0, 700 * MILLI);
	struct thread_row row = runner(4711, "main");
	struct sample sample = verdict_sample(&row, 1);
	struct made made;
	char *text, *found, *at[2];

	spend(&row, LEDGER_READY_WOKEN, 700 * MILLI);
	row.ready = times(100, 700 * MILLI, 9 * MILLI);
	row.culprits = &culprit, row.n_culprits = 1;
	row.outside_calls = 100 * MILLI;
	report_text(judged(&sample), &summary, made_begin(&made));
	text = made_end(&made);
	while ((found = strstr(text, "\n        ")))
		memmove(found + 1, found + 9, strlen(found + 9) + 1), *found = ' ';
	for (int i = 0; i < 2; i++)
		at[i] = strstr(text, said[i]);
	ok(at[0] && at[1] && at[0] < at[1], "%s", text);
	free(text);
}

/* What a thread runs in its guest is not the kernel's. */
TEST(guest)
{
	struct thread_row row = runner(4711, "CPU 0/KVM");
	struct sample sample = verdict_sample(&row, 1);
	struct made made;
	char *text;

	spend(&row, LEDGER_GUEST, 700 * MILLI);
	spend(&row, LEDGER_KERNEL, 100 * MILLI);
	report_text(judged(&sample), &summary, made_begin(&made));
	text = made_end(&made);
	ok(strstr(text, "kernel 100 ms, guest 700 ms)") &&
		   strstr(text, "NEXT    what it computes can only be seen in the guest\n"),
	   "%s", text);
	free(text);
}

/* A quota that others used up is not the doing of who waits for it. */
TEST(quota)
{
	const struct quota_use own = {
		.group = "/q", .user = "/q", .own = true, .used_ns = 90, .all_ns = 100
	};
	struct quota_use process = own, others = own, itself = own, above = own;
	const struct {
		const struct quota_use *use;
		const char *said, *next;
	} cases[] = {
		{ &own, "had used up the CPU quota of the group /q.", "use less CPU time" },
		{ &itself, "had used up the CPU quota of the group /q.", "use less CPU time" },
		{ &process, "the quota of the group /q was used up, mostly by hog[812] (80 %).",
		  "let the others use less" },
		{ &others, "the quota of the group /q was used up, mostly by others (90 %).",
		  "let the others use less" },
		{ &above, "the quota of the group /q was used up, mostly by /q/side (90 %).",
		  "let the others use less" },
	};
	struct culprit culprit = { .kind = CULPRIT_THROTTLED,
				   .group = "/q",
				   .woken_ns = 400 * MILLI };
	struct thread_row row = runner(4711, "main");
	struct sample sample = verdict_sample(&row, 1);

	itself.has_target = process.has_target = others.has_target = true;
	itself.target_ns = 60, process.target_ns = others.target_ns = 10;
	process.pid = 812, process.pid_ns = 80;
	strcpy(process.name, "hog");
	above.own = false;
	strcpy(above.user, "/q/side");
	sample.cpu_rules.tid = 4711;
	spend(&row, LEDGER_THROTTLED, 400 * MILLI);
	row.ready = times(100, 400 * MILLI, 9 * MILLI);
	row.culprits = &culprit, row.n_culprits = 1;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct made made;
		char *text, *found;

		sample.quota_use = *cases[i].use;
		report_text(judged(&sample), &summary, made_begin(&made));
		text = made_end(&made);
		ok(strstr(text, cases[i].next), "%s: %s", cases[i].next, strstr(text, "NEXT"));
		while ((found = strstr(text, "\n        ")))
			memmove(found + 1, found + 9, strlen(found + 9) + 1), *found = ' ';
		ok(strstr(text, cases[i].said), "%s: %s", cases[i].said, text);
		free(text);
	}
}
