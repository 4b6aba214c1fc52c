/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged files, debug files, names and mappings through the resolver, and damaged
 * lists of kernel symbols: no crash, and bounded memory and time. FUZZ_ROUNDS sets how
 * many. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "probes/elf/demangle.h"
#include "cli/stack/kernel_symbols.h"
#include "cli/stack/resolver.h"
#include "elf_fuzz.h"
#include "tap.h"

#define ROUNDS 42000
#define MOST_MEMORY (512UL << 20)
#define MOST_TIME 2.0 /* seconds for one round, of which less than 1 ms is usual */

/* No single piece may be larger than what a table of the largest file needs. */
const char *__asan_default_options(void)
{
	return "max_allocation_size_mb=160:quarantine_size_mb=16";
}

static struct image seeds[2], debug;

struct seen {
	unsigned long named, asked, demangled, mapped, kernel;
	double slowest;
};

static void seen_time(struct seen *seen, double start)
{
	if (cpu_seconds() - start > seen->slowest)
		seen->slowest = cpu_seconds() - start;
}

static int bytes_fd(const void *bytes, size_t size)
{
	int fd = memfd_create("test_resolver_fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	return fd;
}

/* Hands out a debug file, which may be damaged, too. */
static int damaged_open(void *context, uint32_t object, const char *path)
{
	struct seen *seen = context;
	size_t size = debug.size;
	uint8_t *bytes;
	int fd;

	(void)object;
	seen->asked += strlen(path) > 0;
	if (chance(2))
		return -ENOENT;
	bytes = image_copy(&debug);
	if (chance(4))
		mutate(bytes, &size, &debug);
	fd = bytes_fd(bytes, size);
	free(bytes);
	return fd;
}

static void round_file(struct seen *seen, const struct image *seed)
{
	const struct mapping mapping = { 0x10000, 0x20000, 0, 0 };
	struct resolver *resolver = resolver_new(damaged_open, seen);
	struct stack_copy copy = { .start = 0x1000 };
	static struct unwound unwound;
	uint8_t *bytes = image_copy(seed);
	struct resolved_frame frame;
	size_t size = seed->size;

	mutate(bytes, &size, seed);
	if (!resolver || resolver_add_object(resolver, 0, bytes_fd(bytes, size), "/d/program"))
		abort();
	resolver_set_mappings(resolver, 1, &mapping, 1);
	for (unsigned int i = 0; i < 8; i++) {
		uint64_t ip = mapping.start + (i ? TEXT_OFFSET + chance(TEXT_SIZE) : chance(65536));

		resolver_name(resolver, chance(3), ip, chance(2), &frame);
		seen->named += frame.function && *frame.function;
		copy.regs[16] = ip;
	}
	resolver_unwind(resolver, 1, &copy, &unwound);
	resolver_free(resolver);
	free(bytes);
}

static void round_name(struct seen *seen)
{
	static const char *const names[] = {
		"_ZNSt6vectorISt4pairIiSsESaIS1_EE17_M_realloc_insertIJRiRKSsEEEvN9__gnu_cxx17__"
		"normal_iteratorIPS1_S3_EEDpOT_",
		"_ZNK5boost6detail8functionIFvRKSsS3_ELm12EEclEv.isra.0.cold",
		"_ZZN3fooIXadL_Z3barvEEE3bazEvENKUlvE_clEv",
		"_ZN4core3ptr85drop_in_place$LT$std..rt..lang_start$LT$$LP$$RP$$GT$"
		"17h0123456789abcdefE",
		"_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantE",
		"_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
		"_Z1fIiJdEEvDTclL_Z1gEspcvT0_EET_",
		"_GLOBAL__sub_I__ZN3foo3barE",
		"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	};
	static const char letters[] = "IEJST_tNKZXLDpPRFvi0123456789.$BCMsXYuU";
	char name[4096], *text;
	size_t length, shift;

	strcpy(name, names[chance(sizeof(names) / sizeof(*names))]);
	length = strlen(name);
	for (uint64_t changes = 1 + chance(chance(8) ? 2 : 24); changes; changes--) {
		size_t at = 2 + chance(length - 2), n = 1 + chance(length - at);

		switch (chance(4)) {
		case 0: /* a part of it again: what refers to others multiplies */
			shift = length + n < sizeof(name) ? n : 0;
			memmove(name + at + shift, name + at, length - at + 1);
			length += shift;
			break;
		case 1:
			memmove(name + at, name + at + 1, length - at);
			length -= length > 3;
			break;
		case 2:
			name[at] = letters[chance(sizeof(letters) - 1)];
			break;
		default:
			name[at] = (char)(1 + chance(255));
		}
		name[length] = '\0';
	}
	text = demangle(name);
	if (text && strlen(text) > DEMANGLED_MAX)
		abort();
	seen->demangled += text != NULL;
	free(text);
}

static void round_mappings(struct seen *seen)
{
	struct space *space = space_new();
	struct mapping mappings[8];

	if (!space)
		abort();
	for (unsigned int i = 0; i < 8; i++) {
		size_t n = chance(9);

		for (size_t j = 0; j < n; j++) {
			uint64_t start = chance(4) ? j * 0x1000 : edge(0x5000);

			mappings[j] = (struct mapping){ start, start + edge(0x1000), edge(0x1000),
							(uint32_t)chance(3) };
		}
		if (space_set(space, edge(10), mappings, n))
			abort();
		for (unsigned int j = 0; j < 8; j++) {
			uint64_t address = chance(2) ? edge(0x4000) : chance(0x8000);
			const struct mapping *mapping = space_find(space, edge(10), address);

			if (mapping && (address < mapping->start || address >= mapping->end))
				abort();
			seen->mapped += mapping != NULL;
		}
	}
	space_free(space);
}

static void round_kernel(struct seen *seen)
{
	char text[] = "ffffffff81000000 T first\nffffffff81000100 t second\n"
		      "ffffffff81000200 W third\t[module]\nffffffffc0000000 t fourth\t[other]\n";
	const uint64_t ips[] = { 0xffffffff81000180, 0xffffffffc0000010, edge(100) };
	const struct stack *stack;
	struct kernel_symbols *symbols;
	char path[64];
	int fd, err;

	for (uint64_t changes = chance(8); changes; changes--)
		text[chance(sizeof(text) - 1)] = (char)(chance(3) ? "\n\t [] tT0f"[chance(10)]
								  : (int)chance(256));
	fd = bytes_fd(text, sizeof(text) - chance(20));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = kernel_symbols_open(&symbols, path, 2);
	close(fd);
	if (err)
		return;
	stack = kernel_symbols_stack(symbols, ips, 3);
	for (size_t i = 0; stack && i < stack->n; i++)
		seen->kernel += stack->frames[i].function && *stack->frames[i].function;
	kernel_symbols_close(symbols);
}

static void test_rounds(void)
{
	unsigned long rounds = fuzz_rounds(ROUNDS);
	struct seen seen = { .named = 0 };
	struct rusage usage;

	for (unsigned long round = 0; round < rounds; round++) {
		double start = cpu_seconds();

		if (round % 16 < 5)
			round_file(&seen, &seeds[round % 2]);
		else if (round % 16 < 13)
			round_name(&seen);
		else if (round % 16 < 15)
			round_mappings(&seen);
		else
			round_kernel(&seen);
		seen_time(&seen, start);
	}
	printf("# %lu named, %lu debug files asked for, %lu demangled, %lu mapped, %lu of the "
	       "kernel, slowest %.0f ms\n",
	       seen.named, seen.asked, seen.demangled, seen.mapped, seen.kernel,
	       seen.slowest * 1000);
	ok(seen.named > rounds / 4, "what is not damaged is still named");
	ok(seen.asked > rounds / 100, "debug files are read");
	ok(seen.demangled > rounds / 40, "names are still demangled");
	ok(seen.mapped > rounds / 20 && seen.kernel > rounds / 20, "what is mapped is found");
	ok(seen.slowest < MOST_TIME, "none takes long");
	getrusage(RUSAGE_SELF, &usage);
	ok((uint64_t)usage.ru_maxrss * 1024 < MOST_MEMORY, "memory is bounded: %ld KiB",
	   usage.ru_maxrss);
}

int main(void)
{
	static struct image_symbols table;
	static const uint8_t id[20] = { 1, 2, 3 };
	struct image_notes notes = { .is_64 = true };

	seed_make(&seeds[0], true, false);
	/* Its symbols are in the debug file. */
	notes_add(&notes, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	image_init(&seeds[1], true);
	image_section(&seeds[1], ".note.gnu.build-id", SHT_NOTE, notes.bytes, notes.size);
	image_section(&seeds[1], ".gnu_debuglink", SHT_PROGBITS, "no.such.file\0\0\0\0\1\2\3\4",
		      20);
	image_finish(&seeds[1]);
	table_make(&table, true);
	image_init(&debug, true);
	image_section(&debug, ".note.gnu.build-id", SHT_NOTE, notes.bytes, notes.size);
	image_symbols(&debug, &table, SHT_SYMTAB);
	image_finish(&debug);
	test_rounds();
	return done_testing();
}
