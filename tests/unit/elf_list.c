/* SPDX-License-Identifier: Apache-2.0 */
/* Shows what the reader of ELF files finds, to be compared with other tools:
 *
 *   elf_list FILE            its functions and USDT sites
 *   elf_list PID TRIGGER...  where each trigger's probes are
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/elf/symbols.h"
#include "probes/elf/usdt.h"
#include "probes/resolve.h"

static int print_function(void *context, const struct symbol *symbol)
{
	(void)context;
	printf("function %lx %lu %s %s%s\n", symbol->address, symbol->size, symbol->name,
	       symbol->resolver ? "resolver" : "", symbol->superseded ? "superseded" : "");
	return 0;
}

static int print_site(void *context, const struct usdt_site *site)
{
	(void)context;
	printf("usdt %lx %lx %lx %lx %s %s%s\n", site->address, site->offset, site->semaphore,
	       site->semaphore_offset, site->provider, site->name, site->usable ? "" : " unusable");
	return 0;
}

static int list_file(const char *path)
{
	struct elf_file *file;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return 1;
	err = elf_file_open(&file, fd);
	if (!err) {
		err = symbols_each(file, 0, path, print_function, NULL);
		if (!err)
			err = usdt_each(file, print_site, NULL);
		elf_file_close(file);
	}
	close(fd);
	if (err)
		fprintf(stderr, "%s: %s\n", path, elf_file_error(err));
	return err ? 1 : 0;
}

static int list_sites(pid_t pid, const char *text)
{
	struct trigger trigger = { .text = NULL };
	struct sites *sites;
	const char *why;
	int status;

	if (trigger_parse(&trigger, text, &why)) {
		fprintf(stderr, "%s: %s\n", text, why);
		return 64;
	}
	status = sites_find(&sites, &trigger, pid, NULL);
	for (size_t i = 0; !status && i < sites_count(sites); i++) {
		const struct site *site = sites_get(sites, i);

		printf("site %s %lx %lx %s\n", site->object, site->offset, site->semaphore,
		       site->name);
	}
	if (!status)
		sites_free(sites);
	trigger_clear(&trigger);
	return status;
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc == 2)
		return list_file(argv[1]);
	for (int i = 2; i < argc && !status; i++)
		status = list_sites((pid_t)atol(argv[1]), argv[i]);
	return status;
}
