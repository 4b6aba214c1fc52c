// SPDX-License-Identifier: Apache-2.0
#include "return_danger.h"

#include <string.h>
#include <unistd.h>

#include "cli/sandbox/helper.h"
#include "probes/elf/symbols.h"

bool file_is_go(const struct elf_file *file)
{
	static const char *const sections[] = { ".note.go.buildid", ".gopclntab",
						".data.rel.ro.gopclntab" };
	uint64_t address;

	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++)
		if (elf_file_section_address(file, sections[i], &address))
			return true;
	return false;
}

/* What the names in a file say. */
struct signs {
	bool throws;
	bool c; /* it is the C library, or C that cleans up */
};

static int sign_take(void *context, const char *name, bool defined)
{
	/* Of C++, Rust, Ada, D and Objective-C. */
	static const char *const throwers[] = { "__gxx_personality_v0",  "__cxa_throw",
						"__cxa_begin_catch",     "rust_eh_personality",
						"__gnat_personality_v0", "__gdc_personality_v0",
						"_d_eh_personality",     "__objc_personality_v0" };
	struct signs *signs = context;

	for (size_t i = 0; i < sizeof(throwers) / sizeof(*throwers); i++)
		signs->throws |= !strcmp(name, throwers[i]);
	/* Unwinders define it, those who throw want it. */
	signs->throws |= !defined && !strcmp(name, "_Unwind_RaiseException");
	signs->c |= !strcmp(name, "__gcc_personality_v0") ||
		    (defined && !strcmp(name, "__libc_start_main"));
	return signs->throws;
}

bool file_has_exceptions(const struct elf_file *file)
{
	struct signs signs = { .throws = false };
	bool has_names = elf_file_section(file, NULL, SHT_SYMTAB, NULL);
	uint64_t address;

	symbols_each_name(file, SHT_DYNSYM, sign_take, &signs);
	if (signs.throws)
		return true;
	/* Without any sections, or with all that is needed linked in: */
	if (!elf_file_section_address(file, ".gcc_except_table", &address))
		return !elf_file_section_address(file, ".text", &address);
	if (has_names)
		symbols_each_name(file, SHT_SYMTAB, sign_take, &signs);
	return signs.throws || (!has_names && !signs.c);
}

static bool object_has_exceptions(const struct objects *objects, const struct object *object)
{
	int fd = objects_open(objects, object);
	struct elf_file *file;
	bool has = false;

	if (fd < 0)
		return false;
	if (!elf_file_open(&file, fd)) {
		has = file_has_exceptions(file);
		elf_file_close(file);
	}
	helper_try_close(fd);
	close(fd);
	return has;
}

/* A shared object may call back those who throw; what is thrown at a program, nobody behind
 * it catches. */
static bool exceptions_pass(const struct objects *objects, const struct object *object,
			    const struct elf_file *file)
{
	if (file_has_exceptions(file))
		return true;
	for (size_t i = 0; !object->executable && i < objects_count(objects); i++)
		if (objects_get(objects, i) != object &&
		    object_has_exceptions(objects, objects_get(objects, i)))
			return true;
	return false;
}

const char *return_danger(const struct objects *objects, const struct object *object,
			  const struct elf_file *file)
{
	if (file_is_go(file))
		return "Go moves its stacks";
	if (exceptions_pass(objects, object, file))
		return "an exception may leave the function";
	return NULL;
}
