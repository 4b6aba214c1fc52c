/* SPDX-License-Identifier: Apache-2.0 */
/* A target of several processes: those of a control group. */
#ifndef SESSION_GROUP_H
#define SESSION_GROUP_H

#include "cli/base/exit_status.h"
#include "cli/target/group_members.h"

struct kernel_delay;

/* Before the programs are loaded: tells them which group it is. Returns 0 or, after printing why
 * not, an exit status. */
exit_status group_select(struct kernel_delay *skel, const struct control_group *group);

#endif
