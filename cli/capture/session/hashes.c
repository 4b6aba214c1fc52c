// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "hashes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"
#include "windows.h"

/* Entries of a map. Reads and removes many with one call: a call for each entry was an eighth of
 * the cost of the live view. */
struct hash_entries {
	char *keys, *values;
	uint32_t n, capacity;
	size_t key, value; /* bytes */
};

/* Doubles the space: a bucket's chain may be longer than what is left of it. */
static int entries_grow(struct hash_entries *entries)
{
	uint32_t capacity = entries->capacity ? entries->capacity * 2 : 256;
	char *keys = reallocarray(entries->keys, capacity, entries->key), *values;

	if (!keys)
		return -ENOMEM;
	entries->keys = keys;
	values = reallocarray(entries->values, capacity, entries->value);
	if (!values)
		return -ENOMEM;
	entries->values = values;
	entries->capacity = capacity;
	return 0;
}

/* BPF_MAP_LOOKUP_BATCH came with 5.6 (057996380a42). */
static int entries_read(struct hash_entries *entries, int fd)
{
	char *at = malloc(entries->key), *key = NULL;
	int result = at ? entries_grow(entries) : -ENOMEM;

	while (!result) {
		uint32_t n = entries->capacity - entries->n;

		result = bpf_map_lookup_batch(
			fd, key, at, entries->keys + entries->n * entries->key,
			entries->values + entries->n * entries->value, &n, NULL);
		if (!result || result == -ENOENT)
			entries->n += n;
		if (!result)
			key = at;
		if (result == -ENOSPC || (!result && entries->n == entries->capacity))
			result = entries_grow(entries);
	}
	free(at);
	return result == -ENOENT ? 0 : result;
}

/* Removes the first n entries. A missing entry ends a batch. Returns how many it removed. */
static uint32_t entries_remove(const struct hash_entries *entries, uint32_t n, int fd)
{
	uint32_t removed = 0, i = 0;

	while (i < n) {
		uint32_t some = n - i;

		int error = bpf_map_delete_batch(fd, entries->keys + i * entries->key, &some, NULL);

		if (error && error != -ENOENT)
			break;
		removed += some;
		i += some < n - i ? some + 1 : some;
	}
	return removed;
}

/* True if the entry is to be removed. */
static bool entry_take(const struct session_hash *hash, const void *key, const void *value,
		       session_found_fn *found, int *result)
{
	const struct kd_row_key *of = key;

	if (of->gen != hash->view->gen)
		return !windows_have(hash->windows, of->gen);
	if (of->slot >= hash->view->slots || !hash->row_of[of->slot])
		return false;
	*result = found(hash, key, value, session_hash_row(hash, of->slot));
	return true;
}

int session_hash_read(const struct session_hash *hash, const struct bpf_map *map, const __u32 *used,
		      session_found_fn *found, uint32_t *removed)
{
	struct hash_entries entries = {
		.key = bpf_map__key_size(map),
		.value = bpf_map__value_size(map),
	};
	int fd = bpf_map__fd(map), result;
	uint32_t taken = 0;

	if (removed)
		*removed = 0;
	if (!__atomic_load_n(used, __ATOMIC_RELAXED))
		return 0;
	result = entries_read(&entries, fd);
	for (uint32_t i = 0; i < entries.n && !result; i++) {
		const char *key = entries.keys + i * entries.key;

		if (entry_take(hash, key, entries.values + i * entries.value, found, &result))
			memmove(entries.keys + taken++ * entries.key, key, entries.key);
	}
	taken = entries_remove(&entries, taken, fd);
	if (removed)
		*removed = taken;
	free(entries.values);
	free(entries.keys);
	return result;
}
