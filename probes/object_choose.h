/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a process's objects a trigger means. */
#ifndef OBJECT_CHOOSE_H
#define OBJECT_CHOOSE_H

#include "cli/base/exit_status.h"
#include "probes/elf/objects.h"
#include "trigger.h"

/* Finds the one object that a trigger's OBJECT means: its path, the name of its
 * file, its soname, or one of the latter two without the version at its end
 * (libvnet.so for libvnet.so.24.06). Without OBJECT it is the program. Returns 0; or,
 * after printing what is wrong and what could be meant, EX_CONFIG. */
exit_status object_choose(const struct object **object, const struct objects *objects,
			  const struct trigger *trigger);

/* What names this object in a trigger: the name of its file, or the path if
 * others have that name. */
const char *object_label(const struct objects *objects, const struct object *object);

#endif
