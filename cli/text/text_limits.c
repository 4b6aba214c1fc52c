/* SPDX-License-Identifier: Apache-2.0 */
#include "text_limits.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/escape.h"
#include "cli/base/parse.h"
#include "cli/base/texts.h"
#include "text_parts.h"
#include "text_who.h"

#define SCALED_LEN 16
/* "2.1M", "120", of 1,000 or 1,024 each; between is before the unit. */
static void scaled(char text[static SCALED_LEN], uint64_t number, unsigned int base,
		   const char *between)
{
	static const char *const units[] = { "", "k", "M", "G", "T" };
	double value = (double)number;
	size_t unit = 0;

	for (; value >= base && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		value /= base;
	snprintf(text, SCALED_LEN, "%.*f%s%s", value < 10 && unit ? 1 : 0, value, between,
		 units[unit]);
}

const char *text_bytes(char text[static TEXT_BYTES_LEN], uint64_t bytes)
{
	char number[SCALED_LEN];

	scaled(number, bytes, 1024, " ");
	snprintf(text, TEXT_BYTES_LEN, "%s%s", number, bytes >= 1024 ? "iB" : "B");
	return text;
}

/* "reads 2.1 MB/s", "120 writes/s" */
static void amount(char text[static 32], const struct disk_limit *limit)
{
	const char *what = disk_limit_words[limit->kind];
	const bool bytes = limit->kind == DISK_LIMIT_READ_BYTES ||
			   limit->kind == DISK_LIMIT_WRITE_BYTES;
	char number[SCALED_LEN];

	scaled(number, limit->per_second, 1000, bytes ? " " : "");
	if (bytes)
		snprintf(text, 32, "%s %sB/s", what, number);
	else
		snprintf(text, 32, "%s %s/s", number, what);
}

const char *text_disk_limit(char text[static TEXT_LIMIT_LEN], const struct disk_limit *limit)
{
	char device[16], much[32];

	escape_text(device, sizeof(device), limit->device, sizeof(limit->device));
	amount(much, limit);
	snprintf(text, TEXT_LIMIT_LEN, "%s: %s", device, much);
	return text;
}

bool text_limit_is_memory(const struct verdict_row *row)
{
	return (row->cause == CAUSE_RECLAIM || row->cause == CAUSE_MAJOR_FAULT) && !row->who.tid &&
	       *row->who.comm;
}

bool text_quota_of_others(const struct sample *sample, const struct verdict_row *row)
{
	const struct quota_use *use = &sample->quota_use;

	return row->cause == CAUSE_THROTTLED && *use->group &&
	       !strncmp(use->group, row->who.comm, sizeof(use->group)) && quota_use_is_others(use);
}

/* "the memory limit of the group /pods/web (8.0 MiB)" */
static void memory_limit_text(char *who, size_t size, const struct sample *sample,
			      const struct verdict_row *row)
{
	char group[ESCAPE_SIZE(CULPRIT_GROUP_LEN)], bytes[TEXT_BYTES_LEN];

	text_path_cut(group, sizeof(group), row->who.comm, sizeof(row->who.comm), PATH_WIDTH);
	snprintf(who, size, "the memory limit of the group %.200s (%s)", group,
		 text_bytes(bytes, sample->memory_limit.bytes));
}

static void limit_text(char *who, size_t size, const struct sample *sample,
		       const struct verdict_row *row)
{
	bool of_group = row->cause == CAUSE_THROTTLED;
	char limit[TEXT_LIMIT_LEN];

	text_path_cut(who, size, row->who.comm, sizeof(row->who.comm), PATH_WIDTH);
	if (row->who.period_ns && (*who || !of_group))
		text_append(who, size, of_group ? " (%s per %s)" : " of %s per %s",
			    AS_LIMIT(row->who.quota_ns), AS_LIMIT(row->who.period_ns));
	if (row->cause == CAUSE_DISK_LIMIT && *who && sample->disk_limit.per_second)
		text_append(who, size, " (%s)", text_disk_limit(limit, &sample->disk_limit));
}

bool text_limit(char *who, size_t size, const struct sample *sample, const struct verdict_row *row)
{
	if (text_limit_is_memory(row))
		memory_limit_text(who, size, sample, row);
	else if (row->cause == CAUSE_THROTTLED || row->cause == CAUSE_DEADLINE ||
		 row->cause == CAUSE_DISK_LIMIT)
		limit_text(who, size, sample, row);
	else
		return false;
	return true;
}
