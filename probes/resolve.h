/* SPDX-License-Identifier: Apache-2.0 */
/* Where the probes of a trigger are. */
#ifndef RESOLVE_H
#define RESOLVE_H

#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/base/signals.h"
#include "sites.h"

/* Finds all sites that a trigger names in the process or the kernel. Returns 0;
 * or, after printing what is wrong and which names come close (or, where the
 * name is ambiguous, the choices), EX_CONFIG for a trigger that names nothing,
 * else another exit status. The process's files are read by another process (reader.h), for which
 * this one waits as signals_wait() does. The caller frees *sites. */
exit_status sites_find(struct sites **sites, const struct trigger *trigger, pid_t pid,
		       struct signals *signals);

#endif
