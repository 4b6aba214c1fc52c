// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "replay_parts.h"

/* More than any resolution is good for. What merges rows may take time by them all. */
#define BUCKETS_MAX 16384

void replay_distribution(struct reader *reader, const json_t *object,
			 struct distribution *distribution)
{
	const json_t *array, *row;
	size_t n;

	array = reader_array(reader, object, "buckets", &n);
	if (n > BUCKETS_MAX)
		reader_fail(reader, "buckets", "has more than %d elements", BUCKETS_MAX);
	for (size_t i = 0; i < n && !reader->failed; i++) {
		uint64_t le;
		int error;

		row = reader_element(reader, array, "buckets", i);
		reader_require(reader, row, "le_ns");
		le = reader_u64(reader, row, "le_ns");
		error = distribution_append(distribution, le, reader_u64(reader, row, "count"));
		if (error == -EINVAL)
			reader_fail(reader, "le_ns", "is not above that of the bucket before");
		if (error == -ENOMEM) {
			reader->no_memory = true;
			reader_fail(reader, NULL, "no memory");
		}
		reader_leave(reader);
	}
}
