/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARGET_CHOOSE_H
#define TARGET_CHOOSE_H

#include "cli/base/exit_status.h"
#include "cli/options/options.h"
#include "target.h"

/* Finds the process that the options mean: by a PID of theirs; if that is 0, by whatever else they
 * name it. Waits for it if they say so. Returns as target_find(). */
exit_status target_choose(struct target *target, const struct options *options, pid_t pid);

/* Waits until there is a process of the options' name or file, if they say so. */
void target_await(const struct options *options);

#endif
