/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the sites of a trigger. */
#ifndef RESOLVE_H
#define RESOLVE_H

#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/base/signals.h"
#include "sites.h"

/* Finds all sites that a trigger names in the process or the kernel. Returns 0. Otherwise prints
 * what is wrong with the names that come close, or the choices of an ambiguous name. Then
 * returns EX_CONFIG for a trigger that names nothing, else another exit status. A child process
 * (reader.h) reads the target's files; this one waits as signals_wait() does. The caller frees
 * *sites. */
exit_status sites_find(struct sites **sites, const struct trigger *trigger, pid_t pid,
		       struct signals *signals);

#endif
