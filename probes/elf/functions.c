// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "functions.h"

#include <ctype.h>
#include <errno.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/names.h"
#include "symbols.h"

/* --- Demangling of C++ and Rust --- */

#define ELLIPSIS "..."

struct name_output {
	char text[DEMANGLED_MAX];
	size_t length;
	jmp_buf full;
};

typedef int demangle_scheme(const char *name, int options, demangle_callbackref callback,
			    void *opaque);

/* Back references let a name of 100 bytes expand beyond any memory, so it must be cut off here.
 * Only a jump can do this, which only leaves stack behind. See d_demangle_callback() in libiberty's
 * cp-demangle.c, and rust_demangle_callback() in rust-demangle.c, which may leak 1 KB for a
 * Punycode identifier. */
static void output_append(const char *text, size_t length, void *opaque)
{
	struct name_output *output = opaque;
	size_t capacity = DEMANGLED_MAX - output->length;

	if (!length) /* text may be NULL then */
		return;
	memcpy(output->text + output->length, text, length < capacity ? length : capacity);
	output->length += length < capacity ? length : capacity;
	if (length > capacity)
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
	/* Legacy Rust names are also valid C++ names, but with a hash at their end. */
	if (output_fill(output, rust_demangle_callback, name, options) ||
	    output_fill(output, cplus_demangle_v3_callback, name, options))
		text = strndup(output->text, output->length);
	free(output);
	return text;
}

char *demangle(const char *name)
{
	return demangle_by(name, DMGL_PARAMS | DMGL_ANSI);
}

#define WITHOUT_PARAMETERS DMGL_ANSI /* nor return type */

/* --- C++ and Rust functions by source name: ns::Foo<int>::bar --- */

/* A wanted name or pattern. Fields are private. */
struct written {
	const char *name;
	bool is_glob;
	size_t hint, hint_length; /* an identifier that also occurs in the mangled name */
};

enum written_fit { WRITTEN_NOT, WRITTEN_LOOSELY, WRITTEN_EXACTLY };

/* Operators do not occur in mangled names: "pl" stands for operator+. */
#define OPERATOR "operator"

#define NESTED_MAX 16 /* <<A as B>::C as D>::e */

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Start of the template arguments that end at end; end if there are none. */
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

/* Names of constructors of these classes may lack the class name, as "Sa" stands for
 * std::allocator (Itanium C++ ABI, 5.1.10). */
static bool may_be_abbreviated(const char *name, size_t length)
{
	static const char *const abbreviated[] = { "allocator", "basic_string", "basic_istream",
						   "basic_ostream", "basic_iostream" };

	for (size_t i = 0; i < sizeof(abbreviated) / sizeof(*abbreviated); i++)
		if (memmem(abbreviated[i], strlen(abbreviated[i]), name, length))
			return true;
	return false;
}

/* Finds the function's own identifier, or part of it: demangling all names of a large library
 * takes a second. Types and qualifiers may be abbreviated. */
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

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " ");
}

/* Compares ignoring blanks. */
static bool is_same(const char *a, const char *b)
{
	for (a = skip_blanks(a), b = skip_blanks(b); *a && *a == *b;
	     a = skip_blanks(a + 1), b = skip_blanks(b + 1))
		;
	return *a == *b;
}

/* Template instances are preceded by their return type. */
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
	bool matches = text && ((written->is_glob && names_match(written->name, text)) ||
				(with_parameters ? ends_with(text, written->name)
						 : is_same(text, written->name)));

	free(text);
	return matches;
}

/* Rust names begin with _R; legacy ones end with a hash: "17h" and 16 digits. */
static bool is_rust(const char *symbol)
{
	size_t length = strlen(symbol);

	return !strncmp(symbol, "_R", 2) ||
	       (length > 20 && !strncmp(symbol + length - 20, "17h", 3) &&
		symbol[length - 1] == 'E');
}

/* Closing bracket of an opening one, ignoring "->"; end: none. */
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

/* Start of " as TRAIT" within brackets; end: none. */
static char *trait_start(char *text, char *end)
{
	for (; text < end && strncmp(text, " as ", 4) != 0; text++)
		if (*text == '<')
			text = angle_end(text, end);
	return text < end ? text : end;
}

/* Moves text to out, which is text or before it, without generic arguments and traits.
 * <q::Queue<u32>>::push is q::Queue::push, <q::A as q::Step>::step is q::A::step, q::work::<u8> is
 * q::work. Returns its end. */
static char *rust_simplify(char *out, char *text, char *end, unsigned int depth)
{
	char *start = out, *close;

	if (depth && text < end && *text == '<') { /* type that the rest belongs to */
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
	char *text = written->is_glob || !is_rust(symbol) ? NULL
							  : demangle_by(symbol, WITHOUT_PARAMETERS);
	bool matches;

	if (!text)
		return false;
	*rust_simplify(text, text, text + strlen(text), NESTED_MAX) = '\0';
	matches = is_same(text, written->name);
	free(text);
	return matches;
}

static enum written_fit written_matches(const struct written *written, const char *symbol)
{
	if (*symbol != '_' ||
	    !memmem(symbol, strlen(symbol), written->name + written->hint, written->hint_length))
		return WRITTEN_NOT;
	if (text_matches(written, demangle_by(symbol, WITHOUT_PARAMETERS), false) ||
	    text_matches(written, demangle(symbol), true))
		return WRITTEN_EXACTLY;
	return matches_loosely(written, symbol) ? WRITTEN_LOOSELY : WRITTEN_NOT;
}

/* --- Functions of an ELF file by name or pattern --- */

#define TRIGGER_NAME_MAX 4096 /* no trigger is longer */

struct search {
	struct functions *functions;
	char name[TRIGGER_NAME_MAX + 1]; /* without version */
	const char *version;             /* requested one; NULL: none */
	bool by_default;                 /* must be the default version: NAME@@VERSION */
	struct written written;
	struct names_closest *closest;
};

static int functions_add(struct functions *functions, const struct symbol *symbol, bool loose)
{
	size_t index = ARRAY_SPLIT(functions->n, i, functions->all[i].address < symbol->address);
	struct function *at;

	if (!functions->all) {
		functions->all = calloc(FUNCTIONS_MAX, sizeof(*functions->all));
		if (!functions->all)
			return -ENOMEM;
	}
	at = functions->all + index;
	if (index < functions->n && at->address == symbol->address) {
		/* Another name or table: combine their data. */
		at->superseded &= symbol->superseded;
		at->loose &= loose;
		at->resolver |= symbol->resolver;
		if (!at->size)
			at->size = symbol->size;
		return 0;
	}
	if (functions->n == FUNCTIONS_MAX) {
		functions->too_many = true;
		return 1;
	}
	memmove(at + 1, at, (functions->n - index) * sizeof(*at));
	*at = (struct function){
		.name = strdup(symbol->name),
		.address = symbol->address,
		.size = symbol->size,
		.resolver = symbol->resolver,
		.superseded = symbol->superseded,
		.loose = loose,
	};
	functions->n++;
	return at->name ? 0 : -ENOMEM;
}

/* Offers a symbol with its version, if one was requested. */
static void name_offer(const struct search *search, const struct symbol *symbol)
{
	char text[SYMBOL_NAME_MAX + 128];

	snprintf(text, sizeof(text), "%s%s%s", symbol->name,
		 !search->version || !symbol->version ? ""
		 : symbol->superseded                 ? "@"
						      : "@@",
		 search->version && symbol->version ? symbol->version : "");
	names_closest_offer(search->closest, text);
}

static int symbol_take(void *context, const struct symbol *symbol)
{
	struct search *search = context;
	enum written_fit fit;

	search->functions->any = true;
	if (search->closest)
		name_offer(search, symbol);
	if (search->version && (!symbol->version || strcmp(search->version, symbol->version) != 0 ||
				(search->by_default && symbol->superseded)))
		return 0;
	if (search->written.is_glob ? names_match(search->name, symbol->name)
				    : !strcmp(search->name, symbol->name))
		fit = WRITTEN_EXACTLY;
	else
		fit = written_matches(&search->written, symbol->name);
	return fit ? functions_add(search->functions, symbol, fit == WRITTEN_LOOSELY) : 0;
}

/* Keeps functions that can be probed, and prefers exact names. Of versioned names, keeps the
 * dynamic linker's default, unless all are wanted. */
static void functions_choose(struct functions *functions, bool all_versions)
{
	size_t current = 0, exact = 0, n = 0;

	for (size_t i = 0; i < functions->n; i++) {
		current += !functions->all[i].superseded;
		exact += !functions->all[i].loose;
	}
	for (size_t i = 0; i < functions->n; i++) {
		const struct function *function = &functions->all[i];
		bool other = (!all_versions && current && function->superseded) ||
			     (exact && function->loose);

		functions->resolvers += !other && function->resolver;
		if (other || function->resolver)
			free(function->name);
		else
			functions->all[n++] = *function;
	}
	functions->n = n;
}

int functions_find(struct functions *functions, const struct elf_file *file, pid_t pid,
		   const char *path, const char *name, struct names_closest *closest)
{
	struct search search = {
		.functions = functions,
		.closest = closest,
	};
	const char *at = *name ? strchr(name + 1, '@') : NULL;
	size_t length = at ? (size_t)(at - name) : strlen(name);
	int err;

	*functions = (struct functions){ .n = 0 };
	if (length >= sizeof(search.name))
		return 0;
	memcpy(search.name, name, length);
	if (at) {
		search.by_default = at[1] == '@';
		search.version = at + 1 + search.by_default;
	}
	search.written = (struct written){ search.name, names_is_glob(search.name), 0, 0 };
	hint_find(&search.written);
	err = symbols_each(file, pid, path, symbol_take, &search);
	functions_choose(functions, search.written.is_glob || search.version);
	return functions->too_many ? 0 : err;
}

void functions_clear(struct functions *functions)
{
	for (size_t i = 0; i < functions->n; i++)
		free(functions->all[i].name);
	free(functions->all);
	*functions = (struct functions){ .n = 0 };
}
