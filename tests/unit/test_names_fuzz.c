/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged names of C++ and Rust, and damaged lists of kernel symbols: no crash, and bounded memory.
 * FUZZ_ROUNDS sets how many. Damaged files are fuzz_elf's and fuzz_server's in tests/fuzz. */
#define TAP_OWN_MAIN
#define _GNU_SOURCE
/* No single piece may be larger than what a table of the largest file needs. */
#define TAP_ASAN_OPTIONS "max_allocation_size_mb=160:quarantine_size_mb=16"
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/stack/kernel_symbols.h"
#include "probes/elf/functions.h"
#include "fuzz.h"
#include "tap.h"

#define ROUNDS 20000
#define MOST_MEMORY (512UL << 20)

static int bytes_fd(const void *bytes, size_t size)
{
	int fd = memfd_create("test_names_fuzz", MFD_CLOEXEC);

	need(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	return fd;
}

/* Returns whether the name is still one. */
static bool round_name(void)
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

	strcpy(name, names[chance(COUNT(names))]);
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
	free(text);
	return text != NULL;
}

/* Returns how many of its frames have names. */
static unsigned int round_kernel(void)
{
	char text[] = "ffffffff81000000 T first\nffffffff81000100 t second\n"
		      "ffffffff81000200 W third\t[module]\nffffffffc0000000 t fourth\t[other]\n";
	const uint64_t ips[] = { 0xffffffff81000180, 0xffffffffc0000010, chance(1ULL << 63) };
	const struct stack *stack;
	struct kernel_symbols *symbols;
	char path[64];
	unsigned int named = 0;
	int fd;

	for (uint64_t changes = chance(8); changes; changes--)
		text[chance(sizeof(text) - 1)] = (char)(chance(3) ? "\n\t [] tT0f"[chance(10)]
								  : (int)chance(256));
	fd = bytes_fd(text, sizeof(text) - chance(20));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	need(!kernel_symbols_open(&symbols, path, 2));
	close(fd);
	need(!kernel_symbols_read(symbols));
	stack = kernel_symbols_stack(symbols, ips, 3);
	for (size_t i = 0; stack && i < stack->n; i++)
		named += stack->frames[i].function && *stack->frames[i].function;
	kernel_symbols_close(symbols);
	return named;
}

int main(void)
{
	unsigned long rounds = fuzz_rounds(ROUNDS), demangled = 0, named = 0;
	struct rusage usage;

	for (unsigned long round = 0; round < rounds; round++) {
		if (round % 8)
			demangled += round_name();
		else
			named += round_kernel();
	}
	ok(demangled > rounds / 40, "%lu names are still demangled", demangled);
	ok(named > rounds / 20, "%lu addresses of the kernel still have names", named);
	getrusage(RUSAGE_SELF, &usage);
	ok((uint64_t)usage.ru_maxrss * 1024 < MOST_MEMORY, "memory is bounded: %ld KiB",
	   usage.ru_maxrss);
	return done_testing();
}
