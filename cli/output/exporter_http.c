// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "exporter_http.h"

#include "cli/base/exit_status.h"
#include "cli/base/log.h"

#ifdef HAVE_MICROHTTPD

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/sandbox/packet.h"
#include "cli/sandbox/sandbox.h"
#include "exporter_host.h"
#include "exporter_server.h"
#include "exporter_socket.h"

#define PATIENCE (10 * NSEC_PER_SEC) /* for the child to begin */
#define AT_ONCE 1                    /* a deadline that is over */

struct exporter_http {
	struct exporter_hosts hosts;
	unsigned int without; /* of the sandbox */
	uint16_t port;
	int channel; /* our end, -1: none */
	int ends;    /* the child's, until there is one */
	pid_t child; /* 0: none */
	struct packet packet;
};

static exit_status http_failed(int error)
{
	log_error("cannot serve metrics: %s", strerror(error));
	return EX_OSERR;
}

/* --- The child --- */

/* What a server does with its connections, and what reading files and memory takes. Others fail:
 * not each version of the libraries makes the same. */
static int server_filter(void)
{
	static const int calls[] = {
		SCMP_SYS(accept),        SCMP_SYS(accept4),     SCMP_SYS(brk),
		SCMP_SYS(clock_gettime), SCMP_SYS(close),       SCMP_SYS(epoll_create1),
		SCMP_SYS(epoll_ctl),     SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_wait),
		SCMP_SYS(exit),          SCMP_SYS(exit_group),  SCMP_SYS(fcntl),
		SCMP_SYS(fstat),         SCMP_SYS(futex),       SCMP_SYS(getpeername),
		SCMP_SYS(getrandom),     SCMP_SYS(getsockname), SCMP_SYS(getsockopt),
		SCMP_SYS(gettimeofday),  SCMP_SYS(madvise),     SCMP_SYS(mremap),
		SCMP_SYS(munmap),        SCMP_SYS(newfstatat),  SCMP_SYS(poll),
		SCMP_SYS(ppoll),         SCMP_SYS(pread64),     SCMP_SYS(read),
		SCMP_SYS(recvfrom),      SCMP_SYS(recvmsg),     SCMP_SYS(restart_syscall),
		SCMP_SYS(sendmsg),       SCMP_SYS(sendto),      SCMP_SYS(setsockopt),
		SCMP_SYS(shutdown),      SCMP_SYS(write),       SCMP_SYS(writev),
	};
	const struct scmp_arg_cmp no_code = { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 };
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err = filter ? 0 : -ENOMEM;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, no_code);
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_code);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

static int child_confine(const struct exporter_http *http, pid_t parent, const char **what)
{
	int err = sandbox_enter(http->ends, parent,
				http->without | SANDBOX_WITHOUT_FILTER | SANDBOX_WITHOUT_CPU_LIMIT,
				what);

	if (err || http->without & SANDBOX_WITHOUT_FILTER)
		return err;
	*what = "filtering system calls";
	return server_filter();
}

/* what: was being done, if there is an error. */
static int child_greet(struct packet *packet, int err, const char *what)
{
	packet_begin(packet, EXPORTER_STARTED);
	packet->head.status = err;
	if (err)
		packet_put_text(packet, what);
	return packet_send(SANDBOX_SOCKET, packet, -1, 0);
}

static _Noreturn void child_run(struct exporter_http *http, pid_t parent)
{
	struct exporter_server *server = exporter_server_new(SANDBOX_SOCKET, &http->hosts);
	const char *what = "starting";
	int err = server ? child_confine(http, parent, &what) : -ENOMEM;

	if (!err) {
		what = "listening";
		err = exporter_server_open(server);
	}
	err = child_greet(&http->packet, err, what) ?: err;
	if (!err)
		err = exporter_server_run(server);
	_exit(err ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* --- The parent --- */

static int texts_write(int fd, struct exporter_text texts[EXPORTER_FORMS])
{
	for (int form = 0; form < EXPORTER_FORMS; form++) {
		for (size_t done = 0; done < texts[form].length;) {
			ssize_t written = write(fd, texts[form].text + done,
						texts[form].length - done);

			if (written < 0 && errno == EINTR)
				continue;
			if (written <= 0)
				return written < 0 ? -errno : -EIO;
			done += (size_t)written;
		}
	}
	return 0;
}

int exporter_http_publish(struct exporter_http *http, struct exporter_text texts[EXPORTER_FORMS])
{
	int fd = memfd_create("metrics", MFD_CLOEXEC);
	int err = fd < 0 ? -errno : texts_write(fd, texts);

	if (!err) {
		packet_begin(&http->packet, EXPORTER_TEXTS);
		http->packet.head.t = texts[0].length;
		err = packet_send(http->channel, &http->packet, fd, AT_ONCE);
	}
	if (fd >= 0)
		close(fd);
	for (int form = 0; form < EXPORTER_FORMS; form++)
		free(texts[form].text);
	return err == -ETIMEDOUT ? -EAGAIN : err;
}

static exit_status http_started(struct exporter_http *http)
{
	int err = packet_receive(http->channel, &http->packet, false, clock_monotonic() + PATIENCE);

	const char *what;

	if (err)
		return http_failed(err == -EPIPE ? ECHILD : -err);
	if (!http->packet.head.status)
		return 0;
	what = packet_text(&http->packet, PACKET_TEXT_MOST);
	log_error("cannot serve metrics safely: %s: %s", what ? what : "starting",
		  strerror(-http->packet.head.status));
	return EX_OSERR;
}

exit_status exporter_http_start(struct exporter_http *http)
{
	pid_t parent = getpid();

	fflush(NULL); /* or both processes would write it */
	http->child = fork();
	if (!http->child)
		child_run(http, parent);
	if (http->child < 0) {
		http->child = 0;
		return http_failed(errno);
	}
	close(http->ends);
	http->ends = -1;
	return http_started(http);
}

/* The child gets the socket when it has closed all others. */
static exit_status http_listen(struct exporter_http *http, const char *address)
{
	bool is_v6;
	int socket, ends[2], err,
		status = exporter_socket_open(&socket, &is_v6, address, &http->port);

	if (status)
		return status;
	err = packet_connect(ends);
	if (!err) {
		/* A few messages, each of which holds a file: the kernel's least. */
		setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &(int){ 1 }, sizeof(int));
		http->channel = ends[0];
		http->ends = ends[1];
		packet_begin(&http->packet, EXPORTER_SOCKET);
		http->packet.head.number = is_v6;
		http->packet.head.n = http->port;
		err = packet_send(http->channel, &http->packet, socket, AT_ONCE);
	}
	close(socket);
	return err ? http_failed(-err) : 0;
}

exit_status exporter_http_open(struct exporter_http **out,
			       const struct exporter_http_config *config)
{
	struct exporter_http *http = calloc(1, sizeof(*http));

	*out = http;
	if (!http)
		return http_failed(ENOMEM);
	http->channel = http->ends = -1;
	http->port = config->port;
	http->without = config->without;
	http->hosts = exporter_hosts_new(config->allowed);
	return http_listen(http, config->address);
}

uint16_t exporter_http_port(const struct exporter_http *http)
{
	return http->port;
}

pid_t exporter_http_child(const struct exporter_http *http)
{
	return http->child;
}

void exporter_http_close(struct exporter_http *http)
{
	if (!http)
		return;
	if (http->channel >= 0)
		close(http->channel);
	if (http->ends >= 0)
		close(http->ends);
	/* It ends by itself, too, unless someone has taken it over. */
	if (http->child && !kill(http->child, SIGKILL))
		while (waitpid(http->child, NULL, 0) < 0 && errno == EINTR)
			;
	free(http);
}

#else

exit_status exporter_http_open(struct exporter_http **http,
			       const struct exporter_http_config *config)
{
	(void)config;
	*http = NULL;
	log_error("option --listen: this program was built without libmicrohttpd");
	log_hint("-o prometheus:FILE writes files for node_exporter");
	return EX_USAGE;
}

exit_status exporter_http_start(struct exporter_http *http)
{
	(void)http;
	return 0;
}

int exporter_http_publish(struct exporter_http *http, struct exporter_text texts[EXPORTER_FORMS])
{
	(void)http;
	(void)texts;
	return 0;
}

uint16_t exporter_http_port(const struct exporter_http *http)
{
	(void)http;
	return 0;
}

pid_t exporter_http_child(const struct exporter_http *http)
{
	(void)http;
	return 0;
}

void exporter_http_close(struct exporter_http *http)
{
	(void)http;
}

#endif
