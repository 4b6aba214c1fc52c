/* SPDX-License-Identifier: Apache-2.0 */
/* What the process with privileges does about one that never comes to an end, or is given up.
 * Hostile messages are fuzz_client's and fuzz_server's in tests/fuzz. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/stack/protocol.h"
#include "tap.h"
#include "cli/stack/client.h"

#define PATIENCE_NS (100 * NSEC_PER_MSEC) /* from when there is something to be answered */

static uint64_t shared[PROTOCOL_SHARED / sizeof(uint64_t)];

/* --- One that never comes to an end, to this process. --- */

static int open_none(void *context, uint32_t object, const char *path)
{
	unsigned int *opened = context;

	(void)object, (void)path;
	++*opened;
	return -ENOENT;
}

static _Noreturn void child_ask(int socket, int asking)
{
	static struct packet packet;

	packet_begin(&packet, MESSAGE_OPEN);
	packet_put_text(&packet, ".build-id/ab/cdef.debug");
	while (!packet_send(socket, &packet, -1, 0))
		if (asking >= 0 && write(asking, "", 1) == 1)
			asking = -1;
	_exit(0);
}

static int read_all(int socket)
{
	static struct packet packet;
	unsigned int n = 0;

	while (!packet_receive(socket, &packet, false, 0))
		n++;
	return n > 0;
}

/* Two processes keep the connection busy: one asks, the other takes what is answered. */
TEST(endless)
{
	const struct stack *stack = NULL;
	struct stack_copy copy = { .size = 0 };
	static struct packet packet;
	unsigned int opened = 0;
	struct client *client;
	int sockets[2], asking[2], err;
	pid_t children[2];
	uint64_t took;
	char byte;

	need(!packet_connect(sockets) && !pipe(asking));
	client = client_new(sockets[0], shared, 2, PATIENCE_NS, open_none, &opened);
	packet_begin(&packet, MESSAGE_DONE);
	packet_send(sockets[1], &packet, -1, 0);
	err = client_object(client, 0, -1, "/object") ?: client_submit(client, 0, 0, &copy, &stack);
	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		if (children[i])
			continue;
		close(sockets[0]);
		if (i)
			child_ask(sockets[1], asking[1]);
		_exit(read_all(sockets[1]));
	}
	close(sockets[1]);
	need(read(asking[0], &byte, 1) == 1);
	close(asking[0]);
	close(asking[1]);
	took = clock_monotonic();
	is_i64(err ? err : client_flush(client), -ETIMEDOUT, "requests without end: it gives up");
	took = clock_monotonic() - took;
	client_abandon(client);
	client_free(client);
	close(sockets[0]);
	for (int i = 0; i < 2; i++)
		if (children[i] > 0)
			waitpid(children[i], NULL, 0);
	ok(opened > 0 && !stack, "after %u of them", opened);
	ok(took >= PATIENCE_NS / 2, "not at once: %llu us", (unsigned long long)took / 1000);
}

/* --- One that is given up with a full memory. --- */

TEST(abandoned)
{
	static uint8_t data[KD_STACK_MAX];
	static struct {
		uint64_t shared[PROTOCOL_SHARED / sizeof(uint64_t)];
		uint8_t behind[2 * KD_STACK_MAX];
	} memory;
	const struct stack_copy copy = { .size = sizeof(data), .data = data };
	const struct stack *stack = NULL;
	struct client *client = client_new(-1, memory.shared, 2, 0, open_none, NULL);
	unsigned int n = 0, written = 0;
	int err = 0;

	memset(data, 0xff, sizeof(data));
	while (!err)
		err = client_submit(client, 0, 0, &copy, &stack) ?: (int)(++n == PROTOCOL_COPIES);
	ok(n > 1 && n < PROTOCOL_COPIES, "the memory is full with %u copies", n);
	client_abandon(client);
	is_i64(client_submit(client, 0, 0, &copy, &stack), 0, "given up, there is room again");
	for (size_t i = 0; i < sizeof(memory.behind); i++)
		written += memory.behind[i] != 0;
	is_u64(written, 0, "nothing is written behind it");
	client_free(client);
}

static unsigned int count_files(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static unsigned int files;

void tests_begin(void)
{
	files = count_files();
}

void tests_end(void)
{
	is_u64(count_files(), files, "no files are left open");
}
