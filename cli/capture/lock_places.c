// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "lock_places.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "probes/elf/data.h"

#define MOST_ASKED 1024 /* addresses in a sample that are not known yet */
#define MOST_KNOWN 8192
/* For so long what was found is taken to be so still: libraries come and go. */
#define KNOWN_NS (60 * NSEC_PER_SEC)
/* What a file system that does not answer, or a process that maps memory, may take. */
#define PATIENCE_MS 1000
/* In the child. */
#define PIPE_END 3
#define MOST_CPU_S 2
#define MOST_FILES 64

struct known {
	pid_t pid;
	uint64_t start; /* of the process, as in its row: a PID is used again */
	uint64_t address;
	struct data_place place;
};

struct lock_places {
	struct signals *signals;
	void *tree; /* of struct known */
	size_t n;
	uint64_t since;                  /* CLOCK_MONOTONIC ns: of the oldest of them */
	struct known *asked[MOST_ASKED]; /* of the sample */
	size_t n_asked;
	bool gave_up;
	pid_t kept; /* a killed child that has not ended yet; 0: none */
};

/* Shared with the child. */
struct answers {
	size_t n; /* that are complete */
	struct data_query queries[MOST_ASKED];
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

/* Whether one that was killed is there still, as a file system keeps it. */
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
	const struct known *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static int by_asked(const void *a, const void *b)
{
	return by_address(*(struct known *const *)a, *(struct known *const *)b);
}

/* Notes that an address is asked for, unless it is known. */
static int place_ask(struct lock_places *places, const struct known *wanted)
{
	struct known *known;

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

static int place_take(struct lock_places *places, const struct known *wanted, struct lock_row *lock)
{
	struct known **found = tfind(wanted, &places->tree, by_address);

	if (found)
		lock->is = (*found)->place;
	return 0;
}

/* Each lock of a process that is there still: of what has ended nothing can be read, and several
 * threads in one row may be of several processes. */
static int locks_each(struct lock_places *places, struct sample *sample, bool ask)
{
	int error = 0;

	for (size_t i = 0; i < sample->n_threads && !error; i++) {
		struct thread_row *thread = &sample->threads[i];

		for (size_t k = 0; k < thread->n_locks && !error; k++) {
			struct lock_row *lock = &thread->locks[k];
			bool is_kernel = kd_lock_is_kernel(lock->kind);
			const struct known wanted = { .pid = thread->pid ? thread->pid
									 : sample->pid,
						      .start = thread->process_start,
						      .address = is_kernel ? 0 : lock->address };

			if (thread->ended || thread->members > 1 || !lock->address ||
			    (is_kernel && !lock->caller))
				continue;
			error = ask ? place_ask(places, &wanted)
				    : place_take(places, &wanted, lock);
		}
	}
	return error;
}

/* In the child, which reads files of the target's. A limit that cannot be set is no reason to read
 * nothing; without close_range(), of Linux 5.9, or where it is refused, files stay open. */
static void child_confine(int end)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	setrlimit(RLIMIT_CPU, &(struct rlimit){ MOST_CPU_S, MOST_CPU_S });
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, 0 });
	if (dup2(end, PIPE_END) == PIPE_END && !syscall(SYS_close_range, PIPE_END + 1, ~0U, 0))
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){ MOST_FILES, MOST_FILES });
}

/* In the child. Addresses of one process come together. */
static _Noreturn void child_run(const struct lock_places *places, struct answers *answers, int end)
{
	child_confine(end);
	for (size_t i = 0, n; i < places->n_asked; i += n) {
		const struct known *first = places->asked[i];

		for (n = 1; i + n < places->n_asked && places->asked[i + n]->pid == first->pid &&
			    places->asked[i + n]->start == first->start;)
			n++;
		data_find(first->pid, &answers->queries[i], n);
		__atomic_store_n(&answers->n, i + n, __ATOMIC_RELEASE);
	}
	_exit(0);
}

/* Waits until the child has ended, which closes its end of the pipe, but not for ever. */
static void child_await(struct lock_places *places, pid_t child, int end)
{
	bool has_ended = !signals_wait(places->signals, end, 0,
				       clock_monotonic() + PATIENCE_MS * NSEC_PER_MSEC);

	kill(child, SIGKILL);
	if (has_ended)
		waitpid(child, NULL, 0);
	else
		places->kept = child;
}

static void answers_take(struct lock_places *places, const struct answers *answers)
{
	size_t n = __atomic_load_n(&answers->n, __ATOMIC_ACQUIRE);

	places->gave_up = n < places->n_asked;
	/* They are sorted by address, as those asked are. */
	for (size_t i = 0; i < n && i < places->n_asked; i++) {
		struct data_place *place = &places->asked[i]->place;

		*place = answers->queries[i].place;
		place->symbol[DATA_SYMBOL_LEN - 1] = '\0';
		place->object[DATA_OBJECT_LEN - 1] = '\0';
	}
}

static void child_ask(struct lock_places *places, struct answers *answers)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return;
	child = fork();
	if (!child)
		child_run(places, answers, ends[1]);
	close(ends[1]);
	if (child > 0)
		child_await(places, child, ends[0]);
	close(ends[0]);
	answers_take(places, answers);
}

static void places_ask(struct lock_places *places)
{
	struct answers *answers = mmap(NULL, sizeof(*answers), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (answers == MAP_FAILED)
		return;
	qsort(places->asked, places->n_asked, sizeof(*places->asked), by_asked);
	for (size_t i = 0; i < places->n_asked; i++)
		answers->queries[i].address = places->asked[i]->address;
	child_ask(places, answers);
	munmap(answers, sizeof(*answers));
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
	places->n_asked = 0;
	if (!places->gave_up)
		error = locks_each(places, sample, true);
	if (places->n_asked)
		places_ask(places);
	return error ? error : locks_each(places, sample, false);
}
