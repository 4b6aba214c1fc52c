// SPDX-License-Identifier: Apache-2.0
#include "demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ELLIPSIS "..."

struct name_output {
	char text[DEMANGLED_MAX + 1];
	size_t length;
	jmp_buf full;
};

typedef int demangle_scheme(const char *name, int options, demangle_callbackref callback,
			    void *opaque);

/* Types that refer to earlier ones let a name of 100 bytes say more than memory can
 * hold, so that it must be ended from here. There is no other way than a jump; what
 * it leaves behind is only on the stack, see d_demangle_callback() in libiberty's
 * cp-demangle.c and rust_demangle_callback() in rust-demangle.c (which may lose 1 KB
 * of an identifier in Punycode). */
static void output_append(const char *text, size_t length, void *opaque)
{
	struct name_output *output = opaque;
	size_t room = DEMANGLED_MAX - output->length;

	if (!length) /* text may be NULL then */
		return;
	memcpy(output->text + output->length, text, length < room ? length : room);
	output->length += length < room ? length : room;
	if (length > room)
		longjmp(output->full, 1);
}

static bool output_fill(struct name_output *output, demangle_scheme *scheme, const char *name,
			int options)
{
	output->length = 0;
	if (setjmp(output->full)) {
		memcpy(output->text + DEMANGLED_MAX - strlen(ELLIPSIS), ELLIPSIS, strlen(ELLIPSIS));
		return true;
	}
	return scheme(name, options, output_append, output) && output->length;
}

static char *demangle_by(const char *name, int options)
{
	struct name_output *output;
	char *text = NULL;

	if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0 &&
	    strncmp(name, "_GLOBAL_", 8) != 0)
		return NULL;
	output = malloc(sizeof(*output));
	if (!output)
		return NULL;
	/* Older Rust names are valid C++ names, too, but with a hash at their end. */
	if (output_fill(output, rust_demangle_callback, name, options) ||
	    output_fill(output, cplus_demangle_v3_callback, name, options)) {
		output->text[output->length] = '\0';
		text = strdup(output->text);
	}
	free(output);
	return text;
}

char *demangle(const char *name)
{
	return demangle_by(name, DMGL_PARAMS | DMGL_ANSI);
}

char *demangle_name(const char *name)
{
	return demangle_by(name, DMGL_ANSI);
}
