// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "cli/base/escape.h"
#include "cli/json/json_writer.h"

static const char *const levels[] = { "OK", "note", "WARNING" };
static const char *const level_keys[] = { "ok", "note", "warning" };

void finding_add(struct machine *machine, enum finding_level level, const char *topic,
		 const char *why, const char *format, ...)
{
	struct finding *finding;
	va_list args;

	if (ARRAY_GROW(machine->findings, machine->n, machine->capacity)) {
		machine->error = -ENOMEM;
		return;
	}
	finding = &machine->findings[machine->n++];
	*finding = (struct finding){ .level = level, .topic = topic, .why = why };
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

long machine_read(const struct machine *machine, char *text, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	size_t length = 0;
	ssize_t got = -1;
	va_list args;
	int fd;

	length = (size_t)snprintf(path, sizeof(path), "%s", machine->root);
	va_start(args, format);
	vsnprintf(path + length, sizeof(path) - length, format, args);
	va_end(args);
	*text = '\0';
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -1;
	/* Files in /proc may return partial data. */
	for (length = 0; length < size - 1; length += (size_t)got) {
		got = read(fd, text + length, size - 1 - length);
		if (got <= 0)
			break;
	}
	close(fd);
	if (!length && got < 0)
		return -1;
	text[length] = '\0';
	return (long)length;
}

void machine_clear(struct machine *machine)
{
	free(machine->findings);
	machine->findings = NULL;
	machine->n = machine->capacity = 0;
}

int machine_text(const struct machine *machine, FILE *out)
{
	unsigned int counts[3] = { 0 };

	for (size_t i = 0; i < machine->n; i++) {
		const struct finding *finding = &machine->findings[i];
		char text[ESCAPE_SIZE(sizeof(finding->text))];

		counts[finding->level]++;
		escape_text(text, sizeof(text), finding->text, sizeof(finding->text));
		fprintf(out, "%-8s %-18s %s\n", levels[finding->level], finding->topic, text);
		if (finding->why && finding->level != FINDING_OK)
			fprintf(out, "%-8s %-18s %s\n", "", "", finding->why);
	}
	fprintf(out, "OK: %u, notes: %u, warnings: %u\n", counts[0], counts[1], counts[2]);
	return fflush(out) || ferror(out) ? -(errno ? errno : EIO) : 0;
}

int machine_json(const struct machine *machine, FILE *out)
{
	struct json_writer writer;

	writer_begin(&writer, out);
	writer_object(&writer, NULL);
	writer_word(&writer, "schema", "kernel_delay/1");
	writer_word(&writer, "type", "machine");
	if (machine->pid)
		writer_i64(&writer, "pid", machine->pid);
	writer_array(&writer, "findings");
	for (size_t i = 0; i < machine->n; i++) {
		const struct finding *finding = &machine->findings[i];

		writer_object(&writer, NULL);
		writer_word(&writer, "level", level_keys[finding->level]);
		writer_word(&writer, "topic", finding->topic);
		writer_text(&writer, "text", finding->text, sizeof(finding->text));
		if (finding->why && finding->level != FINDING_OK)
			writer_word(&writer, "why", finding->why);
		writer_object_end(&writer);
	}
	writer_array_end(&writer);
	writer_object_end(&writer);
	return writer_end(&writer);
}
