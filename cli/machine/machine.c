// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/escape.h"
#include "cli/json/json_fields.h"

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
	size_t length;
	va_list args;
	FILE *file;
	long got;

	length = (size_t)snprintf(path, sizeof(path), "%s", machine->root);
	va_start(args, format);
	vsnprintf(path + length, sizeof(path) - length, format, args);
	va_end(args);
	*text = '\0';
	file = fopen(path, "re");
	if (!file)
		return -1;
	length = fread(text, 1, size - 1, file);
	text[length] = '\0';
	got = length || !ferror(file) ? (long)length : -1;
	fclose(file);
	return got;
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

	json_document(&writer, "machine", out);
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
