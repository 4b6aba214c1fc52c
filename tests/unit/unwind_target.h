/* SPDX-License-Identifier: Apache-2.0 */
/* What another process has mapped, as a target of unwinding. */
#ifndef TESTS_UNIT_UNWIND_TARGET_H
#define TESTS_UNIT_UNWIND_TARGET_H

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli/stack/cfi.h"
#include "cli/stack/unwind.h"

#define TARGET_MAPPINGS 1024
#define TARGET_OBJECTS 32

struct target_object {
	char path[256];
	struct elf_file *file;
	struct cfi *cfi; /* NULL: none */
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

static void target_open_object(struct target_object *object, const char *path, size_t size)
{
	int fd = -1, err;

	snprintf(object->path, sizeof(object->path), "%s", path);
	if (!strcmp(path, "[vdso]")) { /* the same in all processes */
		void *image = malloc(size);

		if (!image)
			abort();
		memcpy(image, (void *)getauxval(AT_SYSINFO_EHDR), size);
		err = elf_file_open_image(&object->file, image, size);
	} else {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		err = elf_file_open(&object->file, fd);
	}
	if (err)
		object->file = NULL;
	else if (cfi_open(&object->cfi, object->file))
		object->cfi = NULL;
}

static struct target_object *target_object(struct target *target, const char *path, size_t size)
{
	for (size_t i = 0; i < target->n_objects; i++) {
		if (!strcmp(target->objects[i].path, path))
			return &target->objects[i];
	}
	if (target->n_objects == TARGET_OBJECTS)
		return NULL;
	target_open_object(&target->objects[target->n_objects], path, size);
	return &target->objects[target->n_objects++];
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
		mapping->object = target_object(target, path, end - start);
		if (mapping->object && mapping->object->file)
			elf_file_bias(mapping->object->file, start, offset, PF_X, &mapping->bias);
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

#endif
