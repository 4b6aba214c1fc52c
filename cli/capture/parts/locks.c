// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "locks.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/proc_file.h"
#include "cli/base/syscall_set.h"
#include "cli/capture/session/hashes.h"
#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/slots.h"
#include "cli/capture/session/types.h"
#include "cli/model/awaited.h"
#include "cli/model/rows.h"
#include "cli/process/futex_look.h"
#include "cli/process/processes.h"
#include "cli/stack/kernel_symbols.h"
#include "cli/stack/stacks.h"
#include "probes/elf/data.h"
#include "probes/reader.h"
#include "kernel_delay.skel.h"

/* --- Variables of the program for the locks that its threads waited for --- */

#define WANTED_MAX 1024 /* addresses looked up at a time */
#define CACHE_MAX 8192
/* Results are reused for this long: libraries come and go. */
#define CACHE_NS (60 * NSEC_PER_SEC)
/* Time limit: a file system may not answer, and a process may be changing its mappings. */
#define PATIENCE NSEC_PER_SEC

struct cached_location {
	pid_t pid;
	uint64_t start; /* of the process, as in its row: PIDs are reused */
	uint64_t address;
	struct data_location location;
};

struct lock_locations {
	struct signals *signals;
	void *tree; /* of struct cached_location */
	size_t n;
	uint64_t since; /* time of the oldest result, CLOCK_MONOTONIC ns */
	struct cached_location *wanted[WANTED_MAX];
	size_t n_wanted;
	bool gave_up;
	pid_t unreaped; /* a killed child that has not ended; 0: none */
};

struct lock_locations *lock_locations_new(struct signals *signals)
{
	struct lock_locations *locations = calloc(1, sizeof(*locations));

	if (locations)
		locations->signals = signals;
	return locations;
}

static void locations_forget(struct lock_locations *locations)
{
	tdestroy(locations->tree, free);
	locations->tree = NULL;
	locations->n = 0;
	locations->gave_up = false;
}

/* True if a killed child still exists, blocked by a file system. */
static bool child_is_unreaped(struct lock_locations *locations)
{
	if (locations->unreaped && waitpid(locations->unreaped, NULL, WNOHANG))
		locations->unreaped = 0;
	return locations->unreaped;
}

void lock_locations_free(struct lock_locations *locations)
{
	if (!locations)
		return;
	locations_forget(locations);
	child_is_unreaped(locations);
	free(locations);
}

static int by_address(const void *a, const void *b)
{
	const struct cached_location *x = a, *y = b;

	return ORDER(x->pid, y->pid) ?: ORDER(x->start, y->start) ?: ORDER(x->address, y->address);
}

static int by_wanted(const void *a, const void *b)
{
	return by_address(*(struct cached_location *const *)a, *(struct cached_location *const *)b);
}

/* Adds an address to look up, unless it is resolved. */
static int location_ask(struct lock_locations *locations, const struct cached_location *wanted)
{
	struct cached_location *cached;

	if (tfind(wanted, &locations->tree, by_address) || locations->n_wanted == WANTED_MAX)
		return 0;
	cached = malloc(sizeof(*cached));
	if (!cached)
		return -ENOMEM;
	*cached = *wanted;
	if (!tsearch(cached, &locations->tree, by_address)) {
		free(cached);
		return -ENOMEM;
	}
	locations->n++;
	locations->wanted[locations->n_wanted++] = cached;
	return 0;
}

static int location_take(struct lock_locations *locations, const struct cached_location *wanted,
			 struct lock_row *lock)
{
	struct cached_location **found = tfind(wanted, &locations->tree, by_address);
	const struct data_location *location = found ? &(*found)->location : NULL;

	if (!location)
		return 0;
	lock->offset = location->offset;
	return field_own(&lock->symbol, location->symbol, sizeof(location->symbol))
		       ?: field_own(&lock->object, location->object, sizeof(location->object));
}

/* Visits each lock of a live process. An ended one cannot be read, and the threads of a row with
 * more than one may belong to different processes. */
static int locks_each(struct lock_locations *locations, struct sample *sample, bool ask)
{
	int error = 0;

	for (size_t i = 0; i < sample->n_threads && !error; i++) {
		struct thread_row *thread = &sample->threads[i];

		for (size_t k = 0; k < thread->n_locks && !error; k++) {
			struct lock_row *lock = &thread->locks[k];
			bool is_kernel = kd_lock_is_kernel(lock->kind);
			const struct cached_location wanted = {
				.pid = thread_pid(sample, thread),
				.start = thread->process_start,
				.address = is_kernel ? 0 : lock->address
			};

			if (thread->ended || thread->members > 1 || !lock->address ||
			    (is_kernel && !lock->caller))
				continue;
			error = ask ? location_ask(locations, &wanted)
				    : location_take(locations, &wanted, lock);
		}
	}
	return error;
}

/* Runs in the child, which reads the target's files. The addresses of a process are adjacent. */
static exit_status locations_read(void *context, int socket)
{
	const struct lock_locations *locations = context;
	struct data_query *queries = calloc(locations->n_wanted, sizeof(*queries));

	for (size_t i = 0, n; queries && i < locations->n_wanted; i += n) {
		const struct cached_location *first = locations->wanted[i];

		for (n = 0;
		     i + n < locations->n_wanted && locations->wanted[i + n]->pid == first->pid &&
		     locations->wanted[i + n]->start == first->start;
		     n++)
			queries[i + n].address = locations->wanted[i + n]->address;
		data_find(first->pid, &queries[i], n);
		for (size_t k = i; k < i + n; k++)
			if (reader_send(socket, (uint32_t)k, &queries[k].location,
					sizeof(queries[k].location), -1))
				return EX_OSERR;
	}
	return queries ? 0 : EX_OSERR;
}

/* Stores a result. Its number is the index of its address. */
static exit_status location_receive(void *context, struct packet *packet)
{
	const struct lock_locations *locations = context;
	struct data_location *location;

	if (packet->fd >= 0)
		close(packet->fd);
	if (packet->head.number >= locations->n_wanted || packet->size != sizeof(*location))
		return EX_OSERR;
	location = &locations->wanted[packet->head.number]->location;
	memcpy(location, packet->payload, sizeof(*location));
	location->symbol[DATA_SYMBOL_LEN - 1] = '\0';
	location->object[DATA_OBJECT_LEN - 1] = '\0';
	return 0;
}

static void locations_ask(struct lock_locations *locations)
{
	const struct probe_reader reader = {
		.run = locations_read,
		.take = location_receive,
		.context = locations,
		.signals = locations->signals,
		.limit = PATIENCE,
		.quiet = true,
	};

	qsort(locations->wanted, locations->n_wanted, sizeof(*locations->wanted), by_wanted);
	locations->gave_up = reader_do(&reader, &locations->unreaped);
}

bool lock_locations_gave_up(const struct lock_locations *locations)
{
	return locations->gave_up;
}

int lock_locations_find(struct lock_locations *locations, struct sample *sample)
{
	uint64_t now = clock_monotonic();
	bool is_unreaped = child_is_unreaped(locations);
	int error = 0;

	if ((locations->n > CACHE_MAX && !locations->gave_up) ||
	    now - locations->since > CACHE_NS) {
		locations_forget(locations);
		locations->since = now;
	}
	locations->gave_up |= is_unreaped;
	do {
		locations->n_wanted = 0;
		if (!locations->gave_up)
			error = locks_each(locations, sample, true);
		if (locations->n_wanted)
			locations_ask(locations);
	} while (!error && locations->n_wanted == WANTED_MAX);
	return error ? error : locks_each(locations, sample, false);
}

/* --- Variables of the kernel for its own locks --- */

/* Shorter waits, together, are not worth the time that reading all variables takes. */
#define NAMED_NS NSEC_PER_MSEC

static int variable_set(const struct kernel_symbols *variables, struct lock_row *lock)
{
	struct kernel_variable variable;

	if (!kernel_symbols_variable(variables, lock->address, &variable))
		return 0;
	lock->offset = variable.offset;
	return field_own(&lock->symbol, variable.name, DATA_SYMBOL_LEN - 1)
		       ?: field_own(&lock->object, variable.module ?: "kernel",
				    DATA_OBJECT_LEN - 1);
}

int lock_variables_find(struct kernel_symbols *variables, struct sample *sample)
{
	int error = 0;

	for (size_t i = 0; i < sample->n_threads; i++) {
		struct thread_row *thread = &sample->threads[i];

		for (size_t k = 0; k < thread->n_locks && !error; k++) {
			struct lock_row *lock = &thread->locks[k];
			bool may_have_one = kd_lock_is_kernel(lock->kind) &&
					    lock->kind != KD_LOCK_KERNEL_MMAP_READ &&
					    lock->kind != KD_LOCK_KERNEL_MMAP_WRITE;

			if (may_have_one && !lock->symbol && lock->waits.total >= NAMED_NS)
				error = kernel_symbols_read(variables)
						?: variable_set(variables, lock);
		}
	}
	return error;
}

/* --- Functions of the program that waited for locks: from stack copies to text --- */

struct caller_copy {
	struct kd_caller caller;
	pid_t pid;
	const struct stack *stack;
};

struct lock_callers {
	struct caller_copy *copies;
	size_t n, capacity;
	uint64_t before; /* numbers used by earlier samples, which rows of threads that ended in a
			  * window still open may have */
	uint64_t lost;
};

struct lock_callers *lock_callers_new(void)
{
	return calloc(1, sizeof(struct lock_callers));
}

void lock_callers_free(struct lock_callers *callers)
{
	if (!callers)
		return;
	free(callers->copies);
	free(callers);
}

bool lock_callers_wait(const struct lock_callers *callers)
{
	return callers->n > 0;
}

/* Adds the BPF side's stack copy of a wait by a row's thread, and notes it in the row's locks at
 * this address. Returns 0 or -ENOMEM. */
static int lock_callers_add(struct lock_callers *callers, pid_t pid, uint64_t address,
			    const struct kd_caller *caller, struct thread_row *row)
{
	if (callers->n == KD_CALLERS_MOST) {
		callers->lost++;
		return 0;
	}
	if (ARRAY_ADD(callers->copies, callers->n, callers->capacity,
		      (struct caller_copy){ .caller = *caller, .pid = pid }))
		return -ENOMEM;
	for (size_t i = 0; i < row->n_locks; i++)
		if (row->locks[i].address == address)
			row->locks[i].caller = callers->before + callers->n;
	return 0;
}

/* Submits the copied part of a stack, which goes on beyond the copy. */
static void copy_submit(struct caller_copy *copy, struct stacks *stacks, uint64_t t)
{
	const struct kd_caller *caller = &copy->caller;
	struct stack_copy part = {
		.start = caller->regs[KD_REG_SP],
		.data = caller->stack,
		.size = caller->size,
		.process = (uint64_t)copy->pid,
	};
	uint64_t last = part.start % KD_STACK_PAGE + caller->size;

	if (!caller->size || caller->size > sizeof(caller->stack))
		return;
	for (uint64_t page = 0; page * KD_STACK_PAGE < last; page++)
		part.pages[0] |= 1ULL << page;
	memcpy(part.regs, caller->regs, sizeof(part.regs));
	stacks_submit(stacks, t, &part, &copy->stack);
}

void lock_callers_find(struct lock_callers *callers, struct stacks *stacks, struct sample *sample)
{
	for (size_t i = 0; i < callers->n && stacks; i++)
		copy_submit(&callers->copies[i], stacks, sample->end);
	if (stacks)
		stacks_flush(stacks);
	for (size_t i = 0; i < sample->n_threads; i++) {
		struct thread_row *thread = &sample->threads[i];

		for (size_t k = 0; k < thread->n_locks; k++) {
			struct lock_row *lock = &thread->locks[k];
			uint64_t number = lock->caller - callers->before;
			char text[LOCK_CALLER_LEN];

			if (lock->caller <= callers->before || number > callers->n)
				continue;
			lock_caller_text(callers->copies[number - 1].stack, text);
			field_own(&lock->called_from, text, sizeof(text)); /* or unknown */
		}
	}
	sample->losses[KD_LOSS_CALLERS] += callers->lost;
	callers->before += callers->n;
	callers->n = callers->lost = 0;
}

/* --- Waits for locks, as counted by the BPF side --- */

/* True also for one that has ended, and on kernels without (CONFIG_TIME_NS), which have one clock
 * for all. */
static bool has_our_clocks(pid_t pid)
{
	const int same = proc_same_namespace(pid, "time");

	return same == 1 || same == -ENOENT;
}

/* True if the target's processes and this one share a time namespace. */
static bool same_clocks(pid_t tgid, const struct processes *processes)
{
	bool same = has_our_clocks(tgid);

	for (size_t i = 0; same && i < processes->n && !processes_is_one(processes); i++)
		same = has_our_clocks(processes->all[i].pid);
	return same;
}

/* Sets the number of futex, whether the target's clocks mean the same here, and the space for
 * stacks of callers. */
static exit_status locks_select(struct session *session)
{
	const struct session_config *config = session->config;
	struct kernel_delay *skel = session->skel;
	int futex = syscall_number("futex");

	if (futex >= 0)
		skel->rodata->kd_futex_call = futex;
	skel->rodata->kd_clocks_are_ours = same_clocks(config->tgid, config->processes);
	return session_map_resize(skel->maps.kd_callers,
				  u64_min(KD_CALLERS + config->threads, KD_CALLERS_MOST));
}

void locks_name_read(pid_t pid, pid_t tid, char name[static KD_COMM_LEN])
{
	char file[32], text[KD_COMM_LEN + 1];
	ssize_t length;

	snprintf(file, sizeof(file), "./task/%d/comm", (int)tid);
	length = proc_file_read(pid, file, text, sizeof(text));
	/* The last line feed is not part of the name; earlier ones may be. */
	if (length > 0)
		memcpy(name, text, (size_t)length - 1);
}

/* Copies the present name of a thread of the target, or leaves it unchanged if the thread has
 * ended. pid: the process of the waiting thread. */
static void name_of(const struct session_view *view, pid_t pid, uint32_t tid,
		    char name[static KD_COMM_LEN])
{
	const uint32_t slot = tid ? view_slot(view, (pid_t)tid) : KD_SLOT_FREE;

	if (slot)
		memcpy(name, view->threads[slot].comm, KD_COMM_LEN);
	else if (tid)
		locks_name_read(pid, (pid_t)tid, name);
}

static int row_add(const struct session_view *view, const struct kd_lock_key *key,
		   const struct kd_lock_waits *waits, struct thread_row *row)
{
	struct lock_row lock = {
		.address = key->address,
		.kind = key->kind < KD_LOCK_KINDS ? key->kind : KD_LOCK_NO_OWNER,
		.holder = (pid_t)key->holder,
		.holder_pid = (pid_t)waits->holder_tgid,
		.waits = waits->waits,
		.meanwhile = waits->meanwhile,
		.others = waits->others,
		.slept_in = waits->slept_in < 0 ? KD_CALL_NONE : waits->slept_in,
		.released_by = (pid_t)waits->released_by,
		.holder_parent = waits->holder_tgid ? (pid_t)waits->holder_parent : 0,
	};

	if (lock.holder_parent)
		proc_comm_read(lock.holder_parent, lock.holder_parent_name,
			       sizeof(lock.holder_parent_name));
	if (waits->holder_tgid)
		memcpy(lock.holder_name, waits->holder_comm, sizeof(lock.holder_name));
	else
		name_of(view, (pid_t)view->threads[key->slot].tgid, key->holder, lock.holder_name);
	memcpy(lock.released_name, waits->released_comm, sizeof(lock.released_name));
	return row_list_add(&lock_list, &row->locks, &row->n_locks, &lock);
}

/* Skips the wait at the window's end if it went on when the row was made: the row has it. */
static int lock_found(const struct session_hash *hash, const void *key, const void *value,
		      struct thread_row *row)
{
	const struct kd_lock_key *of = key;

	return of->in_progress && row->lock_in_progress ? 0 : row_add(hash->view, key, value, row);
}

static int caller_found(const struct session_hash *hash, const void *key_, const void *value,
			struct thread_row *row)
{
	const struct kd_caller_key *key = key_;

	return lock_callers_add(hash->callers, (pid_t)hash->view->threads[key->slot].tgid,
				key->address, value, row);
}

/* Reads waits for locks that were too short to look at. */
static int short_locks_read(const struct session_hash *hash, uint64_t detail_ns)
{
	int result = 0;

	for (uint32_t slot = 1; slot < hash->view->slots && !result; slot++) {
		const struct kd_record *record = &hash->view->records[slot];
		struct thread_row *row = session_hash_row(hash, slot);
		const struct lock_row lock = { .kind = KD_LOCK_OTHER,
					       .slept_in = KD_CALL_NONE,
					       .shorter = detail_ns,
					       .waits = record->short_locks };

		if (row && record->gen == hash->view->gen && record->short_locks.count)
			result = row_list_add(&lock_list, &row->locks, &row->n_locks, &lock);
	}
	return result;
}

static int locks_read(struct session *session, struct session_hash hash)
{
	return short_locks_read(&hash, session->skel->rodata->kd_detail_ns)
		       ?: TABLE_READ(session, &hash, kd_locks, lock_found)
		       ?: TABLE_READ(session, &hash, kd_callers, caller_found);
}

SESSION_PART(locks) = { .select = locks_select, .read = locks_read };

struct kd_activity locks_activity(const struct kd_thread *thread, uint64_t t)
{
	struct kd_activity activity = { thread->run_ns, thread->ready_ns, thread->asleep_ns };
	uint32_t state = thread_state(thread);
	uint64_t so_far = u64_sub(t, thread->since);

	if (kd_is_running(state))
		activity.running += u64_sub(t, thread->run_since);
	else if (kd_is_ready(state))
		activity.ready += so_far;
	else if (state == KD_BLOCKED || state == KD_BLOCKED_UNINT)
		activity.asleep += so_far;
	return activity;
}

/* True if who had the lock when the wait began has ended: another one may have it by now. */
static bool holder_ended(const struct session_view *view, const struct kd_locked *locked, pid_t pid)
{
	const struct kd_thread *holder =
		&view->threads[locked->slot < view->slots ? locked->slot : KD_SLOT_FREE];
	char name[KD_COMM_LEN] = "";

	if (!locked->holder || locked->holder_tgid ||
	    (holder->task && holder->tid == locked->holder && !holder->died))
		return false;
	locks_name_read(pid, (pid_t)locked->holder, name);
	return !*name;
}

/* Who has the lock now, from the memory of a thread that has waited for most of the window. Returns
 * false if that says nothing. */
static bool lasting_look(struct kd_locked *locked, const struct session_view *view,
			 const struct kd_thread *thread)
{
	const bool unseen = thread->state == KD_UNSEEN;
	struct kd_locked now;

	if (thread->since > view->start + (view->end - view->start) / 2 ||
	    !futex_look(&now, (pid_t)thread->tgid, (pid_t)thread->tid) ||
	    (!unseen && now.address != locked->address))
		return false;
	if (unseen || now.holder != locked->holder) {
		*locked = now;
		locked->slot = view_slot(view, (pid_t)locked->holder);
	}
	return true;
}

/* The lock of a sleep that goes on. False: it is for none. */
static bool open_find(struct kd_locked *locked, const struct session_view *view,
		      const struct kd_thread *thread)
{
	*locked = thread->locked;
	if (thread->state == KD_UNSEEN)
		return thread->seed_state == KD_BLOCKED &&
		       thread->seed_call == syscall_number("futex") &&
		       lasting_look(locked, view, thread);
	if (!locked->address || !thread_is_blocked(thread))
		return false;
	if (!lasting_look(locked, view, thread) &&
	    holder_ended(view, locked, (pid_t)thread->tgid)) {
		locked->kind = KD_LOCK_NO_OWNER;
		locked->holder = 0;
	}
	return true;
}

int locks_read_open(const struct session_view *view, uint32_t slot, const struct kd_thread *thread,
		    struct thread_row *row)
{
	struct kd_lock_waits waits = { .slept_in = KD_CALL_NONE };
	struct kd_lock_key key = { .slot = slot };
	uint64_t ns = u64_sub(view->end, thread->since);
	struct kd_locked found, *locked = &found;

	if (!ns || thread->died || !open_find(&found, view, thread))
		return 0;
	key.address = locked->address;
	key.holder = locked->holder;
	key.kind = locked->kind;
	row->lock_in_progress = true;
	waits.waits = (struct kd_count){ 1, ns, ns, thread->since };
	waits.holder_tgid = locked->holder_tgid;
	waits.holder_parent = locked->holder_parent;
	memcpy(waits.holder_comm, locked->holder_comm, sizeof(waits.holder_comm));
	if (locked->holder && locked->slot < view->slots &&
	    view->threads[locked->slot].tid == locked->holder) {
		struct kd_thread holder = view->threads[locked->slot];
		struct kd_activity now = locks_activity(&holder, view->end);
		struct kd_activity *meanwhile = &waits.meanwhile;

		meanwhile->running = u64_sub(now.running, locked->before.running);
		meanwhile->ready = u64_sub(now.ready, locked->before.ready);
		meanwhile->asleep = u64_sub(now.asleep, locked->before.asleep);
		/* The copy was taken after the window's end; on a busy machine, long after. */
		activity_limit(meanwhile, ns);
		if (meanwhile->asleep)
			waits.slept_in = holder.state == KD_UNSEEN ? holder.seed_call
								   : holder.slept_in;
	}
	return row_add(view, &key, &waits, row);
}
