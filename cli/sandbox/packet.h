/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between this process and a child that it does not trust: each may bring bytes and a
 * file. */
#ifndef PACKET_H
#define PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_PAYLOAD (16 << 10)
#define PACKET_TEXT_MOST 4096 /* bytes of a text, with its NUL */

struct message {
	uint32_t type; /* what it means is for those who talk */
	uint32_t number;
	uint64_t t; /* CLOCK_MONOTONIC ns */
	uint32_t n;
	int32_t status;
};

/* A message with what belongs to it. */
struct packet {
	int fd;      /* received with it; -1: none. Whoever receives it owns it. */
	size_t size; /* of the payload, in bytes */
	struct message head;
	uint8_t payload[PACKET_PAYLOAD];
};

/* Makes the two ends of a connection. Returns 0 or a negative errno. */
int packet_connect(int sockets[2]);

/* Sends a packet, with fd unless it is -1, which remains the caller's. Waits until
 * the deadline (CLOCK_MONOTONIC ns; 0: as long as it takes). Returns 0; -EPIPE if
 * the other end is closed; -ETIMEDOUT; another -errno. */
int packet_send(int socket, const struct packet *packet, int fd, uint64_t deadline);

/* Receives a packet; a file that comes with it is refused unless files is true.
 * Returns 0; -EPIPE if the other end is closed; -ETIMEDOUT; -EBADMSG; another
 * -errno. Unless it returns 0 there is no file. */
int packet_receive(int socket, struct packet *packet, bool files, uint64_t deadline);

/* Begins a packet, without payload. */
void packet_begin(struct packet *packet, uint32_t type);

/* Sets the payload to a text. Returns 0 or -ENAMETOOLONG. */
int packet_put_text(struct packet *packet, const char *text);

/* The payload, if it is one text of at most that many bytes with its NUL; else
 * NULL. */
const char *packet_text(const struct packet *packet, size_t most);

#endif
