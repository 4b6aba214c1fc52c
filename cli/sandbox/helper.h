/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes for work that may block forever or is risky: opening and reading foreign
 * files. Also the messages between a child and this process. */
#ifndef HELPER_H
#define HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* --- Messages between this process and an untrusted child --- */

/* Each carries bytes and maybe a file. */

#define PACKET_PAYLOAD (16 << 10)
#define PACKET_TEXT_MOST 4096 /* bytes of a text, with its NUL */

struct message {
	uint32_t type; /* meaning is up to both ends */
	uint32_t number;
	uint64_t t; /* CLOCK_MONOTONIC ns */
	uint32_t n;
	int32_t status;
};

/* A message with its payload and file. */
struct packet {
	int fd;      /* received file; -1: none. Owned by the receiver. */
	size_t size; /* bytes of payload */
	struct message head;
	uint8_t payload[PACKET_PAYLOAD];
};

/* Makes both ends of a connection. Returns 0 or a negative errno. */
int packet_connect(int sockets[2]);

/* Sends a packet, with fd unless it is -1; the caller keeps fd. Waits until the deadline
 * (CLOCK_MONOTONIC ns; 0: forever). Returns 0; -EPIPE if the other end is closed; -ETIMEDOUT;
 * another -errno. */
int packet_send(int socket, const struct packet *packet, int fd, uint64_t deadline);

/* Receives a packet; refuses files unless files is true. Returns 0; -EPIPE if the other end is
 * closed; -ETIMEDOUT; -EBADMSG; another -errno. After an error there is no file. */
int packet_receive(int socket, struct packet *packet, bool files, uint64_t deadline);

/* Begins a packet without payload. */
void packet_begin(struct packet *packet, uint32_t type);

/* Sets the payload to a text. Returns 0 or -ENAMETOOLONG. */
int packet_put_text(struct packet *packet, const char *text);

/* Payload, if it is a single text of at most most bytes with its NUL; else NULL. */
const char *packet_text(const struct packet *packet, size_t most);

/* --- Children --- */

struct helper {
	pid_t pid;  /* 0: none */
	int socket; /* to the child, for packets */
};

/* Main function of the child; should enter a sandbox (sandbox.h), and return. */
typedef void helper_main(void *context, int socket, pid_t parent);

/* Starts a child by fork(). Returns 0 or a negative errno without a child. */
int helper_start(struct helper *helper, helper_main *run, void *context);

/* Kills the child and waits for it, but not forever: an unresponsive file system keeps it alive.
 * *status is from waitpid(). Returns true if it has ended. May be repeated. */
bool helper_end(struct helper *helper, int *status);

/* Gives it time to end by itself first; otherwise as helper_end(). */
bool helper_await(struct helper *helper, int *status);

/* Call in the child before closing a file, or passing it to the parent, which closes it later.
 * FUSE then sends a flush to its server and waits: here, where helper_file() can name the file.
 * A server that stops responding later can still block the parent. */
void helper_try_close(int fd);

/* Path of the file that the child is opening or reading, escaped. Returns false if none. */
bool helper_file(const struct helper *helper, char *path, size_t size);

#endif
