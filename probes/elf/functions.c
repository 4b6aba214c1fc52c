// SPDX-License-Identifier: Apache-2.0
#include "functions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "symbols.h"
#include "written.h"

#define TRIGGER_NAME_MAX 4096 /* no trigger is longer */

struct search {
	struct functions *functions;
	char name[TRIGGER_NAME_MAX + 1]; /* without its version */
	const char *version;             /* behind it; NULL: none is asked for */
	bool by_default;                 /* that has to be the default one: NAME@@VERSION */
	bool is_glob;
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
		/* Another name or table; what any of them knows holds. */
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

/* With its version, if one is asked for. */
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
	if (search->is_glob ? names_match(search->name, symbol->name)
			    : !strcmp(search->name, symbol->name))
		fit = WRITTEN_EXACTLY;
	else
		fit = written_matches(&search->written, symbol->name);
	return fit ? functions_add(search->functions, symbol, fit == WRITTEN_LOOSELY) : 0;
}

static void functions_drop(struct functions *functions, size_t index)
{
	free(functions->all[index].name);
	functions->n--;
	memmove(functions->all + index, functions->all + index + 1,
		(functions->n - index) * sizeof(*functions->all));
}

/* Leaves what can be probed; what has the very name; and of a name's versions what the dynamic
 * linker gives to those who do not ask for one, unless all are wanted. */
static void functions_choose(struct functions *functions, bool all_versions)
{
	size_t current = 0, exact = 0;

	for (size_t i = 0; i < functions->n; i++) {
		current += !functions->all[i].superseded;
		exact += !functions->all[i].loose;
	}
	for (size_t i = functions->n; i-- > 0;) {
		if ((!all_versions && current && functions->all[i].superseded) ||
		    (exact && functions->all[i].loose)) {
			functions_drop(functions, i);
		} else if (functions->all[i].resolver) {
			functions->resolvers++;
			functions_drop(functions, i);
		}
	}
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
	search.is_glob = names_is_glob(search.name);
	written_init(&search.written, search.name);
	err = symbols_each(file, pid, path, symbol_take, &search);
	functions_choose(functions, search.is_glob || search.version);
	return functions->too_many ? 0 : err;
}

void functions_clear(struct functions *functions)
{
	for (size_t i = 0; i < functions->n; i++)
		free(functions->all[i].name);
	free(functions->all);
	*functions = (struct functions){ .n = 0 };
}
