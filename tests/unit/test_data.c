/* SPDX-License-Identifier: Apache-2.0 */
/* What is at addresses of this process, of which it knows; and in files made to deceive. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probes/elf/data.h"
#include "elf_fuzz.h"
#include "tap.h"

#define ROUNDS 300
#define PAGE 4096UL

static struct {
	char before[24];
	int word;
} with_value = { .word = 1 };
int visible_value = 2;
static char zeros[3 * PAGE];

static struct data_place place_of(const volatile void *address)
{
	struct data_query query = { .address = (uintptr_t)address };

	if (data_find(getpid(), &query, 1))
		abort();
	return query.place;
}

static const char *own_name(void)
{
	static char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	return length > 0 ? basename(path) : "";
}

static void test_program(void)
{
	struct data_place place = place_of(&with_value.word);

	is_str(place.symbol, "with_value", "a member of a variable");
	is_u64(place.offset, 24, "where in it");
	is_str(place.object, own_name(), "in the program");
	place = place_of(&visible_value);
	is_str(place.symbol, "visible_value", "a variable");
	is_u64(place.offset, 0, "its beginning");
	zeros[0] = 1;
	place = place_of(&zeros[2 * PAGE + 5]);
	is_str(place.symbol, "zeros", "one of which the file has nothing");
	is_u64(place.offset, 2 * PAGE + 5, "where in it");
}

static void test_library(void)
{
	const void *address = dlsym(RTLD_DEFAULT, "program_invocation_name");
	struct data_place place = place_of(address);
	Dl_info info;

	if (!address || !dladdr(address, &info))
		abort();
	ok(*place.symbol && dlsym(RTLD_DEFAULT, place.symbol) == address, "of a library: %s",
	   place.symbol);
	ok(!strncmp(place.object, "libc", 4), "which one: %s", place.object);
}

static void test_memory(void)
{
	int fd = memfd_create("shared", 0), local;
	char *mapped, *heap = sbrk(PAGE);
	struct data_query queries[4] = { { .address = 0 } };

	is_str(place_of(heap).object, "[heap]", "the heap");
	is_str(place_of(&local).object, "[stack]", "the first thread's stack");
	if (fd < 0 || ftruncate(fd, 3 * PAGE))
		abort();
	mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 2 * PAGE);
	if (mapped == MAP_FAILED)
		abort();
	is_str(place_of(mapped + 7).object, "memfd:shared", "memory that is shared");
	is_u64(place_of(mapped + 7).offset, 2 * PAGE + 7, "where in the file");
	munmap(mapped, PAGE);
	close(fd);
	is_str(place_of(mapped + 7).object, "", "what is not mapped");
	is_str(place_of(NULL).object, "", "nothing");
	mapped = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	is_str(place_of(mapped + 32 * PAGE).object, "", "memory without a name");
	munmap(mapped, 64 * PAGE);

	queries[0].address = (uintptr_t)&zeros[9];
	queries[1].address = 1;
	queries[2].address = (uintptr_t)&with_value;
	queries[3].address = UINT64_MAX;
	is_i64(data_find(getpid(), queries, 4), 0, "several");
	for (size_t i = 0; i < 4; i++) {
		const struct data_query *query = &queries[i];

		ok(!i || queries[i - 1].address <= query->address, "they are sorted");
		if (query->address == (uintptr_t)&zeros[9])
			is_str(query->place.symbol, "zeros", "one");
		else if (query->address == (uintptr_t)&with_value)
			is_str(query->place.symbol, "with_value", "another");
		else
			is_str(query->place.object, "", "none");
	}
	is_i64(data_find(INT32_MAX, queries, 4), -ESRCH, "of no process");
	is_i64(data_find(getpid(), NULL, 0), 0, "no addresses");
}

/* Maps the file as the kernel maps a program, and asks for what is in it. */
static struct data_place image_place(const void *bytes, size_t size, uint64_t address)
{
	char path[] = "/tmp/test_data-XXXXXX";
	int fd = mkstemp(path);
	struct data_query query = { .address = 0 };
	char *code, *data;

	if (fd < 0 || unlink(path) || write(fd, bytes, size) != (ssize_t)size ||
	    ftruncate(fd, 4 * PAGE))
		abort();
	code = mmap(NULL, 512 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	data = code + (DATA_ADDRESS & ~(PAGE - 1)) - (TEXT_ADDRESS & ~(PAGE - 1));
	if (code == MAP_FAILED ||
	    mmap(code, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) != code ||
	    mmap(data, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) != data)
		abort();
	close(fd);
	query.address = (uintptr_t)code + address - (TEXT_ADDRESS & ~(PAGE - 1));
	if (data_find(getpid(), &query, 1))
		abort();
	munmap(code, 512 * PAGE);
	return query.place;
}

static struct image image;
static struct image_symbols table;

static void image_make(void)
{
	char name[300];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	symbols_init(&table, true);
	symbols_add(&table, "whole", DATA_ADDRESS, 64, STT_OBJECT);
	symbols_add(&table, "part", DATA_ADDRESS + 16, 8, STT_OBJECT);
	symbols_add(&table, "function", DATA_ADDRESS + 16, 4, STT_FUNC);
	symbols_add(&table, "empty", DATA_ADDRESS + 80, 0, STT_OBJECT);
	symbols_add(&table, name, DATA_ADDRESS + 96, 8, STT_OBJECT);
	symbols_add(&table, "endless", DATA_ADDRESS + 128, UINT64_MAX, STT_OBJECT);
	symbols_add_at(&table, symbols_add(&table, "wanted", 0, 0, STT_OBJECT), DATA_ADDRESS + 88,
		       4, STT_OBJECT, SHN_UNDEF);
	image_init(&image, true);
	image_symbols(&image, &table, SHT_SYMTAB);
	image_finish(&image);
}

static void test_image(void)
{
	struct data_place place;

	image_make();
	place = image_place(image.bytes, image.size, DATA_ADDRESS + 20);
	is_str(place.symbol, "part", "the smallest variable");
	is_u64(place.offset, 4, "where in it");
	place = image_place(image.bytes, image.size, DATA_ADDRESS + 40);
	is_str(place.symbol, "whole", "the one around it");
	place = image_place(image.bytes, image.size, DATA_ADDRESS + 88);
	is_str(place.symbol, "", "between variables");
	is_u64(place.offset, DATA_ADDRESS + 88, "the address in the file");
	place = image_place(image.bytes, image.size, DATA_ADDRESS + 100);
	is_u64(strlen(place.symbol), DATA_SYMBOL_LEN - 1, "a long name is cut");
	is_str(place.symbol + DATA_SYMBOL_LEN - 4, "...", "and says so");
	place = image_place(image.bytes, image.size, DATA_ADDRESS + 2 * DATA_SIZE);
	is_str(place.object, "", "behind all segments");
}

static void test_damaged(void)
{
	unsigned long found = 0;

	for (unsigned long round = 0; round < ROUNDS; round++) {
		size_t size = image.size;
		uint8_t *bytes = image_copy(&image);

		mutate(bytes, &size, &image);
		found += *image_place(bytes, size, DATA_ADDRESS + 20).symbol != 0;
		free(bytes);
	}
	ok(found > 0 && found < ROUNDS, "damaged files: %lu of %d still have it", found, ROUNDS);
}

int main(void)
{
	test_program();
	test_library();
	test_memory();
	test_image();
	test_damaged();
	return done_testing();
}
