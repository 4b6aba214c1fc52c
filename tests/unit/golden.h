/* SPDX-License-Identifier: Apache-2.0 */
/* Output compared with golden files, byte by byte. UPDATE_GOLDEN=1 in the
 * environment writes them anew. */
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
	if (!text || fread(text, 1, *length, file) != *length)
		abort();
	return text;
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

/* Compares what was written to a temporary file, which is closed, with the golden
 * file of this name. */
__attribute__((unused)) static void golden_compare(FILE *out, const char *name)
{
	size_t got_length, want_length = 0;
	char path[256], *got, *want = NULL;
	FILE *golden;

	got = golden_read(out, &got_length);
	fclose(out);
	snprintf(path, sizeof(path), "%s/%s.txt", GOLDEN_DIR, name);
	if (getenv("UPDATE_GOLDEN")) {
		golden = fopen(path, "w");
		if (!golden || fwrite(got, 1, got_length, golden) != got_length || fclose(golden))
			abort();
	}
	golden = fopen(path, "r");
	if (golden) {
		want = golden_read(golden, &want_length);
		fclose(golden);
	}
	ok(want && got_length == want_length && !memcmp(got, want, got_length), "as in %s", path);
	if (want && strcmp(got, want))
		golden_difference(got, want);
	free(got);
	free(want);
}

#endif
