/* SPDX-License-Identifier: Apache-2.0 */
/* Output compared with golden files, byte by byte. UPDATE_GOLDEN=1 in the environment rewrites
 * them. Most have only the parts that a test is about; KEEP_REPORTS=DIRECTORY leaves the whole
 * reports there, for the tests that show them to other programs. */
#ifndef TESTS_UNIT_GOLDEN_H
#define TESTS_UNIT_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define GOLDEN_DIR "tests/golden"

static char *golden_read(FILE *file, size_t *length)
{
	char *text;

	fseek(file, 0, SEEK_END);
	*length = (size_t)ftell(file);
	rewind(file);
	text = calloc(1, *length + 1);
	need(text && fread(text, 1, *length, file) == *length);
	return text;
}

/* What was written to a temporary file, which is closed; the caller's. */
__attribute__((unused)) static char *golden_text(FILE *out)
{
	size_t length;
	char *text = golden_read(out, &length);

	fclose(out);
	if (strlen(text) != length)
		ok(false, "without NULs");
	return text;
}

static void golden_write(const char *directory, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.txt", directory, name);
	file = fopen(path, "w");
	need(file && fputs(text, file) >= 0 && !fclose(file));
}

__attribute__((unused)) static void golden_keep(const char *name, const char *text)
{
	const char *directory = getenv("KEEP_REPORTS");

	if (directory)
		golden_write(directory, name, text);
}

static void golden_difference(const char *got, const char *want)
{
	unsigned int line = 1;

	for (; *got && *got == *want; got++, want++)
		line += *got == '\n';
	printf("# line %u, from the first difference on:\n", line);
	printf("#  got: %.*s\n", (int)strcspn(got, "\n"), got);
	printf("# want: %.*s\n", (int)strcspn(want, "\n"), want);
}

/* One test: passes if two texts of many lines are equal; else the first difference is printed. */
__attribute__((unused)) static void is_text(const char *got, const char *want, const char *what)
{
	ok(!strcmp(got, want), "%s", what);
	if (strcmp(got, want))
		golden_difference(got, want);
}

/* The files have the numbers that calls have on x86-64; elsewhere JSON is compared without. */
static void golden_hide_numbers(char *text)
{
#if !defined(__x86_64__)
	static const char key[] = "\"number\":";

	while ((text = strstr(text, key))) {
		size_t digits = strspn(text += sizeof(key) - 1, "0123456789");

		memmove(text, text + digits, strlen(text + digits) + 1);
	}
#else
	(void)text;
#endif
}

/* Compares a text, which is released, with the golden file of this name. */
static void golden_is(char *text, const char *name)
{
	char path[256], *want = NULL;
	FILE *golden;

	if (getenv("UPDATE_GOLDEN"))
		golden_write(GOLDEN_DIR, name, text);
	snprintf(path, sizeof(path), "%s/%s.txt", GOLDEN_DIR, name);
	golden = fopen(path, "r");
	if (golden)
		want = golden_text(golden);
	golden_hide_numbers(text);
	if (want)
		golden_hide_numbers(want);
	ok(want && !strcmp(text, want), "as in %s", path);
	if (want && strcmp(text, want))
		golden_difference(text, want);
	free(text);
	free(want);
}

/* The same with what was written to a temporary file, which is closed. */
__attribute__((unused)) static void golden_compare(FILE *out, const char *name)
{
	golden_is(golden_text(out), name);
}

#endif
