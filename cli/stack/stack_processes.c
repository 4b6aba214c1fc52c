// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "stack_processes.h"

#include <errno.h>
#include <fnmatch.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "mapped.h"
#include "protocol.h"

/* --- Files about JIT code --- */

#define INTERVAL NSEC_PER_SEC

/* The writer of a jitdump maps it so that profilers find it. NULL: none. */
static const struct object *dump_find(const struct mapped *mapped, const struct mapped_files *files)
{
	size_t n;
	const struct mapping *mappings = mapped_mappings(mapped, &n);

	for (size_t i = n; i-- > 0;) {
		const struct mapped_file *file;

		if (mappings[i].object >= SPACE_BEYOND)
			continue;
		file = mapped_files_get(files, mappings[i].object);
		if (!fnmatch("*/jit-[0-9]*.dump", file->object.path, 0))
			return &file->object;
	}
	return NULL;
}

/* Returns a descriptor of a newly found file, else -1. */
static int file_look(struct jit_files *files, enum jit_file kind, pid_t pid,
		     const struct object *dump, struct opener *opener)
{
	struct inode_key *found = &files->found[kind], key;
	int fd = opener_jit(opener, pid, dump, &key);

	files->is_silent |= fd == -ETIMEDOUT;
	if (fd < 0)
		return -1;
	if (!inode_key_is(&key, found)) {
		*found = key;
		return fd;
	}
	close(fd);
	return -1;
}

/* JIT code may also be mapped from named memory. */
static bool makes_code(const struct mapped *mapped, const struct mapped_files *files)
{
	size_t n;
	const struct mapping *mappings = mapped_mappings(mapped, &n);

	for (size_t i = 0; i < n; i++) {
		if (mappings[i].object >= SPACE_BEYOND
			    ? mappings[i].end != UINT64_MAX
			    : !mapped_files_get(files, mappings[i].object)->is_open)
			return true;
	}
	return false;
}

void jit_files_look(struct jit_files *files, pid_t pid, const struct mapped *mapped,
		    const struct mapped_files *mapped_files, struct opener *opener,
		    int fds[JIT_FILES])
{
	uint64_t now = clock_monotonic();
	const struct object *dump;

	for (unsigned int i = 0; i < JIT_FILES; i++)
		fds[i] = -1;
	if (files->is_silent || (files->looked && now - files->looked < INTERVAL) ||
	    !makes_code(mapped, mapped_files))
		return;
	files->looked = now;
	fds[JIT_PERF_MAP] = file_look(files, JIT_PERF_MAP, pid, NULL, opener);
	dump = dump_find(mapped, mapped_files);
	if (dump)
		fds[JIT_DUMP] = file_look(files, JIT_DUMP, pid, dump, opener);
}

/* --- Processes --- */

/* An address space in the other process. */
struct shared_space {
	uint32_t users; /* 0: the number is free */
	bool changed;   /* changed since it began */
	bool reported;  /* the other process has data of it */
	uint64_t hash;  /* of its initial mappings */
	size_t n;       /* mappings */
};

struct stack_processes {
	void *by_pid; /* tsearch(3) tree of struct stack_process */
	size_t n;
	size_t mappings; /* allocated mappings */
	/* Ended processes in order of their end, including reused PIDs. */
	struct stack_process *first, **last;
	struct shared_space spaces[PROTOCOL_SPACES];
};

struct stack_processes *stack_processes_new(void)
{
	struct stack_processes *processes = calloc(1, sizeof(*processes));

	if (processes)
		processes->last = &processes->first;
	return processes;
}

static void process_free(void *process_)
{
	struct stack_process *process = process_;

	mapped_free(process->mapped);
	free(process);
}

void stack_processes_free(struct stack_processes *processes)
{
	if (!processes)
		return;
	tdestroy(processes->by_pid, process_free);
	free(processes);
}

static int by_pid(const void *a, const void *b)
{
	const struct stack_process *x = a, *y = b;

	return ORDER(x->pid, y->pid);
}

struct stack_process *stack_process_find(const struct stack_processes *processes, pid_t pid)
{
	const struct stack_process key = { .pid = pid };
	struct stack_process **found = tfind(&key, (void *const *)&processes->by_pid, by_pid);

	return found ? *found : NULL;
}

static void space_leave(struct stack_processes *processes, struct stack_process *process)
{
	if (process->space != STACK_NO_SPACE)
		processes->spaces[process->space].users--;
	process->space = STACK_NO_SPACE;
	process->jit = (struct jit_files){ .looked = 0 };
}

static void size_update(struct stack_processes *processes, struct stack_process *process)
{
	processes->mappings -= process->size;
	process->size = process->mapped ? mapped_size(process->mapped) : 0;
	processes->mappings += process->size;
}

/* Forgets the data of a process. */
static void process_clear(struct stack_processes *processes, struct stack_process *process)
{
	space_leave(processes, process);
	mapped_free(process->mapped);
	process->mapped = NULL;
	process->has_names = false;
	size_update(processes, process);
}

/* Drops the process that ended first. Returns false if there is none. */
static bool ended_forget(struct stack_processes *processes)
{
	struct stack_process *process;

	while ((process = processes->first)) {
		processes->first = process->next;
		if (!processes->first)
			processes->last = &processes->first;
		process->queued = false;
		if (!process->ended)
			continue;
		process_clear(processes, process);
		tdelete(process, &processes->by_pid, by_pid);
		process_free(process);
		processes->n--;
		return true;
	}
	return false;
}

/* Drops ended processes until the size fits. Returns false if the mappings of this process,
 * which is alive, do not. */
static bool size_fit(struct stack_processes *processes, struct stack_process *process)
{
	size_update(processes, process);
	while (processes->mappings > STACK_MAPPINGS && ended_forget(processes))
		;
	return processes->mappings <= STACK_MAPPINGS;
}

/* Adds or resets a process. NULL: too many, or no memory. */
static struct stack_process *process_get(struct stack_processes *processes, pid_t pid)
{
	struct stack_process *process = stack_process_find(processes, pid);

	if (process) {
		process_clear(processes, process);
		process->ended = false;
		process->error = 0;
		return process;
	}
	if (processes->n == STACK_PROCESSES && !ended_forget(processes))
		return NULL;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->space = STACK_NO_SPACE;
	if (!tsearch(process, &processes->by_pid, by_pid)) {
		free(process);
		return NULL;
	}
	processes->n++;
	return process;
}

struct stack_process *stack_process_add(struct stack_processes *processes, pid_t pid,
					const struct stack_process *parent)
{
	struct mapped *mapped = NULL;
	struct stack_process *process;
	uint32_t space = STACK_NO_SPACE;
	int error = 0;

	if (parent) {
		mapped = parent->mapped ? mapped_fork(parent->mapped, pid) : NULL;
		if (parent->mapped && !mapped)
			return NULL;
		space = parent->space;
		error = parent->error;
	}
	process = process_get(processes, pid);
	if (!process) {
		mapped_free(mapped);
		return NULL;
	}
	process->mapped = mapped;
	process->error = error;
	process->space = space;
	if (space != STACK_NO_SPACE)
		processes->spaces[space].users++;
	if (!size_fit(processes, process))
		stack_process_refuse(processes, process, -ENOSPC);
	return process;
}

void stack_process_end(struct stack_processes *processes, struct stack_process *process)
{
	process->ended = true;
	if (process->queued)
		return;
	process->queued = true;
	process->next = NULL;
	*processes->last = process;
	processes->last = &process->next;
}

void stack_process_refuse(struct stack_processes *processes, struct stack_process *process,
			  int error)
{
	process_clear(processes, process);
	process->error = error;
}

/* Hashes mappings by their bytes. A process that forged a collision would only mix up its own
 * stacks. */
static uint64_t mappings_hash(const struct mapping *mappings, size_t n)
{
	uint64_t hash = n;

	for (size_t i = 0; i < n; i++) {
		hash = kd_hash_mix(hash, mappings[i].start);
		hash = kd_hash_mix(hash, mappings[i].end);
		hash = kd_hash_mix(hash, mappings[i].offset);
		hash = kd_hash_mix(hash, mappings[i].object);
	}
	return hash;
}

/* Finds an unchanged space with these mappings, unless the process needs its own; else a free
 * one; else STACK_NO_SPACE. */
static uint32_t space_like(const struct stack_processes *processes, uint64_t hash, size_t n,
			   bool own)
{
	uint32_t found = STACK_NO_SPACE;

	for (uint32_t i = 0; i < PROTOCOL_SPACES; i++) {
		const struct shared_space *space = &processes->spaces[i];

		if (!own && space->users && !space->changed && space->hash == hash && space->n == n)
			return i;
		if (!space->users && found == STACK_NO_SPACE)
			found = i;
	}
	return found;
}

static int space_take(struct stack_processes *processes, struct stack_process *process)
{
	size_t n;
	const struct mapping *mappings = mapped_mappings(process->mapped, &n);
	uint64_t hash = mappings_hash(mappings, n);
	struct shared_space *space;
	uint32_t number;

	do
		number = space_like(processes, hash, n, process->has_names);
	while (number == STACK_NO_SPACE && ended_forget(processes));
	if (number == STACK_NO_SPACE)
		return -ENOSPC;
	process->space = number;
	space = &processes->spaces[number];
	if (space->users++)
		return STACK_SPACE_SHARED;
	*space = (struct shared_space){
		.users = 1,
		.changed = process->has_names,
		.reported = true,
		.hash = hash,
		.n = n,
	};
	return STACK_SPACE_BEGINS;
}

int stack_process_settle(struct stack_processes *processes, struct stack_process *process)
{
	struct shared_space *space;
	int result = STACK_SPACE_CHANGES;
	bool ended = process->ended, fits;

	process->ended = false; /* must not be dropped now */
	fits = size_fit(processes, process);
	space = process->space == STACK_NO_SPACE ? NULL : &processes->spaces[process->space];
	if (!fits) {
		result = -ENOSPC;
	} else if (!space || space->users > 1) {
		space_leave(processes, process);
		result = space_take(processes, process);
	} else {
		space->changed = true;
	}
	if (result < 0)
		stack_process_refuse(processes, process, result);
	if (ended)
		stack_process_end(processes, process);
	return result;
}

uint32_t stack_processes_left(struct stack_processes *processes)
{
	for (uint32_t i = 0; i < PROTOCOL_SPACES; i++) {
		struct shared_space *space = &processes->spaces[i];

		if (space->users || !space->reported)
			continue;
		space->reported = false;
		return i;
	}
	return STACK_NO_SPACE;
}
