// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "written.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/names.h"
#include "demangle.h"

/* Of these nothing is in a symbol's name. */
#define OPERATOR "operator"

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The start of the template's arguments that end there; end if there are none. */
static size_t arguments_start(const char *name, size_t end)
{
	size_t start = end, depth = 0;

	if (!end || name[end - 1] != '>')
		return end;
	do {
		start--;
		depth += name[start] == '>';
		depth -= name[start] == '<';
	} while (start && depth);
	return start;
}

/* Constructors of these have nothing of the name, as "Sa" stands for std::allocator (Itanium C++
 * ABI, 5.1.10). */
static bool may_be_abbreviated(const char *name, size_t length)
{
	static const char *const abbreviated[] = { "allocator", "basic_string", "basic_istream",
						   "basic_ostream", "basic_iostream" };

	for (size_t i = 0; i < sizeof(abbreviated) / sizeof(*abbreviated); i++)
		if (memmem(abbreviated[i], strlen(abbreviated[i]), name, length))
			return true;
	return false;
}

/* The function's own identifier, or a part of it: to demangle all names of a large library takes a
 * second. Types and what is before it may be abbreviated. */
static void hint_find(struct written *written)
{
	const char *name = written->name;
	size_t end = strcspn(name, "("), start;

	if (strstr(name, OPERATOR) || strstr(name, "(anonymous"))
		return;
	end = arguments_start(name, end);
	while (written->is_glob && end && strchr("*?", name[end - 1]))
		end--;
	for (start = end; start && is_identifier(name[start - 1]);)
		start--;
	if (may_be_abbreviated(name + start, end - start))
		return;
	written->hint = start;
	written->hint_length = end - start;
}

void written_init(struct written *written, const char *name)
{
	*written = (struct written){ .name = name, .is_glob = names_is_glob(name) };
	hint_find(written);
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " ");
}

/* The same but for blanks. */
static bool is_same(const char *a, const char *b)
{
	for (a = skip_blanks(a), b = skip_blanks(b); *a && *a == *b;
	     a = skip_blanks(a + 1), b = skip_blanks(b + 1))
		;
	return *a == *b;
}

/* Instances of templates come with what they return. */
static bool ends_with(const char *text, const char *end)
{
	for (; text; text = strchr(text, ' ')) {
		text = skip_blanks(text);
		if (is_same(text, end))
			return true;
	}
	return false;
}

static bool text_matches(const struct written *written, char *text, bool with_parameters)
{
	bool matches = text && (written->is_glob && names_match(written->name, text));

	if (text && !matches)
		matches = with_parameters ? ends_with(text, written->name)
					  : is_same(text, written->name);
	free(text);
	return matches;
}

bool written_matches(const struct written *written, const char *symbol)
{
	if (*symbol != '_' ||
	    !memmem(symbol, strlen(symbol), written->name + written->hint, written->hint_length))
		return false;
	return text_matches(written, demangle_name(symbol), false) ||
	       text_matches(written, demangle(symbol), true);
}
