/* SPDX-License-Identifier: Apache-2.0 */
/* Names of code made at run time, against a plain list of which piece has which address; and
 * files of any bytes. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/stack/jit_map.h"
#include "random.h"
#include "tap.h"

#define ADDRESSES 20000
#define LONGEST 20U
#define PIECES 9000 /* more than are kept apart as recent */

static size_t room;
static int file_make(const void *bytes, size_t size)
{
	int fd = memfd_create("jit", MFD_CLOEXEC);

	if (fd < 0 || pwrite(fd, bytes, size, 0) != (ssize_t)size)
		abort();
	return fd;
}

static void file_add(int fd, const char *text)
{
	if (pwrite(fd, text, strlen(text), lseek(fd, 0, SEEK_END)) != (ssize_t)strlen(text))
		abort();
}

/* A map of one file, and room for so many bytes. */
static struct jit_map *map_of(enum jit_file kind, int fd, size_t bytes)
{
	struct jit_map *map;

	room = bytes;
	map = jit_map_new(&room);
	jit_map_add(map, kind, fd);
	return map;
}

/* The name of the code at an address; NULL: none. */
static const char *name_at(const struct jit_map *map, uint64_t address)
{
	struct jit_code code;

	return jit_map_find(map, address, &code) ? code.name : NULL;
}

/* A new piece takes the place of all that it meets, none of which is longer than LONGEST. */
static void owners_put(int owners[ADDRESSES], int piece, uint32_t start, uint32_t size)
{
	for (uint32_t i = start; i < start + size; i++) {
		int other = owners[i];

		for (uint32_t j = i > LONGEST ? i - LONGEST : 0; other && j < ADDRESSES; j++) {
			owners[j] = owners[j] == other ? 0 : owners[j];
			if (j == i + LONGEST)
				break;
		}
	}
	for (uint32_t i = start; i < start + size; i++)
		owners[i] = piece;
}

static unsigned int wrong_names(const struct jit_map *map, const int owners[ADDRESSES])
{
	unsigned int wrong = 0;
	char want[16];

	for (uint32_t i = 0; i < ADDRESSES; i++) {
		const char *name = name_at(map, i);

		snprintf(want, sizeof(want), "f %d", owners[i]);
		wrong += owners[i] ? !name || strcmp(name, want) != 0 : name != NULL;
	}
	return wrong;
}

TEST(pieces)
{
	static int owners[ADDRESSES];
	struct jit_map *map;
	unsigned int wrong = 0;
	char line[64];
	int fd = file_make("", 0);

	map = map_of(JIT_PERF_MAP, fd, 64 << 20);
	for (int piece = 1; piece <= PIECES; piece++) {
		uint32_t size = 1 + (uint32_t)chance(LONGEST);
		uint32_t start = (uint32_t)chance(ADDRESSES - size);

		owners_put(owners, piece, start, size);
		snprintf(line, sizeof(line), "%x %x f %d\n", start, size, piece);
		file_add(fd, line);
		if (piece % 1500)
			continue;
		jit_map_read(map);
		wrong += wrong_names(map, owners);
	}
	is_u64(wrong, 0, "later lines take the place of earlier ones, in a file that grows");
	jit_map_free(map);
	is_u64(room, 64 << 20, "all room is given back");
}

TEST(lines)
{
	struct jit_map *map;
	uint64_t version;
	char *text = malloc(200000);
	int fd = file_make("", 0);

	map = map_of(JIT_PERF_MAP, fd, 1 << 20);
	file_add(fd, "0x10 0x10 with 0x\n20 10 \n30 10\n40 0 empty\nzz 10 no\n50 10 a  b\n60 1");
	jit_map_read(map);
	ok(name_at(map, 0x1f) && !strcmp(name_at(map, 0x1f), "with 0x"), "0x may be there");
	ok(!name_at(map, 0x20) && !name_at(map, 0x30) && !name_at(map, 0x40), "no names, no code");
	ok(name_at(map, 0x50) && !strcmp(name_at(map, 0x50), "a  b"), "blanks are of the name");
	ok(!name_at(map, 0x60), "the last line is not whole yet");
	version = jit_map_version(map);
	jit_map_read(map);
	is_u64(jit_map_version(map), version, "nothing new");
	file_add(fd, "0 later\n");
	jit_map_read(map);
	ok(name_at(map, 0x60) && jit_map_version(map) != version, "now it is");
	memset(text, 'x', 199999);
	text[199999] = '\0';
	file_add(fd, "70 10 ");
	file_add(fd, text);
	file_add(fd, "\n80 10 behind it\nffffffffffffff00 200 beyond\n");
	jit_map_read(map);
	ok(name_at(map, 0x80), "behind a line that is too long there are others");
	ok(!name_at(map, UINT64_MAX), "no code goes beyond the last address");
	if (ftruncate(fd, 0))
		abort();
	file_add(fd, "10 10 anew\n");
	jit_map_read(map);
	ok(!strcmp(name_at(map, 0x10), "anew") && !name_at(map, 0x50), "a file written anew");
	jit_map_add(map, JIT_PERF_MAP, file_make("90 1 other\n", 11));
	jit_map_read(map);
	ok(name_at(map, 0x90) && !name_at(map, 0x10), "another file");
	jit_map_free(map);
	free(text);
}

TEST(room)
{
	struct jit_map *map;
	char line[64];
	int fd = file_make("", 0);

	map = map_of(JIT_PERF_MAP, fd, 10000);
	for (unsigned int i = 1; i < 2000; i++) {
		snprintf(line, sizeof(line), "%x 1 name\n", i);
		file_add(fd, line);
	}
	jit_map_read(map);
	ok(name_at(map, 1) && !name_at(map, 1999), "what finds no room is left out");
	jit_map_free(map);
	is_u64(room, 10000, "and the room is given back");
}

/* Files of any bytes, and of some that lead further into their reader. */
TEST(any)
{
	static const uint32_t head[] = { 0x4a695444, 1, 40, 62, 0, 1, 0, 0, 0, 0 };
	static uint8_t bytes[5000];

	for (unsigned int i = 0; i < 500; i++) {
		enum jit_file kind = i % 2 ? JIT_DUMP : JIT_PERF_MAP;
		size_t size = 40 + chance(sizeof(bytes) - 40);
		struct jit_map *map;

		for (size_t j = 0; j < size; j++)
			bytes[j] = kind == JIT_DUMP ? (uint8_t)(chance(4) ? 0 : chance(256))
						    : (uint8_t) "0123456789abf \n "[chance(16)];
		memcpy(bytes, head, kind == JIT_DUMP ? sizeof(head) : 0);
		for (size_t at = 40; kind == JIT_DUMP && at + 8 < size; at += 72) {
			bytes[at] = (uint8_t)chance(2);
			bytes[at + 4] = (uint8_t)(chance(10) ? 72 : chance(80));
			bytes[at + 5] = bytes[at + 6] = bytes[at + 7] = 0;
		}
		map = map_of(kind, file_make(bytes, size), 1 << 20);
		jit_map_read(map);
		for (uint64_t address = 0; address < 256; address++)
			name_at(map, address);
		jit_map_free(map);
		if (room != 1 << 20)
			break;
	}
	is_u64(room, 1 << 20, "any bytes");
}

/* Lines that each take the place of all that was said before, which is not looked at again and
 * again: 360,000 lines that each looked at 200,000 would take longer than a test may. */
TEST(again)
{
	static char lines[4 << 20];
	static const char last[20] = "0 fffffffffffffff b\n";
	int fd = file_make("", 0);
	struct jit_map *map;
	size_t n = 0;

	map = map_of(JIT_PERF_MAP, fd, 64 << 20);
	for (unsigned int i = 0; i < 200000; i++)
		n += (size_t)snprintf(lines + n, sizeof(lines) - n, "%x 1 a\n", i);
	for (unsigned int i = 0; i < 10; i++) {
		file_add(fd, lines);
		if (i)
			continue;
		for (n = 0; n < 40000 * sizeof(last); n += sizeof(last))
			memcpy(lines + n, last, sizeof(last));
		lines[n] = '\0';
	}
	jit_map_read(map);
	ok(!strcmp(name_at(map, 199999), "b"), "one line takes the place of all before");
	jit_map_free(map);
}

TEST(part)
{
	enum { MOST = 1 << 20, EXTRA = 20000 }; /* ADD_MOST, and more than CHUNK has */
	static char lines[MOST + EXTRA][6];
	struct jit_map *map;

	/* The same again and again takes its own place, which is quick. */
	for (unsigned int i = 0; i < MOST + EXTRA; i++)
		memcpy(lines[i], i ? "2 1 f\n" : "1 1 f\n", 6);
	lines[MOST + EXTRA - 1][0] = '3';
	map = map_of(JIT_PERF_MAP, file_make(lines, sizeof(lines)), 128 << 20);
	jit_map_read(map);
	ok(name_at(map, 1) && name_at(map, 2) && !name_at(map, 3),
	   "of a million lines a part is read at a time");
	jit_map_read(map);
	ok(name_at(map, 1) && name_at(map, 2) && name_at(map, 3), "and the rest the next time");
	jit_map_free(map);
}

/* Of a file of more than 64 MB the beginning is read, once. */
TEST(large)
{
	static char line[1 << 16];
	int fd = file_make("10 10 first\n", 12);
	struct jit_map *map;
	uint64_t version;

	memset(line, 'x', sizeof(line) - 2);
	line[sizeof(line) - 2] = '\n';
	for (unsigned int i = 0; i < 1100; i++)
		file_add(fd, line);
	file_add(fd, "20 10 last\n");
	map = map_of(JIT_PERF_MAP, fd, 1 << 20);
	jit_map_read(map);
	ok(name_at(map, 0x10) && !name_at(map, 0x20), "not more than 64 MB is read");
	version = jit_map_version(map);
	jit_map_read(map);
	is_u64(jit_map_version(map), version, "nor is that read again");
	jit_map_free(map);
}

/* A file that is left as it is damaged says nothing of the next one. */
TEST(damaged)
{
	const uint32_t head[] = { 0x4a695444, 1, 40, 62, 0, 1, 0, 0, 0, 0, 0, 1 };
	struct jit_map *map;

	map = map_of(JIT_DUMP, file_make(head, sizeof(head)), 1 << 20);
	jit_map_add(map, JIT_PERF_MAP, file_make("10 10 kept\n", 11));
	jit_map_read(map);
	ok(name_at(map, 0x10), "the other file is read");
	jit_map_add(map, JIT_PERF_MAP, file_make("no line\n20 10 other\n", 20));
	jit_map_read(map);
	ok(!name_at(map, 0x10) && name_at(map, 0x20), "another file, from its beginning");
	jit_map_free(map);
	is_u64(room, 1 << 20, "all room is given back");
}

void tests_end(void)
{
	jit_map_free(NULL);
}
