/* SPDX-License-Identifier: Apache-2.0 */
/* Where return probes kill. The kernel puts the address of its own code on the stack, in
 * site of the one that the function returns to: who looks for that, or moves the stack,
 * finds what does not belong there. */
#ifndef RETURN_DANGER_H
#define RETURN_DANGER_H

#include <stdbool.h>

#include "probes/elf/elf_file.h"
#include "probes/elf/objects.h"

/* True for a program or shared object that Go's linker made. */
bool file_is_go(const struct elf_file *file);

/* True if the file throws exceptions, of C++ or another language, or looks after those that
 * pass; also if that cannot be told. C is not counted, whatever it cleans up. */
bool file_has_exceptions(const struct elf_file *file);

/* Why a return probe in this object could be the process's end, as part of a sentence; NULL:
 * for no reason that is known. A string constant. */
const char *return_danger(const struct objects *objects, const struct object *object,
			  const struct elf_file *file);

#endif
