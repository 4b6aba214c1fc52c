// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sites.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/sandbox/helper.h"
#include "probes/elf/elf_file.h"
#include "probes/elf/functions.h"
#include "probes/elf/objects.h"
#include "reader.h"

/* --- How kernels run an instruction under a probe --- */

#define LONGEST 16

#if defined(__x86_64__)

#define REX 0x40 /* to 0x4f */
#define OPERAND_SIZE 0x66
#define CS 0x2e /* compilers pad nops with it */

static bool begins(const uint8_t *bytes, size_t n, const char *with, size_t length)
{
	return n >= length && !memcmp(bytes, with, length);
}

/* branch_setup_xol_ops() and push_setup_xol_ops() in arch/x86/kernel/uprobes.c. */
static enum instruction_class instruction_classify(const uint8_t *bytes, size_t n)
{
	size_t prefixes = 0;
	uint8_t first, second;

	if (begins(bytes, n, "\xf3\x0f\x1e\xfa", 4))
		return CLASS_ENDBR;
	if (begins(bytes, n, "\x0f\x1f\x44\x00\x00", 5))
		return CLASS_NOP5;
	while (prefixes < n && (bytes[prefixes] == OPERAND_SIZE || bytes[prefixes] == CS))
		prefixes++;
	first = n > prefixes ? bytes[prefixes] : 0;
	second = n > prefixes + 1 ? bytes[prefixes + 1] : 0;
	if (first == 0x0f && second == 0x1f)
		return CLASS_NOP_LONG;
	if (first == 0x90)
		return prefixes ? CLASS_NOP_LONG : CLASS_NOP;
	if (prefixes)
		return CLASS_OTHER;
	if (first >= 0x50 && first <= 0x57)
		return CLASS_PUSH;
	if (first >= REX && first <= (REX | 15) && second >= 0x50 && second <= 0x57)
		return CLASS_PUSH_REX;
	if (first == 0xeb || first == 0xe9 || first == 0xe8 || (first & 0xf0) == 0x70 ||
	    (first == 0x0f && (second & 0xf0) == 0x80))
		return CLASS_BRANCH;
	return CLASS_OTHER;
}

#else

/* arch/arm64/kernel/probes/decode-insn.c. It simulates branches and adr, newer kernels also nop
 * (simulate_nop()). */
static enum instruction_class instruction_classify(const uint8_t *bytes, size_t n)
{
	uint32_t code;

	if (n < sizeof(code))
		return CLASS_OTHER;
	memcpy(&code, bytes, sizeof(code));
	if (code == 0xd503201f)
		return CLASS_NOP;
	if ((code & 0xfffff000) == 0xd5032000) /* other hints: bti, paciasp */
		return CLASS_ENDBR;
	if ((code & 0xffc07fff) == 0xa9807bfd) /* stp x29, x30, [sp, #...]! */
		return CLASS_PUSH;
	if ((code & 0x7c000000) == 0x14000000 || /* b, bl */
	    (code & 0xff000010) == 0x54000000 || /* b.cond */
	    (code & 0x7c000000) == 0x34000000 || /* cbz, cbnz, tbz, tbnz */
	    (code & 0xfe000000) == 0xd6000000 || /* br, blr, ret */
	    (code & 0x1f000000) == 0x10000000)   /* adr, adrp */
		return CLASS_BRANCH;
	return CLASS_OTHER;
}

#endif

/* Classifies an instruction in a file open for reading. */
static enum instruction_class instruction_class_read(int fd, uint64_t offset)
{
	uint8_t bytes[LONGEST];
	ssize_t n = pread(fd, bytes, sizeof(bytes), (off_t)offset);

	return n > 0 ? instruction_classify(bytes, (size_t)n) : CLASS_OTHER;
}

/* --- Sites --- */

#define MAX_SITES FUNCTIONS_MAX

enum { SITE_TEXTS = 4 };

/* The texts that the sites own. */
static void site_texts(struct site *site, const char **texts[SITE_TEXTS])
{
	texts[0] = &site->group;
	texts[1] = &site->name;
	texts[2] = &site->danger;
	texts[3] = &site->arguments;
}

static void site_clear(struct site *site)
{
	const char **texts[SITE_TEXTS];

	site_texts(site, texts);
	for (int i = 0; i < SITE_TEXTS; i++)
		free((char *)*texts[i]);
}

void sites_free(struct sites *sites)
{
	if (!sites)
		return;
	for (size_t i = 0; i < sites->n; i++)
		site_clear(&sites->all[i]);
	for (size_t i = 0; i < sites->n_binaries; i++) {
		elf_file_close(sites->binaries[i].elf);
		close(sites->binaries[i].fd);
		free(sites->binaries[i].path);
	}
	free(sites->all);
	free(sites->binaries);
	free(sites);
}

exit_status sites_refuse_more(const struct trigger *trigger)
{
	log_error("%s: there are more than %d sites that match", trigger->text, MAX_SITES);
	log_hint("give a pattern that matches fewer");
	return EX_CONFIG;
}

bool file_id_is(const struct file_id *a, const struct file_id *b)
{
	return a->device == b->device && a->inode == b->inode && a->changed == b->changed;
}

/* The kernel puts probes into the file below an overlay, which all overlays share. Overlays show
 * that file's inode and times, but each a device of its own. */
static int file_identify(struct file_id *id, int fd)
{
	struct statfs system;
	struct stat stat;

	if (fstat(fd, &stat) || fstatfs(fd, &system))
		return -errno;
	*id = (struct file_id){ .device = stat.st_dev, .inode = stat.st_ino };
	if (system.f_type == OVERLAYFS_SUPER_MAGIC) {
		id->device = 0;
		id->changed = stat.st_ctim.tv_sec * 1000000000L + stat.st_ctim.tv_nsec;
	}
	return 0;
}

/* True if both sites are one probe at one offset of a file. */
static bool site_is(const struct site *a, const struct site *b)
{
	return file_id_is(&a->file, &b->file) && a->offset == b->offset &&
	       a->semaphore == b->semaphore && a->on_return == b->on_return;
}

static bool sites_has(const struct sites *sites, const struct site *site)
{
	for (size_t i = 0; i < sites->n; i++)
		if (site_is(&sites->all[i], site))
			return true;
	return false;
}

void sites_subtract(struct sites *sites, const struct sites *others)
{
	size_t n = 0;

	for (size_t i = 0; i < sites->n; i++) {
		if (sites_has(others, &sites->all[i]))
			site_clear(&sites->all[i]);
		else
			sites->all[n++] = sites->all[i];
	}
	sites->n = n;
}

exit_status sites_add(struct sites *sites, const struct trigger *trigger, const struct site *site)
{
	const char **texts[SITE_TEXTS];
	struct site *added;
	bool memory = true;

	if (site->fd >= 0 && sites_has(sites, site))
		return 0;
	if (sites->n == MAX_SITES)
		return sites_refuse_more(trigger);
	if (!sites->all) {
		sites->all = calloc(MAX_SITES, sizeof(*sites->all));
		if (!sites->all)
			return log_no_memory();
	}
	added = &sites->all[sites->n++];
	*added = *site;
	site_texts(added, texts);
	for (int i = 0; i < SITE_TEXTS; i++) {
		if (!*texts[i])
			continue;
		*texts[i] = strdup(*texts[i]);
		memory = memory && *texts[i];
	}
	return memory ? 0 : log_no_memory();
}

int binary_open(struct binary **binary, struct sites *sites, const struct objects *objects,
		const struct object *object)
{
	struct binary *opened;
	int err;

	if (!sites->binaries) {
		sites->binaries = calloc(objects_count(objects), sizeof(*sites->binaries));
		if (!sites->binaries)
			return -ENOMEM;
	}
	opened = &sites->binaries[sites->n_binaries];
	opened->path = strdup(object->path);
	if (!opened->path)
		return -ENOMEM;
	opened->fd = objects_open(objects, object);
	err = opened->fd < 0 ? opened->fd : file_identify(&opened->file, opened->fd);
	if (!err)
		err = elf_file_open(&opened->elf, opened->fd);
	if (err) {
		free(opened->path);
		if (opened->fd >= 0)
			close(opened->fd);
		return err;
	}
	sites->n_binaries++;
	*binary = opened;
	return 0;
}

/* Adds a file opened by another process. The sites take over the descriptor, unless that fails,
 * and copy the path. Returns 0 or a -errno. */
static int sites_add_binary(struct sites *sites, int fd, const struct file_id *file,
			    const char *path)
{
	struct binary *binaries;
	char *copy;

	if (sites->n_binaries == MAX_SITES)
		return -EBADMSG;
	binaries = reallocarray(sites->binaries, sites->n_binaries + 1, sizeof(*binaries));
	if (!binaries)
		return -ENOMEM;
	sites->binaries = binaries;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	binaries[sites->n_binaries++] = (struct binary){ .fd = fd, .file = *file, .path = copy };
	return 0;
}

void binary_close(struct sites *sites)
{
	struct binary *binary = &sites->binaries[--sites->n_binaries];

	elf_file_close(binary->elf);
	helper_try_close(binary->fd);
	close(binary->fd);
	free(binary->path);
}

/* --- From the process that finds them (reader.h) to the one that attaches --- */

enum { PACKET_BINARY, PACKET_SITE };

/* Header of a site; the texts follow. Lengths include the NUL; 0: none. */
struct sent_site {
	uint64_t offset, semaphore;
	int64_t into;
	uint32_t binary; /* number of its file, in order of arrival */
	uint32_t instruction;
	uint32_t on_return, go;
	uint32_t texts[SITE_TEXTS];
};

static exit_status send_failed(const struct trigger *trigger, int error)
{
	log_error("%s: cannot pass on what was found: %s", trigger->text, strerror(-error));
	return EX_OSERR;
}

/* The file's identity, and its path. */
static int binary_send(const struct binary *binary, int socket)
{
	uint8_t data[PACKET_PAYLOAD];
	size_t head = sizeof(binary->file), size = strlen(binary->path) + 1;

	if (size > sizeof(data) - head)
		return -ENAMETOOLONG;
	memcpy(data, &binary->file, head);
	memcpy(data + head, binary->path, size);
	helper_try_close(binary->fd);
	return reader_send(socket, PACKET_BINARY, data, head + size, binary->fd);
}

static int site_send(struct site *site, uint32_t binary, int socket)
{
	struct sent_site sent = {
		.offset = site->offset,
		.semaphore = site->semaphore,
		.into = site->into,
		.binary = binary,
		.instruction = instruction_class_read(site->fd, site->offset),
		.on_return = site->on_return,
		.go = site->go,
	};
	const char **texts[SITE_TEXTS];
	uint8_t data[PACKET_PAYLOAD];
	size_t size = sizeof(sent);

	site_texts(site, texts);
	for (int i = 0; i < SITE_TEXTS; i++) {
		size_t length = *texts[i] ? strlen(*texts[i]) + 1 : 0;

		if (length > sizeof(data) - size)
			return -ENAMETOOLONG;
		if (length)
			memcpy(data + size, *texts[i], length);
		sent.texts[i] = (uint32_t)length;
		size += length;
	}
	memcpy(data, &sent, sizeof(sent));
	return reader_send(socket, PACKET_SITE, data, size, -1);
}

exit_status sites_send(const struct sites *sites, const struct trigger *trigger, int socket)
{
	int error = 0;

	for (size_t i = 0; i < sites->n_binaries && !error; i++)
		error = binary_send(&sites->binaries[i], socket);
	for (size_t i = 0; i < sites->n && !error; i++) {
		struct site *site = &sites->all[i];
		uint32_t binary = 0;

		while (sites->binaries[binary].fd != site->fd)
			binary++;
		error = site_send(site, binary, socket);
	}
	return error ? send_failed(trigger, error) : 0;
}

static int binary_receive(struct sites *sites, struct packet *packet)
{
	struct file_id file;
	const size_t before = sizeof(file);
	const char *path = (const char *)packet->payload + before;
	int error;

	if (packet->fd < 0 || packet->size <= before ||
	    memchr(path, '\0', packet->size - before) != path + packet->size - before - 1)
		return -EBADMSG;
	memcpy(&file, packet->payload, before);
	error = sites_add_binary(sites, packet->fd, &file, path);
	if (!error)
		packet->fd = -1;
	return error;
}

/* Takes a text of that length, beginning at *at. */
static int text_take(const struct packet *packet, size_t *at, uint32_t size, const char **text)
{
	const char *start = (const char *)packet->payload + *at;

	*text = NULL;
	if (!size)
		return 0;
	if (size > packet->size - *at || memchr(start, '\0', size) != start + size - 1)
		return -EBADMSG;
	*text = start;
	*at += size;
	return 0;
}

static int site_receive(struct sites *sites, const struct trigger *trigger,
			const struct packet *packet, exit_status *status)
{
	const char **texts[SITE_TEXTS];
	struct sent_site sent;
	struct site site;
	size_t at = sizeof(sent);

	if (packet->fd >= 0 || packet->size < sizeof(sent))
		return -EBADMSG;
	memcpy(&sent, packet->payload, sizeof(sent));
	if (sent.binary >= sites->n_binaries || sent.instruction >= INSTRUCTION_CLASSES)
		return -EBADMSG;
	site = (struct site){
		.fd = sites->binaries[sent.binary].fd,
		.file = sites->binaries[sent.binary].file,
		.object = sites->binaries[sent.binary].path,
		.offset = sent.offset,
		.semaphore = sent.semaphore,
		.into = sent.into,
		.instruction = (enum instruction_class)sent.instruction,
		.on_return = sent.on_return,
		.go = sent.go,
	};
	site_texts(&site, texts);
	for (int i = 0; i < SITE_TEXTS; i++)
		if (text_take(packet, &at, sent.texts[i], texts[i]))
			return -EBADMSG;
	if (!site.name || !site.group != !trigger->group ||
	    (site.on_return && !trigger_is_return(trigger)))
		return -EBADMSG;
	*status = sites_add(sites, trigger, &site);
	return 0;
}

exit_status sites_receive(struct sites *sites, const struct trigger *trigger, struct packet *packet)
{
	int status = 0;
	int error = packet->head.number == PACKET_BINARY ? binary_receive(sites, packet)
		    : packet->head.number == PACKET_SITE
			    ? site_receive(sites, trigger, packet, &status)
			    : -EBADMSG;

	if (packet->fd >= 0)
		close(packet->fd);
	if (!error)
		return status;
	if (error == -ENOMEM)
		return log_no_memory();
	log_error("%s: the process that reads files sent invalid data", trigger->text);
	return EX_OSERR;
}
