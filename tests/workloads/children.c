/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that execute their program again, and those whose children are probed. */
#include "workload.h"

#include <limits.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* --- execer: one of several threads replaces the program, or the leader ends before the others ---
 *
 * On "go" the thread makes GETUIDS getuid calls and executes this file again, which makes GETPPIDS
 * getppid calls on what is then the main thread, prints its truths and waits for "end". With
 * leader-exit the leader ends instead and another thread makes the getppid calls.
 *
 * With CPU the exec takes long, as it has much memory to free and gets this CPU only when others
 * leave it. With urgent the thread has real-time priority: it goes on as soon as the leader tells
 * of its end, which is before the leader's last switch. */

#define MEMORY (128UL << 20)
#define LITTLE_PRIORITY 10

static struct {
	char *program;
	long getuids, getppids;
	long cpu; /* -1: any */
	bool urgent;
	int leader_may_end[2];
} plan;

static void *stay_in_poll(void *unused)
{
	prctl(PR_SET_NAME, "bystander");
	poll(NULL, 0, -1);
	return unused;
}

static void *burn(void *unused)
{
	static volatile unsigned long turns;

	prctl(PR_SET_NAME, "burner");
	/* Others need the CPU, too, if there is but one. Killed it needs some itself: preempted for
	 * the last time it is still there, though its process knows it no more. */
	setpriority(PRIO_PROCESS, gettid(), 5);
	for (;;)
		turns++;
	return unused;
}

/* The program after the exec: argv is "after", getppids, CPU time at "go". */
static int after(char **argv)
{
	long long cpu;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpriority(PRIO_PROCESS, gettid(), 0);
	getppids(number(argv[2]));
	sleep_ns(200 * MS);
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - strtoll(argv[3], NULL, 10);
	say("{\"pid\": %d, \"tid\": %d, \"getppid\": %ld, \"cpu\": %lld, \"slept_ns\": 200000000}",
	    getpid(), gettid(), number(argv[2]), cpu);
	wait_for("end");
	return 0;
}

static void *exec_on_go(void *unused)
{
	char getppids_text[24], cpu[24];
	char *argv[] = { plan.program, "after", getppids_text, cpu, NULL };
	bool slow = plan.cpu >= 0 && !plan.urgent;

	if (gettid() != getpid())
		prctl(PR_SET_NAME, "successor");
	pin(plan.cpu);
	if (slow) /* takes long to be freed */
		memset(small_pages_map(MEMORY), 1, MEMORY);
	say("ready %d", gettid());
	wait_for("go");
	snprintf(cpu, sizeof(cpu), "%lld", clock_ns(CLOCK_THREAD_CPUTIME_ID));
	snprintf(getppids_text, sizeof(getppids_text), "%ld", plan.getppids);
	for (long i = 0; i < plan.getuids; i++)
		syscall(SYS_getuid);
	if (plan.urgent)
		be_fifo(1);
	if (slow)
		setpriority(PRIO_PROCESS, gettid(), LITTLE_PRIORITY);
	execv(plan.program, argv); /* and not /proc/self/exe: that would name it "exe" */
	die("execv");
	return unused;
}

static void *outlive_leader(void *unused)
{
	prctl(PR_SET_NAME, "survivor");
	say("ready %d", gettid());
	wait_for("go");
	pass_bytes(plan.leader_may_end[1], 1);
	sleep_ns(50 * MS);
	getppids(plan.getppids);
	say("{\"pid\": %d, \"tid\": %d, \"getppid\": %ld}", getpid(), gettid(), plan.getppids);
	wait_for("end");
	return unused;
}

VERB(execer, 3, 4, "thread|leader|leader-exit|urgent GETUIDS GETPPIDS [CPU]")
{
	if (!strcmp(argv[1], "after"))
		return after(argv);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pipe_make(plan.leader_may_end);
	plan.program = argv[0];
	plan.getuids = number(argv[2]);
	plan.getppids = number(argv[3]);
	plan.cpu = argc == 5 ? number(argv[4]) : -1;
	plan.urgent = !strcmp(argv[1], "urgent");
	thread_begin(stay_in_poll, NULL);
	thread_begin(stay_in_poll, NULL);
	thread_begin(burn, NULL);
	if (!strcmp(argv[1], "leader")) {
		exec_on_go(NULL);
	} else if (strcmp(argv[1], "leader-exit")) {
		thread_begin(exec_on_go, NULL);
		poll(NULL, 0, -1);
	} else {
		thread_begin(outlive_leader, NULL);
		take_bytes(plan.leader_may_end[0], 1);
		pthread_exit(NULL);
	}
	return 2;
}

/* --- brood: a process whose children call probed_call(), and log each call ---
 *
 * The calls sleep. Each command is for all children, one after the other:
 *
 *   <- fork N          has N children                       -> {"pids": [...]}
 *   <- exec N FILE     the same, which execute FILE, this program or a copy of it
 *   <- call N MS       N calls of MS each                   -> {"PID": [[before, begin, end,
 *   <- exit MS         a call in which the process ends          after], ...], ...}
 *   <- again MS        a call in which the process executes its program again
 *   <- getppid         one getppid call, between begin and end
 *   <- none            all children are killed           -> {}
 *
 * The function is entered between before and begin, left between end and after; if the process ends
 * in it, that is between end and after. */

#define MOST 64

enum what { CALLS, EXIT, AGAIN, GETPPID };

struct order {
	long what, count, ms;
};

struct entry {
	long long before, begin, end, after; /* after 0: it is the parent who knows */
};

struct child {
	pid_t pid;
	int orders, entries;
};

static void write_all(int fd, const void *data, size_t size)
{
	if (write(fd, data, size) != (ssize_t)size)
		die("write to a pipe");
}

/* The program that this process runs, in place of what it runs now. */
static void begin_anew(const char *path, int orders, int entries)
{
	char orders_text[16], entries_text[16];
	char *argv[] = { "brood", orders_text, entries_text, NULL };

	snprintf(orders_text, sizeof(orders_text), "%d", orders);
	snprintf(entries_text, sizeof(entries_text), "%d", entries);
	execv(path, argv);
	die(path);
}

/* One call of probed_call(): its order, what is noted of it, and the pipes of its process. */
struct obeyed {
	const struct order *order;
	struct entry *entry;
	int orders, entries;
};

static void call_obey(void *of)
{
	const struct obeyed *obeyed = of;
	struct entry *entry = obeyed->entry;

	entry->begin = now_ns();
	sleep_until(entry->begin + obeyed->order->ms * MS);
	entry->end = now_ns();
	if (obeyed->order->what == CALLS)
		return;
	write_all(obeyed->entries, entry, sizeof(*entry));
	if (obeyed->order->what == EXIT)
		_exit(0);
	begin_anew("/proc/self/exe", obeyed->orders, obeyed->entries);
}

static void order_obey(const struct order *order, int orders, int entries)
{
	for (long i = 0; i < order->count; i++) {
		struct entry entry = { .before = now_ns() };
		struct obeyed obeyed = { order, &entry, orders, entries };

		if (order->what == GETPPID) {
			entry.begin = now_ns();
			getppids(1);
			entry.end = now_ns();
		} else {
			probed_call(call_obey, &obeyed);
		}
		entry.after = now_ns();
		write_all(entries, &entry, sizeof(entry));
	}
}

/* Says that it is there, and obeys until the parent is gone. */
static _Noreturn void child_serve(int orders, int entries)
{
	const struct entry there = { 0 };
	struct order order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	write_all(entries, &there, sizeof(there));
	while (read(orders, &order, sizeof(order)) == sizeof(order))
		order_obey(&order, orders, entries);
	_exit(0);
}

static struct entry entry_take(const struct child *child)
{
	struct entry entry;

	if (read(child->entries, &entry, sizeof(entry)) != sizeof(entry))
		die("read from a child");
	return entry;
}

static void child_begin(struct child *child, const char *path)
{
	int orders[2], entries[2];

	pipe_make(orders);
	pipe_make(entries);
	child->pid = child_fork();
	if (!child->pid) {
		close(orders[1]);
		close(entries[0]);
		if (path)
			begin_anew(path, orders[0], entries[1]);
		child_serve(orders[0], entries[1]);
	}
	close(orders[0]);
	close(entries[1]);
	child->orders = orders[1];
	child->entries = entries[0];
	entry_take(child);
}

static void child_order(struct child *child, const struct order *order)
{
	write_all(child->orders, order, sizeof(*order));
	printf("\"%d\": [", child->pid);
	for (long i = 0; i < order->count; i++) {
		struct entry entry = entry_take(child);

		if (order->what == EXIT && waitpid(child->pid, NULL, 0) < 0)
			die("waitpid");
		if (order->what == AGAIN)
			entry_take(child);
		if (!entry.after)
			entry.after = now_ns();
		printf("%s", comma(i));
		row_print(&entry.before, 4);
	}
	putchar(']');
	if (order->what == EXIT)
		child->pid = 0;
}

static void child_end(const struct child *child)
{
	close(child->orders);
	close(child->entries);
	if (child->pid && (kill(child->pid, SIGKILL) || waitpid(child->pid, NULL, 0) < 0))
		die("kill");
}

/* What all children are to do. */
static struct order order_read(const char *line)
{
	struct order order = { .count = 1 };

	if (sscanf(line, "call %ld %ld", &order.count, &order.ms) == 2)
		order.what = CALLS;
	else if (sscanf(line, "exit %ld", &order.ms) == 1)
		order.what = EXIT;
	else if (sscanf(line, "again %ld", &order.ms) == 1)
		order.what = AGAIN;
	else if (!strcmp(line, "getppid"))
		order.what = GETPPID;
	else
		unknown(line);
	return order;
}

VERB(brood, 0, 2, "")
{
	static struct child children[MOST];
	char path[PATH_MAX];
	int n = 0;

	if (argc == 3)
		child_serve((int)number(argv[1]), (int)number(argv[2]));
	signal(SIGPIPE, SIG_IGN);
	say_ready();
	for (;;) {
		const char *line = command();
		int more = 0;
		bool exec = sscanf(line, "exec %d %4095s", &more, path) == 2;

		if (exec || sscanf(line, "fork %d", &more) == 1) {
			printf("{\"pids\": [");
			for (int i = 0; i < more && n < MOST; i++) {
				child_begin(&children[n], exec ? path : NULL);
				printf("%s%d", comma(i), children[n++].pid);
			}
			say("]}");
		} else if (!strcmp(line, "none")) {
			while (n)
				child_end(&children[--n]);
			say("{}");
		} else {
			struct order order = order_read(line);

			putchar('{');
			for (int i = 0; i < n; i++) {
				printf("%s", comma(i));
				child_order(&children[i], &order);
			}
			say("}");
		}
	}
}

/* --- hogs: N children that compute on one CPU, from "begin" on ---
 *
 *   -> ready PID...   the children's
 *   <- begin */
VERB(hogs, 2, 2, "CPU N")
{
	long n = number(argv[2]);
	int begin[2];

	pipe_make(begin);
	printf("ready");
	fflush(stdout); /* or the children had it, too */
	for (long i = 0; i < n; i++) {
		pid_t child = child_fork();

		if (!child) {
			pin(number(argv[1]));
			take_bytes(begin[0], 1);
			for (;;)
				;
		}
		printf(" %d", child);
		fflush(stdout);
	}
	say("%s", "");
	wait_for("begin");
	pass_bytes(begin[1], (int)n);
	wait_for("end");
	return 0;
}
