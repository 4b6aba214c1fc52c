// SPDX-License-Identifier: Apache-2.0
#include "space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"

struct snapshot {
	uint64_t t;
	struct mapping *mappings; /* sorted, without overlaps */
	size_t n;
};

struct space {
	struct snapshot snapshots[SPACE_SNAPSHOTS]; /* by time */
	size_t n;
	size_t mappings; /* of all snapshots */
	size_t most;     /* of them */
	uint64_t changes;
};

struct space *space_new(void)
{
	struct space *space = calloc(1, sizeof(*space));

	if (space)
		space->most = SPACE_MAPPINGS;
	return space;
}

void space_limit(struct space *space, size_t most)
{
	space->most = most;
}

size_t space_size(const struct space *space)
{
	return space->mappings;
}

size_t space_past(const struct space *space)
{
	return space->n ? space->mappings - space->snapshots[space->n - 1].n : 0;
}

void space_free(struct space *space)
{
	if (!space)
		return;
	for (size_t i = 0; i < space->n; i++)
		free(space->snapshots[i].mappings);
	free(space);
}

static int snapshot_make(struct snapshot *snapshot, uint64_t t, const struct mapping *mappings,
			 size_t n)
{
	*snapshot = (struct snapshot){ .t = t };
	snapshot->mappings = malloc((n + 1) * sizeof(*mappings));
	if (!snapshot->mappings)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct mapping *mapping = &mappings[i];
		uint64_t end = snapshot->n ? snapshot->mappings[snapshot->n - 1].end : 0;

		if (mapping->start >= end && mapping->end > mapping->start)
			snapshot->mappings[snapshot->n++] = *mapping;
	}
	return 0;
}

static bool snapshots_same(const struct snapshot *a, const struct snapshot *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct mapping *x = &a->mappings[i], *y = &b->mappings[i];

		if (x->start != y->start || x->end != y->end || x->offset != y->offset ||
		    x->object != y->object)
			return false;
	}
	return true;
}

static void snapshot_remove(struct space *space, size_t index)
{
	space->mappings -= space->snapshots[index].n;
	free(space->snapshots[index].mappings);
	space->n--;
	memmove(&space->snapshots[index], &space->snapshots[index + 1],
		(space->n - index) * sizeof(*space->snapshots));
}

void space_trim(struct space *space)
{
	if (space->n < 2)
		return;
	snapshot_remove(space, 0);
	space->changes++;
}

/* How many snapshots are not later than t. */
static size_t snapshots_until(const struct space *space, uint64_t t)
{
	return ARRAY_SPLIT(space->n, i, space->snapshots[i].t <= t);
}

int space_set(struct space *space, uint64_t t, const struct mapping *mappings, size_t n)
{
	struct snapshot snapshot;
	size_t at;
	int err = n <= space->most ? snapshot_make(&snapshot, t, mappings, n) : -E2BIG;

	if (err)
		return err;
	at = snapshots_until(space, t);
	if (at && snapshots_same(&space->snapshots[at - 1], &snapshot)) {
		free(snapshot.mappings);
		return 0;
	}
	space->changes++;
	if (at && space->snapshots[at - 1].t == t)
		snapshot_remove(space, --at);
	while (space->n &&
	       (space->n == SPACE_SNAPSHOTS || space->mappings + snapshot.n > space->most)) {
		snapshot_remove(space, 0);
		at -= at > 0;
	}
	memmove(&space->snapshots[at + 1], &space->snapshots[at],
		(space->n - at) * sizeof(*space->snapshots));
	space->snapshots[at] = snapshot;
	space->mappings += snapshot.n;
	space->n++;
	/* The next one has become superfluous if it is the same. */
	if (at + 1 < space->n && snapshots_same(&snapshot, &space->snapshots[at + 1]))
		snapshot_remove(space, at + 1);
	return 0;
}

static const struct mapping *snapshot_find(const struct snapshot *snapshot, uint64_t address)
{
	size_t at = ARRAY_SPLIT(snapshot->n, i, snapshot->mappings[i].end <= address);

	return at < snapshot->n && snapshot->mappings[at].start <= address ? &snapshot->mappings[at]
									   : NULL;
}

/* The index of the snapshot in force; of the first if there was none yet. */
static size_t snapshot_at(const struct space *space, uint64_t t)
{
	size_t until = snapshots_until(space, t);

	return until ? until - 1 : 0;
}

const struct mapping *space_find(const struct space *space, uint64_t t, uint64_t address)
{
	const struct mapping *found = NULL;
	size_t at = snapshot_at(space, t);

	for (size_t i = at; i < space->n && !found; i++)
		found = snapshot_find(&space->snapshots[i], address);
	for (size_t i = at; i > 0 && !found; i--)
		found = snapshot_find(&space->snapshots[i - 1], address);
	return found;
}

/* Where nothing at all is known, that is one mapping to the end. */
bool space_is_anonymous(const struct space *space, uint64_t t, uint64_t address)
{
	const struct mapping *mapping = space_find(space, t, address);

	return mapping && mapping->object == SPACE_NO_FILE && mapping->end != UINT64_MAX;
}

uint64_t space_version(const struct space *space, uint64_t t)
{
	return space->changes * SPACE_SNAPSHOTS + snapshot_at(space, t) + 1;
}
