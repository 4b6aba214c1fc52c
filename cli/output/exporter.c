// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "exporter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "cli/metrics/metric_sample.h"
#include "cli/metrics/metric_text.h"
#include "cli/metrics/metric_values.h"
#include "cli/sandbox/helper.h"
#include "cli/sandbox/sandbox.h"
#include "exporter_server.h"

/* --- Listening socket --- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static exit_status socket_failed(const char *address, uint16_t port, bool is_v6, int error)
{
	log_error("cannot listen on %s%s%s:%u: %s", is_v6 ? "[" : "", address, is_v6 ? "]" : "",
		  port, strerror(error));
	switch (error) {
	case EADDRINUSE:
		log_hint("another program uses this port, perhaps another kernel_delay: give "
			 "--listen another one");
		return EX_UNAVAILABLE;
	case EADDRNOTAVAIL:
	case EAFNOSUPPORT:
		log_hint("this machine has no such address: `ip address` shows those it has");
		return EX_UNAVAILABLE;
	case EACCES:
	case EPERM:
		log_hint("ports below 1024 need the capability CAP_NET_BIND_SERVICE: give --listen "
			 "a larger one");
		return EX_NOPERM;
	}
	return EX_OSERR;
}

static socklen_t address_fill(union address *bound, const char *address, uint16_t port)
{
	memset(bound, 0, sizeof(*bound));
	if (inet_pton(AF_INET, address, &bound->v4.sin_addr) == 1) {
		bound->v4.sin_family = AF_INET;
		bound->v4.sin_port = htons(port);
		return sizeof(bound->v4);
	}
	if (inet_pton(AF_INET6, address, &bound->v6.sin6_addr) != 1)
		return 0;
	bound->v6.sin6_family = AF_INET6;
	bound->v6.sin6_port = htons(port);
	return sizeof(bound->v6);
}

/* Returns 0 or an errno. */
static int socket_listen(int fd, const union address *bound, socklen_t length)
{
	int one = 1, zero = 0;

	/* A connection of the previous run may linger. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		return errno;
	/* Overrides net.ipv6.bindv6only. */
	if (bound->any.sa_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)))
		return errno;
	if (bind(fd, &bound->any, length) || listen(fd, SOMAXCONN))
		return errno;
	return 0;
}

exit_status exporter_socket_open(int *fd, bool *is_v6, const char *address, uint16_t *port)
{
	union address bound;
	socklen_t length = address_fill(&bound, address, *port);
	int error;

	*fd = -1;
	*is_v6 = bound.any.sa_family == AF_INET6;
	if (!length)
		return socket_failed(address, *port, false, EADDRNOTAVAIL);
	*fd = socket(bound.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	error = *fd < 0 ? errno : socket_listen(*fd, &bound, length);
	if (!error && getsockname(*fd, &bound.any, &length))
		error = errno;
	if (!error) {
		*port = ntohs(*is_v6 ? bound.v6.sin6_port : bound.v4.sin_port);
		return 0;
	}
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return socket_failed(address, *port, *is_v6, error);
}

/* --- HTTP process --- */

/* An unprivileged process answers requests from the latest published text. It never waits for
 * the publisher, and the publisher never waits for it. */

#ifdef HAVE_MICROHTTPD
#define HAS_SERVER true
#else
#define HAS_SERVER false
#endif

#define PATIENCE (10 * NSEC_PER_SEC) /* for the child to start */
#define AT_ONCE 1                    /* a deadline in the past */

struct exporter {
	struct metrics *metrics;
	bool changed; /* since the last answer was made */
	uint64_t due; /* earliest time of the next answer, CLOCK_MONOTONIC ns */
	struct exporter_hosts hosts;
	unsigned int without; /* parts of the sandbox left out */
	uint16_t port;
	int channel; /* our end, -1: none */
	int ends;    /* the child's end, until it is started */
	pid_t child; /* 0: none */
	struct packet packet;
};

/* Reports why metrics cannot be served, and the alternative. */
static exit_status library_missing(const char *what, exit_status status)
{
	log_error("option --listen: %s", what);
	log_hint("-o prometheus:FILE writes files for node_exporter");
	return status;
}

static exit_status exporter_failed(int error)
{
	log_error("cannot serve metrics: %s",
		  error == -EPIPE ? "the process that answers requests has ended"
				  : strerror(-error));
	return EX_OSERR;
}

/* --- Child --- */

/* System calls of a server and of reading files and memory. Others only fail, because versions
 * of the libraries differ. */
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

static int child_confine(const struct exporter *exporter, pid_t parent, const char **what)
{
	int err = sandbox_enter(
		exporter->ends, parent,
		exporter->without | SANDBOX_WITHOUT_FILTER | SANDBOX_WITHOUT_CPU_LIMIT, what);

	if (err || exporter->without & SANDBOX_WITHOUT_FILTER)
		return err;
	*what = "filtering system calls";
	return server_filter();
}

/* what: step that failed, if there is an error. */
static int child_greet(struct packet *packet, int err, const char *what)
{
	packet_begin(packet, EXPORTER_STARTED);
	packet->head.status = err;
	if (err)
		packet_put_text(packet, what);
	return packet_send(SANDBOX_SOCKET, packet, -1, 0);
}

static _Noreturn void child_run(struct exporter *exporter, pid_t parent)
{
	const char *what = "starting";
	struct exporter_server *server;
	int loaded = exporter_server_new(&server, SANDBOX_SOCKET, &exporter->hosts);
	/* Sandbox first: this also puts the channel where messages go. */
	int err = child_confine(exporter, parent, &what) ?: loaded;

	if (!err) {
		what = "listening";
		err = exporter_server_open(server);
	}
	err = child_greet(&exporter->packet, err, what) ?: err;
	if (!err)
		err = exporter_server_run(server);
	_exit(err ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* --- Parent --- */

/* Makes new texts, and publishes them. Answers in progress keep the old ones. Returns 0; -EAGAIN
 * if the other process is several behind; -EPIPE if it has ended; another negative errno. */
static int texts_publish(struct exporter *exporter)
{
	int fd = memfd_create("metrics", MFD_CLOEXEC), err;
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (!out) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	packet_begin(&exporter->packet, EXPORTER_TEXTS);
	err = metrics_write_prometheus(exporter->metrics, out);
	exporter->packet.head.t = (uint64_t)ftello(out);
	err = err ?: metrics_write_openmetrics(exporter->metrics, out);
	err = err ?: packet_send(exporter->channel, &exporter->packet, fd, AT_ONCE);
	fclose(out);
	return err == -ETIMEDOUT ? -EAGAIN : err;
}

static exit_status server_started(struct exporter *exporter)
{
	int err = packet_receive(exporter->channel, &exporter->packet, false,
				 clock_monotonic() + PATIENCE);

	const char *what;

	if (err)
		return exporter_failed(err == -EPIPE ? -ECHILD : err);
	if (!exporter->packet.head.status)
		return 0;
	if (exporter->packet.head.status == -ELIBACC)
		return library_missing(HTTP_LIBRARY " cannot be loaded", EX_OSERR);
	what = packet_text(&exporter->packet, PACKET_TEXT_MOST);
	log_error("cannot serve metrics safely: %s: %s", what ? what : "starting",
		  strerror(-exporter->packet.head.status));
	return EX_OSERR;
}

/* Starts the process; texts must have been published. Call while this process is
 * single-threaded. Returns as above. */
static exit_status server_start(struct exporter *exporter)
{
	pid_t parent = getpid();

	fflush(NULL); /* or both processes would write it */
	exporter->child = fork();
	if (!exporter->child)
		child_run(exporter, parent);
	if (exporter->child < 0) {
		exporter->child = 0;
		return exporter_failed(-errno);
	}
	close(exporter->ends);
	exporter->ends = -1;
	return server_started(exporter);
}

/* The child gets the socket after it has closed all others. */
static exit_status server_listen(struct exporter *exporter, const char *address)
{
	bool is_v6;
	int socket, ends[2], err,
		status = exporter_socket_open(&socket, &is_v6, address, &exporter->port);

	if (status)
		return status;
	err = packet_connect(ends);
	if (!err) {
		/* A few messages with a file each: the kernel's minimum. */
		setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &(int){ 1 }, sizeof(int));
		exporter->channel = ends[0];
		exporter->ends = ends[1];
		packet_begin(&exporter->packet, EXPORTER_SOCKET);
		exporter->packet.head.number = is_v6;
		exporter->packet.head.n = exporter->port;
		err = packet_send(exporter->channel, &exporter->packet, socket, AT_ONCE);
	}
	close(socket);
	return err ? exporter_failed(err) : 0;
}

/* --- Metrics --- */

/* Making answers takes at most 1/SHARE of the time: the consumer also handles samples. */
#define SHARE 10

exit_status exporter_refresh(struct exporter *exporter)
{
	uint64_t now;
	int error;

	if (!exporter || !exporter->changed)
		return 0;
	now = clock_monotonic();
	if (now < exporter->due)
		return 0;
	error = texts_publish(exporter);
	exporter->changed = error == -EAGAIN;
	if (exporter->changed)
		error = 0;
	exporter->due = clock_monotonic() + (SHARE - 1) * (clock_monotonic() - now);
	return error ? exporter_failed(error) : 0;
}

static exit_status exporter_added(struct exporter *exporter, int error)
{
	exporter->changed = true;
	return error ? exporter_failed(error) : exporter_refresh(exporter);
}

exit_status exporter_add(struct exporter *exporter, const struct sample *sample)
{
	return exporter ? exporter_added(exporter, metrics_add(exporter->metrics, sample)) : 0;
}

exit_status exporter_add_triggers(struct exporter *exporter, const struct trigger_stats *stats)
{
	return exporter ? exporter_added(exporter, metrics_add_triggers(exporter->metrics, stats))
			: 0;
}

static void exporter_tell(const struct exporter *exporter, const char *address)
{
	bool is_v6 = strchr(address, ':');

	log_note("serving metrics at http://%s%s%s:%u/metrics", is_v6 ? "[" : "", address,
		 is_v6 ? "]" : "", exporter_port(exporter));
}

exit_status exporter_open(struct exporter **out, const struct exporter_config *config)
{
	struct exporter *exporter = HAS_SERVER ? calloc(1, sizeof(*exporter)) : NULL;
	int status;

	*out = exporter;
	if (!HAS_SERVER)
		return library_missing("this program was built without libmicrohttpd", EX_USAGE);
	if (!exporter)
		return exporter_failed(-ENOMEM);
	exporter->channel = exporter->ends = -1;
	exporter->port = config->port;
	exporter->without = config->without;
	exporter->hosts = exporter_hosts_new(config->allowed);
	exporter->changed = true;
	exporter->metrics = metrics_new(&config->report);
	if (!exporter->metrics || metrics_expect(exporter->metrics, config->capture, config->pid))
		return exporter_failed(-ENOMEM);
	status = server_listen(exporter, config->address) ?: exporter_refresh(exporter)
							  ?: server_start(exporter);
	if (!status)
		exporter_tell(exporter, config->address);
	return status;
}

uint16_t exporter_port(const struct exporter *exporter)
{
	return exporter->port;
}

pid_t exporter_child(const struct exporter *exporter)
{
	return exporter ? exporter->child : 0;
}

void exporter_close(struct exporter *exporter)
{
	if (!exporter)
		return;
	if (exporter->channel >= 0)
		close(exporter->channel);
	if (exporter->ends >= 0)
		close(exporter->ends);
	/* It also ends by itself, unless it has been taken over. */
	if (exporter->child && !kill(exporter->child, SIGKILL))
		while (waitpid(exporter->child, NULL, 0) < 0 && errno == EINTR)
			;
	metrics_free(exporter->metrics);
	free(exporter);
}
