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

#define NESTED_MAX 16 /* <<A as B>::C as D>::e */

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

/* Names of Rust begin with _R, older ones end with a hash: "17h" and 16 digits. */
static bool is_rust(const char *symbol)
{
	size_t length = strlen(symbol);

	return !strncmp(symbol, "_R", 2) ||
	       (length > 20 && !strncmp(symbol + length - 20, "17h", 3) &&
		symbol[length - 1] == 'E');
}

/* The bracket that ends what begins with one; that of "->" is none. end: there is none. */
static char *angle_end(char *text, char *end)
{
	size_t depth = 0;

	for (; text < end; text++) {
		depth += *text == '<';
		if (*text == '>' && text[-1] != '-' && !--depth)
			break;
	}
	return text;
}

/* Where " as TRAIT" begins between brackets; end: there is none. */
static char *trait_start(char *text, char *end)
{
	for (; text < end && strncmp(text, " as ", 4) != 0; text++)
		if (*text == '<')
			text = angle_end(text, end);
	return text < end ? text : end;
}

/* Moves text to out, before it or the same, without generic arguments and traits:
 * <q::Queue<u32>>::push is q::Queue::push, <q::A as q::Step>::step is q::A::step, q::work::<u8> is
 * q::work. Returns its end. */
static char *rust_simplify(char *out, char *text, char *end, unsigned int depth)
{
	char *start = out, *close;

	if (depth && text < end && *text == '<') { /* the type that what follows is of */
		close = angle_end(text, end);
		out = rust_simplify(out, text + 1, trait_start(text + 1, close), depth - 1);
		text = close + (close < end);
	}
	for (; text < end; text++) {
		close = *text == '<' ? angle_end(text, end) : end;
		if (close == end)
			*out++ = *text;
		else if (out >= start + 2 && out[-1] == ':')
			out -= 2;
		text = close == end ? text : close;
	}
	return out;
}

static bool matches_loosely(const struct written *written, const char *symbol)
{
	char *text = written->is_glob || !is_rust(symbol) ? NULL : demangle_name(symbol);
	bool matches;

	if (!text)
		return false;
	*rust_simplify(text, text, text + strlen(text), NESTED_MAX) = '\0';
	matches = is_same(text, written->name);
	free(text);
	return matches;
}

enum written_fit written_matches(const struct written *written, const char *symbol)
{
	if (*symbol != '_' ||
	    !memmem(symbol, strlen(symbol), written->name + written->hint, written->hint_length))
		return WRITTEN_NOT;
	if (text_matches(written, demangle_name(symbol), false) ||
	    text_matches(written, demangle(symbol), true))
		return WRITTEN_EXACTLY;
	return matches_loosely(written, symbol) ? WRITTEN_LOOSELY : WRITTEN_NOT;
}
