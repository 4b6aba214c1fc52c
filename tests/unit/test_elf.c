/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files made by hand: their headers, addresses and symbols, debug files that are packed into
 * them or lie beside them, and USDT notes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/elf/functions.h"
#include "probes/elf/symbols.h"
#include "probes/elf/usdt.h"
#include "elf_image.h"
#include "tap.h"

#define NONE UINT64_MAX
#define UNPACKED_LIMIT (128UL << 20)

static struct image image, inner;
static struct image_symbols table;

/* What was visited, in words. */
struct seen {
	char text[2048];
	unsigned int calls, stop_at;
};

static int seen_next(struct seen *seen)
{
	return ++seen->calls == seen->stop_at ? 42 : 0;
}

static void add_build_id(struct image *to, uint8_t last)
{
	const uint8_t id[] = { 0xab, 0xcd, 3, 4, 5, 6, 7, last };
	struct image_notes notes = { .is_64 = to->is_64 };

	notes_add(&notes, "GNU", NT_GNU_ABI_TAG, "abcdefg", 7);
	notes_add(&notes, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	image_section(to, ".note.gnu.build-id", SHT_NOTE, notes.bytes, notes.size);
}

/* --- Headers --- */

static void test_addresses(const struct elf_file *file, int bits)
{
	static const struct {
		uint64_t address, offset;
		unsigned int flags;
	} offsets[] = {
		{ TEXT_ADDRESS + 0x10, TEXT_OFFSET + 0x10, PF_X },
		{ DATA_ADDRESS + 0x10, DATA_OFFSET + 0x10, PF_W },
		{ TEXT_ADDRESS + TEXT_SIZE - 1, TEXT_OFFSET + TEXT_SIZE - 1, PF_X },
		{ TEXT_ADDRESS + TEXT_SIZE, NONE, PF_X },
		{ TEXT_ADDRESS - 1, NONE, PF_X },
		{ DATA_ADDRESS, NONE, PF_X },
		{ DATA_ADDRESS + DATA_SIZE, NONE, PF_W }, /* the file does not have it */
	}, addresses[] = {
		{ TEXT_ADDRESS + 0x10, TEXT_OFFSET + 0x10, PF_X },
		{ DATA_ADDRESS + DATA_SIZE - 1, DATA_OFFSET + DATA_SIZE - 1, 0 },
		{ NONE, TEXT_OFFSET - 1, 0 },
		{ NONE, DATA_OFFSET + DATA_SIZE, 0 },
		{ NONE, DATA_OFFSET, PF_X },
	};
	uint64_t got;

	for (size_t i = 0; i < COUNT(offsets); i++)
		is_u64(elf_file_offset(file, offsets[i].address, offsets[i].flags, &got) ? got
											 : NONE,
		       offsets[i].offset, "%d: the offset of %lx", bits, offsets[i].address);
	for (size_t i = 0; i < COUNT(addresses); i++)
		is_u64(elf_file_address(file, addresses[i].offset, addresses[i].flags, &got) ? got
											     : NONE,
		       addresses[i].address, "%d: the address of %lx", bits, addresses[i].offset);
	ok(elf_file_bias(file, 0x7f0000401000, 0, PF_X, &got) && got == 0x7f0000000000,
	   "%d: how far it is mapped from its addresses", bits);
	ok(elf_file_bias(file, 0x400123, 0x123, PF_W, &got) &&
		   got == 0x400000 - (DATA_ADDRESS & ~0xfffUL),
	   "%d: also below them, and in front of a segment", bits);
	ok(!elf_file_bias(file, 0, DATA_OFFSET + DATA_SIZE, 0, &got), "%d: no segment", bits);
	ok(elf_file_has(file, DATA_ADDRESS + 2 * DATA_SIZE - 1, PF_W), "%d: zeros behind", bits);
	ok(!elf_file_has(file, DATA_ADDRESS + 2 * DATA_SIZE, 0) &&
		   !elf_file_has(file, DATA_ADDRESS, PF_X) && !elf_file_has(file, 0, 0),
	   "%d: what it does not have", bits);
}

static void test_headers(bool is_64)
{
	int bits = is_64 ? 64 : 32;
	struct elf_file *file;
	char soname[64];
	uint8_t id[64];

	image_init(&image, is_64);
	add_build_id(&image, 8);
	image_finish(&image);
	file = image_open(&image);
	ok(elf_file_is_64(file) == is_64, "%d: the class", bits);
	is_str(elf_file_soname(file, soname, sizeof(soname)) ? soname : NULL, IMAGE_SONAME,
	       "%d: the soname", bits);
	ok(!elf_file_soname(file, soname, sizeof(IMAGE_SONAME) - 1), "%d: one that does not fit",
	   bits);
	ok(elf_file_build_id(file, id, sizeof(id)) == 8 && !memcmp(id, "\xab\xcd\3\4\5\6\7\x8", 8),
	   "%d: the build ID", bits);
	is_u64(elf_file_build_id(file, id, 7), 0, "%d: a build ID that does not fit", bits);
	test_addresses(file, bits);
	elf_file_close(file);
}

static void opens(int want, const char *what)
{
	struct elf_file *file;
	int err = elf_file_open_image(&file, image_copy(&image), image.size);

	is_i64(err, want, "%s", what);
	if (!err)
		elf_file_close(file);
}

#define FIELD(name) offsetof(Elf64_Ehdr, name), sizeof(((Elf64_Ehdr *)0)->name)

TEST(refused)
{
	static const struct {
		const char *what;
		int want;
		size_t at, size;
		uint64_t value;
	} cases[] = {
		{ "no magic", -ENOEXEC, 1, 1, 'e' },
		{ "another machine", -ENOTSUP, FIELD(e_machine), EM_S390 },
		{ "an object that is not linked", -ENOTSUP, FIELD(e_type), ET_REL },
		{ "a core", -ENOTSUP, FIELD(e_type), ET_CORE },
		{ "a program", 0, FIELD(e_type), ET_EXEC },
		{ "the other byte order", -ENOTSUP, EI_DATA, 1, ELFDATA2MSB },
		{ "wrong size of a segment's header", -EBADMSG, FIELD(e_phentsize), 57 },
		{ "too many segments", -E2BIG, FIELD(e_phnum), 0xfffe },
		{ "segments that wrap around", -EBADMSG, FIELD(e_phoff), UINT64_MAX - 60 },
		{ "sections that wrap around", -EBADMSG, FIELD(e_shoff), UINT64_MAX - 10 },
		{ "no sections", 0, FIELD(e_shoff), 0 },
	};
	Elf64_Ehdr *header = (Elf64_Ehdr *)image.bytes;
	struct elf_file *file;
	Elf64_Shdr *first;
	size_t whole;

	image_init(&image, true);
	image_section(&image, ".here", SHT_PROGBITS, "x", 1);
	image_finish(&image);
	for (size_t i = 0; i < COUNT(cases); i++) {
		Elf64_Ehdr sound = *header;

		memcpy(image.bytes + cases[i].at, &cases[i].value, cases[i].size);
		opens(cases[i].want, cases[i].what);
		*header = sound;
	}
	whole = image.size;
	image.size = 3;
	opens(-ENOEXEC, "too short for a magic");
	image.size = 20;
	opens(-EBADMSG, "cut inside the header");
	image.size = whole - 1;
	opens(-EBADMSG, "cut inside the section headers");
	image.size = whole;
	/* The number of sections, and the index of their names, where they need more bits. */
	first = (Elf64_Shdr *)(image.bytes + header->e_shoff);
	first->sh_size = header->e_shnum;
	first->sh_link = header->e_shstrndx;
	header->e_shnum = 0;
	header->e_shstrndx = SHN_XINDEX;
	file = image_open(&image);
	ok(elf_file_section(file, NULL, SHT_PROGBITS, ".here"), "extended numbers");
	elf_file_close(file);
	first->sh_size = 1ULL << 40;
	opens(-E2BIG, "too many sections");
}

/* --- Symbols --- */

static int symbol_see(void *context, const struct symbol *symbol)
{
	struct seen *seen = context;

	sprintf(seen->text + strlen(seen->text), "%s%s%s=%lx/%lu ", symbol->name,
		symbol->resolver ? "!" : "", symbol->superseded ? "-" : "",
		symbol->address - TEXT_ADDRESS, symbol->size);
	return seen_next(seen);
}

/* The same by the places of names; which version that is they do not tell. */
static int location_see(void *context, const struct symbol *symbol)
{
	struct symbol named = *symbol;
	char name[SYMBOL_NAME_MAX + 1];

	named.name = name;
	return symbol_name_read(&symbol->location, name) ? 0 : symbol_see(context, &named);
}

static void locations_are(const struct elf_file *file, const char *want, int result,
			  const char *what)
{
	struct seen seen = { .stop_at = 0 };
	char text[sizeof(seen.text)], *end = text;

	for (; *want; want++)
		if (strncmp(want, "-=", 2) != 0)
			*end++ = *want;
	*end = '\0';
	is_i64(symbols_each_location(file, NULL, NULL, location_see, &seen), result, "%s: places",
	       what);
	is_str(seen.text, text, "%s: which are found by places", what);
}

/* The symbols of the image, which is finished here. */
static void symbols_are(const char *want, int result, unsigned int stop_at, const char *what)
{
	struct seen seen = { .stop_at = stop_at };
	struct elf_file *file;

	image_finish(&image);
	file = image_open(&image);
	is_i64(symbols_each(file, 0, NULL, symbol_see, &seen), result, "%s", what);
	is_str(seen.text, want, "%s: which are found", what);
	if (!stop_at)
		locations_are(file, want, result, what);
	elf_file_close(file);
}

static void test_symbols(bool is_64)
{
	uint32_t long_name;

	symbols_init(&table, is_64);
	symbols_add(&table, "first", TEXT_ADDRESS, 16, STT_FUNC);
	symbols_add(&table, "variable", TEXT_ADDRESS, 4, STT_OBJECT);
	symbols_add(&table, "outside", TEXT_ADDRESS + TEXT_SIZE, 4, STT_FUNC);
	symbols_add(&table, "data", DATA_ADDRESS, 4, STT_FUNC);
	long_name = symbols_add(&table, "very_long@VERSION_1", TEXT_ADDRESS + 32, 5, STT_FUNC);
	symbols_add_at(&table, long_name + 5, TEXT_ADDRESS + 64, 0, STT_FUNC, 1);
	symbols_add_at(&table, long_name, TEXT_ADDRESS + 32, 5, STT_FUNC, SHN_UNDEF);
	symbols_add_at(&table, 0xfffffff0, TEXT_ADDRESS, 5, STT_FUNC, 1);
	symbols_add_at(&table, 0, TEXT_ADDRESS, 5, STT_FUNC, 1);
	symbols_add(&table, "current@@VERSION_2", TEXT_ADDRESS + 96, 1, STT_FUNC);
	symbols_add(&table, "choice", TEXT_ADDRESS + 128, 1, STT_GNU_IFUNC);
	symbols_add(&table, "@odd", TEXT_ADDRESS + 129, 1, STT_FUNC);
	for (unsigned int stop_at = 0; stop_at < 3; stop_at += 2) {
		image_init(&image, is_64);
		image_symbols(&image, &table, SHT_SYMTAB);
		symbols_are(stop_at ? "first=0/16 very_long-=20/5 "
				    : "first=0/16 very_long-=20/5 long-=40/0 current=60/1 "
				      "choice!=80/1 @odd=81/1 ",
			    stop_at ? 42 : 0, stop_at, is_64 ? "symbols" : "symbols of 32 bits");
	}
}

/* Which of two dynamic symbols is the default version is in a table of its own. */
TEST(versions)
{
	uint16_t versions[] = { 0, 2 | 0x8000, 3, 1 };

	symbols_init(&table, true);
	symbols_add(&table, "wait", TEXT_ADDRESS, 16, STT_FUNC);
	symbols_add(&table, "wait", TEXT_ADDRESS + 16, 16, STT_FUNC);
	symbols_add(&table, "other", TEXT_ADDRESS + 32, 16, STT_FUNC);
	for (size_t size = sizeof(versions); size; size -= 4) {
		uint32_t index;

		image_init(&image, true);
		index = image_symbols(&image, &table, SHT_DYNSYM);
		image_section(&image, ".gnu.version", SHT_GNU_versym, versions, size)->sh_link =
			index;
		if (size == sizeof(versions))
			symbols_are("wait-=0/16 wait=10/16 other=20/16 ", 0, 0, "versions");
		else
			symbols_are("wait=0/16 wait=10/16 other=20/16 ", 0, 0,
				    "versions that are too few");
	}
}

TEST(functions)
{
	static const struct {
		const char *name, *want; /* and how many resolvers were left out */
	} cases[] = {
		{ "twice", "twice=10 twice=30 0" },
		{ "alias_b", "alias_b=20 0" },
		{ "alias_*", "alias_a=20 0" },
		{ "wait", "wait=50 0" },
		{ "wai*", "wait=40 wait=50 0" },
		{ "gone", "gone=60 0" },
		{ "memcpy", "1" },
		{ "[mt]*", "twice=10 twice=30 1" },
		{ "wait@@NEW", "wait=50 0" },
		{ "wait@NEW", "wait=50 0" },
		{ "wait@OLD", "wait=40 0" },
		{ "wai*@OLD", "wait=40 0" },
		{ "gone@OLD", "gone=60 0" },
		{ "wait@@OLD", "0" },
		{ "twice@OLD", "0" },
		{ "wait@", "0" },
		{ "wai", "0" },
		{ "waits", "0" },
	};
	static const struct {
		const char *name;
		uint64_t at;
	} names[] = {
		{ "twice", 48 },    { "twice", 16 },     { "alias_a", 32 },  { "alias_b", 32 },
		{ "wait@OLD", 64 }, { "wait@@NEW", 80 }, { "gone@OLD", 96 },
	};
	struct elf_file *file;

	symbols_init(&table, true);
	for (size_t i = 0; i < COUNT(names); i++)
		symbols_add(&table, names[i].name, TEXT_ADDRESS + names[i].at, 16, STT_FUNC);
	symbols_add(&table, "memcpy", TEXT_ADDRESS + 112, 16, STT_GNU_IFUNC);
	image_init(&image, true);
	image_symbols(&image, &table, SHT_SYMTAB);
	image_symbols(&image, &table, SHT_DYNSYM);
	image_finish(&image);
	file = image_open(&image);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct functions functions;
		char text[1024] = "";

		need(!functions_find(&functions, file, 0, NULL, cases[i].name, NULL));
		for (size_t j = 0; j < functions.n; j++)
			sprintf(text + strlen(text), "%s=%lx ", functions.all[j].name,
				functions.all[j].address - TEXT_ADDRESS);
		sprintf(text + strlen(text), "%zu", functions.resolvers);
		is_str(text, cases[i].want, "functions called %s", cases[i].name);
		functions_clear(&functions);
	}
	elf_file_close(file);
}

TEST(damaged_symbols)
{
	static const struct {
		const char *what, *want;
		int result;
		uint64_t entry, strings, flags; /* of their sections; 0: as it should be */
		uint32_t link;
	} cases[] = {
		{ "symbols of a wrong size", "", -EBADMSG, .entry = 23 },
		{ "no such table of strings", "", -EBADMSG, .link = 77 },
		{ "strings without an end", "na=0/16 ", 0, .strings = 3 },
		{ "a compressed table", "", 0, .flags = SHF_COMPRESSED },
	};

	symbols_init(&table, true);
	symbols_add(&table, "name", TEXT_ADDRESS, 16, STT_FUNC);
	for (size_t i = 0; i < COUNT(cases); i++) {
		Elf64_Shdr *symbols = &image.sections[1], *strings = &image.sections[2];

		image_init(&image, true);
		image_symbols(&image, &table, SHT_SYMTAB);
		symbols->sh_flags = cases[i].flags;
		if (cases[i].entry)
			symbols->sh_entsize = cases[i].entry;
		if (cases[i].link)
			symbols->sh_link = cases[i].link;
		if (cases[i].strings)
			strings->sh_size = cases[i].strings;
		symbols_are(cases[i].want, cases[i].result, 0, cases[i].what);
	}
}

/* --- Debug files --- */

/* A file with one function, as debug information has it; without a build ID if that is 0. */
static void inner_make(const char *function, uint8_t id)
{
	symbols_init(&table, true);
	symbols_add(&table, function, TEXT_ADDRESS + 8, 16, STT_FUNC);
	image_init(&inner, true);
	if (id)
		add_build_id(&inner, id);
	image_symbols(&inner, &table, SHT_SYMTAB);
	image_finish(&inner);
}

static size_t functions_named(const struct elf_file *file, const char *path, const char *name)
{
	struct functions functions;
	size_t n;

	need(!functions_find(&functions, file, 0, path, name, NULL));
	n = functions.n;
	functions_clear(&functions);
	return n;
}

static struct elf_file *open_packed(const void *data, size_t size)
{
	image_init(&image, true);
	if (data)
		image_section(&image, ".gnu_debugdata", SHT_PROGBITS, data, size);
	image_finish(&image);
	return image_open(&image);
}

static void unpack_is(const void *data, size_t size, int want, const char *what)
{
	struct elf_file *file = open_packed(data, size), *debug = NULL;
	int err = debug_file_unpack(&debug, file);

	is_i64(err, want, "%s", what);
	if (!err)
		elf_file_close(debug);
	elf_file_close(file);
}

static uint8_t packed[65536];

static size_t pack(const void *data, size_t size, uint32_t preset)
{
	size_t length = 0;

	need(lzma_easy_buffer_encode(preset, LZMA_CHECK_CRC64, NULL, data, size, packed, &length,
				     sizeof(packed)) == LZMA_OK);
	return length;
}

/* The format xz has, version 1.2.0, 3.1: a byte of the first block's header says how large the
 * dictionary is, 64 MiB; to pack with such a one takes more memory, and time. */
static void dictionary_is_that_of_xz_9(void)
{
	uint8_t *header = packed + 12, *filter = memmem(header, 32, "\x21\x01", 2);
	size_t checked = header[0] * 4UL;
	uint32_t crc;

	need(filter);
	filter[2] = 28;
	crc = lzma_crc32(header, checked, 0);
	memcpy(header + checked, &crc, sizeof(crc));
}

/* A byte more than may be unpacked. */
static size_t pack_zeros(void)
{
	static const uint8_t zeros[1 << 16];
	lzma_stream stream = { .next_out = packed, .avail_out = sizeof(packed) };

	need(lzma_easy_encoder(&stream, 0, LZMA_CHECK_CRC64) == LZMA_OK);
	while (stream.total_in <= UNPACKED_LIMIT) {
		stream.next_in = zeros;
		stream.avail_in = stream.total_in < UNPACKED_LIMIT ? sizeof(zeros) : 1;
		need(lzma_code(&stream, LZMA_RUN) == LZMA_OK);
	}
	need(lzma_code(&stream, LZMA_FINISH) == LZMA_STREAM_END);
	lzma_end(&stream);
	return stream.total_out;
}

TEST(unpack)
{
	struct elf_file *file;
	size_t size;

	inner_make("packed_function", 0);
	size = pack(inner.bytes, inner.size, 6);
	file = open_packed(packed, size);
	is_u64(functions_named(file, NULL, "packed_function"), 1, "a packed function");
	is_u64(functions_named(file, NULL, "other"), 0, "none of another name");
	elf_file_close(file);
	unpack_is(packed, size, 0, "it can be unpacked");
	unpack_is(packed, size - 1, -EBADMSG, "not if its end is missing");
	unpack_is(packed, 3, -EBADMSG, "nor most of it");
	unpack_is(packed, 0, -EBADMSG, "nor all");
	packed[size / 2] ^= 1;
	unpack_is(packed, size, -EBADMSG, "nor with a wrong bit");
	size = pack(inner.bytes, inner.size, 6);
	dictionary_is_that_of_xz_9();
	unpack_is(packed, size, 0, "packed as well as xz can");
	unpack_is(packed, pack("text", 4, 6), -ENOEXEC, "something else is packed");
	unpack_is(packed, pack_zeros(), -E2BIG, "more than 128 MiB");
	unpack_is(NULL, 0, -ENOENT, "none is there");
}

static char directory[] = "/tmp/test_elf.XXXXXX";

static void write_file(const char *name, const void *data, size_t size)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	need(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

/* Looks for a function in a file with this debug link, and a build ID unless that is 0. */
static void link_leads_to(const char *link, uint32_t crc, uint8_t id, size_t want, const char *what)
{
	size_t length = (strlen(link) / 4 + 1) * 4;
	uint8_t text[300] = { 0 };
	struct elf_file *file;
	char path[256];

	memcpy(text, link, strlen(link));
	memcpy(text + length, &crc, sizeof(crc));
	image_init(&image, true);
	image_section(&image, ".gnu_debuglink", SHT_PROGBITS, text, length + sizeof(crc));
	if (id)
		add_build_id(&image, id);
	image_finish(&image);
	file = image_open(&image);
	write_file("program", image.bytes, image.size);
	snprintf(path, sizeof(path), "%s/program", directory);
	is_u64(functions_named(file, path, "linked_function"), want, "%s", what);
	elf_file_close(file);
}

TEST(links)
{
	static const struct {
		const char *what, *where, *link;
		size_t want;
		uint32_t wrong;       /* in the checksum */
		uint8_t id, id_there; /* 0: none */
	} cases[] = {
		{ "no debug file is there", "other.debug", "program.debug", 0, 0, 0, 0 },
		{ "one next to the file", "program.debug", "program.debug", 1, 0, 0, 0 },
		{ "it has another checksum", "program.debug", "program.debug", 0, 1, 0, 0 },
		{ "only the file has a build ID: the checksum decides", "program.debug",
		  "program.debug", 1, 0, 7, 0 },
		{ "a link out of the directory", "program.debug", "../program.debug", 0, 0, 0, 0 },
		{ "an empty link", "program.debug", "", 0, 0, 0, 0 },
		{ "one in .debug", ".debug/program.debug", "program.debug", 1, 0, 0, 0 },
		{ "both have the same build ID", "program.debug", "program.debug", 1, 1, 7, 7 },
		{ "they have different ones", "program.debug", "program.debug", 0, 0, 8, 7 },
	};
	static const char *const targets[] = { "/dev/zero", "program.debug" };

	need(mkdtemp(directory) && !chdir(directory) && !mkdir(".debug", 0700));
	is_u64(lzma_crc32((const uint8_t *)"123456789", 9, 0), 0xcbf43926,
	       "the checksum is the one that debug links have");
	for (size_t i = 0; i < COUNT(cases); i++) {
		inner_make("linked_function", cases[i].id_there);
		write_file(cases[i].where, inner.bytes, inner.size);
		link_leads_to(cases[i].link,
			      lzma_crc32(inner.bytes, inner.size, 0) ^ cases[i].wrong, cases[i].id,
			      cases[i].want, cases[i].what);
		unlink(cases[i].where);
	}
	link_leads_to("program", 0, 7, 0, "a file that links to itself");
	/* To open it would block, or begin to do something. */
	mkfifo("program.debug", 0600);
	link_leads_to("program.debug", 0, 0, 0, "a named pipe");
	for (size_t i = 0; i < COUNT(targets); i++) {
		need(!unlink("program.debug") && !symlink(targets[i], "program.debug"));
		link_leads_to("program.debug", 0, 0, 0, i ? "a loop of links" : "a device");
	}
	unlink("program.debug");
	unlink("program");
	rmdir(".debug");
	rmdir(directory);
}

/* --- USDT notes --- */

#define BASE 0x403000ULL

static int site_see(void *context, const struct usdt_site *site)
{
	struct seen *seen = context;

	sprintf(seen->text + strlen(seen->text), "%s:%s@%lx>%lx,%lx>%lx%s ", site->provider,
		site->name, site->address, site->offset, site->semaphore, site->semaphore_offset,
		site->usable ? "" : "!");
	return seen_next(seen);
}

/* The sites of a file with such notes; base is where the base section is now, 0: none. */
static void sites_are(const struct image_notes *notes, uint64_t base, unsigned int stop_at,
		      int result, const char *want, const char *what)
{
	struct seen seen = { .stop_at = stop_at };
	struct elf_file *file;

	image_init(&image, notes->is_64);
	image_section(&image, ".note.stapsdt", SHT_NOTE, notes->bytes, notes->size);
	if (base)
		image_section(&image, ".stapsdt.base", SHT_PROGBITS, "", 1)->sh_addr = base;
	image_finish(&image);
	file = image_open(&image);
	is_i64(usdt_each(file, site_see, &seen), result, "%s", what);
	is_str(seen.text, want, "%s: the sites", what);
	elf_file_close(file);
}

static void test_sites(bool is_64)
{
	struct image_notes notes = { .is_64 = is_64 };

	notes_add_site(&notes, TEXT_ADDRESS + 1, BASE, 0, "server", "start");
	notes_add_site(&notes, TEXT_ADDRESS + 0x20, BASE, DATA_ADDRESS + 2, "server", "done");
	notes_add_site(&notes, TEXT_ADDRESS + 0x30, BASE, DATA_ADDRESS + 2, "server", "done");
	notes_add(&notes, "GNU", 3, "abcde", 5);
	notes_add(&notes, "stapsdt", 4, "abcde", 5);
	notes_add_site(&notes, TEXT_ADDRESS + TEXT_SIZE, BASE, 0, "p", "no_code");
	notes_add_site(&notes, TEXT_ADDRESS, BASE, TEXT_ADDRESS, "p", "no_data");
	notes_add_site(&notes, TEXT_ADDRESS, BASE, DATA_ADDRESS + DATA_SIZE, "", "");
	sites_are(&notes, BASE, 0, 0,
		  "server:start@401201>201,0>0 server:done@401220>220,512302>302 "
		  "server:done@401230>230,512302>302 p:no_code@401300>0,0>0! "
		  "p:no_data@401200>200,401200>0! :@401200>200,512500>0! ",
		  is_64 ? "addresses and offsets" : "those of 32 bits");
	sites_are(&notes, BASE, 1, 42, "server:start@401201>201,0>0 ", "what the caller returns");
}

TEST(prelink)
{
	struct image_notes notes = { .is_64 = true };

	/* Linked 0x1000 higher and 0x1000 lower than where the base is now. */
	notes_add_site(&notes, TEXT_ADDRESS + 0x1008, BASE + 0x1000, DATA_ADDRESS + 0x1000, "p",
		       "high");
	notes_add_site(&notes, TEXT_ADDRESS - 0xff8, BASE - 0x1000, 0, "p", "low");
	sites_are(&notes, BASE, 0, 0, "p:high@401208>208,512300>300 p:low@401208>208,0>0 ",
		  "moved since it was linked");
	notes.size = 0;
	notes_add_site(&notes, TEXT_ADDRESS, BASE + 0x1000, 0, "p", "n");
	sites_are(&notes, 0, 0, 0, "p:n@401200>200,0>0 ", "no base section: nothing has moved");
}

TEST(damaged_sites)
{
	static const struct {
		const char *what, *note;
		size_t size;
	} cases[] = {
		{ "no room for the addresses", "short", 5 },
		{ "a provider without an end", "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1pr",
		  26 },
		{ "a name without an end", "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1p\0n",
		  27 },
	};
	static const char good_site[] = "p:good@401200>200,0>0 ";
	struct image_notes good = { .is_64 = true }, notes;

	notes_add_site(&good, TEXT_ADDRESS, BASE, 0, "p", "good");
	for (size_t i = 0; i < COUNT(cases); i++) {
		notes = good;
		notes_add(&notes, "stapsdt", 3, cases[i].note, cases[i].size);
		sites_are(&notes, BASE, 0, -EBADMSG, good_site, cases[i].what);
	}
	notes = good;
	notes_add_site(&notes, TEXT_ADDRESS, BASE, 0, "p", "cut");
	notes.size -= 20;
	sites_are(&notes, BASE, 0, -EBADMSG, good_site, "a note that ends too early");
	memset(good.bytes, 0xff, 8);
	sites_are(&good, BASE, 0, -EBADMSG, "", "lengths of 4 GiB");
	good.size = 11;
	sites_are(&good, BASE, 0, 0, "", "less than a note");
	good.size = 0;
	sites_are(&good, BASE, 0, 0, "", "nothing");
}

TEST(classes)
{
	for (int narrow = 0; narrow < (IMAGE_MACHINE_32 == EM_NONE ? 1 : 2); narrow++) {
		test_headers(!narrow);
		test_symbols(!narrow);
		test_sites(!narrow);
	}
}
