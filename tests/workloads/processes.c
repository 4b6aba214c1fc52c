/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that come and go, are many, have known stacks, or reuse one PID. */
#include "workload.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <stdint.h>
#include <sys/wait.h>

#define MOST 20000

/* --- lifetime: a process that works from its beginning to its end, and logs both ---
 *
 * It prints when it begins and when it is about to end, with the status, and its own CPU time
 * before and after MS of work. CPU time counts from the fork. */
VERB(lifetime, 0, 2, "[MS [STATUS]]")
{
	long long began = now_ns(), before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	long long ns = argc > 1 ? number(argv[1]) * MS : MS, after;

	do {
		for (volatile int i = 0; i < 10000; i++)
			;
		after = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	} while (after - before < ns);
	printf("{\"pid\": %d, \"began\": %lld, \"before\": %lld, \"after\": %lld, ", getpid(),
	       began, before, after);
	say("\"ended\": %lld}", now_ns());
	_exit(argc > 2 ? (int)number(argv[2]) : 0);
}

/* --- forks: processes that come and go ---
 *
 * On "go" it forks COUNT children, so many at once, each of which has a child, and so on, to that
 * DEPTH (default: 1, no more). Number i makes i % 5 + 1 getppid calls, between two readings of the
 * clock, and ends when its own child has. With exec each starts the program anew first.
 *
 *   -> {"pid": ..., "children": [[PID, calls, from, to], ...]} */

struct child {
	_Atomic(int) pid;
	long calls;
	long long from, to;
};

struct log {
	_Atomic(unsigned int) n;
	struct child children[MOST];
};

static struct log *log_map(int fd)
{
	struct log *log = mmap(NULL, sizeof(*log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (log == MAP_FAILED)
		die("mmap");
	return log;
}

static void child_run(int fd, long depth, bool exec);

static pid_t child_begin(int fd, long depth, bool exec)
{
	char fd_text[16], depth_text[16];
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	if (exec) {
		snprintf(fd_text, sizeof(fd_text), "%d", fd);
		snprintf(depth_text, sizeof(depth_text), "%ld", depth);
		execl("/proc/self/exe", "forks", "child", fd_text, depth_text, (char *)NULL);
		die("execl");
	}
	child_run(fd, depth, false);
	_exit(0);
}

static void child_run(int fd, long depth, bool exec)
{
	struct log *log = log_map(fd);
	unsigned int i = atomic_fetch_add(&log->n, 1);
	struct child *child = &log->children[i < MOST ? i : MOST - 1];

	child->calls = i % 5 + 1;
	child->from = now_ns();
	getppids(child->calls);
	if (depth > 1)
		waitpid(child_begin(fd, depth - 1, exec), NULL, 0);
	child->to = now_ns();
	atomic_store(&child->pid, getpid());
}

static void log_print(const struct log *log)
{
	unsigned int n = log->n < MOST ? log->n : MOST;

	printf("{\"pid\": %d, \"children\": [", getpid());
	for (unsigned int i = 0; i < n; i++)
		printf("%s[%d, %ld, %lld, %lld]", comma(i), log->children[i].pid,
		       log->children[i].calls, log->children[i].from, log->children[i].to);
	say("]}");
}

VERB(forks, 2, 4, "COUNT AT_ONCE [DEPTH [exec]]")
{
	long count = number(argv[1]), at_once = number(argv[2]), alive = 0;
	long depth = argc > 3 ? number(argv[3]) : 1;
	int fd;

	if (!strcmp(argv[1], "child")) {
		child_run((int)number(argv[2]), depth, true);
		return 0;
	}
	fd = memfd_create("log", 0);
	if (fd < 0 || ftruncate(fd, sizeof(struct log)))
		die("memfd_create");
	say_ready();
	wait_for("go");
	for (long i = 0; i < count || alive;) {
		if (i < count && alive < at_once) {
			child_begin(fd, depth, argc > 4);
			i++;
			alive++;
		} else if (wait(NULL) > 0) {
			alive--;
		} else if (errno != EINTR) {
			die("wait");
		}
	}
	log_print(log_map(fd));
	wait_for("end");
	return 0;
}

/* --- herd: many processes of many threads each ---
 *
 * They are there at "ready"; on "go" thread number i makes i % 7 + 1 getppid calls and as many
 * sleeps of a microsecond, by turns.
 *
 *   -> {"pid": ..., "threads": [[PID, TID, calls], ...]} */

static struct herd {
	int go[2], done[2], end[2];
	struct member {
		pid_t pid, tid;
		long calls;
	} members[MOST];
} * herd;

static void *member_main(void *arg)
{
	struct member *member = arg;

	member->pid = getpid();
	member->tid = gettid();
	pass_bytes(herd->done[1], 1);
	take_bytes(herd->go[0], 1);
	for (long call = 0; call < member->calls; call++) {
		getppids(1);
		sleep_ns(1000);
	}
	pass_bytes(herd->done[1], 1);
	take_bytes(herd->end[0], 1);
	return NULL;
}

VERB(herd, 2, 2, "PROCESSES THREADS")
{
	int processes = (int)number(argv[1]), threads = (int)number(argv[2]);
	int count = processes * threads;

	if (processes < 1 || threads < 1 || processes > MOST || threads > MOST / processes)
		die("PROCESSES THREADS");
	herd = memory_map(sizeof(*herd), MAP_SHARED);
	pipe_make(herd->go);
	pipe_make(herd->done);
	pipe_make(herd->end);
	for (int i = 0; i < count; i++)
		herd->members[i].calls = i % 7 + 1;
	for (int i = 0; i < count; i += threads) {
		if (child_fork())
			continue;
		for (int k = 1; k < threads; k++)
			thread_begin(member_main, &herd->members[i + k]);
		member_main(&herd->members[i]);
		_exit(0);
	}
	take_bytes(herd->done[0], count);
	say_ready();
	wait_for("go");
	pass_bytes(herd->go[1], count);
	take_bytes(herd->done[0], count);
	printf("{\"pid\": %d, \"threads\": [", getpid());
	for (int i = 0; i < count; i++)
		printf("%s[%d, %d, %ld]", comma(i), herd->members[i].pid, herd->members[i].tid,
		       herd->members[i].calls);
	say("]}");
	wait_for("end");
	return 0;
}

/* --- kin: a family of processes with known stacks ---
 *
 * On "go" it forks COUNT children. Number i sleeps once, for MS, in kin_sleep_(i % 3)(), and ends
 * at once. With exec each starts the program anew first. The parent waits for them in kin_wait().
 *
 *   -> {"pid": ..., "children": [[PID, i % 3], ...]} */

static void nap(long ms)
{
	const struct timespec length = timespec_of(ms * MS);

	nanosleep(&length, NULL);
	RETURN_HERE();
}

FRAME static void kin_sleep_0(long ms)
{
	nap(ms);
	RETURN_HERE();
}

FRAME static void kin_sleep_1(long ms)
{
	nap(ms);
	RETURN_HERE();
	RETURN_HERE();
}

FRAME static void kin_sleep_2(long ms)
{
	RETURN_HERE();
	nap(ms);
	RETURN_HERE();
}

FRAME static void kin_run(long which, long ms)
{
	static void (*const all[])(long) = { kin_sleep_0, kin_sleep_1, kin_sleep_2 };

	all[which % 3](ms);
	RETURN_HERE();
}

static pid_t kin_begin(long which, const char *ms, bool exec)
{
	char text[16];
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	if (exec) {
		snprintf(text, sizeof(text), "%ld", which);
		execl("/proc/self/exe", "kin", "child", text, ms, (char *)NULL);
		die("execl");
	}
	kin_run(which, number(ms));
	_exit(0);
}

FRAME static void kin_wait(void)
{
	while (wait(NULL) > 0)
		RETURN_HERE();
}

VERB(kin, 2, 3, "COUNT MS [exec]")
{
	static pid_t pids[1000];
	long count = number(argv[1]);

	if (!strcmp(argv[1], "child")) {
		kin_run(number(argv[2]), number(argv[3]));
		return 0;
	}
	if (count > (long)COUNT(pids))
		die("COUNT");
	say_ready();
	wait_for("go");
	for (long i = 0; i < count; i++)
		pids[i] = kin_begin(i, argv[2], argc > 3);
	kin_wait();
	printf("{\"pid\": %d, \"children\": [", getpid());
	for (long i = 0; i < count; i++)
		printf("%s[%d, %ld]", comma(i), pids[i], i % 3);
	say("]}");
	wait_for("end");
	return 0;
}

/* --- turns: processes that have one PID, one after the other ---
 *
 *   <- begin NAME   -> pid PID     a child of this name; the first one has any PID, those after it
 *                                  have the same, or: "taken", if another process has that by now
 *   <- work CALLS   -> done        the child makes so many getppid calls
 *   <- finish       -> finished    it has ended, and its PID is free */

struct turn {
	pid_t pid;
	int to[2], from[2]; /* pipes */
};

/* Each number is so many calls, until the other end is closed. */
static _Noreturn void turn_run(const struct turn *turn, const char *name)
{
	long calls;

	close(turn->to[1]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	pass_bytes(turn->from[1], 1);
	while (read(turn->to[0], &calls, sizeof(calls)) == sizeof(calls)) {
		getppids(calls);
		pass_bytes(turn->from[1], 1);
	}
	_exit(0);
}

/* With the PID of the one before. Returns false if another one has it. */
static bool turn_begin(struct turn *turn, const char *name)
{
	pid_t wanted = turn->pid;
	struct clone_args args = { .exit_signal = SIGCHLD };
	long pid;

	if (wanted) {
		args.set_tid = (uintptr_t)&wanted;
		args.set_tid_size = 1;
	}
	pipe_make(turn->to);
	pipe_make(turn->from);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		turn_run(turn, name);
	if (pid < 0 && errno == EEXIST)
		return false;
	if (pid < 0)
		die("clone3");
	turn->pid = (pid_t)pid;
	close(turn->to[0]);
	close(turn->from[1]);
	take_bytes(turn->from[0], 1); /* it has its name */
	return true;
}

static void turn_work(const struct turn *turn, long calls)
{
	if (write(turn->to[1], &calls, sizeof(calls)) != sizeof(calls))
		die("write to the child");
	take_bytes(turn->from[0], 1);
}

static void turn_finish(const struct turn *turn)
{
	close(turn->to[1]);
	close(turn->from[0]);
	if (waitpid(turn->pid, NULL, 0) != turn->pid)
		die("waitpid");
	sleep_ns(2 * MS); /* it may be on its way out of its CPU */
}

VERB(turns, 0, 0, "")
{
	struct turn turn = { .pid = 0 };

	say_ready();
	for (;;) {
		const char *line = command();

		if (!strncmp(line, "begin ", 6)) {
			if (turn_begin(&turn, line + 6))
				say("pid %d", turn.pid);
			else
				say("taken");
		} else if (!strncmp(line, "work ", 5)) {
			turn_work(&turn, number(line + 5));
			say("done");
		} else if (!strcmp(line, "finish")) {
			turn_finish(&turn);
			say("finished");
		} else {
			unknown(line);
		}
	}
}

/* --- storm: a process that does one thing again and again ---
 *
 * So that whatever looks at it meets that in each of its phases: it executes itself, or has a
 * child, or a thread, which ends at once.
 *
 *   -> ready            when it begins
 *   <- quiet            -> quiet: it has stopped
 *   <- go               -> {"getppid": CALLS}: made since then, by the main thread */

#define CALLS 1000
#define PAUSE_NS 300000

static bool is_asked(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&in, 1, 0) != 0;
}

static void exec_again(char **argv)
{
	char *again[] = { argv[0], argv[1], "again", NULL };

	sleep_ns(PAUSE_NS);
	execv(argv[0], again);
	die("execv");
}

static void fork_one(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		die("fork");
	sleep_ns(PAUSE_NS);
}

static void *nothing(void *unused)
{
	return unused;
}

static void thread_one(void)
{
	pthread_join(thread_begin(nothing, NULL), NULL);
	sleep_ns(PAUSE_NS);
}

VERB(storm, 1, 2, "exec|fork|thread")
{
	if (argc == 2)
		say("ready");
	while (!is_asked()) {
		if (!strcmp(argv[1], "exec"))
			exec_again(argv);
		else if (!strcmp(argv[1], "fork"))
			fork_one();
		else
			thread_one();
	}
	wait_for("quiet");
	say("quiet");
	wait_for("go");
	getppids(CALLS);
	say("{\"getppid\": %d}", CALLS);
	wait_for("end");
	return 0;
}
