// SPDX-License-Identifier: Apache-2.0
#include "symbols.h"

#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "elf_file.h"
#include "go_table.h"

/* --- Debug files --- */

#define MAX_PACKED (64ULL << 20)
#define MAX_UNPACKED (128ULL << 20)
#define MAX_UNPACKER (70ULL << 20) /* xz -9 needs 65 MiB to decompress */
#define FIRST_UNPACKED (64ULL << 10)
#define MAX_CHECKED (2ULL << 30) /* the checksum requires reading the entire file */
#define PIECE (8 * 1024)

#define MAX_ID 64

/* Growing buffer of decompressed data. */
struct image {
	uint8_t *data;
	size_t size, capacity;
};

static int lzma_error(lzma_ret ret)
{
	switch (ret) {
	case LZMA_OK:
	case LZMA_STREAM_END:
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -E2BIG;
	default:
		return -EBADMSG;
	}
}

/* Decompresses a section piece by piece. */
static int image_unpack(struct image *image, const struct elf_file *file, const Elf64_Shdr *section)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint64_t done = 0;
	uint8_t piece[PIECE];
	lzma_ret ret = lzma_stream_decoder(&stream, MAX_UNPACKER, 0);
	int err = lzma_error(ret);

	while (!err && ret != LZMA_STREAM_END) {
		if (!stream.avail_in && done < section->sh_size) {
			size_t n = section->sh_size - done < PIECE ? section->sh_size - done
								   : PIECE;

			err = elf_file_read(file, section->sh_offset + done, piece, n);
			if (err)
				break;
			stream.next_in = piece;
			stream.avail_in = n;
			done += n;
		}
		if (image->size == image->capacity) {
			size_t most = image->size ? 2 * image->size : FIRST_UNPACKED;

			err = most > MAX_UNPACKED
				      ? -E2BIG
				      : array_reserve(&image->data, most, &image->capacity, 1);
			if (err)
				break;
		}
		stream.next_out = image->data + image->size;
		stream.avail_out = image->capacity - image->size;
		/* Without more input this fails unless it is the end. */
		ret = lzma_code(&stream, done == section->sh_size ? LZMA_FINISH : LZMA_RUN);
		image->size = image->capacity - stream.avail_out;
		err = lzma_error(ret);
	}
	lzma_end(&stream);
	return err;
}

int debug_file_unpack(struct elf_file **debug, const struct elf_file *file)
{
	const Elf64_Shdr *section = elf_file_section(file, NULL, SHT_PROGBITS, ".gnu_debugdata");
	struct image image = { .data = NULL };
	int err;

	if (!section)
		return -ENOENT;
	if (section->sh_size > MAX_PACKED)
		return -E2BIG;
	err = image_unpack(&image, file, section);
	if (!err)
		return elf_file_open_image(debug, image.data, image.size);
	free(image.data);
	return err;
}

/* Properties of a matching debug file. */
struct wanted {
	uint8_t id[MAX_ID];
	size_t id_size; /* 0: unknown */
	char link[256]; /* file name; "": unknown */
	uint32_t crc;
};

/* .gnu_debuglink: a file name, padding to four bytes, checksum. */
static void wanted_read_link(struct wanted *wanted, const struct elf_file *file)
{
	const Elf64_Shdr *section = elf_file_section(file, NULL, SHT_PROGBITS, ".gnu_debuglink");
	uint8_t text[sizeof(wanted->link) + sizeof(wanted->crc)];
	size_t length;

	if (!section || section->sh_size > sizeof(text) ||
	    elf_file_read(file, section->sh_offset, text, section->sh_size))
		return;
	length = strnlen((char *)text, section->sh_size);
	if (!length || (length / 4 + 1) * 4 + sizeof(wanted->crc) > section->sh_size ||
	    memchr(text, '/', length))
		return;
	memcpy(wanted->link, text, length + 1);
	memcpy(&wanted->crc, text + (length / 4 + 1) * 4, sizeof(wanted->crc));
}

static bool checksum_fits(const struct elf_file *debug, uint32_t wanted)
{
	uint64_t size = elf_file_size(debug);
	uint8_t piece[PIECE];
	uint32_t crc = 0;

	if (size > MAX_CHECKED)
		return false;
	for (uint64_t at = 0; at < size; at += PIECE) {
		size_t n = size - at < PIECE ? size - at : PIECE;

		if (elf_file_read(debug, at, piece, n))
			return false;
		crc = lzma_crc32(piece, n, crc); /* same polynomial */
	}
	return crc == wanted;
}

/* Build IDs decide if both files have one; checksums are for older files. A file without symbols,
 * maybe the stripped one itself, is useless. */
static bool debug_fits(const struct elf_file *debug, const struct wanted *wanted)
{
	uint8_t id[MAX_ID];
	size_t size = elf_file_build_id(debug, id, sizeof(id));

	if (!elf_file_section(debug, NULL, SHT_SYMTAB, NULL))
		return false;
	if (wanted->id_size && size)
		return size == wanted->id_size && memcmp(id, wanted->id, size) == 0;
	return *wanted->link && checksum_fits(debug, wanted->crc);
}

/* Search for one file. */
struct debug_search {
	struct wanted wanted;
	debug_file_opener *opener;
	void *context;
};

static bool debug_try(struct debug_file *debug, const struct debug_search *search, const char *path)
{
	int fd = search->opener(search->context, path);

	if (fd < 0)
		return false;
	*debug = (struct debug_file){ .fd = fd };
	if (!elf_file_open(&debug->elf, fd) && debug_fits(debug->elf, &search->wanted))
		return true;
	elf_file_close(debug->elf);
	debug->elf = NULL;
	close(fd);
	return false;
}

static bool debug_try_id(struct debug_file *debug, const struct debug_search *search)
{
	char path[sizeof(".build-id//.debug") + 2 * MAX_ID], hex[2 * MAX_ID + 1];

	if (search->wanted.id_size < 2)
		return false;
	for (size_t i = 0; i < search->wanted.id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", search->wanted.id[i]);
	snprintf(path, sizeof(path), ".build-id/%.2s/%s.debug", hex, hex + 2);
	return debug_try(debug, search, path);
}

bool debug_link_path(unsigned int i, const char *object, const char *name, char path[DEBUG_PATH])
{
	static const char *const forms[] = { "%.*s/%s", "%.*s/.debug/%s", DEBUG_ROOT "%.*s/%s" };
	const char *slash = strrchr(object, '/');

	*path = '\0';
	if (i >= sizeof(forms) / sizeof(*forms) || *object != '/')
		return false;
	if (snprintf(path, DEBUG_PATH, forms[i], (int)(slash - object), object, name) >= DEBUG_PATH)
		*path = '\0';
	return true;
}

static bool debug_try_link(struct debug_file *debug, const struct debug_search *search,
			   const char *object)
{
	char path[DEBUG_PATH];

	for (unsigned int i = 0; debug_link_path(i, object, search->wanted.link, path); i++)
		if (*path && debug_try(debug, search, path))
			return true;
	return false;
}

const struct elf_file *debug_file_search(struct debug_file *debug, const struct elf_file *file,
					 const char *path, debug_file_opener *opener, void *context)
{
	struct debug_search search = { .opener = opener, .context = context };

	*debug = (struct debug_file){ .elf = NULL };
	search.wanted.id_size = elf_file_build_id(file, search.wanted.id, sizeof(search.wanted.id));
	if (debug_try_id(debug, &search))
		return debug->elf;
	wanted_read_link(&search.wanted, file);
	if (*search.wanted.link)
		debug_try_link(debug, &search, path);
	return debug->elf;
}

void debug_file_close(struct debug_file *debug)
{
	if (!debug->elf)
		return;
	elf_file_close(debug->elf);
	close(debug->fd);
	debug->elf = NULL;
}

int debug_file_open(void *pid, const char *path)
{
	pid_t in = pid ? *(const pid_t *)pid : 0;
	char below[DEBUG_PATH];

	if (*path == '/')
		return file_open(in, path);
	if (snprintf(below, sizeof(below), DEBUG_ROOT "/%s", path) >= (int)sizeof(below))
		return -ENAMETOOLONG;
	return file_open(in, below);
}

/* --- Symbols --- */

/* Twice what the largest programs have, debug information included. */
#define MAX_TABLE (256ULL << 20)
#define MAX_STRINGS (1ULL << 30)
/* Many symbols may share one long name: bounds the time. */
#define MAX_NAMES (512ULL << 20)

#define WINDOW (16ULL << 20) /* strings in memory at a time */
#define CHUNK 1024           /* symbols read at a time */

#define VERSYM_NUMBER 0x7fff
#define VERSIONS_MAX 1024    /* libc.so.6 has 50 */
#define VERSION_MAX 64       /* bytes of a name */
#define VERSYM_HIDDEN 0x8000 /* not the default version: gABI, symbol versioning */

/* Shared by the tables of a search. */
struct search {
	const struct elf_file *file; /* its segments classify addresses */
	symbol_found *found;
	bool positions; /* positions instead of names */
	bool data;      /* not functions */
	bool all;       /* of any type, and references */
	void *context;
	int result;      /* of the latest call of found */
	uint64_t length; /* of all names examined */
};

/* Version numbers and their names, read in windows. */
struct versions {
	char (*names)[VERSION_MAX]; /* by number; "": none */
	size_t n;
};

/* A symbol table, and the parts of its strings and symbols in memory. */
struct table {
	const struct elf_file *file;
	const Elf64_Shdr *symbols;
	const Elf64_Shdr *strings;
	const Elf64_Shdr *versions; /* NULL: none */
	struct versions names;      /* version names */
	uint64_t count;
	char *window;
	uint64_t window_start;
	uint64_t window_end; /* names begin before it; they may end later */
	uint64_t window_size;
	Elf64_Sym chunk[CHUNK];
	Elf32_Sym narrow[CHUNK];
	uint16_t chunk_versions[CHUNK];
};

static size_t entry_size(const struct elf_file *file)
{
	return elf_file_is_64(file) ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

/* Section with the versions of dynamic symbols. */
static const Elf64_Shdr *table_versions(const struct table *table)
{
	const Elf64_Shdr *section = NULL;

	while ((section = elf_file_section(table->file, section, SHT_GNU_versym, NULL))) {
		if (elf_file_section_at(table->file, section->sh_link) == table->symbols &&
		    section->sh_size / sizeof(uint16_t) >= table->count)
			return section;
	}
	return NULL;
}

/* Reads the versions that the file defines; skips damaged ones. */
static int versions_read(struct versions *versions, const struct elf_file *file)
{
	const Elf64_Shdr *section = elf_file_section(file, NULL, SHT_GNU_verdef, NULL);
	const Elf64_Shdr *strings = section ? elf_file_section_at(file, section->sh_link) : NULL;
	uint64_t at = 0;

	if (!strings)
		return 0;
	versions->names = calloc(VERSIONS_MAX, sizeof(*versions->names));
	if (!versions->names)
		return -ENOMEM;
	versions->n = VERSIONS_MAX;
	for (size_t i = 0; i < VERSIONS_MAX && at < section->sh_size; i++) {
		char name[VERSION_MAX];
		Elf64_Verdaux first;
		Elf64_Verdef verdef;
		uint64_t left;

		if (elf_file_read(file, section->sh_offset + at, &verdef, sizeof(verdef)) ||
		    elf_file_read(file, section->sh_offset + at + verdef.vd_aux, &first,
				  sizeof(first)) ||
		    first.vda_name >= strings->sh_size)
			break;
		left = strings->sh_size - first.vda_name;
		left = left < sizeof(name) ? left : sizeof(name);
		if (verdef.vd_ndx < VERSIONS_MAX &&
		    !elf_file_read(file, strings->sh_offset + first.vda_name, name, left) &&
		    memchr(name, '\0', left))
			strcpy(versions->names[verdef.vd_ndx], name);
		at += verdef.vd_next;
		if (!verdef.vd_next)
			break;
	}
	return 0;
}

static int table_open(struct table *table, const struct elf_file *file, const Elf64_Shdr *symbols)
{
	table->file = file;
	table->symbols = symbols;
	table->strings = elf_file_section_at(file, symbols->sh_link);
	if (symbols->sh_entsize != entry_size(file) || !table->strings ||
	    table->strings->sh_type != SHT_STRTAB)
		return -EBADMSG;
	if (symbols->sh_size > MAX_TABLE || table->strings->sh_size > MAX_STRINGS)
		return -E2BIG;
	table->count = symbols->sh_size / entry_size(file);
	return 0;
}

/* Reads the strings from start on, with every name that begins in the window complete. */
static int table_move(struct table *table, uint64_t start)
{
	uint64_t left = table->strings->sh_size - start;
	uint64_t size = left < WINDOW + SYMBOL_NAME_MAX + 1 ? left : WINDOW + SYMBOL_NAME_MAX + 1;

	if (!table->window) {
		table->window = malloc(size + 1);
		if (!table->window)
			return -ENOMEM;
	}
	table->window_start = start;
	table->window_end = start + (left < WINDOW ? left : WINDOW);
	table->window_size = size;
	table->window[size] = '\0';
	return elf_file_read(table->file, table->strings->sh_offset + start, table->window, size);
}

static int table_read(struct table *table, uint64_t first, size_t n)
{
	uint64_t offset = table->symbols->sh_offset + first * entry_size(table->file);
	int err = 0;

	if (table->versions)
		err = elf_file_read(table->file, table->versions->sh_offset + first * 2,
				    table->chunk_versions, n * 2);
	if (err)
		return err;
	if (elf_file_is_64(table->file))
		return elf_file_read(table->file, offset, table->chunk, n * sizeof(Elf64_Sym));
	err = elf_file_read(table->file, offset, table->narrow, n * sizeof(Elf32_Sym));
	for (size_t i = 0; i < n && !err; i++) {
		table->chunk[i] = (Elf64_Sym){
			.st_name = table->narrow[i].st_name,
			.st_info = table->narrow[i].st_info,
			.st_shndx = table->narrow[i].st_shndx,
			.st_value = table->narrow[i].st_value,
			.st_size = table->narrow[i].st_size,
		};
	}
	return err;
}

static bool symbol_is_wanted(const struct search *search, const Elf64_Sym *entry)
{
	unsigned char type = ELF64_ST_TYPE(entry->st_info);
	uint64_t offset;

	if (search->all)
		return true;
	if (search->data)
		return type == STT_OBJECT && entry->st_shndx != SHN_UNDEF;
	return (type == STT_FUNC || type == STT_GNU_IFUNC) && entry->st_shndx != SHN_UNDEF &&
	       elf_file_offset(search->file, entry->st_value, PF_X, &offset);
}

/* Numbers 0 and 1 have no name: the symbol is local, or unversioned. */
static const char *version_name(const struct versions *versions, unsigned int number)
{
	number &= VERSYM_NUMBER;
	return number > 1 && number < versions->n && *versions->names[number]
		       ? versions->names[number]
		       : NULL;
}

/* Reports a symbol if its name is in the window. Names in .symtab include their version:
 * NAME@OLD, NAME@@DEFAULT. */
static int symbol_visit(struct search *search, struct table *table, size_t index)
{
	const Elf64_Sym *entry = &table->chunk[index];
	struct symbol symbol = {
		.location = { table->file, table->strings, entry->st_name, NULL },
		.address = entry->st_value,
		.size = entry->st_size,
		.resolver = ELF64_ST_TYPE(entry->st_info) == STT_GNU_IFUNC,
		.local = ELF64_ST_BIND(entry->st_info) == STB_LOCAL,
		.undefined = entry->st_shndx == SHN_UNDEF,
	};
	size_t length, most;
	char *name, *at;

	if (entry->st_name < table->window_start || entry->st_name >= table->window_end ||
	    !symbol_is_wanted(search, entry))
		return 0;
	if (search->positions)
		return search->result = search->found(search->context, &symbol);
	name = table->window + (entry->st_name - table->window_start);
	most = table->window_size - (entry->st_name - table->window_start);
	length = strnlen(name, most > SYMBOL_NAME_MAX ? SYMBOL_NAME_MAX + 1 : most);
	search->length += length + 1;
	if (search->length > MAX_NAMES)
		return -E2BIG;
	if (!length || length > SYMBOL_NAME_MAX)
		return 0;
	at = memchr(name + 1, '@', length - 1);
	symbol.name = name;
	symbol.superseded = at ? at[1] != '@'
			       : table->versions && table->chunk_versions[index] & VERSYM_HIDDEN;
	if (at) {
		*at = '\0';
		symbol.version = at + 1 + !symbol.superseded;
	} else if (table->versions) {
		symbol.version = version_name(&table->names, table->chunk_versions[index]);
	}
	search->result = search->found(search->context, &symbol);
	if (at) /* other names may share its end */
		*at = '@';
	return search->result;
}

/* Visits all symbols whose names are in the window. */
static int window_each(struct search *search, struct table *table)
{
	int err = 0;

	for (uint64_t first = 0; first < table->count && !err; first += CHUNK) {
		size_t n = table->count - first < CHUNK ? table->count - first : CHUNK;

		err = table_read(table, first, n);
		for (size_t i = 0; i < n && !err; i++)
			err = symbol_visit(search, table, i);
	}
	return err;
}

/* If names are not read, a single window has all but the empty first one. */
static int windows_each(struct search *search, struct table *table)
{
	int err;

	if (search->positions) {
		table->window_start = 1;
		table->window_end = table->strings->sh_size;
		return window_each(search, table);
	}
	table->versions = table_versions(table);
	err = table->versions ? versions_read(&table->names, table->file) : 0;
	for (uint64_t start = 0; !err && start < table->strings->sh_size; start += WINDOW) {
		err = table_move(table, start);
		if (!err)
			err = window_each(search, table);
	}
	return err;
}

static int section_each(struct search *search, const struct elf_file *file,
			const Elf64_Shdr *symbols)
{
	struct table *table = calloc(1, sizeof(*table));
	int err;

	if (!table)
		return -ENOMEM;
	err = table_open(table, file, symbols);
	if (!err)
		err = windows_each(search, table);
	free(table->names.names);
	free(table->window);
	free(table);
	return err;
}

/* Visits the first table of a type, if there is one. */
static int type_each(struct search *search, const struct elf_file *file, uint32_t type)
{
	const Elf64_Shdr *symbols = elf_file_section(file, NULL, type, NULL);

	return symbols ? section_each(search, file, symbols) : 0;
}

/* Decompressed data is not kept, so names have no positions there. */
static int unpacked_each(struct search *search, const struct elf_file *file)
{
	const bool positions = search->positions;
	struct elf_file *debug;
	int err = debug_file_unpack(&debug, file);

	if (err)
		return err;
	search->positions = false;
	err = type_each(search, debug, SHT_SYMTAB);
	search->positions = positions;
	elf_file_close(debug);
	return err;
}

int symbols_each_name(const struct elf_file *file, uint32_t table, symbol_found *found,
		      void *context)
{
	struct search search = { .file = file, .found = found, .all = true, .context = context };

	return type_each(&search, file, table);
}

/* Reports the functions of Go's own table. Returns whether there is one. */
static bool go_each(struct search *search, const struct elf_file *file)
{
	struct go_function function;
	struct go_table *table;
	uint64_t offset;
	bool any = !go_table_open(&table, file);

	for (uint32_t i = 0; any && !search->result && i < go_table_count(table); i++) {
		if (go_table_get(table, i, &function) || !*function.name ||
		    !elf_file_offset(file, function.start, PF_X, &offset))
			continue;
		search->length += strlen(function.name) + 1;
		if (search->length > MAX_NAMES) {
			search->result = -E2BIG;
			break;
		}
		search->result = search->found(search->context,
					       &(struct symbol){
						       .name = function.name,
						       .address = function.start,
						       .size = function.end - function.start,
					       });
	}
	if (any)
		go_table_close(table);
	return any;
}

/* Searches all tables; .gnu_debugdata only has functions. */
static int search_all(struct search *search, debug_file_finder *find, void *find_context)
{
	const struct elf_file *file = search->file;
	int err = type_each(search, file, SHT_SYMTAB);

	if (!err)
		err = type_each(search, file, SHT_DYNSYM);
	if (err || elf_file_section(file, NULL, SHT_SYMTAB, NULL))
		return err;
	if (!search->data && go_each(search, file))
		return search->result;
	/* Errors in a file that only adds names do not count. */
	if ((search->data || unpacked_each(search, file)) && !search->result && find) {
		file = find(find_context, file);
		if (file)
			type_each(search, file, SHT_SYMTAB);
	}
	return search->result;
}

int symbols_each_location(const struct elf_file *file, debug_file_finder *find, void *find_context,
			  symbol_found *found, void *context)
{
	struct search search = {
		.file = file, .found = found, .positions = true, .context = context
	};

	return search_all(&search, find, find_context);
}

/* A file's path in a process (0: none), and its debug file once found. */
struct owner {
	pid_t pid;
	const char *path;
	struct debug_file debug;
};

/* Searches the file system of the process, then ours. */
static const struct elf_file *debug_find(void *context, const struct elf_file *file)
{
	struct owner *owner = context;

	if (owner->pid &&
	    debug_file_search(&owner->debug, file, owner->path, debug_file_open, &owner->pid))
		return owner->debug.elf;
	return debug_file_search(&owner->debug, file, owner->path, debug_file_open, NULL);
}

static int owner_each(struct search *search, pid_t pid, const char *path)
{
	struct owner owner = { .pid = pid, .path = path };
	int err = search_all(search, path ? debug_find : NULL, &owner);

	debug_file_close(&owner.debug);
	return err;
}

int symbols_each(const struct elf_file *file, pid_t pid, const char *path, symbol_found *found,
		 void *context)
{
	struct search search = { .file = file, .found = found, .context = context };

	return owner_each(&search, pid, path);
}

int symbols_each_data(const struct elf_file *file, pid_t pid, const char *path, symbol_found *found,
		      void *context)
{
	struct search search = { .file = file, .found = found, .data = true, .context = context };

	return owner_each(&search, pid, path);
}
