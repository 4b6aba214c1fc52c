/* SPDX-License-Identifier: Apache-2.0 */
#include "descriptor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "thread_fields.h"

static bool same_one(const struct descriptor_row *x, const struct descriptor_row *y)
{
	return x->awaited == y->awaited && x->is.fd == y->is.fd && x->is.inode == y->is.inode;
}

/* How many of its waits have ended. */
static uint64_t row_ended(const struct descriptor_row *row)
{
	return row->waits.count - u64_min(row->in_progress, row->waits.count);
}

/* Who ended the longest wait of both is who ended the longer one. Returns 0 or -ENOMEM. */
static int row_merge(struct descriptor_row *into, const struct descriptor_row *from)
{
	if (into->ended_by != from->ended_by)
		into->others = u64_add(into->others, u64_min(row_ended(into), row_ended(from)));
	if (from->waits.max > into->waits.max) {
		into->ended_by = from->ended_by;
		into->ended_pid = from->ended_pid;
		memcpy(into->ended_name, from->ended_name, sizeof(into->ended_name));
	}
	into->in_progress = u64_add(into->in_progress, from->in_progress);
	return fields_merge(descriptor_fields, into, from);
}

int descriptors_add(struct descriptor_row **rows, size_t *n, const struct descriptor_row *row)
{
	struct descriptor_row *more, others = *row;
	size_t i = 0;

	while (i < *n && !same_one(&(*rows)[i], row))
		i++;
	if (i == *n && i >= DESCRIPTOR_ROWS && row->is.fd >= 0) {
		others.awaited = KD_AWAITED_OTHER;
		others.is = (struct descriptor){ .fd = -1 };
		return descriptors_add(rows, n, &others);
	}
	if (i < *n)
		return row_merge(&(*rows)[i], row);
	more = reallocarray(*rows, *n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	*rows = more;
	more[(*n)++] = *row;
	return 0;
}

static int by_total(const void *a, const void *b)
{
	const struct descriptor_row *x = a, *y = b;

	if (x->waits.total != y->waits.total)
		return x->waits.total < y->waits.total ? 1 : -1;
	if (x->is.fd != y->is.fd)
		return x->is.fd < y->is.fd ? -1 : 1;
	if (x->awaited != y->awaited)
		return x->awaited < y->awaited ? -1 : 1;
	return (x->is.inode > y->is.inode) - (x->is.inode < y->is.inode);
}

void descriptors_sort(struct descriptor_row *rows, size_t n)
{
	if (n)
		qsort(rows, n, sizeof(*rows), by_total);
}

const char *descriptor_text(const struct descriptor *is, char text[static DESCRIPTOR_TEXT_LEN])
{
	const char *protocol = is->protocol;
	int length = sizeof(is->protocol), path = sizeof(is->path), address = sizeof(is->local);
	int device = sizeof(is->device);
	int n = snprintf(text, DESCRIPTOR_TEXT_LEN, "%.*s%s%.*s", length, protocol,
			 protocol[0] && is->path[0] ? " " : "", path, is->path);

	if (is->local[0])
		n += snprintf(text + n, DESCRIPTOR_TEXT_LEN - (size_t)n, "%s%.*s", n ? " " : "",
			      address, is->local);
	if (is->peer[0])
		n += snprintf(text + n, DESCRIPTOR_TEXT_LEN - (size_t)n, "%s%.*s", n ? " to " : "",
			      address, is->peer);
	if (is->device[0])
		n += snprintf(text + n, DESCRIPTOR_TEXT_LEN - (size_t)n, "%son %.*s", n ? " " : "",
			      device, is->device);
	if (is->other_net)
		snprintf(text + n, DESCRIPTOR_TEXT_LEN - (size_t)n, " in net:[%" PRIu32 "]",
			 is->other_net);
	return text;
}
