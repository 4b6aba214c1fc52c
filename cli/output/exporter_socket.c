// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "exporter_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"

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

	/* A connection of the run before may linger. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		return errno;
	/* Whatever net.ipv6.bindv6only says. */
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
