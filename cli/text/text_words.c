/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <string.h>

#include "cli/base/syscall_set.h"
#include "text_parts.h"

/* Mode of a call; "" if native. */
static const char *call_mark(uint32_t call, char mark[static 16])
{
	const char *mode = syscall_mode_name(syscall_mode(call));

	*mark = '\0';
	if (*mode)
		snprintf(mark, 16, " [%s]", mode);
	return mark;
}

static const char *plain_name(const struct sample *sample, uint32_t call, char buffer[static 32])
{
	const char *name = sample->foreign_calls ? NULL : syscall_name(call);

	if (name)
		return name;
	snprintf(buffer, 32, "[unknown: %u]", syscall_plain(call));
	return buffer;
}

const char *text_call(const struct sample *sample, uint32_t call, char buffer[static TEXT_CALL])
{
	char unknown[32], mark[16];

	snprintf(buffer, TEXT_CALL, "%s%s", plain_name(sample, call, unknown),
		 call_mark(call, mark));
	return buffer;
}

void text_call_columns(struct columns *columns, const struct sample *sample, uint32_t call)
{
	char unknown[32], mark[16], cut[TEXT_CALL];
	size_t capacity = TEXT_NAME_WIDTH - strlen(call_mark(call, mark));
	const char *name = plain_name(sample, call, unknown);

	if (name == unknown && *mark)
		name = "[unknown]";
	if (*mark || strlen(name) > capacity) { /* rare: most rows skip the printf() */
		snprintf(cut, sizeof(cut), "%.*s%s", (int)capacity, name, mark);
		name = cut;
	}
	columns_left(columns, name, TEXT_NAME_WIDTH);
	columns_add(columns, " ");
	columns_count(columns, syscall_plain(call), 6);
}

void text_thread_name(struct columns *columns, const struct sample *sample,
		      const char name[static KD_COMM_LEN], pid_t tid)
{
	char unknown[64];

	if (name[0]) {
		columns_pad(columns, columns_foreign(columns, name, KD_COMM_LEN, SIZE_MAX), 16);
		return;
	}
	if (tid)
		snprintf(unknown, sizeof(unknown), "<unknown:%d/%d>", (int)sample->pid, (int)tid);
	else
		snprintf(unknown, sizeof(unknown), "<unknown:%d/*>", (int)sample->pid);
	columns_left(columns, unknown, 16);
}

static bool cpu_used(const uint64_t *cpus, unsigned int cpu)
{
	return cpu < KD_CPU_WORDS * 64 && cpus[cpu / 64] >> cpu % 64 & 1;
}

/* Reserves space for "..." in place of what does not fit. */
static bool part_add(char *text, size_t size, const char *part)
{
	size_t used = strlen(text);
	bool fits = used + strlen(part) + sizeof("...") <= size;

	snprintf(text + used, size - used, "%s", fits ? part : "...");
	return fits;
}

void text_cpus(char *text, size_t size, const uint64_t cpus[static KD_CPU_WORDS], bool beyond)
{
	const char *comma = "";
	char part[32];

	*text = '\0';
	for (unsigned int cpu = 0, last; cpu < KD_CPU_WORDS * 64; cpu = last + 1) {
		last = cpu;
		if (!cpus[cpu / 64])
			last |= 63; /* skips a word without CPUs */
		if (!cpu_used(cpus, cpu))
			continue;
		while (cpu_used(cpus, last + 1))
			last++;
		if (last > cpu)
			snprintf(part, sizeof(part), "%s%u-%u", comma, cpu, last);
		else
			snprintf(part, sizeof(part), "%s%u", comma, cpu);
		if (!part_add(text, size, part))
			return;
		comma = ",";
	}
	snprintf(part, sizeof(part), "%s%u+", comma, KD_CPU_WORDS * 64U);
	if (beyond)
		part_add(text, size, part);
	else if (!*comma)
		part_add(text, size, "-");
}

void text_bold(struct text *text, const char *bold)
{
	columns_add(&text->columns, text->bold ? TEXT_BOLD : "");
	columns_add(&text->columns, bold);
	columns_add(&text->columns, text->bold ? TEXT_PLAIN : "");
}

bool text_is_multiprocess(const struct sample *sample)
{
	return processes_count(sample) > 1;
}
