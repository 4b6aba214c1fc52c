// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/parse.h"
#include "cli/base/proc_file.h"
#include "cli/sandbox/confine.h"
#include "cli/sandbox/helper.h"
#include "cli/sandbox/sandbox.h"
#include "client.h"
#include "mapped.h"
#include "opener.h"
#include "protocol.h"
#include "server.h"
#include "stack_processes.h"

/* --- Resolver process --- */

#define SHARED_FD (SANDBOX_SOCKET + 1) /* further descriptor of the executed program */
#define NAME "kernel_delay"

/* Makes PROTOCOL_SHARED bytes of memory that the parent writes and the child reads; only the
 * caller has a writable mapping, *mapped. Returns a descriptor or a negative errno. */
static int shared_new(void **mapped)
{
	int fd = memfd_create("stacks", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	*mapped = MAP_FAILED;
	if (!ftruncate(fd, PROTOCOL_SHARED))
		*mapped = mmap(NULL, PROTOCOL_SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*mapped != MAP_FAILED &&
	    !fcntl(fd, F_ADD_SEALS,
		   F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	err = -errno;
	if (*mapped != MAP_FAILED)
		munmap(*mapped, PROTOCOL_SHARED);
	*mapped = NULL;
	close(fd);
	return err;
}

/* What the child is given. */
struct stacks_child {
	int shared;           /* shared memory, from shared_new() */
	unsigned int without; /* enum sandbox_without */
};

/* Reports why the child cannot start. The socket may have its final number already. */
static void child_excuse(int socket, int err, const char *what)
{
	if (server_greet(socket, err, what))
		server_greet(SANDBOX_SOCKET, err, what);
}

/* Serves. server_new() precedes the sandbox, because libunwind opens a pipe on first use. */
static _Noreturn void child_serve(const struct stacks_child *child, int socket, pid_t parent)
{
	const void *shared = mmap(NULL, PROTOCOL_SHARED, PROT_READ, MAP_SHARED, child->shared, 0);
	struct server *server = shared == MAP_FAILED ? NULL : server_new(SANDBOX_SOCKET, shared);
	const char *what = "starting";
	int err = server ? 0 : -ENOMEM;

	if (!err)
		err = sandbox_enter(socket, parent, child->without, &what);
	if (err)
		child_excuse(socket, err, what);
	else
		err = server_greet(SANDBOX_SOCKET, 0, "ready");
	if (!err)
		err = server_run(server);
	/* Exits without freeing the memory, which takes longer. */
	_exit(err ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Moves both descriptors to their numbers. Returns whether that worked. */
static bool descriptors_move(int socket, int shared)
{
	/* Moving one must not close the other. */
	socket = fcntl(socket, F_DUPFD_CLOEXEC, SHARED_FD + 1);
	shared = fcntl(shared, F_DUPFD_CLOEXEC, SHARED_FD + 1);
	return socket >= 0 && shared >= 0 && dup2(socket, SANDBOX_SOCKET) >= 0 &&
	       dup2(shared, SHARED_FD) >= 0;
}

/* Runs the child, see helper_start(); context is a struct stacks_child. If the program cannot be
 * executed, the child continues as is. */
static void stacks_child_run(void *context, int socket, pid_t parent)
{
	struct stacks_child child = *(const struct stacks_child *)context;
	char parent_text[16], without_text[16];
	char *const words[] = { NAME, STACKS_CHILD, parent_text, without_text, NULL };
	char *const none[] = { NULL };

	snprintf(parent_text, sizeof(parent_text), "%d", (int)parent);
	snprintf(without_text, sizeof(without_text), "%u", child.without);
	if (descriptors_move(socket, child.shared)) {
		execve("/proc/self/exe", words, none);
		socket = SANDBOX_SOCKET;
		child.shared = SHARED_FD;
	}
	child_serve(&child, socket, parent);
}

int stacks_child_main(int argc, char **argv)
{
	struct stacks_child child = { .shared = SHARED_FD };
	uint64_t parent, without;

	if (argc != 3 || parse_u64(argv[1], 1, INT32_MAX, &parent) ||
	    parse_u64(argv[2], 0, UINT32_MAX, &without) || without & ~(uint64_t)SANDBOX_SANITIZED)
		return EX_USAGE;
	prctl(PR_SET_NAME, NAME); /* the name of the executed link says nothing */
	child.without = (unsigned int)without;
	child_serve(&child, SANDBOX_SOCKET, (pid_t)parent);
}

/* --- Stacks of a run --- */

#define CHILD "the process that resolves user stacks"
#define PATIENCE (10 * NSEC_PER_SEC) /* time to read a debug file of 1 GB */
#define MOST_FILE 256                /* bytes of a path, in a message */
#define MOST_OPENED 16               /* debug file requests per object */
#define PAUSE (60 * NSEC_PER_SEC)    /* or the run might wait in vain most of the time */
#define EXECUTE_NS NSEC_PER_SEC      /* time to execute another program, where CPUs are busy */

struct stacks {
	pid_t pid; /* the only process; 0: several */
	struct stacks_setup setup;
	uint64_t began;      /* when the child was started */
	uint64_t again_at;   /* when an ended one has a successor; 0: never */
	struct helper child; /* pid 0: ended */
	struct opener *opener;
	void *shared;
	struct client *client;
	struct mapped_files *files;
	struct stack_processes *processes;
	uint64_t refreshed;
	uint64_t failed; /* copies that the client did not get */
	char failure[160 + MOST_FILE];
	uint8_t opened[PROTOCOL_OBJECTS]; /* debug file requests of the child */
};

/* Handles the child's request for a debug file. */
static int stacks_serve(void *context, uint32_t object, const char *path)
{
	struct stacks *stacks = context;
	const struct mapped_file *file = mapped_files_get(stacks->files, object);
	int fd;

	if (stacks->opened[object] == MOST_OPENED)
		return -EBADMSG;
	stacks->opened[object]++;
	fd = opener_debug(stacks->opener, file->pid, file->object.path, path);
	return fd == -EBADMSG ? -ENOENT : fd; /* file systems may also return this */
}

/* Ends the stacks, and notes why. The child's exit status says more than a closed connection. */
static void stacks_fail(struct stacks *stacks, int err)
{
	char file[MOST_FILE] = "", *failure = stacks->failure;
	const size_t size = sizeof(stacks->failure);
	int status = 0;
	bool ended;

	if (!stacks->child.pid)
		return;
	if ((err == -ETIMEDOUT || err == -EINTR) &&
	    !helper_file(&stacks->child, file, sizeof(file)))
		*file = '\0';
	ended = err == -EPIPE ? helper_await(&stacks->child, &status)
			      : helper_end(&stacks->child, &status);
	client_abandon(stacks->client);
	if (err == -ETIMEDOUT || err == -EINTR || err == -EBADMSG)
		snprintf(failure, size, CHILD " %s and was ended%s%s",
			 err == -ETIMEDOUT ? "took too long"
			 : err == -EINTR   ? "did not answer soon enough after the signal"
					   : "sent invalid data",
			 *file ? ", while it read " : "", file);
	else if (err != -EPIPE)
		snprintf(failure, size, CHILD " failed: %s", strerror(-err));
	else if (ended && WIFSIGNALED(status))
		snprintf(failure, size, CHILD " was killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(failure, size, CHILD " has ended unexpectedly");
	/* What was wrong may be over, and the limit is one for each. One that dies otherwise, or
	 * lies, has no successor. */
	if (err == -ETIMEDOUT)
		stacks->again_at = stacks->began + stacks->setup.pause;
	else if (err == -EPIPE && ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		stacks->again_at = stacks->began;
}

static int stacks_found(void *context, uint32_t number, int fd, const char *path)
{
	struct stacks *stacks = context;
	int err = stacks->child.pid ? client_object(stacks->client, number, fd, path) : -EPIPE;

	if (err)
		stacks_fail(stacks, err);
	return err;
}

/* Sends the mappings of a process's space; unused spaces make way. */
static int space_tell(struct stacks *stacks, const struct stack_process *process, bool anew,
		      uint64_t t)
{
	size_t n;
	const struct mapping *mappings = mapped_mappings(process->mapped, &n);
	uint32_t left;
	int err;

	do {
		err = client_mappings(stacks->client, process->space, anew, t, mappings, n);
		left = err == -E2BIG ? stack_processes_left(stacks->processes) : STACK_NO_SPACE;
		if (left != STACK_NO_SPACE)
			err = client_mappings(stacks->client, left, true, 0, NULL, 0);
	} while (!err && left != STACK_NO_SPACE);
	return err;
}

/* Sends the mappings of a process from t on, if they changed. */
static int stacks_tell(struct stacks *stacks, struct stack_process *process, uint64_t t,
		       int changed)
{
	int err, space;

	if (changed <= 0)
		return changed;
	if (!stacks->child.pid) /* ended while receiving a file */
		return -EPIPE;
	space = stack_process_settle(stacks->processes, process);
	if (space < 0 || space == STACK_SPACE_SHARED)
		return 0;
	err = space_tell(stacks, process, space == STACK_SPACE_BEGINS,
			 space == STACK_SPACE_BEGINS ? 0 : t);
	if (err == -E2BIG)
		stack_process_refuse(stacks->processes, process, -ENOSPC);
	else if (err)
		stacks_fail(stacks, err);
	return err == -E2BIG ? 0 : err;
}

static int stacks_read(struct stacks *stacks, struct stack_process *process, uint64_t t)
{
	return stacks_tell(stacks, process, t, mapped_read(process->mapped));
}

/* Adds an existing process. *err: why it was unreadable. NULL: too many. */
static struct stack_process *process_begin(struct stacks *stacks, pid_t pid, int *err)
{
	struct stack_process *process = stack_process_add(stacks->processes, pid, NULL);

	*err = -ENOSPC;
	if (!process)
		return NULL;
	process->mapped = mapped_new(stacks->files, pid);
	*err = process->mapped ? stacks_read(stacks, process, 0) : -ENOMEM;
	if (*err)
		stack_process_refuse(stacks->processes, process, *err);
	if (*err == -ESRCH)
		stack_process_end(stacks->processes, process);
	return process;
}

static struct stack_process *process_get(struct stacks *stacks, pid_t pid)
{
	struct stack_process *process = stack_process_find(stacks->processes, pid);
	int err;

	return process ? process : process_begin(stacks, pid, &err);
}

static int child_start(struct stacks *stacks)
{
	struct stacks_child child = {
		.shared = shared_new(&stacks->shared),
		.without = stacks->setup.without,
	};
	int err;

	if (child.shared < 0)
		return child.shared;
	stacks->began = clock_monotonic();
	err = helper_start(&stacks->child, stacks_child_run, &child);
	close(child.shared);
	return err;
}

static int stacks_start(struct stacks *stacks, size_t capacity)
{
	const struct stacks_setup *setup = &stacks->setup;
	int err = child_start(stacks)
			  ?: opener_open(&stacks->opener, setup->signals, setup->without);

	if (err)
		return err;
	stacks->files = mapped_files_new(stacks->opener, stacks_found, stacks);
	stacks->processes = stack_processes_new();
	stacks->client = client_new(stacks->child.socket, stacks->shared, capacity, setup->patience,
				    stacks_serve, stacks);
	if (!stacks->files || !stacks->processes || !stacks->client)
		return -ENOMEM;
	client_heed(stacks->client, setup->signals);
	return 0;
}

static exit_status stacks_greeted(struct stacks *stacks, bool quiet)
{
	char text[PROTOCOL_PATH];
	int err = client_greeted(stacks->client, text);

	if (!err)
		return 0;
	stacks_fail(stacks, err);
	if (quiet)
		return EX_OSERR;
	if (*text)
		log_error("cannot resolve user stacks safely: %s: %s", text, strerror(-err));
	else
		log_error("cannot resolve user stacks: %s", stacks->failure);
	log_hint("to do without them: --stack-trace-size 0");
	return EX_OSERR;
}

static bool process_lives(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat_read(&stat, pid) && stat.threads && !stat.kernel;
}

/* Reads the current mappings, valid from the start: all copies are taken later. A process has no
 * mappings for a moment while it executes another program, as if it had ended. */
static exit_status stacks_begin(struct stacks *stacks)
{
	uint64_t end = clock_monotonic() + EXECUTE_NS;
	bool denied;
	int err;

	process_begin(stacks, stacks->pid, &err);
	while (err == -ESRCH && process_lives(stacks->pid) && clock_monotonic() < end) {
		clock_wait_until(clock_monotonic() + NSEC_PER_MSEC);
		process_begin(stacks, stacks->pid, &err);
	}
	if (!err)
		return 0;
	if (err == -ESRCH) {
		log_error("process %d has ended", (int)stacks->pid);
		return EX_UNAVAILABLE;
	}
	denied = err == -EPERM || err == -EACCES;
	log_error("cannot read what process %d has mapped: %s", (int)stacks->pid,
		  stacks->child.pid ? strerror(-err) : stacks->failure);
	if (denied)
		capability_hint_ptrace("to do without user stacks: --stack-trace-size 0");
	return denied ? EX_NOPERM : EX_OSERR;
}

exit_status stacks_open(struct stacks **stacks, pid_t pid, size_t capacity,
			const struct stacks_setup *setup)
{
	int err, status;

	*stacks = calloc(1, sizeof(**stacks));
	err = *stacks ? 0 : -ENOMEM;
	if (!err) {
		(*stacks)->pid = pid;
		(*stacks)->setup = *setup;
		(*stacks)->setup.patience = setup->patience ?: PATIENCE;
		(*stacks)->setup.pause = setup->pause ?: PAUSE;
		err = stacks_start(*stacks, capacity);
	}
	if (err && !setup->quiet) {
		log_error("cannot start " CHILD ": %s", strerror(-err));
		log_hint("to do without user stacks: --stack-trace-size 0");
	}
	status = err ? EX_OSERR : stacks_greeted(*stacks, setup->quiet);
	if (!status && pid)
		status = stacks_begin(*stacks);
	if (status) {
		stacks_close(*stacks);
		*stacks = NULL;
	}
	return status;
}

void stacks_close(struct stacks *stacks)
{
	int status;

	if (!stacks)
		return;
	if (stacks->client)
		client_abandon(stacks->client);
	helper_end(&stacks->child, &status);
	opener_close(stacks->opener);
	if (stacks->shared)
		munmap(stacks->shared, PROTOCOL_SHARED);
	client_free(stacks->client);
	stack_processes_free(stacks->processes);
	mapped_files_free(stacks->files);
	free(stacks);
}

/* A successor of the child knows neither files nor mappings; those of several processes are read
 * again as their stacks come. */
static int successor_start(struct stacks *stacks)
{
	char text[PROTOCOL_PATH];
	int err;

	munmap(stacks->shared, PROTOCOL_SHARED);
	stacks->shared = NULL;
	stack_processes_free(stacks->processes);
	mapped_files_free(stacks->files);
	stacks->files = mapped_files_new(stacks->opener, stacks_found, stacks);
	stacks->processes = stack_processes_new();
	memset(stacks->opened, 0, sizeof(stacks->opened));
	if (!stacks->files || !stacks->processes)
		return -ENOMEM;
	err = child_start(stacks);
	if (err)
		return err;
	client_renew(stacks->client, stacks->child.socket, stacks->shared);
	return client_greeted(stacks->client, text);
}

static void stacks_succeed(struct stacks *stacks)
{
	char before[sizeof(stacks->failure)];
	int err, status;

	if (stacks->child.pid || !stacks->again_at || clock_monotonic() < stacks->again_at)
		return;
	stacks->again_at = 0;
	err = successor_start(stacks);
	if (err) { /* the failure before stays */
		helper_end(&stacks->child, &status);
		return;
	}
	memcpy(before, stacks->failure, sizeof(before));
	*stacks->failure = '\0';
	if (!stacks->setup.quiet)
		log_warn("%s; another one goes on", before);
	if (stacks->pid)
		process_begin(stacks, stacks->pid, &err);
}

/* Simultaneous events may be reported in another order. */
static uint64_t stacks_time(struct stacks *stacks, uint64_t t)
{
	if (t > stacks->refreshed)
		stacks->refreshed = t;
	return stacks->refreshed;
}

int stacks_refresh(struct stacks *stacks, uint64_t t)
{
	struct stack_process *process = stack_process_find(stacks->processes, stacks->pid);

	if (!stacks->child.pid || !process || !process->mapped)
		return 0;
	return stacks_read(stacks, process, stacks_time(stacks, t));
}

void stacks_add(struct stacks *stacks, pid_t pid)
{
	if (stacks->child.pid)
		process_get(stacks, pid);
}

/* Copies the parent's mappings to a child, if known. */
static int process_fork(struct stacks *stacks, pid_t pid, pid_t parent_pid)
{
	struct stack_process *parent = stack_process_find(stacks->processes, parent_pid);
	int err = 0;

	if (!parent || !parent->mapped || parent_pid == pid)
		process_begin(stacks, pid, &err);
	else if (!stack_process_add(stacks->processes, pid, parent))
		err = -ENOSPC;
	return err;
}

int stacks_mapped(struct stacks *stacks, pid_t pid, uint64_t t, const struct kd_mapped *change)
{
	struct stack_process *process = stack_process_find(stacks->processes, pid);

	if (!stacks->child.pid)
		return 0;
	if (change->kind == KD_MAPPED_FORK)
		return process_fork(stacks, pid, (pid_t)change->start);
	if (change->kind == KD_MAPPED_END) {
		if (process)
			stack_process_end(stacks->processes, process);
		return 0;
	}
	if (!process) { /* reads everything */
		stacks_add(stacks, pid);
		return 0;
	}
	if (!process->mapped)
		return process->error;
	return stacks_tell(stacks, process, stacks_time(stacks, t),
			   mapped_change(process->mapped, t, change));
}

/* Separates a process whose JIT code has names from others in its space. Its JIT files then
 * count as new. */
static int process_separate(struct stacks *stacks, struct stack_process *process)
{
	process->has_names = true;
	return stacks_tell(stacks, process, stacks_time(stacks, 0), 1);
}

/* Sends new files with names of the process's JIT code. */
static int process_jit(struct stacks *stacks, struct stack_process *process)
{
	int fds[JIT_FILES], err = 0;

	jit_files_look(&process->jit, process->pid, process->mapped, stacks->files, stacks->opener,
		       fds);
	for (unsigned int i = 0; i < JIT_FILES; i++) {
		if (fds[i] < 0)
			continue;
		if (!err && !process->has_names)
			err = process_separate(stacks, process);
		if (!err && process->space != STACK_NO_SPACE)
			err = client_jit(stacks->client, process->space, (enum jit_file)i, fds[i]);
		close(fds[i]);
	}
	return err;
}

int stacks_submit(struct stacks *stacks, uint64_t t, const struct stack_copy *copy,
		  const struct stack **stack)
{
	pid_t pid = copy->process ? (pid_t)copy->process : stacks->pid;
	struct stack_process *process;
	int err;

	*stack = NULL;
	stacks_succeed(stacks);
	process = stacks->child.pid ? process_get(stacks, pid) : NULL;
	err = stacks->child.pid ? 0 : -EPIPE;
	/* The child may have ended on what it was sent. */
	if (stacks->child.pid && (!process || process->space == STACK_NO_SPACE)) {
		stacks->failed++;
		return process && process->error ? process->error : -ENOSPC;
	}
	if (stacks->child.pid)
		err = process_jit(stacks, process);
	if (!err && process->space == STACK_NO_SPACE) { /* there was no space left for its own */
		stacks->failed++;
		return process->error;
	}
	if (!err)
		err = client_submit(stacks->client, process->space, t, copy, stack);
	if (err) {
		stacks_fail(stacks, err);
		stacks->failed++;
	}
	return 0;
}

const char *stacks_excuse(int error)
{
	switch (error) {
	case -ESRCH:
		return "the process ended before its mappings were read";
	case -ENOSPC:
		return "there are too many processes, or too many mappings";
	default:
		return "the process's mappings could not be read";
	}
}

void stacks_tell_digests(struct stacks *stacks, stacks_digested *tell, void *context)
{
	client_tell_digests(stacks->client, tell, context);
}

void stacks_flush(struct stacks *stacks)
{
	int err;

	stacks_succeed(stacks); /* what failed in the window before is no news of this one */
	err = stacks->child.pid ? client_flush(stacks->client) : 0;
	if (err)
		stacks_fail(stacks, err);
}

struct stack_counts stacks_counts(const struct stacks *stacks)
{
	struct stack_counts counts = client_counts(stacks->client);

	counts.failed += stacks->failed;
	return counts;
}

const char *stacks_failure(const struct stacks *stacks)
{
	return *stacks->failure ? stacks->failure : NULL;
}

void stacks_children(const struct stacks *stacks, pid_t children[2])
{
	children[0] = stacks->child.pid;
	children[1] = opener_child(stacks->opener);
}
