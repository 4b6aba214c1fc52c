// SPDX-License-Identifier: Apache-2.0
/* Linux Standard Base, Core, 10.6: .eh_frame and .eh_frame_hdr. */
#include "cfi.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cfi_validate.h"

#define MAX_INDEX (1U << 20) /* entries of a table that is built here */
#define LENGTH_MAX (CFI_PROGRAM_MAX + 256)
#define LENGTH_RESERVED 0xfffffff0 /* above: 64-bit DWARF, which nothing emits */
#define MEMOS 512                  /* a power of two */

#if defined(__x86_64__)
#define RETURN_ADDRESS 16
#else
#define RETURN_ADDRESS 30
#endif

/* A common information entry (CIE). */
struct cie {
	struct cfi_program program;
	uint8_t fde_encoding;
	bool signal;
};

/* An entry, without its length and the field that distinguishes CIE and FDE. */
struct cfi_entry {
	uint64_t address;
	uint32_t length; /* of everything after the length */
	uint64_t cie;    /* address of its CIE; 0 for a CIE */
	struct cfi_reader reader;
};

/* Start of the code of an FDE. */
struct index_entry {
	uint64_t start;
	uint64_t fde;
};

struct memo {
	struct cfi_fde fde; /* address 0: not cached */
	bool valid;
};

struct cfi {
	const struct elf_file *file;
	struct cfi_section frames; /* .eh_frame */
	struct cfi_section header; /* .eh_frame_hdr; size 0: none usable */
	uint64_t table;            /* address of its table, sorted pairs of 32-bit distances */
	uint64_t n_table;
	struct index_entry *index; /* replaces the table */
	size_t n_index, index_capacity;
	struct memo *memos; /* by address of the FDE */
};

/* --- Entries --- */

/* Reads the start of an entry, which must be complete. Returns 0; -ENOENT at the terminator;
 * -EBADMSG. */
static int entry_read(struct cfi *cfi, uint64_t address, struct cfi_entry *entry)
{
	struct cfi_reader *reader = &entry->reader;
	uint32_t distance;
	uint64_t at;

	*reader = cfi_reader_new(cfi_bytes_at(&cfi->frames, address, 4), 4, address);
	entry->address = address;
	entry->length = cfi_read_u32(reader);
	if (reader->failed || entry->length > LENGTH_MAX)
		return -EBADMSG;
	if (!entry->length)
		return -ENOENT;
	at = address + 4;
	*reader = cfi_reader_new(cfi_bytes_at(&cfi->frames, at, entry->length), entry->length, at);
	distance = cfi_read_u32(reader);
	/* libunwind treats the distance as signed. */
	if (reader->failed || distance > INT32_MAX || distance > at)
		return -EBADMSG;
	entry->cie = distance ? at - distance : 0;
	return 0;
}

static bool encoding_is_supported(uint8_t encoding)
{
	uint8_t base = encoding & CFI_PE_BASE;

	switch (encoding & CFI_PE_FORMAT) {
	case CFI_PE_ABSPTR:
	case CFI_PE_UDATA2:
	case CFI_PE_UDATA4:
	case CFI_PE_UDATA8:
	case CFI_PE_SDATA2:
	case CFI_PE_SDATA4:
	case CFI_PE_SDATA8:
		return base == CFI_PE_ABSPTR || base == CFI_PE_PCREL;
	default:
		return false;
	}
}

/* Reads a CIE's augmentation. libunwind looks at up to four letters, and takes the rest of the
 * augmentation data after them for instructions. */
static bool augmentation_read(struct cfi_reader *reader, const char *letters, struct cie *cie)
{
	uint64_t size = cfi_read_uleb(reader);
	uint64_t end = reader->address + size;
	uint8_t encoding;

	if (reader->failed || size > (uint64_t)(reader->end - reader->at))
		return false;
	for (size_t i = 1; letters[i]; i++) {
		switch (letters[i]) {
		case 'P':
		case 'L':
			encoding = cfi_read_u8(reader);
			if (encoding == CFI_PE_OMIT)
				break;
			encoding &= (uint8_t)~CFI_PE_INDIRECT;
			if (!encoding_is_supported(encoding))
				return false;
			if (letters[i] == 'P')
				cfi_read_pointer(reader, encoding);
			break;
		case 'R':
			cie->fde_encoding = cfi_read_u8(reader);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* arm64: key that signs return addresses */
			return !letters[i + 1] && reader->address == end;
		default:
			return false;
		}
	}
	return reader->address == end;
}

static bool cie_read(struct cfi *cfi, uint64_t address, struct cie *cie)
{
	struct cfi_reader *reader;
	struct cfi_entry entry;
	char letters[6] = "";
	uint8_t version;
	uint64_t column;

	*cie = (struct cie){ .fde_encoding = CFI_PE_ABSPTR };
	if (entry_read(cfi, address, &entry) || entry.cie)
		return false;
	reader = &entry.reader;
	version = cfi_read_u8(reader);
	for (size_t i = 0; i < sizeof(letters); i++) {
		letters[i] = (char)cfi_read_u8(reader);
		if (!letters[i])
			break;
	}
	/* libunwind ignores letters after the fourth, which only B tolerates. */
	if (letters[0] != 'z' || letters[5] || (letters[4] && letters[4] != 'B'))
		return false;
	cfi_read_uleb(reader); /* alignment factors: any value is fine */
	cfi_read_sleb(reader);
	column = version == 1 ? cfi_read_u8(reader) : cfi_read_uleb(reader);
	if ((version != 1 && version != 3) || column != RETURN_ADDRESS ||
	    !augmentation_read(reader, letters, cie) || reader->failed ||
	    !encoding_is_supported(cie->fde_encoding))
		return false;
	cie->program.bytes = reader->at;
	cie->program.size = (size_t)(reader->end - reader->at);
	return true;
}

/* Reads the code range of an FDE; leaves its reader after it. */
static bool range_read(struct cfi_entry *entry, const struct cie *cie, struct cfi_fde *fde)
{
	*fde = (struct cfi_fde){ .address = entry->address, .signal = cie->signal };
	fde->absolute = !(cie->fde_encoding & CFI_PE_PCREL);
	fde->start = cfi_read_pointer(&entry->reader, cie->fde_encoding);
	fde->end = cfi_read_pointer(&entry->reader, cie->fde_encoding & CFI_PE_FORMAT);
	return !entry->reader.failed && !__builtin_add_overflow(fde->start, fde->end, &fde->end);
}

/* Reads and validates an FDE. */
static bool fde_read(struct cfi *cfi, uint64_t address, struct cfi_fde *fde)
{
	struct cfi_program program;
	struct cfi_entry entry;
	struct cie cie;

	*fde = (struct cfi_fde){ .address = address };
	if (entry_read(cfi, address, &entry) || !entry.cie || !cie_read(cfi, entry.cie, &cie) ||
	    !range_read(&entry, &cie, fde) ||
	    !cfi_read_bytes(&entry.reader, cfi_read_uleb(&entry.reader)))
		return false;
	program.bytes = entry.reader.at;
	program.size = (size_t)(entry.reader.end - entry.reader.at);
	fde->size = cie.program.size + program.size;
	fde->begins_inside = cfi_program_begins_inside(program);
	return cfi_programs_are_valid(cie.program, program);
}

/* --- Lookup of FDEs by address --- */

/* Builds a table for a file without one. */
static int index_add(struct cfi *cfi, uint64_t start, uint64_t fde)
{
	if (cfi->n_index == MAX_INDEX)
		return -E2BIG;
	return ARRAY_ADD(cfi->index, cfi->n_index, cfi->index_capacity,
			 (struct index_entry){ .start = start, .fde = fde });
}

static int index_compare(const void *left, const void *right)
{
	const struct index_entry *a = left, *b = right;

	return ORDER(a->start, b->start) ?: ORDER(a->fde, b->fde);
}

static int index_make(struct cfi *cfi)
{
	uint64_t at = cfi->frames.address, end = at + cfi->frames.size, last = 0;
	bool valid = false;
	struct cfi_entry entry;
	struct cfi_fde fde;
	struct cie cie;
	int err;

	while (at < end) {
		err = entry_read(cfi, at, &entry);
		if (err == -ENOENT)
			break;
		if (err)
			return err;
		at += 4ULL + entry.length;
		if (!entry.cie)
			continue;
		if (entry.cie != last) {
			last = entry.cie;
			valid = cie_read(cfi, last, &cie);
		}
		if (!valid || !range_read(&entry, &cie, &fde))
			continue;
		err = index_add(cfi, fde.start, fde.address);
		if (err)
			return err;
	}
	if (!cfi->n_index)
		return -ENOENT;
	ARRAY_SORT(cfi->index, cfi->n_index, index_compare);
	return 0;
}

static bool index_find(const struct cfi *cfi, uint64_t address, uint64_t *fde)
{
	size_t first = ARRAY_SPLIT(cfi->n_index, i, cfi->index[i].start <= address);

	if (first)
		*fde = cfi->index[first - 1].fde;
	return first;
}

/* An entry of the table in .eh_frame_hdr: two distances from the start of that section. */
static bool table_entry(struct cfi *cfi, uint64_t i, uint64_t *start, uint64_t *fde)
{
	const uint8_t *bytes = cfi_bytes_at(&cfi->header, cfi->table + 8 * i, 8);
	int32_t distances[2];

	if (!bytes)
		return false;
	memcpy(distances, bytes, sizeof(distances));
	*start = cfi->header.address + (uint64_t)(int64_t)distances[0];
	*fde = cfi->header.address + (uint64_t)(int64_t)distances[1];
	return true;
}

/* Returns 0; -ENOENT; -EBADMSG. An unsorted table yields some FDE, which then does not cover the
 * address. */
static int table_find(struct cfi *cfi, uint64_t address, uint64_t *fde)
{
	uint64_t low = 0, high = cfi->n_table, start;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!table_entry(cfi, middle, &start, fde))
			return -EBADMSG;
		if (start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	return table_entry(cfi, low - 1, &start, fde) ? 0 : -EBADMSG;
}

int cfi_find(struct cfi *cfi, uint64_t address, struct cfi_fde *fde)
{
	struct memo *memo;
	uint64_t at;
	int err;

	if (cfi->n_index)
		err = index_find(cfi, address, &at) ? 0 : -ENOENT;
	else
		err = table_find(cfi, address, &at);
	if (err)
		return err;
	memo = &cfi->memos[at / 4 % MEMOS];
	if (memo->fde.address != at || !at)
		memo->valid = fde_read(cfi, at, &memo->fde);
	/* The end of a damaged entry's code is unknown. */
	if (memo->valid && (address < memo->fde.start || address >= memo->fde.end))
		return -ENOENT;
	*fde = memo->fde;
	return memo->valid ? 0 : -EBADMSG;
}

/* --- Finding the sections --- */

/* Opens the frames at an address, up to the end of their section or, without sections, to a
 * terminator in their segment. */
static int frames_open(struct cfi *cfi, uint64_t address)
{
	const Elf64_Shdr *section = elf_file_section(cfi->file, NULL, SHT_NULL, ".eh_frame");
	uint64_t size = 0, offset;
	Elf64_Phdr segment;

	if (section && address >= section->sh_addr && address - section->sh_addr < section->sh_size)
		size = section->sh_size - (address - section->sh_addr);
	else if (elf_file_segment(cfi->file, PT_LOAD, address, &segment))
		size = segment.p_filesz - (address - segment.p_vaddr);
	if (!size || !elf_file_offset(cfi->file, address, 0, &offset))
		return -EBADMSG;
	if (size > elf_file_size(cfi->file) - offset)
		size = elf_file_size(cfi->file) - offset;
	return cfi_section_open(&cfi->frames, cfi->file, offset, address, size);
}

/* Reads .eh_frame_hdr: the address of the frames, and a table of the only kind that linkers
 * emit. */
static int header_read(struct cfi *cfi, uint64_t *frames)
{
	struct cfi_reader reader;
	uint8_t encodings[4];
	const uint8_t *bytes;
	size_t size = cfi->header.size < 64 ? cfi->header.size : 64;
	uint64_t capacity;

	reader = cfi_reader_new(cfi_bytes_at(&cfi->header, cfi->header.address, size), size,
				cfi->header.address);
	bytes = cfi_read_bytes(&reader, sizeof(encodings));
	if (!bytes || bytes[0] != 1) /* version */
		return -EBADMSG;
	memcpy(encodings, bytes, sizeof(encodings));
	*frames = cfi_read_pointer(&reader, encodings[1]);
	if (reader.failed)
		return -EBADMSG;
	if (encodings[2] == CFI_PE_OMIT || encodings[3] != (CFI_PE_DATAREL | CFI_PE_SDATA4))
		return 0;
	cfi->n_table = cfi_read_pointer(&reader, encodings[2]);
	cfi->table = reader.address;
	capacity = cfi->header.size - (reader.address - cfi->header.address);
	if (reader.failed || cfi->n_table > capacity / 8)
		cfi->n_table = 0;
	return 0;
}

/* Opens by segment, like unwinders inside the process. */
static int segment_open(struct cfi *cfi)
{
	Elf64_Phdr segment;
	uint64_t frames;
	int err;

	if (!elf_file_segment(cfi->file, PT_GNU_EH_FRAME, 0, &segment))
		return -ENOENT;
	err = cfi_section_open(&cfi->header, cfi->file, segment.p_offset, segment.p_vaddr,
			       segment.p_filesz);
	if (!err)
		err = header_read(cfi, &frames);
	return err ? err : frames_open(cfi, frames);
}

static int section_open(struct cfi *cfi)
{
	const Elf64_Shdr *section = elf_file_section(cfi->file, NULL, SHT_NULL, ".eh_frame");

	if (!section || !section->sh_size)
		return -ENOENT;
	cfi->n_table = 0;
	return cfi_section_open(&cfi->frames, cfi->file, section->sh_offset, section->sh_addr,
				section->sh_size);
}

int cfi_open(struct cfi **cfi, const struct elf_file *file)
{
	struct cfi *opened;
	int err, header_err;

	if (!elf_file_is_64(file)) /* the registers are of a 64-bit process */
		return -ENOENT;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->file = file;
	err = header_err = segment_open(opened);
	if (err) {
		cfi_section_close(&opened->frames);
		opened->frames = (struct cfi_section){ .size = 0 };
		err = section_open(opened);
		if (err == -ENOENT)
			err = header_err;
	}
	if (!err && !opened->n_table)
		err = index_make(opened);
	if (!err) {
		opened->memos = calloc(MEMOS, sizeof(*opened->memos));
		err = opened->memos ? 0 : -ENOMEM;
	}
	if (err) {
		cfi_close(opened);
		return err;
	}
	*cfi = opened;
	return 0;
}

void cfi_close(struct cfi *cfi)
{
	if (!cfi)
		return;
	cfi_section_close(&cfi->frames);
	cfi_section_close(&cfi->header);
	free(cfi->index);
	free(cfi->memos);
	free(cfi);
}

bool cfi_word(struct cfi *cfi, uint64_t address, uint64_t *word)
{
	const struct cfi_section *frames = &cfi->frames;
	uint64_t last = address + sizeof(*word) - 1;
	uint64_t end = frames->address + frames->size;
	uint8_t bytes[sizeof(*word)] = { 0 };
	uint64_t from, to;
	const uint8_t *there;

	if (last < address || last < frames->address || address >= end)
		return false;
	from = address < frames->address ? frames->address : address;
	to = last < end ? last + 1 : end;
	there = cfi_bytes_at(&cfi->frames, from, to - from);
	if (!there)
		return false;
	memcpy(bytes + (from - address), there, to - from);
	memcpy(word, bytes, sizeof(bytes));
	return true;
}
