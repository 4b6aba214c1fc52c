// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "self_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>

#define SELF "/proc/self/exe"
#define COPY_SIZE 64
_Static_assert(COPY_SIZE == 64 && SELF_PROBE_COPIES == 3, "as in the assembly below");

/* Places the copies one after the other. */
#define FUNCTION(name, instructions)                                                               \
	extern const char name[];                                                                  \
	__asm__(".pushsection .text\n.balign 64\n.hidden " #name "\n.globl " #name "\n" #name      \
		":\n"                                                                              \
		".rept 3\n.balign 64\n" instructions "\nret\n.endr\n.popsection\n");

#if defined(__x86_64__)
FUNCTION(self_branch, ".byte 0xeb, 0") /* to the next instruction */
FUNCTION(self_push, "push %rbx\npop %rbx")
FUNCTION(self_push_rex, "push %r12\npop %r12")
FUNCTION(self_nop, "nop")
FUNCTION(self_nop5, ".byte 0x0f, 0x1f, 0x44, 0, 0")
FUNCTION(self_nop_long, ".byte 0x66, 0x0f, 0x1f, 0x44, 0, 0")
FUNCTION(self_endbr, ".byte 0xf3, 0x0f, 0x1e, 0xfa")
FUNCTION(self_other, "mov %rdi, %rax")
#else
FUNCTION(self_branch, ".inst 0x14000001") /* to the next instruction */
FUNCTION(self_push, "stp x29, x30, [sp, #-16]!\nldp x29, x30, [sp], #16")
FUNCTION(self_nop, "nop")
FUNCTION(self_endbr, "hint #34")
FUNCTION(self_other, "mov x1, x0")
#define self_push_rex self_other
#define self_nop5 self_nop
#define self_nop_long self_nop
#endif

self_probe_fn *self_probe(enum instruction_class instruction, unsigned int copy)
{
	static const char *const functions[INSTRUCTION_CLASSES] = {
		[CLASS_BRANCH] = self_branch,     [CLASS_PUSH] = self_push,
		[CLASS_PUSH_REX] = self_push_rex, [CLASS_NOP] = self_nop,
		[CLASS_NOP5] = self_nop5,         [CLASS_NOP_LONG] = self_nop_long,
		[CLASS_ENDBR] = self_endbr,       [CLASS_OTHER] = self_other,
	};

	return (self_probe_fn *)(uintptr_t)&functions[instruction][copy * COPY_SIZE];
}

struct search {
	uintptr_t address;
	struct site *site;
};

static int program_search(struct dl_phdr_info *info, size_t size, void *context)
{
	const struct search *search = context;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t at = search->address - info->dlpi_addr - segment->p_vaddr;

		if (segment->p_type == PT_LOAD && at < segment->p_filesz)
			search->site->offset = segment->p_offset + at;
	}
	return 1; /* the first object is the program */
}

int self_probe_open(void)
{
	int fd = open(SELF, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int self_probe_find(self_probe_fn *function, int file, struct site *site)
{
	struct search search = { (uintptr_t)function, site };

	*site = (struct site){ .fd = file, .object = SELF, .name = "" };
	dl_iterate_phdr(program_search, &search);
	return site->offset ? 0 : -ENOENT;
}
