/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions return, for sites that no return probe may be put at. */
#ifndef RETURN_SITES_H
#define RETURN_SITES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "probes/elf/elf_file.h"
#include "probes/elf/functions.h"

/* What is looked through. */
struct return_search {
	const char *trigger; /* its text, for messages */
	const char *danger;  /* why no return probe is used; see return_danger() */
	const struct elf_file *file;
	pid_t pid;                         /* whose file it is, */
	const char *path;                  /* and where */
	const struct functions *functions; /* their names may be "" */
	const void *decoder;               /* see instructions_library(); NULL: there is none */
};

/* One return instruction; into: bytes from the function's beginning. Returns 0 to go on, else
 * an exit status. */
typedef int return_site_found(void *context, const struct function *function, uint64_t address,
			      int64_t into);

/* Calls found for every return instruction of all the functions. Returns 0; what found
 * returned; or an exit status after printing why the returns of one of them cannot be
 * caught. */
exit_status return_sites_find(const struct return_search *search, return_site_found *found,
			      void *context);

#endif
