/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of a process of our own. The truth is what its functions themselves noted:
 * their return addresses, by __builtin_return_address(). */
#define _GNU_SOURCE
#include <signal.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "cli/stack/protocol.h"
#include "cli/stack/unwind.h"
#include "self_mapped.h"
#include "tap.h"
#include "thread_copy.h"
#include "unwind_chain.h"

/* --- The process --- */

static struct resolver
	*resolver; /* that knows what this process has mapped, as its children have */
static struct self_mapped self;
static pid_t process;

static bool is_asleep(pid_t tid)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	if (file)
		fclose(file);
	return state == 'S';
}

/* Starts a process on one of the ways, and stops it there. Returns whether that worked;
 * process_end() ends it. */
static bool process_start(body *way, pid_t *tid)
{
	memset(shared, 0, sizeof(*shared));
	fflush(stdout);
	process = fork();
	if (!process) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		way();
		_exit(0);
	}
	while (!shared->ready || (way != way_steps && !is_asleep(shared->ready)))
		usleep(1000);
	*tid = shared->ready;
	return process > 0 && thread_stop(*tid);
}

static void process_end(void)
{
	if (process > 0)
		kill(process, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
}

static void copy_unwind(const struct stack_copy *copy, struct unwound *unwound)
{
	resolver_unwind(resolver, SELF_MAPPED_AT, copy, unwound);
}

/* Unwinds the stack of a process that goes one of the ways. The caller frees the
 * copy's data, and ends the process. */
static bool unwind_way(body *way, struct stack_copy *copy, struct unwound *unwound)
{
	pid_t tid;

	memset(copy, 0, sizeof(*copy));
	memset(unwound, 0, sizeof(*unwound));
	if (!process_start(way, &tid) || !thread_copy(tid, copy))
		return false;
	copy_unwind(copy, unwound);
	return true;
}

/* --- Comparing --- */

/* Frames up to that which a signal interrupted; where a register has the return address, the caller
 * of its function, too. */
#if defined(__x86_64__)
#define FRAMES_OF_HANDLER 4
#else
#define FRAMES_OF_HANDLER 5
#endif

/* Whether the rest of a stack, from the frame at on, is what the trail has from its
 * entry left on downwards; then frames of libc, the outermost being its last. */
static bool trail_matches(const struct unwound *unwound, unsigned int at, unsigned int left,
			  unsigned int *got)
{
	while (left) {
		uint64_t want = shared->trail[--left];
		bool exact = left && shared->trail[left - 1] == EXACT;
		unsigned int skipped = 0;

		if (want == GAP) {
			want = shared->trail[--left];
			while (at < unwound->n && unwound->ip[at] != want && skipped++ < 12)
				at++;
		}
		*got = at;
		if (at >= unwound->n || unwound->ip[at] != want || (exact && !unwound->exact[at]))
			return false;
		left -= exact;
		at++;
	}
	return true;
}

static void print_unwound(const struct unwound *unwound, unsigned int got)
{
	printf("# stop: %s; differs at %u\n", unwind_stop_text(unwound->stop), got);
	for (unsigned int i = 0; i < unwound->n; i++)
		printf("# %2u %#lx%s\n", i, unwound->ip[i], unwound->exact[i] ? " exact" : "");
	for (unsigned int i = shared->n; i--;)
		printf("# trail %2u %#lx\n", i, shared->trail[i]);
}

static bool in_function(uint64_t ip, const void *function, size_t size)
{
	return ip - (uint64_t)function < size;
}

extern char _start[];

/* The whole stack of a way, to the outermost frame. */
static void check_way(body *way, const char *name, bool from_libc)
{
	struct stack_copy copy;
	struct unwound unwound;
	unsigned int got = 0, n_exact = 0;
	bool matches;

	ok(unwind_way(way, &copy, &unwound), "%s: a process is unwound", name);
	matches = trail_matches(&unwound, from_libc ? 0 : 1, shared->n, &got);
	ok(matches, "%s: frames are what the functions noted, in order", name);
	is_u64(unwound.stop, UNWIND_COMPLETE, "%s: complete", name);
	for (unsigned int i = 0; i < unwound.n; i++)
		n_exact += unwound.exact[i];
	if (way != way_thread)
		ok(unwound.n && in_function(unwound.ip[unwound.n - 1], _start, 64),
		   "%s: the outermost frame is _start", name);
	is_u64(n_exact, way == way_trapped ? 3 : 1, "%s: frames that were interrupted", name);
	if (!matches || unwound.stop)
		print_unwound(&unwound, got);
	free((void *)copy.data);
	process_end();
}

/* A way whose stack cannot be unwound whole: as many frames as are right, and why. */
static void check_partial(body *way, const char *name, unsigned int n, enum unwind_stop stop_reason)
{
	struct stack_copy copy;
	struct unwound unwound;
	unsigned int got = 0;

	ok(unwind_way(way, &copy, &unwound), "%s: a process is unwound", name);
	is_u64(unwound.n, n, "%s: frames", name);
	is_u64(unwound.stop, stop_reason, "%s: why it stops", name);
	trail_matches(&unwound, 1, shared->n, &got);
	is_u64(got, n, "%s: all of them are what the functions noted", name);
	if (unwound.n != n || unwound.stop != stop_reason)
		print_unwound(&unwound, got);
	free((void *)copy.data);
	process_end();
}

/* Adds the outermost part of the thread's own stack, which the handler has left: that
 * of the highest mapping that is named after it. */
static bool copy_add_other(struct stack_copy *copy, pid_t tid, unsigned int pages)
{
	uint8_t *data = realloc((void *)copy->data, copy->size + pages * KD_STACK_PAGE);
	struct iovec local, remote;

	if (!self.stack_end || !data)
		return false;
	copy->data = data;
	copy->other_start = self.stack_end - pages * KD_STACK_PAGE;
	copy->other_size = pages * KD_STACK_PAGE;
	copy->other_pages = (1ULL << pages) - 1;
	local.iov_base = data + copy->size;
	remote.iov_base = (void *)(uintptr_t)copy->other_start;
	local.iov_len = remote.iov_len = copy->other_size;
	return process_vm_readv(tid, &local, 1, &remote, 1, 0) == (ssize_t)copy->other_size;
}

/* A handler on a stack of its own, and the outermost part of the thread's, copied
 * whole, or not to its end. */
TEST(other_part)
{
	struct stack_copy copy;
	struct unwound unwound;
	unsigned int got = 0;

	ok(unwind_way(way_trapped_elsewhere, &copy, &unwound), "two stacks: a process is unwound");
	ok(copy_add_other(&copy, shared->ready, 16), "two stacks: both are copied");
	copy_unwind(&copy, &unwound);
	ok(trail_matches(&unwound, 1, shared->n, &got) && !unwound.stop &&
		   in_function(unwound.ip[unwound.n - 1], _start, 64),
	   "two stacks: frames are what the functions noted, to the outermost");
	if (unwound.stop)
		print_unwound(&unwound, got);
	copy.other_size = 8;
	copy_unwind(&copy, &unwound);
	is_u64(unwound.n, FRAMES_OF_HANDLER, "two stacks: the other's end is missing");
	is_u64(unwound.stop, UNWIND_NOT_COPIED, "two stacks: it was not copied");
	free((void *)copy.data);
	process_end();
}

/* Code that has pushed something and has no information: there may be a frame pointer. */
TEST(pushes)
{
	struct stack_copy copy;
	struct unwound unwound;
	unsigned int got;

	ok(unwind_way(way_pushes, &copy, &unwound), "pushed: a process is unwound");
	ok(unwound.n && in_function(unwound.ip[0], pushes_without_cfi, 32),
	   "pushed: the frame that was interrupted");
	ok(unwound.by_frame_pointers || (unwound.n == 1 && unwound.stop == UNWIND_NO_CFI) ||
		   (!unwound.stop && trail_matches(&unwound, 1, shared->n, &got)),
	   "pushed: what follows is said to be by frame pointers, or right, as a register has it");
	free((void *)copy.data);
	process_end();
}

#define STEPS 5000

/* Each instruction of functions, of their prologues and epilogues, of calls into libc
 * and back from there. */
TEST(steps)
{
	unsigned int good = 0, done = 0, got, most = 0;
	struct stack_copy copy;
	struct unwound unwound;
	pid_t tid;

	ok(process_start(way_steps, &tid), "a process is stepped through");
	for (; done < STEPS && thread_copy(tid, &copy); done++) {
		bool right;

		copy_unwind(&copy, &unwound);
		right = trail_matches(&unwound, 0, shared->n, &got) && !unwound.stop &&
			in_function(unwound.ip[unwound.n - 1], _start, 64);
		if (!right && good == done)
			print_unwound(&unwound, got);
		good += right;
		most = unwound.n > most ? unwound.n : most;
		free((void *)copy.data);
		if (ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL) || waitpid(tid, NULL, __WALL) != tid)
			break;
	}
	is_u64(done, STEPS, "instructions are stepped through");
	is_u64(good, STEPS, "all their stacks are complete and right");
	ok(most >= 12, "they call others: %u frames at most", most);
	process_end();
}

/* --- Copies with parts missing --- */

/* The first frame that is unknown if this part of the stack is: that whose return
 * address is there, by where the functions noted it. 0: none. */
static unsigned int frame_lost(uint64_t from, uint64_t to)
{
	for (unsigned int frame = 1; frame <= shared->n; frame++) {
		uint64_t slot = shared->slots[shared->n - frame];

		if (slot + 7 >= from && slot < to)
			return frame;
	}
	return 0;
}

/* The copy without a page; its data is the caller's. */
static struct stack_copy copy_without(const struct stack_copy *copy, unsigned int page)
{
	uint64_t lead = copy->start % KD_STACK_PAGE;
	size_t from = page ? page * KD_STACK_PAGE - lead : 0;
	size_t to = (page + 1UL) * KD_STACK_PAGE - lead;
	struct stack_copy less = *copy;
	uint8_t *data = malloc(copy->size);

	if (!data || to > copy->size)
		exit(1);
	memcpy(data, copy->data, from);
	memcpy(data + from, copy->data + to, copy->size - to);
	less.data = data;
	less.size = copy->size - (to - from);
	less.pages[page / 64] &= ~(1ULL << (page % 64));
	return less;
}

/* Returns whether there is a return address in the page. */
static bool check_hole(const struct stack_copy *copy, const struct unwound *whole,
		       unsigned int page)
{
	uint64_t from = (copy->start & ~(KD_STACK_PAGE - 1ULL)) + page * KD_STACK_PAGE;
	unsigned int frame = frame_lost(from, from + KD_STACK_PAGE);
	struct stack_copy less;
	struct unwound unwound;

	if (!frame)
		return false;
	less = copy_without(copy, page);
	copy_unwind(&less, &unwound);
	is_u64(unwound.stop, UNWIND_NOT_COPIED, "without page %u: memory was not copied", page);
	is_u64(unwound.n, frame, "without page %u: all frames before it", page);
	ok(!memcmp(unwound.ip, whole->ip, frame * sizeof(*whole->ip)),
	   "without page %u: they are right", page);
	free((void *)less.data);
	return true;
}

static void check_cut(const struct stack_copy *copy, const struct unwound *whole, size_t size)
{
	unsigned int frame = frame_lost(copy->start + size, UINT64_MAX);
	struct stack_copy less = *copy;
	struct unwound unwound;
	uint8_t *data = malloc(size + 1); /* of its own, for the sanitizer */

	if (!data)
		exit(1);
	memcpy(data, copy->data, size);
	less.data = data;
	less.size = size;
	for (unsigned int i = 0; i < KD_STACK_PAGES; i++) {
		if (i * KD_STACK_PAGE >= size + copy->start % KD_STACK_PAGE)
			less.pages[i / 64] &= ~(1ULL << (i % 64));
	}
	copy_unwind(&less, &unwound);
	is_u64(unwound.stop, UNWIND_TRUNCATED, "%zu bytes: the copy ends", size);
	is_u64(unwound.n, frame, "%zu bytes: all frames in them", size);
	ok(!memcmp(unwound.ip, whole->ip, frame * sizeof(*whole->ip)), "%zu bytes: right", size);
	free(data);
}

/* Registers that are not known are not used, whatever their values. */
static void check_unknown(const struct stack_copy *copy, const struct unwound *whole)
{
	struct stack_copy known = *copy, garbage = *copy;
	struct unwound of_known, of_garbage;

	known.missing = garbage.missing = ~(1ULL << KD_REG_SP | 1ULL << KD_REG_IP);
	for (unsigned int i = 0; i < KD_REGS; i++)
		if (garbage.missing >> i & 1)
			garbage.regs[i] = copy->start + 64;
	copy_unwind(&known, &of_known);
	copy_unwind(&garbage, &of_garbage);
	ok(of_known.n >= 1 && of_known.n <= whole->n &&
		   !memcmp(of_known.ip, whole->ip, of_known.n * sizeof(*whole->ip)),
	   "unknown registers: %u of %u frames are right", of_known.n, whole->n);
	ok(of_known.n == whole->n || of_known.stop == UNWIND_NOT_COPIED,
	   "and why there are no more");
	ok(of_garbage.n == of_known.n && of_garbage.stop == of_known.stop &&
		   !memcmp(of_garbage.ip, of_known.ip, of_known.n * sizeof(*whole->ip)),
	   "their values do not matter");
}

TEST(missing)
{
	struct stack_copy copy, empty;
	struct unwound whole, unwound;
	unsigned int pages, holes = 0;

	ok(unwind_way(way_pages, &copy, &whole), "missing parts: a process is unwound");
	pages = (unsigned int)((copy.size + copy.start % KD_STACK_PAGE) / KD_STACK_PAGE);
	ok(pages >= 3, "the stack has %u pages", pages);
	for (unsigned int page = 0; page < pages; page++)
		holes += check_hole(&copy, &whole, page);
	ok(holes >= 2, "%u pages with return addresses", holes);
	for (size_t size = 400; size < 4000; size += 397)
		check_cut(&copy, &whole, size);
	empty = copy;
	empty.size = 0;
	memset(empty.pages, 0, sizeof(empty.pages));
	copy_unwind(&empty, &unwound);
	ok(unwound.n == 1 && unwound.ip[0] == copy.regs[KD_REG_IP] &&
		   unwound.stop == UNWIND_NOT_COPIED,
	   "nothing copied: the frame that was interrupted");
	copy_unwind(&copy, &unwound);
	ok(!unwound.stop && unwound.n == whole.n, "afterwards the same resolver unwinds it all");
	check_unknown(&copy, &whole);
	free((void *)copy.data);
	process_end();
}

/* --- Other ends --- */

/* What is mapped is another object's later, of which there is no file; then nothing is. What was
 * remembered of one time must not serve another. */
TEST(objects)
{
	struct self_mapped later = self;
	struct stack_copy copy;
	struct unwound whole, unwound;

	for (size_t i = 0; i < self.n; i++)
		later.mappings[i].object = self.objects; /* see tests_begin() */
	resolver_choose(resolver, 1, true);
	resolver_set_mappings(resolver, SELF_MAPPED_AT, self.mappings, self.n);
	resolver_set_mappings(resolver, SELF_MAPPED_AT + 1, later.mappings, later.n);
	ok(unwind_way(way_plain, &copy, &whole) && !whole.stop, "objects: a stack is complete");
	resolver_unwind(resolver, SELF_MAPPED_AT + 1, &copy, &unwound);
	ok((unwound.n == 1 && unwound.stop == UNWIND_NO_CFI) || unwound.by_frame_pointers,
	   "objects: without their files it is not, or by frame pointers");
	copy_unwind(&copy, &unwound);
	ok(!unwound.stop && unwound.n == whole.n, "objects: and with them, it is again");
	resolver_choose(resolver, 2, true);
	copy_unwind(&copy, &unwound);
	ok(unwound.n == 1 && unwound.stop == UNWIND_NO_OBJECT, "objects: none");
	resolver_choose(resolver, 0, false);
	free((void *)copy.data);
	process_end();
}

TEST(texts)
{
	for (enum unwind_stop i = UNWIND_COMPLETE + 1; i < UNWIND_STOPS; i++)
		ok(unwind_stop_text(i), "reason %d: %s", (int)i, unwind_stop_text(i));
	ok(!unwind_stop_text(UNWIND_COMPLETE), "complete: no reason");
}

static int open_none(void *context, uint32_t object, const char *path)
{
	(void)context, (void)object, (void)path;
	return -ENOENT;
}

TEST(ways)
{
	check_way(way_plain, "plain", false);
	check_way(way_sorts, "called back by qsort", false);
	check_way(way_searches, "called back by bsearch", false);
	check_way(way_trapped, "in a signal's handler", false);
	check_way(way_calls_last, "a call that does not return", false);
	check_way(way_waits, "in libc", true);
	check_way(way_leaf, "a leaf without information", false);
	check_way(way_thread, "a thread", false);
	check_partial(way_deep, "250 frames", UNWIND_FRAMES, UNWIND_TOO_DEEP);
	check_partial(way_trapped_elsewhere, "a handler on a stack of its own", FRAMES_OF_HANDLER,
		      UNWIND_NOT_COPIED);
}

void tests_begin(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	resolver = resolver_new(open_none, NULL);
	need(shared != MAP_FAILED && resolver);
	self = self_add(resolver);
	resolver_add_object(resolver, self.objects, -1, "without a file");
}

void tests_end(void)
{
	munmap(shared, sizeof(*shared));
	resolver_free(resolver);
}
