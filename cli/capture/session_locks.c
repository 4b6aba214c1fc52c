// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_locks.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/proc_file.h"
#include "cli/base/syscall_set.h"
#include "cli/model/lock.h"
#include "cli/model/rows.h"
#include "cli/process/processes.h"
#include "cli/stack/stacks.h"
#include "probes/elf/data.h"
#include "probes/reader.h"
#include "session_parts.h"
#include "kernel_delay.skel.h"

/* --- Variables of the program for the locks that its threads waited for --- */

#define MOST_ASKED 1024 /* unresolved addresses at a time */
#define MOST_KNOWN 8192
/* Results are reused for this long: libraries come and go. */
#define KNOWN_NS (60 * NSEC_PER_SEC)
/* Time limit for a file system that does not answer, or a process that maps memory. */
#define PATIENCE NSEC_PER_SEC

struct known_place {
	pid_t pid;
	uint64_t start; /* of the process, as in its row: PIDs are reused */
	uint64_t address;
	struct data_place place;
};

struct lock_places {
	struct signals *signals;
	void *tree; /* of struct known_place */
	size_t n;
	uint64_t since; /* CLOCK_MONOTONIC ns: of the oldest one */
	struct known_place *asked[MOST_ASKED];
	size_t n_asked;
	bool gave_up;
	pid_t kept; /* a killed child that has not ended; 0: none */
};

struct lock_places *lock_places_new(struct signals *signals)
{
	struct lock_places *places = calloc(1, sizeof(*places));

	if (places)
		places->signals = signals;
	return places;
}

static void places_forget(struct lock_places *places)
{
	tdestroy(places->tree, free);
	places->tree = NULL;
	places->n = 0;
	places->gave_up = false;
}

/* True if a killed child still exists, blocked by a file system. */
static bool child_is_kept(struct lock_places *places)
{
	if (places->kept && waitpid(places->kept, NULL, WNOHANG))
		places->kept = 0;
	return places->kept;
}

void lock_places_free(struct lock_places *places)
{
	if (!places)
		return;
	places_forget(places);
	child_is_kept(places);
	free(places);
}

static int by_address(const void *a, const void *b)
{
	const struct known_place *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static int by_asked(const void *a, const void *b)
{
	return by_address(*(struct known_place *const *)a, *(struct known_place *const *)b);
}

/* Adds an address to look up, unless it is resolved. */
static int place_ask(struct lock_places *places, const struct known_place *wanted)
{
	struct known_place *known;

	if (tfind(wanted, &places->tree, by_address) || places->n_asked == MOST_ASKED)
		return 0;
	known = malloc(sizeof(*known));
	if (!known)
		return -ENOMEM;
	*known = *wanted;
	if (!tsearch(known, &places->tree, by_address)) {
		free(known);
		return -ENOMEM;
	}
	places->n++;
	places->asked[places->n_asked++] = known;
	return 0;
}

static int place_take(struct lock_places *places, const struct known_place *wanted,
		      struct lock_row *lock)
{
	struct known_place **found = tfind(wanted, &places->tree, by_address);
	const struct data_place *place = found ? &(*found)->place : NULL;

	if (!place)
		return 0;
	lock->offset = place->offset;
	return field_own(&lock->symbol, place->symbol, sizeof(place->symbol))
		       ?: field_own(&lock->object, place->object, sizeof(place->object));
}

/* Visits each lock of a live process. Nothing can be read of an ended one, and several threads
 * in one row may belong to several processes. */
static int locks_each(struct lock_places *places, struct sample *sample, bool ask)
{
	int error = 0;

	for (size_t i = 0; i < sample->n_threads && !error; i++) {
		struct thread_row *thread = &sample->threads[i];

		for (size_t k = 0; k < thread->n_locks && !error; k++) {
			struct lock_row *lock = &thread->locks[k];
			bool is_kernel = kd_lock_is_kernel(lock->kind);
			const struct known_place wanted = {
				.pid = thread->pid ? thread->pid : sample->pid,
				.start = thread->process_start,
				.address = is_kernel ? 0 : lock->address
			};

			if (thread->ended || thread->members > 1 || !lock->address ||
			    (is_kernel && !lock->caller))
				continue;
			error = ask ? place_ask(places, &wanted)
				    : place_take(places, &wanted, lock);
		}
	}
	return error;
}

/* In the child, which reads the target's files. Addresses of a process come together. */
static exit_status places_read(void *context, int socket)
{
	const struct lock_places *places = context;
	struct data_query *queries = calloc(places->n_asked, sizeof(*queries));

	for (size_t i = 0, n; queries && i < places->n_asked; i += n) {
		const struct known_place *first = places->asked[i];

		for (n = 0; i + n < places->n_asked && places->asked[i + n]->pid == first->pid &&
			    places->asked[i + n]->start == first->start;
		     n++)
			queries[i + n].address = places->asked[i + n]->address;
		data_find(first->pid, &queries[i], n);
		for (size_t k = i; k < i + n; k++)
			if (reader_send(socket, (uint32_t)k, &queries[k].place,
					sizeof(queries[k].place), -1))
				return EX_OSERR;
	}
	return queries ? 0 : EX_OSERR;
}

/* Results arrive sorted by address, like the requests. */
static exit_status place_receive(void *context, struct packet *packet)
{
	const struct lock_places *places = context;
	struct data_place *place;

	if (packet->fd >= 0)
		close(packet->fd);
	if (packet->head.number >= places->n_asked || packet->size != sizeof(*place))
		return EX_OSERR;
	place = &places->asked[packet->head.number]->place;
	memcpy(place, packet->payload, sizeof(*place));
	place->symbol[DATA_SYMBOL_LEN - 1] = '\0';
	place->object[DATA_OBJECT_LEN - 1] = '\0';
	return 0;
}

static void places_ask(struct lock_places *places)
{
	const struct probe_reader reader = {
		.run = places_read,
		.take = place_receive,
		.context = places,
		.signals = places->signals,
		.limit = PATIENCE,
		.quiet = true,
	};

	qsort(places->asked, places->n_asked, sizeof(*places->asked), by_asked);
	places->gave_up = reader_do(&reader, &places->kept);
}

bool lock_places_gave_up(const struct lock_places *places)
{
	return places->gave_up;
}

int lock_places_find(struct lock_places *places, struct sample *sample)
{
	uint64_t now = clock_monotonic();
	bool kept = child_is_kept(places);
	int error = 0;

	if ((places->n > MOST_KNOWN && !places->gave_up) || now - places->since > KNOWN_NS) {
		places_forget(places);
		places->since = now;
	}
	places->gave_up |= kept;
	do {
		places->n_asked = 0;
		if (!places->gave_up)
			error = locks_each(places, sample, true);
		if (places->n_asked)
			places_ask(places);
	} while (!error && places->n_asked == MOST_ASKED);
	return error ? error : locks_each(places, sample, false);
}

/* --- Functions of the program that waited for locks: from stack copies to text --- */

#define MOST_COPIES 1024 /* in a sample */

struct caller_copy {
	struct kd_caller caller;
	pid_t pid;
	const struct stack *stack;
};

struct lock_callers {
	struct caller_copy *copies;
	size_t n, room;
	uint64_t before; /* numbers used by earlier samples: rows of threads that ended in a
			  * window still open may have them */
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

/* Takes over the BPF side's data on a wait of a row's thread in that process, for the row's
 * locks at this address. Returns 0 or -ENOMEM. */
static int lock_callers_add(struct lock_callers *callers, pid_t pid, uint64_t address,
			    const struct kd_caller *caller, struct thread_row *row)
{
	struct caller_copy *copy;

	if (callers->n == MOST_COPIES) {
		callers->lost++;
		return 0;
	}
	if (ARRAY_GROW(callers->copies, callers->n, callers->room))
		return -ENOMEM;
	copy = &callers->copies[callers->n++];
	*copy = (struct caller_copy){ .caller = *caller, .pid = pid };
	for (size_t i = 0; i < row->n_locks; i++)
		if (row->locks[i].address == address)
			row->locks[i].caller = callers->before + callers->n;
	return 0;
}

/* The part of a stack, which goes on in what follows in memory. */
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
			field_own(&lock->called_from, text, sizeof(text)); /* or it is unknown */
		}
	}
	sample->losses[KD_LOSS_CALLERS] += callers->lost;
	callers->before += callers->n;
	callers->n = callers->lost = 0;
}

/* --- Waits for locks, as counted by the BPF side --- */

static bool is_in_namespace(pid_t pid, const char *kind, const struct stat *namespace)
{
	struct stat theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)proc_thread(pid), kind);
	if (stat(path, &theirs))
		return errno == ENOENT; /* it has ended */
	return theirs.st_dev == namespace->st_dev && theirs.st_ino == namespace->st_ino;
}

/* Those of all processes that there are, and ours. Kernels without time namespaces
 * (CONFIG_TIME_NS) have one for all. */
static bool same_namespaces(pid_t tgid, const struct processes *processes, const char *kind)
{
	struct stat ours;
	char path[64];
	bool same;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	if (stat(path, &ours))
		return errno == ENOENT;
	same = is_in_namespace(tgid, kind, &ours);
	for (size_t i = 0; same && i < processes->n && !processes_is_one(processes); i++)
		same = is_in_namespace(processes->all[i].pid, kind, &ours);
	return same;
}

/* Sets which call to look at, and whether TIDs in the target's memory, and its clocks, mean the
 * same here: with several processes, in all of them. */
static exit_status locks_select(struct session *session)
{
	const struct session_config *config = session->config;
	struct kernel_delay *skel = session->skel;
	int futex = syscall_number("futex");

	if (futex >= 0)
		skel->rodata->kd_futex_call = futex;
	skel->rodata->kd_tids_are_ours = same_namespaces(config->tgid, config->processes, "pid");
	skel->rodata->kd_clocks_are_ours = same_namespaces(config->tgid, config->processes, "time");
	return 0;
}

void locks_name_read(pid_t pid, pid_t tid, char name[static KD_COMM_LEN])
{
	char path[64], text[KD_COMM_LEN + 1];
	FILE *file;
	size_t length;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	file = fopen(path, "re");
	if (!file)
		return;
	/* The final line feed is not part of the name; others may be. */
	length = fread(text, 1, sizeof(text), file);
	fclose(file);
	if (length > 0 && length <= KD_COMM_LEN)
		memcpy(name, text, length - 1);
}

/* Reads the present name of a thread of the target; "" if it has ended. pid: of the waiting
 * thread. */
static void name_of(const struct session_view *view, pid_t pid, uint32_t tid,
		    char name[static KD_COMM_LEN])
{
	for (uint32_t slot = 1; tid && slot < view->slots; slot++) {
		const struct kd_thread *thread = &view->threads[slot];

		if (thread->tid != tid || !thread->task)
			continue;
		memcpy(name, thread->comm, KD_COMM_LEN);
		return;
	}
	if (tid)
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
	};

	if (waits->holder_tgid)
		memcpy(lock.holder_name, waits->holder_comm, sizeof(lock.holder_name));
	else
		name_of(view, (pid_t)view->threads[key->slot].tgid, key->holder, lock.holder_name);
	memcpy(lock.released_name, waits->released_comm, sizeof(lock.released_name));
	return row_list_add(&lock_list, &row->locks, &row->n_locks, &lock);
}

/* The row already has the wait at the window's end if it still went on when the row was made. */
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
	const struct kd_record *record;
	struct thread_row *row;
	struct lock_row lock;
	int result = 0;

	for (uint32_t slot = 1; slot < hash->view->slots && !result; slot++) {
		record = &hash->view->records[slot];
		if (!hash->row_of[slot] || record->gen != hash->view->gen ||
		    !record->short_locks.count)
			continue;
		row = &hash->rows[hash->row_of[slot] - 1];
		lock = (struct lock_row){ .kind = KD_LOCK_NO_OWNER,
					  .slept_in = KD_CALL_NONE,
					  .shorter = detail_ns,
					  .waits = record->short_locks };
		result = row_list_add(&lock_list, &row->locks, &row->n_locks, &lock);
	}
	return result;
}

static int locks_read(struct session *session, struct session_hash hash)
{
	const struct kernel_delay *skel = session->skel;
	int result = short_locks_read(&hash, skel->rodata->kd_detail_ns);

	if (result)
		return result;
	if (!__atomic_load_n(&skel->bss->kd_locks_used, __ATOMIC_RELAXED))
		return 0;
	hash.map = skel->maps.kd_locks;
	result = session_hash_read(&hash, lock_found, NULL);
	if (result || !__atomic_load_n(&skel->bss->kd_callers_used, __ATOMIC_RELAXED))
		return result;
	hash.map = skel->maps.kd_callers;
	return session_hash_read(&hash, caller_found, NULL);
}

const struct session_part locks_part = { .select = locks_select, .read = locks_read };

/* Returns what a thread did until t, as in lock.bpf.h. */
static struct kd_doing doing_until(const struct kd_thread *thread, uint64_t t)
{
	struct kd_doing doing = { thread->run_ns, thread->ready_ns, thread->asleep_ns };
	uint32_t state = thread->state == KD_UNSEEN ? thread->seed_state : thread->state;
	uint64_t so_far = t > thread->since ? t - thread->since : 0;

	if (kd_is_running(state))
		doing.running += t > thread->run_since ? t - thread->run_since : 0;
	else if (kd_is_ready(state))
		doing.ready += so_far;
	else if (state == KD_BLOCKED || state == KD_BLOCKED_UNINT)
		doing.asleep += so_far;
	return doing;
}

static uint64_t above(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

int locks_read_open(const struct session_view *view, uint32_t slot, const struct kd_thread *thread,
		    struct thread_row *row)
{
	const struct kd_locked *locked = &thread->locked;
	struct kd_lock_waits waits = { .slept_in = KD_CALL_NONE };
	struct kd_lock_key key = { .address = locked->address,
				   .holder = locked->holder,
				   .slot = slot,
				   .kind = locked->kind };
	uint64_t ns = above(view->end, thread->since);

	if (!locked->address || !ns || thread->died ||
	    (thread->state != KD_BLOCKED && thread->state != KD_BLOCKED_UNINT))
		return 0;
	row->lock_in_progress = true;
	waits.waits = (struct kd_count){ 1, ns, ns };
	waits.holder_tgid = locked->holder_tgid;
	memcpy(waits.holder_comm, locked->holder_comm, sizeof(waits.holder_comm));
	if (locked->holder && locked->slot < view->slots &&
	    view->threads[locked->slot].tid == locked->holder) {
		struct kd_thread holder = view->threads[locked->slot];
		struct kd_doing now = doing_until(&holder, view->end);
		struct kd_doing *meanwhile = &waits.meanwhile;

		meanwhile->running = above(now.running, locked->before.running);
		meanwhile->ready = above(now.ready, locked->before.ready);
		meanwhile->asleep = above(now.asleep, locked->before.asleep);
		/* The read comes after the window's end, on a busy machine long after. */
		doing_limit(meanwhile, ns);
		if (meanwhile->asleep)
			waits.slept_in = holder.state == KD_UNSEEN ? holder.seed_call
								   : holder.slept_in;
	}
	return row_add(view, &key, &waits, row);
}
