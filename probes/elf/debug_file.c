// SPDX-License-Identifier: Apache-2.0
#include "debug_file.h"

#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/proc_file.h"
#include "file.h"

#define MAX_PACKED (64ULL << 20)
#define MAX_UNPACKED (128ULL << 20)
#define MAX_UNPACKER (70ULL << 20) /* xz -9 needs 65 MiB to unpack */
#define FIRST_UNPACKED (64ULL << 10)
#define MAX_CHECKED (2ULL << 30) /* the whole file is read for its checksum */
#define PIECE (8 * 1024)

#define MAX_ID 64
#define MAX_PATH 4096
#define DEBUG_ROOT "/usr/lib/debug"

/* Unpacked data that grows. */
struct image {
	uint8_t *data;
	size_t size, room;
};

static int image_grow(struct image *image)
{
	size_t room = image->room ? image->room * 2 : FIRST_UNPACKED;
	uint8_t *data;

	if (room > MAX_UNPACKED)
		return -E2BIG;
	data = realloc(image->data, room);
	if (!data)
		return -ENOMEM;
	image->data = data;
	image->room = room;
	return 0;
}

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

/* Unpacks what is in a section, a piece at a time. */
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
		if (image->size == image->room) {
			err = image_grow(image);
			if (err)
				break;
		}
		stream.next_out = image->data + image->size;
		stream.avail_out = image->room - image->size;
		/* With no more input this fails unless it is the end. */
		ret = lzma_code(&stream, done == section->sh_size ? LZMA_FINISH : LZMA_RUN);
		image->size = image->room - stream.avail_out;
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

/* What a debug file must have to belong to a file. */
struct wanted {
	uint8_t id[MAX_ID];
	size_t id_size; /* 0: unknown */
	char link[256]; /* name of the file; "": unknown */
	uint32_t crc;
};

/* .gnu_debuglink: a file's name, padding to four bytes, the checksum. */
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
		crc = lzma_crc32(piece, n, crc); /* the same polynomial */
	}
	return crc == wanted;
}

/* The build ID decides where both have one; the checksum is for older files. A file
 * without symbols, which may be the stripped one itself, is of no use. */
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

/* A search for one file. */
struct search {
	struct wanted wanted;
	debug_file_opener *opener;
	void *context;
};

static int debug_try(struct elf_file **debug, int *fd, const struct search *search,
		     const char *path)
{
	*fd = search->opener(search->context, path);
	if (*fd < 0)
		return -ENOENT;
	if (!elf_file_open(debug, *fd)) {
		if (debug_fits(*debug, &search->wanted))
			return 0;
		elf_file_close(*debug);
	}
	close(*fd);
	return -ENOENT;
}

static int debug_try_id(struct elf_file **debug, int *fd, const struct search *search)
{
	char path[sizeof(".build-id//.debug") + 2 * MAX_ID], hex[2 * MAX_ID + 1];

	if (search->wanted.id_size < 2)
		return -ENOENT;
	for (size_t i = 0; i < search->wanted.id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", search->wanted.id[i]);
	snprintf(path, sizeof(path), ".build-id/%.2s/%s.debug", hex, hex + 2);
	return debug_try(debug, fd, search, path);
}

/* Tries all paths that a link may mean, where gdb looks, too. */
static int debug_try_link(struct elf_file **debug, int *fd, const struct search *search,
			  const char *directory)
{
	static const char *const forms[] = { "%s/%s", "%s/.debug/%s", DEBUG_ROOT "%s/%s" };
	char path[MAX_PATH];

	for (size_t i = 0; *search->wanted.link && i < sizeof(forms) / sizeof(*forms); i++) {
		if (snprintf(path, sizeof(path), forms[i], directory, search->wanted.link) <
			    (int)sizeof(path) &&
		    !debug_try(debug, fd, search, path))
			return 0;
	}
	return -ENOENT;
}

int debug_file_search(struct elf_file **debug, int *fd, const struct elf_file *file,
		      const char *path, debug_file_opener *opener, void *context)
{
	struct search search = { .opener = opener, .context = context };
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;
	char directory[MAX_PATH];

	search.wanted.id_size = elf_file_build_id(file, search.wanted.id, sizeof(search.wanted.id));
	if (!debug_try_id(debug, fd, &search))
		return 0;
	if (*path != '/' || length >= sizeof(directory))
		return -ENOENT;
	memcpy(directory, path, length);
	directory[length] = '\0';
	wanted_read_link(&search.wanted, file);
	return debug_try_link(debug, fd, &search, directory);
}

/* Opens below a root, the context; NULL: in our file system. */
static int root_open(void *context, const char *path)
{
	char below[MAX_PATH];

	if (*path == '/')
		return file_open(context, path);
	if (snprintf(below, sizeof(below), DEBUG_ROOT "/%s", path) >= (int)sizeof(below))
		return -ENAMETOOLONG;
	return file_open(context, below);
}

int debug_file_open(struct elf_file **debug, int *fd, const struct elf_file *file, pid_t pid,
		    const char *path)
{
	char root[32];

	snprintf(root, sizeof(root), "/proc/%d/root", (int)proc_thread(pid));
	if (pid && !debug_file_search(debug, fd, file, path, root_open, root))
		return 0;
	return debug_file_search(debug, fd, file, path, root_open, NULL);
}
