/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes that do for this one what may take for ever, or what it had better not do itself:
 * they open and read files that others have made. And what is said between a child and this one. */
#ifndef HELPER_H
#define HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* --- Messages between this process and a child that it does not trust --- */

/* Each may bring bytes and a file. */

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

/* --- Children --- */

struct helper {
	pid_t pid;  /* 0: there is none */
	int socket; /* to it, for packets */
};

/* What the child does; it is to enter a sandbox (sandbox.h), and to end. */
typedef void helper_main(void *context, int socket, pid_t parent);

/* Starts one, which has what this process has by the fork. Returns 0 or a negative errno: then
 * there is none. */
int helper_start(struct helper *helper, helper_main *run, void *context);

/* Ends it, and waits for that, but not for ever: a file system that does not answer keeps it alive,
 * even though killed. *status is that of waitpid(). Returns whether it has ended. Safe to repeat.
 */
bool helper_end(struct helper *helper, int *status);

/* The same, but first gives it the time to end by itself. */
bool helper_await(struct helper *helper, int *status);

/* In the child: to be called for a file before it is closed, or handed to the parent, which closes
 * it some time. FUSE then asks its server (flush), and waits: here, where helper_file() tells which
 * file it is. A server that answers now and falls silent before the parent closes the file, too,
 * still keeps the parent. */
void helper_try_close(int fd);

/* What it waits for: the path of the file that it opens or reads now, escaped. Returns false if
 * there is none. */
bool helper_file(const struct helper *helper, char *path, size_t size);

#endif
