/* SPDX-License-Identifier: Apache-2.0 */
/* A process whose children call probed_call(), and log how long each call was by their own clock.
 * The calls sleep. Each command is for all children, one after the other:
 *
 *   -> ready
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
#include "workload.h"

#include <limits.h>
#include <sys/wait.h>

#define MOST 64
#define CALLS 'c'
#define EXIT 'x'
#define AGAIN 'a'
#define GETPPID 'p'

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

static void sleep_until(long long time)
{
	struct timespec until = { .tv_sec = time / 1000000000, .tv_nsec = time % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

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

/* What the tests probe: not static, so that it keeps its name. */
void probed_call(const struct order *order, struct entry *entry, int orders, int entries);

__attribute__((noinline)) void probed_call(const struct order *order, struct entry *entry,
					   int orders, int entries)
{
	entry->begin = clock_ns(CLOCK_MONOTONIC);
	sleep_until(entry->begin + order->ms * 1000000);
	entry->end = clock_ns(CLOCK_MONOTONIC);
	if (order->what == CALLS)
		return;
	write_all(entries, entry, sizeof(*entry));
	if (order->what == EXIT)
		_exit(0);
	begin_anew("/proc/self/exe", orders, entries);
}

static void order_obey(const struct order *order, int orders, int entries)
{
	for (long i = 0; i < order->count; i++) {
		struct entry entry = { .before = clock_ns(CLOCK_MONOTONIC) };

		if (order->what == GETPPID) {
			entry.begin = clock_ns(CLOCK_MONOTONIC);
			syscall(SYS_getppid);
			entry.end = clock_ns(CLOCK_MONOTONIC);
		} else {
			probed_call(order, &entry, orders, entries);
		}
		entry.after = clock_ns(CLOCK_MONOTONIC);
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

static void entry_take(const struct child *child, struct entry *entry)
{
	if (read(child->entries, entry, sizeof(*entry)) != sizeof(*entry))
		die("read from a child");
}

static void child_begin(struct child *child, const char *path)
{
	int orders[2], entries[2];
	struct entry there;

	if (pipe(orders) || pipe(entries))
		die("pipe");
	child->pid = fork();
	if (child->pid < 0)
		die("fork");
	if (!child->pid) {
		close(orders[1]);
		close(entries[0]);
		if (*path)
			begin_anew(path, orders[0], entries[1]);
		child_serve(orders[0], entries[1]);
	}
	close(orders[0]);
	close(entries[1]);
	child->orders = orders[1];
	child->entries = entries[0];
	entry_take(child, &there);
}

static void child_order(struct child *child, const struct order *order, const char *comma)
{
	struct entry entry, there;

	write_all(child->orders, order, sizeof(*order));
	printf("%s\"%d\": [", comma, child->pid);
	for (long i = 0; i < order->count; i++) {
		entry_take(child, &entry);
		if (order->what == EXIT && waitpid(child->pid, NULL, 0) < 0)
			die("waitpid");
		if (order->what == AGAIN)
			entry_take(child, &there);
		if (!entry.after)
			entry.after = clock_ns(CLOCK_MONOTONIC);
		printf("%s[%lld, %lld, %lld, %lld]", i ? ", " : "", entry.before, entry.begin,
		       entry.end, entry.after);
	}
	putchar(']');
	if (order->what == EXIT)
		child->pid = 0;
}

static void children_end(struct child *children, int n)
{
	for (int i = 0; i < n; i++) {
		close(children[i].orders);
		close(children[i].entries);
		if (children[i].pid &&
		    (kill(children[i].pid, SIGKILL) || waitpid(children[i].pid, NULL, 0) < 0))
			die("kill");
	}
}

static void family_serve(void)
{
	static struct child children[MOST];
	char line[PATH_MAX + 64], path[PATH_MAX] = "";
	int n = 0, more;

	say("ready");
	for (;;) {
		struct order order = { .count = 1 };

		read_line(line, sizeof(line));
		if (sscanf(line, "fork %d", &more) == 1 ||
		    sscanf(line, "exec %d %4095s", &more, path) == 2) {
			printf("{\"pids\": [");
			for (int i = 0; i < more && n < MOST; i++) {
				child_begin(&children[n], path);
				printf("%s%d", i ? ", " : "", children[n++].pid);
			}
			*path = '\0';
			say("]}");
			continue;
		}
		if (!strcmp(line, "none")) {
			children_end(children, n);
			n = 0;
			say("{}");
			continue;
		}
		if (sscanf(line, "call %ld %ld", &order.count, &order.ms) == 2)
			order.what = CALLS;
		else if (sscanf(line, "exit %ld", &order.ms) == 1)
			order.what = EXIT;
		else if (sscanf(line, "again %ld", &order.ms) == 1)
			order.what = AGAIN;
		else if (!strcmp(line, "getppid"))
			order.what = GETPPID;
		else
			break;
		putchar('{');
		for (int i = 0; i < n; i++)
			child_order(&children[i], &order, i ? ", " : "");
		say("}");
	}
}

int main(int argc, char **argv)
{
	if (argc == 3)
		child_serve((int)strtol(argv[1], NULL, 10), (int)strtol(argv[2], NULL, 10));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	family_serve();
	return 0;
}
