/* SPDX-License-Identifier: Apache-2.0 */
/* Which code is at an address: what is mapped when, as the resolver sees it, by hand, against a
 * slow reading of the same rules, and in several spaces; and names of code made at run time,
 * against a plain list of which piece has which address, and files of any bytes. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/stack/jit_map.h"
#include "cli/stack/protocol.h"
#include "cli/stack/resolver.h"
#include "random.h"
#include "tap.h"

/* --- What is mapped --- */

/* A resolver that knows so many objects, of which nothing but the path can be read. */
static struct resolver *resolver_with(uint32_t objects)
{
	struct resolver *resolver = resolver_new(NULL, NULL);

	need(resolver);
	for (uint32_t i = 0; i < objects; i++)
		need(!resolver_add_object(resolver, i, -1, "/object"));
	return resolver;
}

/* The object at an address; -1: none. */
static int64_t object_at(struct resolver *resolver, uint64_t t, uint64_t address)
{
	struct frame frame;

	resolver_name(resolver, t, address, true, &frame);
	return (int64_t)frame.file - 1;
}

static uint64_t version_at(const struct resolver *resolver, uint64_t t)
{
	static const struct unwound none;

	return resolver_version(resolver, t, &none);
}

TEST(times)
{
	const struct mapping first[] = { { 0x1000, 0x2000, 0, 1 }, { 0x4000, 0x5000, 0, 2 } };
	const struct mapping second[] = { { 0x1000, 0x2000, 0, 1 }, { 0x3000, 0x4000, 0, 3 } };
	const struct mapping third[] = { { 0x3000, 0x5000, 0, 4 } };
	struct resolver *space = resolver_with(8);
	uint64_t before, after;

	is_i64(object_at(space, 0, 0x1000), -1, "nothing is known");
	is_i64(resolver_set_mappings(space, 100, first, 2), 0, "the first");
	is_i64(object_at(space, 100, 0xfff), -1, "before a mapping");
	is_i64(object_at(space, 100, 0x1000), 1, "its first byte");
	is_i64(object_at(space, 100, 0x1fff), 1, "its last byte");
	is_i64(object_at(space, 100, 0x2000), -1, "behind it");
	is_i64(object_at(space, 0, 0x4000), 2, "before the first time there is only the first");
	is_i64(object_at(space, UINT64_MAX, 0x4000), 2, "it lasts");
	before = version_at(space, 150);
	is_i64(resolver_set_mappings(space, 300, third, 1), 0, "a later one");
	is_i64(resolver_set_mappings(space, 200, second, 2), 0, "one between them");
	after = version_at(space, 150);
	ok(before && after && before != after, "what is remembered may have become wrong");
	ok(version_at(space, 199) != version_at(space, 200), "times of different mappings");
	ok(version_at(space, 200) == version_at(space, 299), "times of the same mappings");
	is_i64(object_at(space, 199, 0x4000), 2, "the first is in force until the next");
	is_i64(object_at(space, 200, 0x3000), 3, "from then on the second");
	is_i64(object_at(space, 199, 0x3000), 3, "not mapped yet: the next later that has it");
	is_i64(object_at(space, 200, 0x4000), 4, "gone: the next later comes first");
	is_i64(object_at(space, 300, 0x1000), 1, "gone for good: the next earlier");
	is_i64(object_at(space, 300, 0x3800), 4, "the one in force counts first");
	is_i64(object_at(space, 299, 0x3800), 3, "a moment before it is another");
	is_i64(object_at(space, 300, 0x9000), -1, "never mapped");
	is_i64(resolver_set_mappings(space, 200, first, 2), 0, "another at the same time");
	is_i64(object_at(space, 250, 0x4000), 2, "takes its place");
	is_i64(object_at(space, 250, 0x3000), 4, "which is gone");
	before = version_at(space, 400);
	is_i64(resolver_set_mappings(space, 350, third, 1), 0, "no change");
	is_u64(version_at(space, 400), before, "changes nothing");
	is_i64(resolver_set_mappings(space, 400, NULL, 0), 0, "nothing is mapped");
	is_i64(object_at(space, 400, 0x3000), 4, "what was mapped remains known");
	resolver_free(space);
	resolver_free(NULL);
}

TEST(unsound)
{
	const struct mapping mappings[] = {
		{ 0x5000, 0x6000, 0, 0 }, { 0x1000, 0x2000, 0, 1 }, { 0x5800, 0x7000, 0, 2 },
		{ 0x7000, 0x7000, 0, 3 }, { 0x9000, 0x8000, 0, 4 }, { 0xa000, UINT64_MAX, 0, 5 },
	};
	struct resolver *space = resolver_with(8);

	is_i64(resolver_set_mappings(space, 0, mappings, 6), 0, "mappings that cannot be");
	is_i64(object_at(space, 0, 0x5800), 0, "the first of two that overlap");
	is_i64(object_at(space, 0, 0x1000), -1, "one out of order");
	is_i64(object_at(space, 0, 0x6800), -1, "the rest of one that overlaps");
	is_i64(object_at(space, 0, 0x8800), -1, "one that ends before it begins");
	is_i64(object_at(space, 0, UINT64_MAX - 1), 5, "the last address but one");
	is_i64(object_at(space, 0, UINT64_MAX), -1, "the last address");
	resolver_free(space);
}

TEST(not_read)
{
	const struct mapping mappings[] = { { 0x1000, 0x2000, 0, SPACE_BEYOND },
					    { 0x2000, 0x3000, 0, SPACE_NO_FILE } };
	const struct stack_copy copy = { .regs = { [KD_REG_IP] = 0x1800 } };
	struct resolver *space = resolver_with(1);
	struct unwound unwound;
	struct frame frame;

	is_i64(resolver_set_mappings(space, 0, mappings, 2), 0, "one of too many files");
	resolver_name(space, 0, 0x1800, true, &frame);
	is_str(frame.object, FRAME_BEYOND, "is said where its name would be");
	ok(stack_is_beyond(&(struct stack){ .frames = &frame, .n = 1 }), "such a stack is counted");
	resolver_unwind(space, 0, &copy, &unwound);
	is_str(unwind_stop_text(unwound.stop), unwind_stop_text(UNWIND_BEYOND), "and why it ends");
	resolver_name(space, 0, 0x2800, true, &frame);
	is_str(frame.object, NULL, "code in no file is another thing");
	ok(!stack_is_beyond(&(struct stack){ .frames = &frame, .n = 1 }), "and is not counted");
	resolver_free(space);
}

#define MOST (SPACE_MAPPINGS / 4) /* that one space may have */

TEST(bounds)
{
	struct mapping *many = calloc(MOST + 1, sizeof(*many));
	struct resolver *space = resolver_with(SPACE_SNAPSHOTS + 10);

	need(many);
	for (uint32_t i = 0; i < SPACE_SNAPSHOTS + 10; i++)
		resolver_set_mappings(
			space, i, &(struct mapping){ 0x1000 * (i + 1), 0x1000 * (i + 2), 0, i }, 1);
	is_i64(object_at(space, 0, 0x1000 * 10), -1, "the oldest are forgotten");
	is_i64(object_at(space, 0, 0x1000 * 11), 10, "not more of them than is needed");
	is_i64(resolver_set_mappings(space, 5, many, 0), 0, "one that is older than all");
	is_i64(object_at(space, 0, 0x1000 * 11), -1, "takes the place of the oldest");
	for (uint32_t i = 0; i < MOST + 1; i++)
		many[i] = (struct mapping){ 0x1000UL * i, 0x1000UL * (i + 1), 0, 1 };
	is_i64(resolver_set_mappings(space, 1000, many, MOST + 1), -E2BIG, "too many");
	is_i64(object_at(space, 0, 0x1000 * 20), 19, "all is as before");
	is_i64(resolver_set_mappings(space, 1000, many, MOST), 0, "as many as may be");
	is_i64(object_at(space, 0, 0x1000 * 20), 1, "nothing else is kept");
	free(many);
	resolver_free(space);
}

/* The same rules without any search. */
#define TIMES 12
#define ADDRESSES 6
static int8_t grid[TIMES][ADDRESSES];

/* Adds a time to the set, unless it is the same as the one before; then the next one
 * is not needed if it is the same. */
static void grid_set(uint64_t *set, uint64_t t, const int8_t *row)
{
	uint64_t before = *set & ((2UL << t) - 1), after = *set & ~((2UL << t) - 1);
	int next = after ? __builtin_ctzl(after) : -1;

	if (before && !memcmp(grid[63 - __builtin_clzl(before)], row, ADDRESSES))
		return;
	memcpy(grid[t], row, ADDRESSES);
	*set |= 1UL << t;
	if (next >= 0 && !memcmp(grid[next], row, ADDRESSES))
		*set &= ~(1UL << next);
}

static int64_t grid_find(uint64_t set, uint64_t t, uint64_t address)
{
	int64_t at = (int64_t)t;

	while (at > 0 && !(set >> at & 1))
		at--;
	for (int64_t i = at; i < TIMES; i++) {
		if (set >> i & 1 && grid[i][address] >= 0)
			return grid[i][address];
	}
	for (int64_t i = at - 1; i >= 0; i--) {
		if (set >> i & 1 && grid[i][address] >= 0)
			return grid[i][address];
	}
	return -1;
}

TEST(random)
{
	unsigned long wrong = 0, found = 0;

	for (unsigned int round = 0; round < 300; round++) {
		struct resolver *space = resolver_with(8);
		uint64_t set = 0;

		for (unsigned int step = 0; step < 20; step++) {
			struct mapping mappings[ADDRESSES];
			uint64_t t = chance(TIMES);
			int8_t row[ADDRESSES];
			size_t n = 0;

			for (uint32_t i = 0; i < ADDRESSES; i++) {
				row[i] = (int8_t)chance(3) - 1;
				if (row[i] >= 0)
					mappings[n++] = (struct mapping){ i + 1UL, i + 2UL, 0,
									  (uint32_t)row[i] };
			}
			grid_set(&set, t, row);
			need(!resolver_set_mappings(space, t, mappings, n));
			for (unsigned int i = 0; i < TIMES * ADDRESSES; i++) {
				int64_t want = grid_find(set, i / ADDRESSES, i % ADDRESSES);

				found += want >= 0;
				wrong += object_at(space, i / ADDRESSES, i % ADDRESSES + 1) != want;
			}
		}
		resolver_free(space);
	}
	ok(found > 10000 && !wrong, "%lu of %lu found, %lu differ", found, 300UL * 20 * 72, wrong);
}

#define PIECES (MOST / 2)

/* Spaces that change all the time, and another one when there is no room left. */
TEST(spaces)
{
	struct mapping *pieces = calloc(PIECES, sizeof(*pieces)), late = { 0x7000, 0x8000, 0, 0 };
	struct resolver *resolver = resolver_with(1);

	need(pieces);
	for (uint64_t t = 0; t < 3; t++) {
		for (size_t i = 0; i < PIECES; i++)
			pieces[i] = (struct mapping){ (2 * i + 8) << 12, (2 * i + 9) << 12, t, 0 };
		for (uint32_t space = 0; space < 4; space++)
			need(!resolver_choose(resolver, space, false) &&
			     !resolver_set_mappings(resolver, 10 * t, pieces, PIECES));
	}
	is_i64(resolver_choose(resolver, 4, false), 0, "a new one");
	is_i64(resolver_set_mappings(resolver, 10, &late, 1), 0, "finds room");
	is_i64(object_at(resolver, 10, 0x7209), 0, "and is known");
	for (uint32_t space = 0; space < 4; space++) {
		resolver_choose(resolver, space, false);
		is_i64(object_at(resolver, 20, pieces[PIECES - 1].start), 0,
		       "what others have now stays");
	}
	resolver_choose(resolver, 4, false);
	is_i64(resolver_set_mappings(resolver, 20, pieces, PIECES), 0, "a large one does, too");
	for (uint32_t space = 5; space < 8; space++)
		need(!resolver_choose(resolver, space, false) &&
		     !resolver_set_mappings(resolver, 20, pieces, PIECES));
	is_i64(resolver_choose(resolver, 8, false), 0, "when all have nothing but what they have");
	is_i64(resolver_set_mappings(resolver, 20, &late, 1), -E2BIG, "there is none");
	is_i64(resolver_choose(resolver, 0, true), 0, "until one");
	is_i64(resolver_choose(resolver, 8, false), 0, "begins again");
	is_i64(resolver_set_mappings(resolver, 20, &late, 1), 0, "then there is");
	resolver_free(resolver);
	free(pieces);
}

/* Objects have the next number each, once. */
TEST(numbers)
{
	struct resolver *resolver = resolver_with(2);
	const struct mapping mapping = { 0x7000, 0x8000, 0, 77 };

	is_i64(resolver_add_object(resolver, 3, -1, "x"), -EINVAL, "a number too far");
	is_i64(resolver_add_object(resolver, 1, -1, "x"), -EINVAL, "one again");
	resolver_set_mappings(resolver, 300, &mapping, 1);
	is_i64(object_at(resolver, 300, 0x7209), -1, "an object that was never added");
	resolver_free(resolver);
}

/* --- Code made at run time --- */

#define CODE_ADDRESSES 20000
#define LONGEST 20U
#define CODE_PIECES 9000 /* more than are kept apart as recent */

static size_t capacity;
static int file_make(const void *bytes, size_t size)
{
	int fd = memfd_create("jit", MFD_CLOEXEC);

	need(fd >= 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size);
	return fd;
}

static void file_add(int fd, const char *text)
{
	need(pwrite(fd, text, strlen(text), lseek(fd, 0, SEEK_END)) == (ssize_t)strlen(text));
}

/* A map of one file, and room for so many bytes. */
static struct jit_map *map_of(enum jit_file kind, int fd, size_t bytes)
{
	struct jit_map *map;

	capacity = bytes;
	map = jit_map_new(&capacity);
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
static void owners_put(int owners[CODE_ADDRESSES], int piece, uint32_t start, uint32_t size)
{
	for (uint32_t i = start; i < start + size; i++) {
		int other = owners[i];

		for (uint32_t j = i > LONGEST ? i - LONGEST : 0; other && j < CODE_ADDRESSES; j++) {
			owners[j] = owners[j] == other ? 0 : owners[j];
			if (j == i + LONGEST)
				break;
		}
	}
	for (uint32_t i = start; i < start + size; i++)
		owners[i] = piece;
}

static unsigned int wrong_names(const struct jit_map *map, const int owners[CODE_ADDRESSES])
{
	unsigned int wrong = 0;
	char want[16];

	for (uint32_t i = 0; i < CODE_ADDRESSES; i++) {
		const char *name = name_at(map, i);

		snprintf(want, sizeof(want), "f %d", owners[i]);
		wrong += owners[i] ? !name || strcmp(name, want) != 0 : name != NULL;
	}
	return wrong;
}

TEST(pieces)
{
	static int owners[CODE_ADDRESSES];
	struct jit_map *map;
	unsigned int wrong = 0;
	char line[64];
	int fd = file_make("", 0);

	map = map_of(JIT_PERF_MAP, fd, 64 << 20);
	for (int piece = 1; piece <= CODE_PIECES; piece++) {
		uint32_t size = 1 + (uint32_t)chance(LONGEST);
		uint32_t start = (uint32_t)chance(CODE_ADDRESSES - size);

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
	is_u64(capacity, 64 << 20, "all room is given back");
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
	need(!ftruncate(fd, 0));
	file_add(fd, "10 10 anew\n");
	jit_map_read(map);
	ok(!strcmp(name_at(map, 0x10), "anew") && !name_at(map, 0x50), "a file written anew");
	jit_map_add(map, JIT_PERF_MAP, file_make("90 1 other\n", 11));
	jit_map_read(map);
	ok(name_at(map, 0x90) && !name_at(map, 0x10), "another file");
	jit_map_free(map);
	free(text);
}

TEST(capacity)
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
	is_u64(capacity, 10000, "and the room is given back");
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
		if (capacity != 1 << 20)
			break;
	}
	is_u64(capacity, 1 << 20, "any bytes");
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
	enum { LINES_MOST = 1 << 20, EXTRA = 20000 }; /* ADD_MOST, and more than CHUNK has */
	static char lines[LINES_MOST + EXTRA][6];
	struct jit_map *map;

	/* The same again and again takes its own place, which is quick. */
	for (unsigned int i = 0; i < LINES_MOST + EXTRA; i++)
		memcpy(lines[i], i ? "2 1 f\n" : "1 1 f\n", 6);
	lines[LINES_MOST + EXTRA - 1][0] = '3';
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
	is_u64(capacity, 1 << 20, "all room is given back");
}

void tests_end(void)
{
	jit_map_free(NULL);
}
