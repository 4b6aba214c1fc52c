/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged ELF files through everything that reads them: no crash, and bounded
 * memory and time. */
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "../../probes/debug_file.h"
#include "../../probes/functions.h"
#include "../../probes/usdt.h"
#include "elf_image.h"
#include "tap.h"

#define ROUNDS 24000
#define MOST_MEMORY (384UL << 20)
#define MOST_TIME 1.0 /* seconds for one file, of which a few ms are usual */

/* No single piece may be larger than what a table of the largest file needs. */
const char *__asan_default_options(void)
{
	return "max_allocation_size_mb=160:quarantine_size_mb=16";
}

static struct image seeds[4];
static struct image_symbols table;
static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t chance(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static void table_make(bool is_64)
{
	char name[64];

	symbols_init(&table, is_64);
	for (unsigned int i = 0; i < 24; i++) {
		sprintf(name, "function_%u%s", i, i % 5 ? "" : "@@VERSION");
		symbols_add(&table, name, TEXT_ADDRESS + 8 * i, 8,
			    i % 7 ? STT_FUNC : STT_GNU_IFUNC);
	}
}

static void seed_notes(struct image *image)
{
	static const uint8_t id[20] = { 1, 2, 3 };
	struct image_notes notes = { .is_64 = image->is_64 };

	notes_add(&notes, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	image_section(image, ".note.gnu.build-id", SHT_NOTE, notes.bytes, notes.size);
	notes.size = 0;
	for (unsigned int i = 0; i < 8; i++)
		notes_add_site(&notes, TEXT_ADDRESS + 4 * i, 0x403000, i % 2 ? DATA_ADDRESS : 0,
			       "provider", "probe");
	image_section(image, ".note.stapsdt", SHT_NOTE, notes.bytes, notes.size);
	image_section(image, ".stapsdt.base", SHT_PROGBITS, "", 1)->sh_addr = 0x403000;
}

/* With all symbols; then stripped, with packed ones. Without a checksum what is
 * wrong with them is not found before they are read. */
static void seed_make(struct image *image, bool is_64, bool stripped)
{
	static struct image inner;
	uint16_t versions[25] = { 0 };
	uint8_t packed[16384];
	size_t size = 0;
	uint32_t index;

	table_make(is_64);
	image_init(image, is_64);
	seed_notes(image);
	index = image_symbols(image, &table, SHT_DYNSYM);
	image_section(image, ".gnu.version", SHT_GNU_versym, versions, sizeof(versions))->sh_link =
		index;
	image_section(image, ".gnu_debuglink", SHT_PROGBITS, "no.such.file\0\0\0\0\1\2\3\4", 20);
	if (stripped) {
		image_init(&inner, is_64);
		image_symbols(&inner, &table, SHT_SYMTAB);
		image_finish(&inner);
		if (lzma_easy_buffer_encode(0, LZMA_CHECK_NONE, NULL, inner.bytes, inner.size,
					    packed, &size, sizeof(packed)) != LZMA_OK)
			abort();
		image_section(image, ".gnu_debugdata", SHT_PROGBITS, packed, size);
	} else {
		image_symbols(image, &table, SHT_SYMTAB);
	}
	image_finish(image);
}

/* A number that is at the edge of something. */
static uint64_t edge(size_t size)
{
	const uint64_t edges[] = {
		0,
		1,
		2,
		3,
		0x7f,
		0xff,
		0x7fff,
		0xffff,
		0x7fffffff,
		0x80000000,
		0xffffffff,
		1ULL << 32,
		INT64_MAX,
		1ULL << 63,
		UINT64_MAX,
		size,
		size - 1,
		size + 1,
		UINT64_MAX - size,
		TEXT_ADDRESS,
		DATA_ADDRESS,
		SHT_SYMTAB,
		SHT_DYNSYM,
		SHT_NOTE,
		SHT_STRTAB,
		24,
		16,
	};

	return edges[chance(sizeof(edges) / sizeof(*edges))] + (chance(4) ? 0 : chance(16));
}

/* Half of the changes are made to the headers, which are most of what can be wrong. */
static size_t place(const struct image *image, size_t size)
{
	size_t headers = image->n_sections * (image->is_64 ? 64 : 40);

	switch (chance(4)) {
	case 0:
		return chance(0x120);
	case 1:
		return size > headers ? size - headers + chance(headers) : chance(size);
	default:
		return chance(size);
	}
}

static void mutate(uint8_t *bytes, size_t *size, const struct image *image)
{
	static const size_t widths[] = { 1, 2, 4, 8 };
	uint64_t value;

	if (!chance(16))
		*size = chance(*size) + 1;
	for (uint64_t changes = 1 + chance(6); changes; changes--) {
		size_t width = widths[chance(4)], at = place(image, *size);

		if (at + width > *size)
			continue;
		if (chance(3)) {
			at -= at % width;
			value = edge(*size);
			memcpy(bytes + at, &value, width);
		} else {
			bytes[at] ^= (uint8_t)(1U << chance(8));
		}
	}
}

struct seen {
	unsigned long opened, sites, functions, unpacked;
};

static int see_site(void *context, const struct usdt_site *site)
{
	struct seen *seen = context;

	seen->sites += strlen(site->provider) + strlen(site->name) > 0;
	return 0;
}

/* Everything that the program does with an ELF file. */
static void read_all(struct seen *seen, void *bytes, size_t size)
{
	static const char *const names[] = { "function_3", "f*n_1?", "*" };
	struct names_closest closest;
	struct functions functions;
	struct elf_file *file, *debug;
	uint64_t start, end;
	char soname[64];
	int fd;

	if (elf_file_open_image(&file, bytes, size))
		return;
	seen->opened++;
	elf_file_soname(file, soname, sizeof(soname));
	elf_file_code(file, &start, &end);
	usdt_each(file, see_site, seen);
	names_closest_init(&closest, "functoin_3");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		functions_find(&functions, file, 0, i ? NULL : "/nonexistent/program", names[i],
			       &closest);
		seen->functions += functions.n;
		functions_clear(&functions);
	}
	names_closest_clear(&closest);
	if (!debug_file_unpack(&debug, file)) {
		seen->unpacked++;
		elf_file_close(debug);
	}
	if (!debug_file_open(&debug, &fd, file, 0, "/nonexistent/program"))
		abort();
	elf_file_close(file);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void test_seeds(void)
{
	for (size_t i = 0; i < 4; i++) {
		struct seen seen = { .opened = 0 };

		if (!seeds[i].size)
			continue;
		read_all(&seen, image_copy(&seeds[i]), seeds[i].size);
		ok(seen.opened && seen.sites == 8 && seen.functions > 20 &&
			   seen.unpacked == (i % 2),
		   "file %zu is read whole before it is damaged", i);
	}
}

static void test_damaged(void)
{
	struct seen seen = { .opened = 0 };
	double slowest = 0;
	struct rusage usage;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		const struct image *seed = &seeds[round % 4];
		size_t size = seed->size;
		uint8_t *bytes;
		double start;

		if (!size)
			continue;
		bytes = image_copy(seed);
		mutate(bytes, &size, seed);
		start = now();
		read_all(&seen, bytes, size);
		if (now() - start > slowest)
			slowest = now() - start;
	}
	printf("# %lu opened, %lu sites, %lu functions, %lu unpacked, slowest %.0f ms\n",
	       seen.opened, seen.sites, seen.functions, seen.unpacked, slowest * 1000);
	ok(seen.opened > ROUNDS / 4, "many damaged files are not refused at once");
	ok(seen.sites > ROUNDS && seen.functions > ROUNDS, "what is not damaged is still found");
	ok(slowest < MOST_TIME, "none takes long");
	getrusage(RUSAGE_SELF, &usage);
	ok((uint64_t)usage.ru_maxrss * 1024 < MOST_MEMORY, "memory is bounded: %ld KiB",
	   usage.ru_maxrss);
}

int main(void)
{
	seed_make(&seeds[0], true, false);
	seed_make(&seeds[1], true, true);
	if (IMAGE_MACHINE_32 != EM_NONE) {
		seed_make(&seeds[2], false, false);
		seed_make(&seeds[3], false, true);
	}
	test_seeds();
	test_damaged();
	return done_testing();
}
