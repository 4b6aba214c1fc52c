// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "cli/base/proc_file.h"
#include "cli/sandbox/helper.h"
#include "cli/sandbox/sandbox.h"

/* Longest time of the child without a message or CPU use, and in total. */
#define SILENCE (10 * NSEC_PER_SEC)
#define LIMIT (300 * NSEC_PER_SEC)
#define MOST_LOGGED (1 << 20) /* bytes */
#define MOST_FILE 512         /* bytes of a path in a message */

/* Messages of the child. */
enum reader_message {
	READER_LOG,    /* what it printed */
	READER_RESULT, /* the number says what it is; may bring a file */
	READER_DONE,   /* last one; status: an exit status */
};

/* --- In the child --- */

int reader_send(int socket, uint32_t number, const void *data, size_t size, int fd)
{
	struct packet *packet = malloc(sizeof(*packet));
	int err;

	if (!packet)
		return -ENOMEM;
	packet_begin(packet, READER_RESULT);
	packet->head.number = number;
	packet->size = size;
	if (size)
		memcpy(packet->payload, data, size);
	err = packet_send(socket, packet, fd, 0);
	free(packet);
	return err;
}

static void child_done(int socket, int status)
{
	static struct packet packet;
	size_t size = 0;
	char *text = log_take(&size);

	for (size_t at = 0, n; at < size; at += n) {
		n = size - at < PACKET_PAYLOAD ? size - at : PACKET_PAYLOAD;
		packet_begin(&packet, READER_LOG);
		memcpy(packet.payload, text + at, n);
		packet.size = n;
		if (packet_send(socket, &packet, -1, 0))
			return;
	}
	packet_begin(&packet, READER_DONE);
	packet.head.status = status;
	packet_send(socket, &packet, -1, 0);
}

static void child_run(void *context, int socket, pid_t parent)
{
	const struct probe_reader *reader = context;
	const char *what = "";
	int err;

	log_set_debug(false);
	log_hold();
	if (reader->prepare)
		reader->prepare(reader->context);
	err = sandbox_enter(socket, parent, SANDBOX_SANITIZED | SANDBOX_OPENS, &what);
	if (!err) {
		child_done(SANDBOX_SOCKET, reader->run(reader->context, SANDBOX_SOCKET));
		return;
	}
	log_error("cannot read files safely: %s: %s", what, strerror(-err));
	/* The socket may have its final number already. */
	child_done(fcntl(socket, F_GETFD) < 0 ? SANDBOX_SOCKET : socket, EX_OSERR);
}

/* --- In the parent --- */

/* Returns the child's CPU time, ns. */
static uint64_t helper_cpu(const struct helper *helper)
{
	clockid_t clock;

	return clock_getcpuclockid(helper->pid, &clock) ? 0 : clock_read(clock);
}

/* On a machine that has no CPU for it, the child may not get to compute. */
static bool helper_is_runnable(const struct helper *helper)
{
	struct proc_stat stat;

	return proc_stat_read(&stat, helper->pid) && stat.state == 'R';
}

/* Waits for a packet while the child computes, or could; one that waits for files gets SILENCE
 * only. */
static int packet_await(const struct probe_reader *reader, const struct helper *helper,
			uint64_t until)
{
	uint64_t cpu, before;
	int err;

	do {
		uint64_t silence = clock_monotonic() + SILENCE;

		before = helper_cpu(helper);
		err = signals_wait(reader->signals, helper->socket, POLLIN,
				   silence < until ? silence : until);
		cpu = helper_cpu(helper);
	} while (err == -ETIMEDOUT && clock_monotonic() < until &&
		 (cpu - before > SILENCE / 100 || helper_is_runnable(helper)));
	return err;
}

static void file_close(struct packet *packet)
{
	if (packet->fd >= 0)
		close(packet->fd);
}

/* Takes packets until the end. *status comes from the child or from take(). */
static int packets_take(const struct probe_reader *reader, const struct helper *helper, int *status)
{
	uint64_t until = clock_monotonic() + (reader->limit ? reader->limit : LIMIT);
	struct packet *packet = malloc(sizeof(*packet));
	size_t logged = 0;
	int err = packet ? 0 : -ENOMEM;

	*status = -1;
	while (!err && *status < 0) {
		err = packet_await(reader, helper, until)
			      ?: packet_receive(helper->socket, packet, true, until);
		if (!err && clock_monotonic() >= until) {
			file_close(packet);
			err = -ETIMEDOUT;
		}
		if (err)
			break;
		if (packet->head.type == READER_RESULT) {
			uint64_t begun = clock_monotonic();
			int taken = reader->take(reader->context, packet);

			until += clock_monotonic() -
				 begun; /* printing may block on a paused reader */
			if (taken)
				*status = taken;
			continue;
		}
		file_close(packet);
		if (packet->head.type == READER_LOG && logged < MOST_LOGGED)
			log_foreign((const char *)packet->payload, packet->size);
		else if (packet->head.type == READER_DONE && packet->head.status >= 0 &&
			 packet->head.status < EX_SIGNALLED)
			*status = packet->head.status;
		else
			err = -EBADMSG;
		logged += packet->size;
	}
	free(packet);
	return err;
}

static exit_status reader_failed(int err, const char *file)
{
	if (*file)
		log_error("cannot read %s: its file system does not answer", file);
	else if (err == -ETIMEDOUT)
		log_error("the process that reads files took too long and was ended");
	else if (err == -EPIPE)
		log_error("the process that reads files has ended unexpectedly");
	else if (err == -EBADMSG)
		log_error("the process that reads files sent invalid data and was ended");
	else
		log_error("cannot read files in a process of their own: %s", strerror(-err));
	return EX_OSERR;
}

exit_status reader_do(const struct probe_reader *reader, pid_t *left)
{
	char file[MOST_FILE] = "";
	struct helper helper;
	int ended, status = 0;
	int err = helper_start(&helper, child_run, (void *)reader);
	pid_t pid = helper.pid;
	bool is_gone;

	if (left)
		*left = 0;
	if (!err)
		err = packets_take(reader, &helper, &status);
	if ((err == -ETIMEDOUT || err == -EINTR) && !helper_file(&helper, file, sizeof(file)))
		*file = '\0';
	is_gone = err || status ? helper_end(&helper, &ended) : helper_await(&helper, &ended);
	if (left && !is_gone)
		*left = pid;
	if (!err)
		return status;
	return reader->quiet ? EX_OSERR : reader_failed(err, file);
}
