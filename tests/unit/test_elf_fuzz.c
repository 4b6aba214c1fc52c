/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged ELF files through everything that reads them: no crash, and bounded
 * memory and time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "probes/elf/debug_file.h"
#include "probes/elf/functions.h"
#include "probes/elf/symbols.h"
#include "probes/elf/usdt.h"
#include "probes/return_danger.h"
#include "elf_fuzz.h"
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

struct seen {
	unsigned long opened, sites, functions, variables, unpacked, throwing;
};

static int see_site(void *context, const struct usdt_site *site)
{
	struct seen *seen = context;

	seen->sites += strlen(site->provider) + strlen(site->name) > 0;
	return 0;
}

static int see_data(void *context, const struct symbol *symbol)
{
	struct seen *seen = context;

	seen->variables += strlen(symbol->name) > 0;
	return 0;
}

/* Everything that the program does with an ELF file. */
static void read_all(struct seen *seen, void *bytes, size_t size)
{
	static const char *const names[] = { "function_3", "f*n_1?", "*" };
	struct names_closest closest;
	struct functions functions;
	struct elf_file *file, *debug;
	uint64_t start, end, bias;
	char soname[64];
	int fd;

	if (elf_file_open_image(&file, bytes, size))
		return;
	seen->opened++;
	elf_file_soname(file, soname, sizeof(soname));
	elf_file_code(file, &start, &end);
	if (elf_file_bias(file, 0x7f0000000000, 0, PF_X, &bias))
		elf_file_has(file, 0x7f0000000000 - bias, PF_R);
	seen->throwing += file_has_exceptions(file) && !file_is_go(file);
	usdt_each(file, see_site, seen);
	symbols_each_data(file, 0, "/nonexistent/program", see_data, seen);
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

static void test_seeds(void)
{
	for (size_t i = 0; i < 4; i++) {
		struct seen seen = { .opened = 0 };

		if (!seeds[i].size)
			continue;
		read_all(&seen, image_copy(&seeds[i]), seeds[i].size);
		ok(seen.opened && seen.sites == 8 && seen.variables && seen.functions > 20 &&
			   seen.unpacked == (i % 2),
		   "file %zu is read whole before it is damaged", i);
	}
}

static void test_damaged(void)
{
	struct seen seen = { .opened = 0 };
	unsigned long rounds = fuzz_rounds(ROUNDS);
	double slowest = 0;
	struct rusage usage;

	for (unsigned long round = 0; round < rounds; round++) {
		const struct image *seed = &seeds[round % 4];
		size_t size = seed->size;
		uint8_t *bytes;
		double start;

		if (!size)
			continue;
		bytes = image_copy(seed);
		mutate(bytes, &size, seed);
		start = cpu_seconds();
		read_all(&seen, bytes, size);
		if (cpu_seconds() - start > slowest)
			slowest = cpu_seconds() - start;
	}
	printf("# %lu opened, %lu sites, %lu functions, %lu unpacked, slowest %.0f ms\n",
	       seen.opened, seen.sites, seen.functions, seen.unpacked, slowest * 1000);
	ok(seen.opened > rounds / 4, "many damaged files are not refused at once");
	ok(seen.sites > rounds && seen.functions > rounds, "what is not damaged is still found");
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
