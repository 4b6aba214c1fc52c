/* SPDX-License-Identifier: Apache-2.0 */
/* What is written to standard error. */
#ifndef TESTS_UNIT_CAPTURED_H
#define TESTS_UNIT_CAPTURED_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "need.h"

static FILE *captured_to;
static int captured_stderr;

/* From now on it is kept. */
static void capture_begin(void)
{
	fflush(stderr);
	captured_to = tmpfile();
	captured_stderr = dup(STDERR_FILENO);
	need(captured_to && captured_stderr >= 0 && dup2(fileno(captured_to), STDERR_FILENO) >= 0);
}

/* What it was, up to some KB; then all is as before. */
static const char *capture_end(void)
{
	static char text[4096];
	size_t n;

	fflush(stderr);
	dup2(captured_stderr, STDERR_FILENO);
	close(captured_stderr);
	rewind(captured_to);
	n = fread(text, 1, sizeof(text) - 1, captured_to);
	text[n] = '\0';
	fclose(captured_to);
	return text;
}

#endif
