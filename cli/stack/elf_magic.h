/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ELF_MAGIC_H
#define ELF_MAGIC_H

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* What the process without privileges may be given: a descriptor of an ELF file
 * stays what it is, any other is closed and becomes -ENOEXEC. */
static inline int elf_only(int fd)
{
	char magic[SELFMAG];

	if (fd < 0 || (pread(fd, magic, SELFMAG, 0) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG)))
		return fd;
	close(fd);
	return -ENOEXEC;
}

#endif
