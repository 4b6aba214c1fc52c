// SPDX-License-Identifier: Apache-2.0
#include "../distribution.h"
#include "json_parts.h"

void json_distribution(struct json_writer *writer, const struct distribution *distribution,
		       uint64_t min, uint64_t max)
{
	if (!distribution->n)
		return;
	for (size_t i = 0; i < DISTRIBUTION_SHARES; i++)
		writer_u64(writer, distribution_shares[i].key,
			   distribution_permille(distribution, distribution_shares[i].permille, min,
						 max));
	writer_array(writer, "buckets");
	for (size_t i = 0; i < distribution->n; i++) {
		writer_object(writer, NULL);
		writer_u64(writer, "le_ns", distribution->buckets[i].le);
		writer_u64(writer, "count", distribution->buckets[i].count);
		writer_object_end(writer);
	}
	writer_array_end(writer);
}
