// SPDX-License-Identifier: Apache-2.0
#include "session_hash.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "session_windows.h"

static int entry_read(const struct session_hash *hash, const void *key, void *value,
		      session_found_fn *found, uint32_t *removed)
{
	const struct kd_row_key *of = key;
	bool here = of->gen == hash->view->gen;
	int fd = bpf_map__fd(hash->map), result = 0;

	if (here && of->slot < hash->view->slots && hash->row_of[of->slot] &&
	    !bpf_map_lookup_elem(fd, key, value))
		result = found(hash, key, value, &hash->rows[hash->row_of[of->slot] - 1]);
	else if (here || windows_have(hash->windows, of->gen))
		return 0;
	*removed += !bpf_map_delete_elem(fd, key);
	return result;
}

int session_hash_read(const struct session_hash *hash, session_found_fn *found, uint32_t *removed)
{
	size_t room = bpf_map__max_entries(hash->map), size = bpf_map__key_size(hash->map), n = 0;
	void *value = malloc(bpf_map__value_size(hash->map));
	char *keys = calloc(room, size);
	int fd = bpf_map__fd(hash->map), result = keys && value ? 0 : -ENOMEM;
	uint32_t gone = 0;

	while (!result && n < room &&
	       !bpf_map_get_next_key(fd, n ? keys + (n - 1) * size : NULL, keys + n * size))
		n++;
	for (size_t i = 0; i < n && !result; i++)
		result = entry_read(hash, keys + i * size, value, found, &gone);
	if (removed)
		*removed = gone;
	free(value);
	free(keys);
	return result;
}
