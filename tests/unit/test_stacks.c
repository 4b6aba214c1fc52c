/* SPDX-License-Identifier: Apache-2.0 */
/* User stacks from end to end: a process whose functions are known, resolved in a
 * child without privileges, which may die or hang. */
#define TAP_OWN_MAIN
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/stack/protocol.h"
#include "cli/stack/stacks.h"
#include "captured.h"
#include "sanitized.h"
#include "stopped_target.h"
#include "tap.h"
#include "thread_copy.h"

#define PATIENCE (250 * NSEC_PER_SEC) /* for ever: the runner is less patient */

static const struct stacks_setup setup = { .without = SANITIZED, .patience = PATIENCE };

static pid_t child_of(const struct stacks *stacks)
{
	pid_t children[2];

	stacks_children(stacks, children);
	return children[0];
}

/* Of a process that stays stopped. */
static struct stack_copy target_copy(pid_t pid)
{
	struct stack_copy copy;

	need(thread_stop(pid) && thread_copy(pid, &copy));
	ptrace(PTRACE_DETACH, pid, 0, SIGSTOP);
	return copy;
}

/* One of which nothing is known but where it was interrupted. */
static struct stack_copy copy_at(uint64_t ip)
{
	static const uint8_t data[64];
	struct stack_copy copy = { .data = data, .size = sizeof(data) };

	copy.regs[KD_REG_IP] = ip;
	return copy;
}

static void print_stack(const struct stack *stack)
{
	for (size_t i = 0; stack && i < stack->n; i++)
		printf("# %zu %s+%" PRIx64 " %s\n", i,
		       stack->frames[i].function ? stack->frames[i].function : "?",
		       stack->frames[i].offset,
		       stack->frames[i].object ? stack->frames[i].object : "?");
	if (stack && stack->stop)
		printf("# %s\n", stack->stop);
}

/* Whether these functions follow one another somewhere in it. */
static bool has_chain(const struct stack *stack)
{
	static const char *const chain[] = { "chain_stop", "chain_1", "chain_2",     "chain_3",
					     "chain_4",    "chain_5", "target_start" };
	const size_t n = COUNT(chain);

	for (size_t i = 0; stack && i + n <= stack->n; i++) {
		size_t j = 0;

		while (j < n && stack->frames[i + j].function &&
		       !strcmp(stack->frames[i + j].function, chain[j]))
			j++;
		if (j == n)
			return true;
	}
	return false;
}

static void test_chain(void)
{
	struct stack_copy copy;
	const struct stack *stack[3] = { (void *)1, (void *)1, (void *)1 };
	struct stack_counts counts;
	struct stacks *stacks;
	char self[256] = "";
	pid_t pid = target_start(NULL);

	is_i64(stacks_open(&stacks, pid, 100, &setup), 0, "a process is opened");
	if (!stacks)
		return;
	ok(child_of(stacks) > 0, "there is a child");
	copy = target_copy(pid);
	for (int i = 0; i < 2; i++)
		stacks_submit(stacks, clock_monotonic(), &copy, &stack[i]);
	stacks_flush(stacks);
	stacks_submit(stacks, clock_monotonic(), &copy, &stack[2]);
	stacks_flush(stacks);
	ok(has_chain(stack[0]), "all known functions are there, in order");
	ok(stack[0] && !stack[0]->stop, "the stack is complete");
	if (!has_chain(stack[0]) || stack[0]->stop)
		print_stack(stack[0]);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0 && stack[0])
		is_str(stack[0]->frames[stack[0]->n - 1].object, self, "the outermost is ours");
	ok(stack[0] == stack[1] && stack[1] == stack[2], "equal stacks are one");
	counts = stacks_counts(stacks);
	is_u64(counts.resolved, 3, "resolved");
	is_u64(counts.incomplete, 0, "incomplete");
	is_u64(counts.beyond, 0, "beyond");
	is_u64(counts.failed, 0, "failed");
	ok(!stacks_failure(stacks), "nothing has failed");
	stacks_close(stacks);
	free((void *)copy.data);
	target_end(pid);
}

/* More different stacks than there is room for: made by copies that end at
 * different addresses of no object. */
static void test_capacity(void)
{
	struct stack_copy copy = copy_at(0x1000);
	const struct stack *stack[20], *again = NULL;
	struct stack_counts counts;
	struct stacks *stacks;
	unsigned int kept = 0;
	pid_t pid = target_start(NULL);

	stacks_open(&stacks, pid, 8, &setup);
	copy.pages[0] = 1;
	copy.start = copy.regs[KD_REG_SP] = 0x7ffff000;
	for (unsigned int i = 0; i < 20; i++) {
		copy.regs[KD_REG_IP] = 0x1000 + i;
		stacks_submit(stacks, clock_monotonic(), &copy, &stack[i]);
	}
	copy.regs[KD_REG_IP] = 0x1000;
	stacks_submit(stacks, clock_monotonic(), &copy, &again);
	stacks_flush(stacks);
	for (unsigned int i = 0; i < 20; i++)
		kept += !!stack[i];
	counts = stacks_counts(stacks);
	is_u64(kept, 8, "as many stacks as there is room for");
	is_u64(counts.beyond, 12, "the others are counted");
	is_u64(counts.resolved, 9, "those that are kept can come again");
	is_u64(counts.incomplete, 9, "without end");
	ok(again && again == stack[0], "the same again");
	ok(again && again->n == 1 && !again->frames[0].object && again->frames[0].offset == 0x1000,
	   "an address in no object");
	is_str(again ? again->stop : NULL, unwind_stop_text(UNWIND_NO_OBJECT), "and why");
	stacks_close(stacks);
	target_end(pid);
}

/* --- A child that dies or hangs. --- */

static void check_failed(struct stacks *stacks, pid_t child, const char *how)
{
	struct stack_copy copy = copy_at(0x1000);
	const struct stack *stack[3] = { (void *)1, (void *)1, (void *)1 };
	uint64_t before = clock_monotonic();
	struct stack_counts counts;

	for (int i = 0; i < 2; i++)
		stacks_submit(stacks, before, &copy, &stack[i]);
	stacks_flush(stacks);
	stacks_submit(stacks, before, &copy, &stack[2]);
	stacks_flush(stacks);
	is_i64(stacks_refresh(stacks, before), 0, "%s: refresh", how);
	counts = stacks_counts(stacks);
	ok(!stack[0] && !stack[1] && !stack[2], "%s: no stacks", how);
	is_u64(counts.failed, 3, "%s: all counted", how);
	ok(stacks_failure(stacks), "%s: %s", how, stacks_failure(stacks));
	is_i64(child_of(stacks), 0, "%s: no child", how);
	ok(waitpid(child, NULL, WNOHANG) < 0 && errno == ECHILD, "%s: it is reaped", how);
}

static void test_failures(void)
{
	const struct stacks_setup hasty = { .without = SANITIZED, .patience = 2 * NSEC_PER_SEC };
	pid_t pid = target_start(NULL), child;
	struct stacks *stacks;

	stacks_open(&stacks, pid, 8, &setup);
	child = child_of(stacks);
	kill(child, SIGKILL);
	check_failed(stacks, child, "killed");
	ok(strstr(stacks_failure(stacks), "signal 9"), "killed: it says so");
	stacks_close(stacks);

	stacks_open(&stacks, pid, 8, &hasty);
	child = child_of(stacks);
	kill(child, SIGSTOP);
	check_failed(stacks, child, "hanging");
	ok(strstr(stacks_failure(stacks), "too long"), "hanging: it says so");
	stacks_close(stacks);

	target_end(pid);
	fflush(stderr);
	is_i64(stacks_open(&stacks, pid, 8, &setup), 69, "a process that has gone");
	ok(!stacks, "nothing is opened");
	stacks_close(NULL);
}

/* A stack is lost to the end of the child; the next one is as before. */
static void check_succeeded(struct stacks *stacks, const struct stack_copy *copy, pid_t before,
			    const struct stack *whole, const char *how)
{
	const struct stack *lost = (void *)1, *stack = (void *)1;

	stacks_submit(stacks, clock_monotonic(), copy, &lost);
	stacks_flush(stacks);
	ok(!lost && stacks_failure(stacks), "%s: a stack is lost", how);
	stacks_submit(stacks, clock_monotonic(), copy, &stack);
	stacks_flush(stacks);
	ok(stack == whole, "%s: the next one is the same as before", how);
	ok(child_of(stacks) && child_of(stacks) != before, "%s: by another child", how);
	ok(!stacks_failure(stacks), "%s: which works", how);
}

static void test_successors(void)
{
	const struct stacks_setup some = {
		.without = SANITIZED, .patience = 2 * NSEC_PER_SEC, .pause = 1, .quiet = true
	};
	pid_t pid = target_start(NULL), child;
	const struct stack *whole = NULL;
	struct stack_copy copy;
	struct stacks *stacks;

	stacks_open(&stacks, pid, 100, &some);
	need(stacks);
	copy = target_copy(pid);
	stacks_submit(stacks, clock_monotonic(), &copy, &whole);
	stacks_flush(stacks);
	ok(has_chain(whole), "a whole stack");
	child = child_of(stacks);
	kill(child, SIGXCPU);
	check_succeeded(stacks, &copy, child, whole, "out of CPU time");
	child = child_of(stacks);
	kill(child, SIGSTOP);
	check_succeeded(stacks, &copy, child, whole, "hanging");
	stacks_close(stacks);
	free((void *)copy.data);
	target_end(pid);
}

/* Another program, which waits for more to be read than a byte of what it writes. */
static pid_t other_start(int *output)
{
	int ends[2];
	pid_t pid;
	char byte;

	need(!pipe(ends));
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		execlp("yes", "yes", NULL);
		_exit(1);
	}
	close(ends[1]);
	need(read(ends[0], &byte, 1) == 1);
	*output = ends[0];
	return pid;
}

/* The child dies by the first that it is told of another process. */
static void test_told(void)
{
	struct stack_copy copy = copy_at(0x1000);
	const struct stack *stack = (void *)1;
	int output;
	pid_t pid = target_start(NULL), other = other_start(&output);
	struct stacks *stacks;

	stacks_open(&stacks, pid, 8, &setup);
	kill(child_of(stacks), SIGKILL);
	copy.process = (uint32_t)other;
	is_i64(stacks_submit(stacks, 1, &copy, &stack), 0, "another process is told");
	ok(!stack && stacks_failure(stacks), "to one that has died");
	is_u64(stacks_counts(stacks).failed, 1, "which is counted");
	stack = (void *)1;
	stacks_close(stacks);
	ok(stack == (void *)1, "and nothing is given out later");
	target_end(other);
	close(output);
	target_end(pid);
}

/* Of several any may have ended. */
static void test_several(void)
{
	struct stack_copy copy;
	const struct stack *stack = NULL;
	pid_t gone = target_start(NULL), pid = target_start(NULL);
	struct stacks *stacks;

	target_end(gone);
	is_i64(stacks_open(&stacks, 0, 8, &setup), 0, "none is read at first");
	stacks_add(stacks, gone);
	stacks_add(stacks, pid);
	copy = target_copy(pid);
	copy.process = (uint32_t)gone;
	is_i64(stacks_submit(stacks, 1, &copy, &stack), -ESRCH, "one has gone");
	copy.process = (uint32_t)pid;
	is_i64(stacks_submit(stacks, clock_monotonic(), &copy, &stack), 0, "one is there");
	stacks_flush(stacks);
	ok(has_chain(stack), "with its functions");
	stacks_close(stacks);
	free((void *)copy.data);
	target_end(pid);
}

/* What it begins with fails: it is said once. */
static void test_unstarted(void)
{
	struct rlimit limit, none;
	struct stacks *stacks;
	const char *text;

	need(!getrlimit(RLIMIT_NOFILE, &limit));
	none = limit;
	none.rlim_cur = 0;
	capture_begin();
	setrlimit(RLIMIT_NOFILE, &none);
	is_i64(stacks_open(&stacks, getpid(), 8, &setup), 71, "without descriptors");
	setrlimit(RLIMIT_NOFILE, &limit);
	text = capture_end();
	ok(!stacks && strstr(text, "cannot start"), "nothing is opened, and it is said why");
	ok(!strstr(text, "mapped"), "nothing else is: %s", text);
}

/* --- What is mapped later. --- */

/* In the process: loads a library the second time. */
static void load_late(void)
{
	static int times;

	if (times++ && !dlopen(path_of("late.so"), RTLD_NOW))
		_exit(1);
}

static bool late_make(void)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "echo 'int late_function(int n) { return n + 1; }' | "
		 "cc -xc - -shared -fPIC -o %s 2>/dev/null",
		 path_of("late.so"));
	return system(command) == 0;
}

/* The address of a function in a process's library, by nm. */
static uint64_t late_address(pid_t pid)
{
	char path[64], line[4096];
	uint64_t start = 0, value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "r");
	while (file && !start && fgets(line, sizeof(line), file)) {
		if (strstr(line, "late.so"))
			start = strtoull(line, NULL, 16);
	}
	if (file)
		fclose(file);
	snprintf(line, sizeof(line), "nm %s", path_of("late.so"));
	file = popen(line, "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (strstr(line, " T late_function"))
			value = strtoull(line, NULL, 16);
	}
	if (file)
		pclose(file);
	return start && value ? start + value : 0;
}

/* What is mapped later or earlier is not taken for what is of no file. */
static void test_hole(struct stacks *stacks, pid_t pid, const struct stack_copy *copy, uint64_t t)
{
	const struct kd_mapped all = { .kind = KD_MAPPED_ALL };
	const struct kd_mapped hole = { .kind = KD_MAPPED_NO_FILE,
					.start = copy->regs[KD_REG_IP] / 4096 * 4096,
					.length = 4096 };
	const struct stack *in = NULL, *again = NULL, *after = NULL;

	is_i64(stacks_mapped(stacks, pid, t + 1, &hole), 0, "memory is mapped over it");
	stacks_submit(stacks, t + 1, copy, &in);
	is_i64(stacks_mapped(stacks, pid, clock_monotonic(), &all), 0, "and the library again");
	stacks_submit(stacks, t + 1, copy, &again);
	stacks_submit(stacks, clock_monotonic(), copy, &after);
	stacks_flush(stacks);
	ok(in && !in->frames[0].object, "in between, an address in no object");
	ok(in && in == again, "also when the later one is known");
	is_str(in ? in->stop : NULL, unwind_stop_text(UNWIND_NO_OBJECT), "and why");
	is_str(after ? after->frames[0].function : NULL, "late_function", "later, its function");
}

static void test_refresh(void)
{
	struct stack_copy copy;
	const struct stack *before = NULL, *after = NULL;
	struct stacks *stacks;
	uint64_t t, address;
	pid_t pid;

	if (!late_make()) {
		skip("no compiler", "a library that is loaded later");
		return;
	}
	pid = target_start(load_late);
	stacks_open(&stacks, pid, 100, &setup);
	kill(pid, SIGCONT);
	waitpid(pid, NULL, WUNTRACED);
	address = late_address(pid);
	ok(address, "a library is loaded later");
	copy = copy_at(address);
	t = clock_monotonic();
	stacks_submit(stacks, t, &copy, &before);
	stacks_flush(stacks);
	is_i64(stacks_refresh(stacks, t), 0, "refreshed");
	is_i64(stacks_refresh(stacks, t - 1), 0, "and again, by an earlier time");
	stacks_submit(stacks, t + 1, &copy, &after);
	stacks_flush(stacks);
	test_hole(stacks, pid, &copy, t + 1);
	ok(before && !before->frames[0].object, "before that, an address in no object");
	is_str(after ? after->frames[0].function : NULL, "late_function", "then, its function");
	is_str(after ? after->frames[0].object : NULL, path_of("late.so"), "in its object");
	target_end(pid);
	is_i64(stacks_refresh(stacks, clock_monotonic()), -ESRCH, "a process that has gone");
	stacks_submit(stacks, clock_monotonic(), &copy, &before);
	stacks_flush(stacks);
	ok(before && before == after, "what is known stays");
	ok(!stacks_failure(stacks), "nothing has failed");
	stacks_close(stacks);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], STACKS_CHILD)) /* it executes the program that it is in */
		return stacks_child_main(argc - 1, argv + 1);
	if (!mkdtemp(directory))
		return 1;
	test_chain();
	test_capacity();
	test_failures();
	test_successors();
	test_told();
	test_several();
	test_unstarted();
	test_refresh();
	directory_remove();
	return done_testing();
}
