// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "lock_places.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "probes/elf/data.h"
#include "probes/reader.h"

#define MOST_ASKED 1024 /* addresses at a time that are not known yet */
#define MOST_KNOWN 8192
/* For so long what was found is taken to be so still: libraries come and go. */
#define KNOWN_NS (60 * NSEC_PER_SEC)
/* What a file system that does not answer, or a process that maps memory, may take. */
#define PATIENCE NSEC_PER_SEC

struct known_place {
	pid_t pid;
	uint64_t start; /* of the process, as in its row: a PID is used again */
	uint64_t address;
	struct data_place place;
};

struct lock_places {
	struct signals *signals;
	void *tree; /* of struct known_place */
	size_t n;
	uint64_t since; /* CLOCK_MONOTONIC ns: of the oldest of them */
	struct known_place *asked[MOST_ASKED];
	size_t n_asked;
	bool gave_up;
	pid_t kept; /* a killed child that has not ended yet; 0: none */
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

/* Notes that an address is asked for, unless it is known. */
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

/* In the child, which reads files of the target's. Addresses of one process come together. */
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

/* They come sorted by address, as those asked are. */
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
