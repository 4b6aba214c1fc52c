// SPDX-License-Identifier: Apache-2.0
#include "texts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"

void text_append(char *text, size_t size, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list args;
	int wanted;

	va_start(args, fmt);
	wanted = vsnprintf(text + used, size - used, fmt, args);
	va_end(args);
	if (wanted >= 0 && (size_t)wanted >= size - used)
		text_end_whole(text);
}

void text_end_whole(char *text)
{
	size_t length = strlen(text), at = length;
	uint32_t code;

	while (at && length - at < 3 && (text[at - 1] & 0xc0) == 0x80)
		at--;
	if (at && (unsigned char)text[at - 1] >= 0xc0 &&
	    !utf8_decode(text + at - 1, length - at + 1, &code))
		text[at - 1] = '\0';
}

const char *path_last(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}

/* Reserves space for "..." in place of what does not fit. */
static bool range_add(char *text, size_t size, const char *range)
{
	bool fits = strlen(text) + strlen(range) + sizeof("...") <= size;

	text_append(text, size, "%s", fits ? range : "...");
	return fits;
}

static bool has_cpu(const uint64_t *words, unsigned int cpus, unsigned int cpu)
{
	return cpu < cpus && words[cpu / 64] >> cpu % 64 & 1;
}

void cpu_list_text(char *text, size_t size, const uint64_t *words, unsigned int cpus, bool beyond)
{
	char range[32];

	*text = '\0';
	for (unsigned int cpu = 0, last; cpu < cpus; cpu = last + 1) {
		last = cpu;
		if (!words[cpu / 64])
			last |= 63; /* skips a word without CPUs */
		if (!has_cpu(words, cpus, cpu))
			continue;
		while (has_cpu(words, cpus, last + 1))
			last++;
		snprintf(range, sizeof(range), last > cpu ? "%s%u-%u" : "%s%u", *text ? "," : "",
			 cpu, last);
		if (!range_add(text, size, range))
			return;
	}
	snprintf(range, sizeof(range), "%s%u+", *text ? "," : "", cpus);
	if (beyond)
		range_add(text, size, range);
}

bool cpu_list_parse(const char *text, uint64_t *words, unsigned long most)
{
	for (char *end;; text = end + 1) {
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (end == text)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < most; first++)
			words[first / 64] |= 1ULL << first % 64;
		if (*end != ',')
			return true;
	}
}
