/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel does about an instruction with a probe on it, as far as that
 * decides what a hit costs: some it emulates, most run in a copy, single-stepped,
 * which takes a second exception. */
#ifndef INSTRUCTION_CLASS_H
#define INSTRUCTION_CLASS_H

#include <stddef.h>
#include <stdint.h>

enum instruction_class {
	CLASS_BRANCH,   /* a jump or call to a fixed address */
	CLASS_PUSH,     /* saves a register */
	CLASS_PUSH_REX, /* one of the newer registers */
	CLASS_NOP,      /* the shortest */
	CLASS_NOP5,     /* which the kernel may make a call (Linux 6.18) */
	CLASS_NOP_LONG,
	CLASS_ENDBR, /* marks where an indirect jump may lead */
	CLASS_OTHER, /* single-stepped */
	INSTRUCTION_CLASSES,
};

/* The class of the instruction that the bytes begin with. */
enum instruction_class instruction_classify(const uint8_t *bytes, size_t n);

/* The same for one in a file, which is open for reading. */
enum instruction_class instruction_class_read(int fd, uint64_t offset);

#endif
