/* SPDX-License-Identifier: Apache-2.0 */
/* Any process can have any name; its file and its user it cannot choose. */
#ifndef TARGET_NAME_H
#define TARGET_NAME_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/options/options.h"

/* What the processes meant have in common. */
struct target_name {
	const char *comm;
	const char *file; /* which they execute; NULL: any */
	uid_t user;       /* real and effective; UID_ANY: any */
};

/* What the options say; comm may be NULL. */
struct target_name target_name_of(const struct options *options);

/* Whether a process, which has this comm, is meant. One whose user or file cannot be read is not.
 * The file is that of the path now, so one that has been replaced since is another one. */
bool target_name_fits(const struct target_name *name, pid_t pid, const char *comm);

/* After an error that none is meant: what is different about those of this comm. Returns false
 * if there are none. */
bool target_name_hint(const struct target_name *name);

#endif
