// SPDX-License-Identifier: Apache-2.0
#include "sites_packet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/log.h"
#include "cli/stack/helper.h"
#include "reader.h"

enum { PACKET_BINARY, PACKET_SITE };

/* Followed by its path. */
struct sent_binary {
	struct file_id file;
};

/* Followed by its texts; their lengths include the NUL; 0: none. */
struct sent_site {
	uint64_t offset, semaphore;
	int64_t into;
	uint32_t binary; /* the number of its file, in the order in which they came */
	uint32_t instruction;
	uint32_t on_return, go;
	uint32_t group, name, danger, arguments;
};

static exit_status send_failed(const struct trigger *trigger, int error)
{
	log_error("%s: what was found cannot be told: %s", trigger->text, strerror(-error));
	return EX_OSERR;
}

static size_t text_size(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static int binary_send(const struct binary *binary, int socket)
{
	uint8_t data[PROTOCOL_PAYLOAD];
	const struct sent_binary sent = { .file = binary->file };
	size_t size = text_size(binary->path);

	if (size > sizeof(data) - sizeof(sent))
		return -ENAMETOOLONG;
	memcpy(data, &sent, sizeof(sent));
	memcpy(data + sizeof(sent), binary->path, size);
	helper_try_close(binary->fd);
	return reader_send(socket, PACKET_BINARY, data, sizeof(sent) + size, binary->fd);
}

static int site_send(const struct site *site, uint32_t binary, int socket)
{
	const char *texts[] = { site->group, site->name, site->danger, site->arguments };
	size_t sizes[] = { text_size(site->group), text_size(site->name), text_size(site->danger),
			   text_size(site->arguments) };
	const struct sent_site sent = {
		.offset = site->offset,
		.semaphore = site->semaphore,
		.into = site->into,
		.binary = binary,
		.instruction = instruction_class_read(site->fd, site->offset),
		.on_return = site->on_return,
		.go = site->go,
		.group = (uint32_t)sizes[0],
		.name = (uint32_t)sizes[1],
		.danger = (uint32_t)sizes[2],
		.arguments = (uint32_t)sizes[3],
	};
	uint8_t data[PROTOCOL_PAYLOAD];
	size_t size = sizeof(sent);

	memcpy(data, &sent, sizeof(sent));
	for (int i = 0; i < 4; i++) {
		if (sizes[i] > sizeof(data) - size)
			return -ENAMETOOLONG;
		if (sizes[i])
			memcpy(data + size, texts[i], sizes[i]);
		size += sizes[i];
	}
	return reader_send(socket, PACKET_SITE, data, size, -1);
}

exit_status sites_send(const struct sites *sites, const struct trigger *trigger, int socket)
{
	int error = 0;

	for (size_t i = 0; i < sites->n_binaries && !error; i++)
		error = binary_send(&sites->binaries[i], socket);
	for (size_t i = 0; i < sites_count(sites) && !error; i++) {
		const struct site *site = sites_get(sites, i);
		uint32_t binary = 0;

		while (sites->binaries[binary].fd != site->fd)
			binary++;
		error = site_send(site, binary, socket);
	}
	return error ? send_failed(trigger, error) : 0;
}

static int binary_receive(struct sites *sites, struct packet *packet)
{
	const size_t before = sizeof(struct sent_binary);
	const char *path = (const char *)packet->payload + before;
	struct sent_binary sent;
	int error;

	if (packet->fd < 0 || packet->size <= before ||
	    memchr(path, '\0', packet->size - before) != path + packet->size - before - 1)
		return -EBADMSG;
	memcpy(&sent, packet->payload, sizeof(sent));
	error = sites_add_binary(sites, packet->fd, &sent.file, path);
	if (!error)
		packet->fd = -1;
	return error;
}

/* Takes a text of that length from *at on. */
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
	struct sent_site sent;
	size_t at = sizeof(sent);
	struct site site = { .fd = -1 };

	if (packet->fd >= 0 || packet->size < sizeof(sent))
		return -EBADMSG;
	memcpy(&sent, packet->payload, sizeof(sent));
	if (sent.binary >= sites->n_binaries || sent.instruction >= INSTRUCTION_CLASSES ||
	    text_take(packet, &at, sent.group, &site.group) ||
	    text_take(packet, &at, sent.name, &site.name) ||
	    text_take(packet, &at, sent.danger, &site.danger) ||
	    text_take(packet, &at, sent.arguments, &site.arguments) || !site.name ||
	    !site.group != (trigger->kind != TRIGGER_USDT) ||
	    (sent.on_return && !trigger_is_return(trigger)))
		return -EBADMSG;
	site.fd = sites->binaries[sent.binary].fd;
	site.file = sites->binaries[sent.binary].file;
	site.object = sites->binaries[sent.binary].path;
	site.offset = sent.offset;
	site.semaphore = sent.semaphore;
	site.into = sent.into;
	site.instruction = (enum instruction_class)sent.instruction;
	site.on_return = sent.on_return;
	site.go = sent.go;
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
