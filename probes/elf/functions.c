// SPDX-License-Identifier: Apache-2.0
#include "functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "symbols.h"
#include "written.h"

struct search {
	struct functions *functions;
	const char *name;
	bool is_glob;
	struct written written;
	struct names_closest *closest;
};

static int functions_add(struct functions *functions, const struct symbol *symbol)
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
	};
	functions->n++;
	return at->name ? 0 : -ENOMEM;
}

static int symbol_take(void *context, const struct symbol *symbol)
{
	struct search *search = context;

	search->functions->any = true;
	if (search->closest)
		names_closest_offer(search->closest, symbol->name);
	if ((search->is_glob ? !names_match(search->name, symbol->name)
			     : strcmp(search->name, symbol->name) != 0) &&
	    !written_matches(&search->written, symbol->name))
		return 0;
	return functions_add(search->functions, symbol);
}

static void functions_drop(struct functions *functions, size_t index)
{
	free(functions->all[index].name);
	functions->n--;
	memmove(functions->all + index, functions->all + index + 1,
		(functions->n - index) * sizeof(*functions->all));
}

/* Leaves what can be probed, and of a name's versions what the dynamic linker
 * gives to those who do not ask for one. */
static void functions_choose(struct functions *functions, bool is_glob)
{
	size_t current = 0;

	for (size_t i = 0; i < functions->n; i++)
		current += !functions->all[i].superseded;
	for (size_t i = functions->n; i-- > 0;) {
		if (!is_glob && current && functions->all[i].superseded) {
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
		.name = name,
		.is_glob = names_is_glob(name),
		.closest = closest,
	};
	int err;

	written_init(&search.written, name);
	*functions = (struct functions){ .n = 0 };
	err = symbols_each(file, pid, path, symbol_take, &search);
	functions_choose(functions, search.is_glob);
	return functions->too_many ? 0 : err;
}

void functions_clear(struct functions *functions)
{
	for (size_t i = 0; i < functions->n; i++)
		free(functions->all[i].name);
	free(functions->all);
	*functions = (struct functions){ .n = 0 };
}
