/* SPDX-License-Identifier: Apache-2.0 */
/* A stopped thread of another process as a target of unwinding: what it has mapped,
 * its registers, its stack. */
#ifndef TESTS_UNIT_UNWIND_TARGET_H
#define TESTS_UNIT_UNWIND_TARGET_H

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "cli/stack/cfi.h"
#include "cli/stack/unwind.h"

#define TARGET_MAPPINGS 1024
#define TARGET_OBJECTS 32

struct target_object {
	char path[256];
	struct elf_file *file;
	uint8_t *image; /* the file's bytes, owned by it */
	size_t size;
	struct cfi *cfi; /* NULL: none */
	int error;       /* of cfi_open() */
};

struct target_mapping {
	uint64_t start, end, bias;
	struct target_object *object; /* NULL: not code, or of no file */
};

struct target {
	struct target_object objects[TARGET_OBJECTS];
	size_t n_objects;
	struct target_mapping mappings[TARGET_MAPPINGS];
	size_t n_mappings;
};

/* Reads a file whole into memory that the caller frees; NULL if it cannot. */
static uint8_t *target_read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	uint8_t *bytes = NULL;
	long length;

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	length = ftell(file);
	rewind(file);
	if (length > 0)
		bytes = malloc((size_t)length);
	if (bytes && fread(bytes, 1, (size_t)length, file) != (size_t)length) {
		free(bytes);
		bytes = NULL;
	}
	*size = (size_t)length;
	fclose(file);
	return bytes;
}

static void target_open_object(struct target_object *object, const char *path, uint64_t start,
			       uint64_t end)
{
	snprintf(object->path, sizeof(object->path), "%s", path);
	if (!strcmp(path, "[vdso]")) { /* the same in all processes */
		object->size = end - start;
		object->image = malloc(object->size);
		if (object->image)
			memcpy(object->image, (void *)getauxval(AT_SYSINFO_EHDR), object->size);
	} else {
		object->image = target_read_file(path, &object->size);
	}
	if (!object->image || elf_file_open_image(&object->file, object->image, object->size)) {
		object->file = NULL;
		return;
	}
	object->error = cfi_open(&object->cfi, object->file);
	if (object->error)
		object->cfi = NULL;
}

static struct target_object *target_object(struct target *target, const char *path, uint64_t start,
					   uint64_t end)
{
	for (size_t i = 0; i < target->n_objects; i++) {
		if (!strcmp(target->objects[i].path, path))
			return &target->objects[i];
	}
	if (target->n_objects == TARGET_OBJECTS)
		return NULL;
	target_open_object(&target->objects[target->n_objects], path, start, end);
	return &target->objects[target->n_objects++];
}

/* Where the file's code is, against where it says. */
static uint64_t target_bias(const struct target_object *object, uint64_t start, uint64_t offset)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	memcpy(&header, object->image, sizeof(header));
	for (size_t i = 0; i < header.e_phnum; i++) {
		memcpy(&segment, object->image + header.e_phoff + i * sizeof(segment),
		       sizeof(segment));
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X)
			return start - offset + segment.p_offset - segment.p_vaddr;
	}
	return 0;
}

static void target_open(struct target *target, pid_t pid)
{
	char line[512], path[256], permissions[8];
	FILE *maps;

	memset(target, 0, sizeof(*target));
	snprintf(line, sizeof(line), "/proc/%d/maps", (int)pid);
	maps = fopen(line, "re");
	while (maps && target->n_mappings < TARGET_MAPPINGS && fgets(line, sizeof(line), maps)) {
		struct target_mapping *mapping = &target->mappings[target->n_mappings];
		unsigned long start, end, offset;

		path[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &start, &end, permissions,
			   &offset, path) < 4)
			continue;
		mapping->start = start;
		mapping->end = end;
		target->n_mappings++;
		if (permissions[2] != 'x' || (*path != '/' && strcmp(path, "[vdso]") != 0))
			continue;
		mapping->object = target_object(target, path, start, end);
		if (mapping->object && mapping->object->file)
			mapping->bias = target_bias(mapping->object, start, offset);
	}
	if (maps)
		fclose(maps);
}

static void target_close(struct target *target)
{
	for (size_t i = 0; i < target->n_objects; i++) {
		cfi_close(target->objects[i].cfi);
		elf_file_close(target->objects[i].file);
	}
}

static struct target_mapping *target_mapping(struct target *target, uint64_t address)
{
	for (size_t i = 0; i < target->n_mappings; i++) {
		struct target_mapping *mapping = &target->mappings[i];

		if (address >= mapping->start && address < mapping->end)
			return mapping;
	}
	return NULL;
}

/* An unwind_find. */
static bool target_find(void *context, uint64_t address, struct unwind_object *object)
{
	struct target_mapping *mapping = target_mapping(context, address);

	if (!mapping || !mapping->object)
		return false;
	object->cfi = mapping->object->cfi;
	object->file = mapping->object->file;
	object->bias = mapping->bias;
	return true;
}

/* Copies registers and stack of a thread that is stopped under ptrace. The caller
 * frees the data. Returns whether that worked. */
static bool target_copy(struct target *target, pid_t tid, struct stack_copy *copy)
{
	struct user_regs_struct regs;
	struct target_mapping *stack;
	struct iovec local, remote;
	uint64_t end;

	memset(copy, 0, sizeof(*copy));
	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
		return false;
	/* System V ABI for AMD64, figure 3.36 */
	memcpy(copy->regs,
	       (uint64_t[]){ regs.rax, regs.rdx, regs.rcx, regs.rbx, regs.rsi, regs.rdi, regs.rbp,
			     regs.rsp, regs.r8, regs.r9, regs.r10, regs.r11, regs.r12, regs.r13,
			     regs.r14, regs.r15, regs.rip },
	       sizeof(copy->regs));
	copy->start = regs.rsp - 128;
	stack = target_mapping(target, copy->start);
	if (!stack)
		return false;
	end = (copy->start & ~(KD_STACK_PAGE - 1ULL)) + KD_STACK_PAGES * KD_STACK_PAGE;
	if (end > stack->end)
		end = stack->end;
	copy->size = end - copy->start;
	for (uint64_t i = 0; i * KD_STACK_PAGE < copy->size + copy->start % KD_STACK_PAGE; i++)
		copy->pages[i / 64] |= 1ULL << (i % 64);
	local.iov_base = malloc(copy->size);
	local.iov_len = remote.iov_len = copy->size;
	remote.iov_base = (void *)copy->start; /* NOLINT: of the other process */
	copy->data = local.iov_base;
	return process_vm_readv(tid, &local, 1, &remote, 1, 0) == (ssize_t)copy->size;
}

#endif
