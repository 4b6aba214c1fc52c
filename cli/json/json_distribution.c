// SPDX-License-Identifier: Apache-2.0
#include "cli/model/distribution.h"

#include <errno.h>

#include "json_parts.h"

/* More than any resolution is good for. What merges rows may take time by them all. */
#define BUCKETS_MAX 16384

void json_distribution(struct json_writer *writer, const struct durations *durations)
{
	const struct distribution *ended = durations->ended;

	if (!ended->n)
		return;
	for (size_t i = 0; i < DISTRIBUTION_SHARES; i++)
		writer_u64(writer, distribution_shares[i].key,
			   durations_permille(durations, distribution_shares[i].permille));
	writer_array(writer, "buckets");
	for (size_t i = 0; i < ended->n; i++) {
		writer_object(writer, NULL);
		writer_u64(writer, "le_ns", ended->buckets[i].le);
		writer_u64(writer, "count", ended->buckets[i].count);
		writer_object_end(writer);
	}
	writer_array_end(writer);
}

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
		if (error == -ENOMEM)
			reader_no_memory(reader);
		reader_leave(reader);
	}
}
