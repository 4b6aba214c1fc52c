// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "user_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/proc_file.h"
#include "cli/capture/parts/registers.h"
#include "cli/capture/session/windows.h"
#include "cli/model/rows.h"
#include "cli/model/user_wait.h"
#include "cli/stack/stack_copy.h"
#include "cli/stack/stacks.h"
#include "user_functions.h"

/* Reading one takes some 20 us. So there are at most so many a look, and with 16 KB of each stack
 * so many at a time, which is enough for what the innermost functions are. */
#define LOOK_MOST 8
#define LAST_MOST 64 /* of those that sleep as the window ends */
#define SLEEPS_MOST 256
#define STACK_MOST 16384
/* Unwinding begins with another process, which takes 10 ms: too much for samples that short, unless
 * a trigger made them. */
#define WINDOW_LEAST_NS (50 * NSEC_PER_MSEC)

/* A sleep of which the stack was read, and how often it was seen to go on. */
struct user_sleep {
	pid_t pid, tid;
	uint32_t slot;
	uint64_t since; /* as in struct kd_thread */
	uint64_t at;    /* last seen, since the epoch */
	uint64_t times;
	struct user_registers registers;
	uint64_t start;
	uint8_t *data;
	size_t size;
	const struct stack *stack; /* once it is unwound */
};

struct user_waits {
	struct session *session;
	user_waits_open *open;
	void *context;
	struct user_sleep *sleeps; /* SLEEPS_MOST */
	size_t n;
	uint32_t *last;     /* by slot: index + 1 of its last sleep; 0: none */
	uint32_t next;      /* slot with which the next look begins */
	unsigned int every; /* looks, of which one is taken */
	unsigned int looks;
	struct remote memory; /* of the process memory_of, */
	pid_t memory_of;      /* 0: none is open */
};

struct user_waits *user_waits_new(struct session *session, user_waits_open *open, void *context)
{
	struct user_waits *user_waits = calloc(1, sizeof(*user_waits));

	if (!user_waits)
		return NULL;
	user_waits->session = session;
	user_waits->open = open;
	user_waits->context = context;
	user_waits->every = 1;
	user_waits->sleeps = calloc(SLEEPS_MOST, sizeof(*user_waits->sleeps));
	user_waits->last = calloc(session_window_now(session).slots, sizeof(*user_waits->last));
	if (user_waits->sleeps && user_waits->last)
		return user_waits;
	user_waits_free(user_waits);
	return NULL;
}

/* Keeps those that were seen after a time, of each `of` one. */
static void sleeps_keep(struct user_waits *user_waits, uint64_t after, size_t of)
{
	size_t n = 0;

	for (size_t i = 0; i < user_waits->n; i++) {
		struct user_sleep *sleep = &user_waits->sleeps[i];

		user_waits->last[sleep->slot] = 0;
		if (sleep->at > after && i % of == 0)
			user_waits->sleeps[n++] = *sleep;
		else
			free(sleep->data);
	}
	user_waits->n = n;
	for (size_t i = 0; i < n; i++)
		user_waits->last[user_waits->sleeps[i].slot] = (uint32_t)i + 1;
}

void user_waits_free(struct user_waits *user_waits)
{
	if (!user_waits)
		return;
	if (user_waits->sleeps)
		sleeps_keep(user_waits, UINT64_MAX, 1);
	free(user_waits->sleeps);
	free(user_waits->last);
	free(user_waits);
}

/* --- Reading --- */

/* The kernel says of uninterruptible sleeps what they are for, and a thread in one may have the
 * lock of the memory that is read. */
static bool is_asleep(const struct kd_thread *thread)
{
	return thread_state(thread) == KD_BLOCKED && thread->task && !thread->left && !thread->died;
}

static void memory_close(struct user_waits *user_waits)
{
	if (user_waits->memory_of)
		remote_close(&user_waits->memory);
	user_waits->memory_of = 0;
}

/* Opens the memory of a process, which stays open for the next of its threads. */
static bool memory_open(struct user_waits *user_waits, pid_t pid)
{
	if (user_waits->memory_of == pid)
		return true;
	memory_close(user_waits);
	if (!remote_open(&user_waits->memory, pid))
		return false;
	user_waits->memory_of = pid;
	return true;
}

/* Reads what is in memory from the stack pointer on, up to the first hole. */
static bool stack_read(struct user_waits *user_waits, struct user_sleep *sleep)
{
	const struct remote *memory = &user_waits->memory;

	if (!memory_open(user_waits, sleep->pid))
		return false;
	sleep->start = sleep->registers.all[KD_REG_SP] - KD_RED_ZONE;
	sleep->size = remote_has_bytes(memory, sleep->start, STACK_MOST);
	sleep->data = sleep->size ? malloc(sleep->size) : NULL;
	if (sleep->data && remote_copy(memory, sleep->start, sleep->data, sleep->size))
		return true;
	free(sleep->data);
	return false;
}

/* Reads a sleep that goes on, unless it is known. Returns whether that took time. */
static bool sleep_look(struct user_waits *user_waits, const struct session_view *view,
		       uint32_t slot, uint64_t now)
{
	const struct kd_thread *thread = &view->threads[slot];
	uint32_t last = user_waits->last[slot];
	struct user_sleep *known = last ? &user_waits->sleeps[last - 1] : NULL;
	struct user_sleep sleep = {
		.pid = (pid_t)thread->tgid,
		.tid = (pid_t)thread->tid,
		.slot = slot,
		.since = __atomic_load_n(&thread->since, __ATOMIC_ACQUIRE),
		.at = now,
		.times = 1,
	};

	if (known && known->tid == sleep.tid && known->since == sleep.since) {
		known->at = now;
		known->times++;
		return false;
	}
	if (user_waits->n == SLEEPS_MOST) {
		sleeps_keep(user_waits, 0, 2);
		user_waits->every *= 2;
	}
	if (!session_registers(user_waits->session, thread, &sleep.registers) ||
	    !stack_read(user_waits, &sleep))
		return true;
	if (!is_asleep(thread) ||
	    __atomic_load_n(&thread->since, __ATOMIC_ACQUIRE) != sleep.since) {
		free(sleep.data); /* it was awake in between */
		return true;
	}
	user_waits->sleeps[user_waits->n++] = sleep;
	user_waits->last[slot] = (uint32_t)user_waits->n;
	return true;
}

/* A window that a trigger opened is of the thread that hit it. */
static bool is_of_window(const struct session_view *view, const struct kd_thread *thread)
{
	return is_asleep(thread) &&
	       (view->opened_by < 0 || view->opened_by == (int32_t)thread->tid);
}

static void window_look(struct user_waits *user_waits, const struct session_view *view)
{
	uint64_t now = clock_monotonic() - view->epoch;
	unsigned int looks = 0;

	for (uint32_t i = 0; i < view->slots && looks < LOOK_MOST; i++) {
		uint32_t slot = (user_waits->next + i) % view->slots;

		if (!slot || !is_of_window(view, &view->threads[slot]))
			continue;
		looks += sleep_look(user_waits, view, slot, now);
		if (looks == LOOK_MOST)
			user_waits->next = slot + 1;
	}
}

void user_waits_look(struct user_waits *user_waits)
{
	struct session_view view;

	if (++user_waits->looks % user_waits->every)
		return;
	for (uint32_t bank = 0; bank < KD_MAX_BANKS; bank++)
		if (session_window_at(user_waits->session, bank, &view) && view.gen &&
		    view.end == KD_NEVER)
			window_look(user_waits, &view);
	memory_close(user_waits);
}

struct asleep {
	uint32_t slot;
	uint64_t since;
};

static int longest_first(const void *a, const void *b)
{
	const struct asleep *x = a, *y = b;

	return ORDER(x->since, y->since);
}

/* Threads that slept for most of the window that has ended, and go on to sleep. Returns 0 or
 * -ENOMEM. */
static int last_look(struct user_waits *user_waits, const struct session_view *view)
{
	const uint64_t latest = view->start + (view->end - view->start) / 2;
	struct asleep *asleep = calloc(view->slots, sizeof(*asleep));
	unsigned int looks = 0;
	size_t n = 0;

	if (!asleep)
		return -ENOMEM;
	for (uint32_t slot = 1; slot < view->slots; slot++) {
		const struct kd_thread *thread = &view->threads[slot];

		if (is_of_window(view, thread) && thread->since <= latest)
			asleep[n++] = (struct asleep){ slot, thread->since };
	}
	ARRAY_SORT(asleep, n, longest_first);
	for (size_t i = 0; i < n && looks < LAST_MOST; i++)
		looks += sleep_look(user_waits, view, asleep[i].slot, view->end);
	memory_close(user_waits);
	free(asleep);
	return 0;
}

/* --- Naming --- */

static bool is_in_window(const struct user_sleep *sleep, const struct session_view *view)
{
	return sleep->at >= view->start && sleep->since < view->end;
}

static bool is_of_thread(const struct user_sleep *sleep, const struct thread_row *thread)
{
	return thread->members == 1 && sleep->tid == thread->tid &&
	       (!thread->pid || sleep->pid == thread->pid);
}

static bool is_of_row(const struct user_sleep *sleep, const struct descriptor_row *row)
{
	return sleep->registers.call == (row->call & ~KD_CALL_COMPAT) &&
	       (row->is.fd < 0 || row->is.fd == (int)sleep->registers.argument);
}

/* Fewer looks than this say nothing of sleeps that took turns. */
#define TIMES_LEAST 2

/* Returns false if too little is known. */
static bool parts_find(struct sleep_parts *parts, const struct user_waits *user_waits,
		       const struct session_view *view, const struct thread_row *thread,
		       const struct descriptor_row *row)
{
	bool lasts = false; /* one that lasts for most of the window is among them */

	*parts = (struct sleep_parts){ .n = 0 };
	for (size_t i = 0; i < user_waits->n; i++) {
		const struct user_sleep *sleep = &user_waits->sleeps[i];

		if (!is_in_window(sleep, view) || !is_of_thread(sleep, thread) ||
		    !is_of_row(sleep, row))
			continue;
		sleep_parts_add(parts, sleep->stack, user_wait_kind(row), sleep->times, sleep->at);
		lasts |= sleep->since <= view->start + (view->end - view->start) / 2 &&
			 sleep->at >= view->end;
	}
	return parts->n && (parts->times >= TIMES_LEAST || lasts);
}

static bool thread_needs_functions(const struct thread_row *thread, const struct session_view *view)
{
	for (size_t i = 0; i < thread->n_descriptors; i++)
		if (sleep_needs_function(&thread->descriptors[i], view->end - view->start))
			return true;
	return false;
}

/* Unwinds the stacks that are needed. Returns false if there are none. */
static bool stacks_find(struct user_waits *user_waits, const struct session_view *view,
			const struct sample *sample)
{
	struct stacks *stacks = NULL;

	if (view->opened_by < 0 && view->end - view->start < WINDOW_LEAST_NS)
		return false;
	for (size_t i = 0; i < user_waits->n; i++) {
		struct user_sleep *sleep = &user_waits->sleeps[i];
		const struct thread_row *thread = sample_thread(sample, sleep->tid);
		struct stack_copy copy = {
			.missing = sleep->registers.missing,
			.start = sleep->start,
			.data = sleep->data,
			.size = sleep->size,
			.process = (uint64_t)sleep->pid,
		};

		sleep->stack = NULL;
		if (!is_in_window(sleep, view) || !thread || !is_of_thread(sleep, thread) ||
		    !thread_needs_functions(thread, view))
			continue;
		stacks = stacks ? stacks : user_waits->open(user_waits->context);
		if (!stacks)
			return false;
		memcpy(copy.regs, sleep->registers.all, sizeof(copy.regs));
		memset(copy.pages, 0xff, sizeof(copy.pages)); /* there are no holes */
		stacks_submit(stacks, sleep->at + view->epoch, &copy, &sleep->stack);
	}
	if (stacks)
		stacks_flush(stacks);
	return stacks;
}

int user_waits_take(struct user_waits *user_waits, const struct session_view *view,
		    struct sample *sample)
{
	int result = last_look(user_waits, view);
	struct sleep_parts parts;

	if (!result && stacks_find(user_waits, view, sample))
		for (size_t i = 0; i < sample->n_threads; i++) {
			struct thread_row *thread = &sample->threads[i];

			for (size_t j = thread->n_descriptors; j-- && !result;)
				if (sleep_needs_function(&thread->descriptors[j],
							 view->end - view->start) &&
				    parts_find(&parts, user_waits, view, thread,
					       &thread->descriptors[j]))
					result = sleep_split(thread, j, &parts);
		}
	/* A sleep that goes on is known in the next window, too. */
	sleeps_keep(user_waits, u64_sub(view->end, 1), 1);
	for (size_t i = 0; i < user_waits->n; i++)
		user_waits->sleeps[i].times = 1;
	user_waits->every = 1;
	return result;
}
