/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a process's objects a trigger, or a list of probes, means. */
#ifndef OBJECT_CHOOSE_H
#define OBJECT_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/base/exit_status.h"
#include "probes/elf/objects.h"
#include "trigger.h"

/* Finds the objects that an OBJECT means: by their path, the name of their file, their soname, or
 * one of the latter two without the version at its end (libvnet.so for libvnet.so.24.06); or by a
 * pattern of one of the first three (names.h). What fits best is meant. Without OBJECT (NULL) it is
 * the program. Notes in meant, which has room for all objects, which are; returns how many. */
size_t objects_meant(const struct objects *objects, const char *wanted, bool *meant);

/* Finds the one object that a trigger's OBJECT means. Returns 0; or, after printing what is wrong
 * and what could be meant, EX_CONFIG; EX_OSERR without memory. */
exit_status object_choose(const struct object **object, const struct objects *objects,
			  const struct trigger *trigger);

/* What names this object in a trigger: the name of its file, or the path if
 * others have that name. */
const char *object_label(const struct objects *objects, const struct object *object);

#endif
