// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_members.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int by_identity(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->began < y->began ? -1 : x->began > y->began;
}

struct member *member_find(const struct members *members, pid_t pid, uint64_t began)
{
	const struct member key = { .pid = pid, .began = began };
	struct member **found = tfind(&key, (void *const *)&members->by_identity, by_identity);

	return found ? *found : NULL;
}

/* By the times of a sample. */
static uint64_t start_of(const struct members *members, uint64_t began)
{
	return began ? began + members->epoch : 0;
}

uint64_t member_began(const struct members *members, uint64_t start)
{
	return start ? start - members->epoch : 0;
}

static void member_live(struct members *members, struct member *known)
{
	known->next = members->living;
	known->from = &members->living;
	if (known->next)
		known->next->from = &known->next;
	members->living = known;
	members->alive++;
	members->plain++;
}

void member_described(struct members *members, struct member *known)
{
	members->plain -= !known->is_described;
	known->is_described = true;
}

void member_renew(struct members *members, struct member *known)
{
	memset(known->row.title, 0, sizeof(known->row.title));
	if (known->ended || !known->is_described)
		return;
	known->is_described = false;
	members->plain++;
}

struct member *member_get(struct members *members, pid_t pid, uint64_t began)
{
	struct member *known = member_find(members, pid, began);

	if (known)
		return known;
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	known->pid = known->row.pid = pid;
	known->began = began;
	known->row.start = start_of(members, began);
	if (tsearch(known, &members->by_identity, by_identity)) {
		member_live(members, known);
		return known;
	}
	free(known);
	return NULL;
}

void member_end(struct members *members, struct member *known, uint64_t ended)
{
	if (known->ended)
		return;
	known->ended = ended ? ended : 1;
	*known->from = known->next;
	if (known->next)
		known->next->from = known->from;
	member_described(members, known);
	members->alive--;
	members->ended++;
}

void member_forget(struct members *members, struct member *known)
{
	members->ended--; /* the others are not forgotten */
	tdelete(known, &members->by_identity, by_identity);
	free(known);
}

void members_clear(struct members *members)
{
	tdestroy(members->by_identity, free);
	members->by_identity = members->living = NULL;
}
