// SPDX-License-Identifier: Apache-2.0
/* The child that resolves stacks: hostile files, stacks, mappings and names, in any requests.
 * An input is
 *   FILES times: size and bytes of a file
 *   which of them are handed out as debug files, one bit for each of ASKED requests
 *   requests: number of the file with it and 1 (0: none); struct message; size and bytes of
 *     the payload; size and bytes at the beginning of the shared memory */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/socket.h>

#include "cli/stack/protocol.h"
#include "input.h"
#include "cli/stack/server.h"

#define FILES 2
#define ASKED 8
#define REQUESTS 16
#define COPIES 16 /* in one request: more answers than fit into the socket only take time */

static uint64_t shared[PROTOCOL_SHARED / sizeof(uint64_t)];

/* What the other process will have answered to what the child asks for. */
static void files_offer(int socket, const int files[FILES], uint8_t which)
{
	static struct packet packet;

	packet_begin(&packet, MESSAGE_FILE);
	for (unsigned int i = 0; i < ASKED; i++)
		packet_send(socket, &packet, which >> i & 1 ? files[i % FILES] : -1, 1);
	shutdown(socket, SHUT_WR);
}

static void answers_drain(int socket)
{
	static struct packet packet;

	while (!packet_receive(socket, &packet, false, 1))
		MUST(packet.head.type >= MESSAGE_DONE && packet.head.type <= MESSAGE_IDS);
}

/* Returns how many bytes of the shared memory are used. */
static size_t request_read(struct input *input, struct packet *packet, const int files[FILES])
{
	uint8_t file = input_u8(input) % (FILES + 1);
	struct input part;

	packet_begin(packet, 0);
	input_copy(input, &packet->head, sizeof(packet->head));
	if (packet->head.n <= PROTOCOL_COPIES && packet->head.type == MESSAGE_COPIES)
		packet->head.n %= COPIES + 1;
	if (file)
		packet->fd = fcntl(files[file - 1], F_DUPFD_CLOEXEC, 0);
	part = input_part(input);
	packet->size = part.left < PACKET_PAYLOAD ? part.left : PACKET_PAYLOAD;
	if (packet->size)
		memcpy(packet->payload, part.at, packet->size);
	part = input_part(input);
	if (part.left)
		memcpy(shared, part.at, part.left);
	return part.left;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = { bytes, size };
	static struct packet packet;
	struct server *server;
	int files[FILES], sockets[2];
	size_t used = 0;

	for (int i = 0; i < FILES; i++)
		files[i] = input_file_of(input_part(&input));
	MUST(!packet_connect(sockets));
	fcntl(sockets[0], F_SETFL, O_NONBLOCK); /* nobody else is there to be waited for */
	files_offer(sockets[1], files, input_u8(&input));
	server = server_new(sockets[0], shared);
	MUST(server);
	for (unsigned int i = 0; input.left && i < REQUESTS; i++) {
		size_t n = request_read(&input, &packet, files);

		used = n > used ? n : used;
		server_answer(server, &packet);
		answers_drain(sockets[1]);
	}
	server_free(server);
	memset(shared, 0, used);
	for (int i = 0; i < FILES; i++)
		close(files[i]);
	close(sockets[0]);
	close(sockets[1]);
	return 0;
}
