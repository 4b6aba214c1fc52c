/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols that are packed into the file or lie in another one. */
#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/elf/debug_file.h"
#include "probes/elf/functions.h"
#include "elf_image.h"
#include "tap.h"

#define UNPACKED_LIMIT (128UL << 20)

static const uint8_t id[] = { 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5 };
static struct image inner, image;
static struct image_symbols table;
static char directory[] = "/tmp/test_elf_debug.XXXXXX";

static void add_build_id(struct image *to, uint8_t last)
{
	struct image_notes notes = { .is_64 = true };
	uint8_t bytes[sizeof(id)];

	memcpy(bytes, id, sizeof(id));
	bytes[sizeof(id) - 1] = last;
	notes_add(&notes, "GNU", NT_GNU_BUILD_ID, bytes, sizeof(bytes));
	image_section(to, ".note.gnu.build-id", SHT_NOTE, notes.bytes, notes.size);
}

/* A file with one function, as debug information has it. */
static void inner_make(const char *function, int last_of_id)
{
	symbols_init(&table, true);
	symbols_add(&table, function, TEXT_ADDRESS + 8, 16, STT_FUNC);
	image_init(&inner, true);
	if (last_of_id >= 0)
		add_build_id(&inner, (uint8_t)last_of_id);
	image_symbols(&inner, &table, SHT_SYMTAB);
	image_finish(&inner);
}

static size_t pack(uint8_t *packed, size_t room, const void *data, size_t size, uint32_t preset)
{
	size_t length = 0;

	if (lzma_easy_buffer_encode(preset, LZMA_CHECK_CRC64, NULL, data, size, packed, &length,
				    room) != LZMA_OK)
		abort();
	return length;
}

static struct elf_file *open_with(const char *section, const void *data, size_t size)
{
	struct elf_file *file;

	image_init(&image, true);
	if (section)
		image_section(&image, section, SHT_PROGBITS, data, size);
	image_finish(&image);
	if (elf_file_open_image(&file, image_copy(&image), image.size))
		abort();
	return file;
}

static void unpack_is(const void *data, size_t size, int want, const char *what)
{
	struct elf_file *file = open_with(".gnu_debugdata", data, size), *debug = NULL;
	int err = debug_file_unpack(&debug, file);

	is_i64(err, want, "%s", what);
	if (!err)
		elf_file_close(debug);
	elf_file_close(file);
}

static size_t functions_named(const struct elf_file *file, const char *path, const char *name)
{
	struct functions functions;
	size_t n;

	if (functions_find(&functions, file, 0, path, name, NULL))
		abort();
	n = functions.n;
	functions_clear(&functions);
	return n;
}

static void test_unpack(void)
{
	uint8_t packed[65536], *zeroes = calloc(1, UNPACKED_LIMIT + 1);
	struct elf_file *file;
	size_t size;

	if (!zeroes)
		abort();
	inner_make("packed_function", -1);
	size = pack(packed, sizeof(packed), inner.bytes, inner.size, 6);
	file = open_with(".gnu_debugdata", packed, size);
	is_u64(functions_named(file, NULL, "packed_function"), 1, "a packed function");
	is_u64(functions_named(file, NULL, "other"), 0, "none of another name");
	elf_file_close(file);
	unpack_is(packed, size, 0, "it can be unpacked");
	unpack_is(packed, size - 1, -EBADMSG, "not if its end is missing");
	unpack_is(packed, 3, -EBADMSG, "nor most of it");
	unpack_is(packed, 0, -EBADMSG, "nor all");
	packed[size / 2] ^= 1;
	unpack_is(packed, size, -EBADMSG, "nor with a wrong bit");
	size = pack(packed, sizeof(packed), inner.bytes, inner.size, 9);
	unpack_is(packed, size, 0, "packed as well as xz can");
	size = pack(packed, sizeof(packed), "text", 4, 6);
	unpack_is(packed, size, -ENOEXEC, "something else is packed");
	size = pack(packed, sizeof(packed), zeroes, UNPACKED_LIMIT + 1, 0);
	unpack_is(packed, size, -E2BIG, "more than 128 MiB");
	file = open_with(NULL, NULL, 0);
	is_i64(debug_file_unpack(&(struct elf_file *){ NULL }, file), -ENOENT, "none is there");
	elf_file_close(file);
	free(zeroes);
}

static void write_file(const char *name, const void *data, size_t size)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void remove_file(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	remove(path);
}

/* Opens a file in the directory with a debug link, and a build ID unless -1. */
static struct elf_file *open_linked(const char *link, uint32_t crc, int last_of_id)
{
	size_t length = (strlen(link) / 4 + 1) * 4;
	uint8_t text[300] = { 0 };
	struct elf_file *file;

	memcpy(text, link, strlen(link));
	memcpy(text + length, &crc, sizeof(crc));
	image_init(&image, true);
	image_section(&image, ".gnu_debuglink", SHT_PROGBITS, text, length + sizeof(crc));
	if (last_of_id >= 0)
		add_build_id(&image, (uint8_t)last_of_id);
	image_finish(&image);
	if (elf_file_open_image(&file, image_copy(&image), image.size))
		abort();
	return file;
}

static void link_is(const char *link, uint32_t crc, int last_of_id, size_t want, const char *what)
{
	struct elf_file *file = open_linked(link, crc, last_of_id);
	char path[256];

	snprintf(path, sizeof(path), "%s/program", directory);
	is_u64(functions_named(file, path, "linked_function"), want, "%s", what);
	elf_file_close(file);
}

/* The checksum of the bytes "123456789" is a known one. */
static void test_checksum(void)
{
	is_u64(lzma_crc32((const uint8_t *)"123456789", 9, 0), 0xcbf43926,
	       "the checksum is the one that debug links have");
}

static void test_link(void)
{
	char path[256];
	uint32_t crc;

	inner_make("linked_function", -1);
	crc = lzma_crc32(inner.bytes, inner.size, 0);
	link_is("program.debug", crc, -1, 0, "no debug file is there");
	write_file("program.debug", inner.bytes, inner.size);
	link_is("program.debug", crc, -1, 1, "one next to the file");
	link_is("program.debug", crc ^ 1, -1, 0, "it has another checksum");
	link_is("program.debug", crc, 7, 1, "only the file has a build ID: the checksum decides");
	link_is("../program.debug", crc, -1, 0, "a link out of the directory");
	link_is("", crc, -1, 0, "an empty link");
	remove_file("program.debug");

	snprintf(path, sizeof(path), "%s/.debug", directory);
	mkdir(path, 0700);
	write_file(".debug/program.debug", inner.bytes, inner.size);
	link_is("program.debug", crc, -1, 1, "one in .debug");
	remove_file(".debug/program.debug");

	inner_make("linked_function", 7);
	write_file("program.debug", inner.bytes, inner.size);
	link_is("program.debug", 0, 7, 1, "both have the same build ID");
	link_is("program.debug", lzma_crc32(inner.bytes, inner.size, 0), 8, 0,
		"they have different ones");
	remove_file("program.debug");

	/* To open it would block, or begin to do something. */
	snprintf(path, sizeof(path), "%s/program.debug", directory);
	mkfifo(path, 0600);
	link_is("program.debug", crc, -1, 0, "a named pipe");
	remove_file("program.debug");
	if (symlink("/dev/zero", path))
		abort();
	link_is("program.debug", crc, -1, 0, "a device");
	remove_file("program.debug");
	if (symlink("program.debug", path))
		abort();
	link_is("program.debug", crc, -1, 0, "a loop of links");
	remove_file("program.debug");
}

static void test_itself(void)
{
	struct elf_file *file = open_linked("program", 0, 7);

	write_file("program", image.bytes, image.size);
	elf_file_close(file);
	link_is("program", 0, 7, 0, "a file that links to itself");
	remove_file("program");
}

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	test_unpack();
	test_checksum();
	test_link();
	test_itself();
	remove_file(".debug");
	remove(directory);
	return done_testing();
}
