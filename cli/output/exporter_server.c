// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "exporter_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/library.h"
#include "cli/sandbox/helper.h"

/* --- Format by the client's Accept header (RFC 9110, 12.5.1) --- */

#define BLANKS " \t"

/* Media ranges of each format. A wildcard subtype is not enough for OpenMetrics. */
static const struct range {
	const char *type, *version;
	enum exporter_form form;
} ranges[] = {
	{ "application/openmetrics-text", "1.0.0", EXPORTER_OPENMETRICS },
	{ "text/plain", "0.0.4", EXPORTER_PROMETHEUS },
	{ "text/*", "", EXPORTER_PROMETHEUS },
	{ "*/*", "", EXPORTER_PROMETHEUS },
};

/* 0 to 1; 0 if malformed. */
static double quality_read(const char *text)
{
	char *end;
	double quality = strtod(text, &end);

	return end > text && !*end && quality >= 0 && quality <= 1 ? quality : 0;
}

/* version: may be quoted; NULL: any. */
static bool range_is(const struct range *range, const char *type, const char *version)
{
	size_t length = strlen(range->version);

	if (strcasecmp(type, range->type) != 0)
		return false;
	if (!version)
		return true;
	version += *version == '"';
	return !strncmp(version, range->version, length) &&
	       (!version[length] || version[length] == '"');
}

/* Parses "type/subtype;version=1;q=0.5". */
static void range_add(struct exporter_accept *accept, char *text)
{
	char *rest, *type = strtok_r(text, ";" BLANKS, &rest), *parameter;
	const char *version = NULL;
	double quality = 1;

	while (type && (parameter = strtok_r(NULL, ";" BLANKS, &rest))) {
		if (!strncasecmp(parameter, "q=", 2))
			quality = quality_read(parameter + 2);
		else if (!strncasecmp(parameter, "version=", 8))
			version = parameter + 8;
	}
	for (size_t i = 0; type && i < sizeof(ranges) / sizeof(*ranges); i++)
		if (range_is(&ranges[i], type, version) &&
		    quality > accept->quality[ranges[i].form])
			accept->quality[ranges[i].form] = quality;
}

void exporter_accept_add(struct exporter_accept *accept, const char *header)
{
	char *copy = strdup(header), *at = copy, *range;

	while ((range = strsep(&at, ",")))
		range_add(accept, range);
	free(copy);
}

enum exporter_form exporter_accept_form(const struct exporter_accept *accept)
{
	double quality = accept->quality[EXPORTER_OPENMETRICS];

	return quality > 0 && quality >= accept->quality[EXPORTER_PROMETHEUS] ? EXPORTER_OPENMETRICS
									      : EXPORTER_PROMETHEUS;
}

/* --- Check of the Host header --- */

#define LOCAL "localhost"
#define NAME_MOST 256 /* limit of DNS */

struct exporter_hosts exporter_hosts_new(const char *allowed)
{
	struct exporter_hosts hosts = { .allowed = allowed };

	if (gethostname(hosts.own, sizeof(hosts.own) - 1))
		*hosts.own = '\0';
	return hosts;
}

/* Reads the header without blanks, port and trailing dot; an IPv6 address without brackets.
 * False if it is too long or malformed. */
static bool name_read(char name[static NAME_MOST], const char *header)
{
	size_t length, port;

	header += strspn(header, " \t");
	length = strcspn(header, " \t");
	port = *header == '[' ? strcspn(header, "]") + 1 : strcspn(header, ":");
	if (port > length || length > NAME_MOST - 1 ||
	    header[length + strspn(header + length, " \t")])
		return false;
	if (port < length &&
	    (header[port] != ':' || strspn(header + port + 1, "0123456789") != length - port - 1))
		return false;
	length = port;
	if (*header == '[') {
		header++;
		length -= 2;
	} else if (length && header[length - 1] == '.') {
		length--;
	}
	memcpy(name, header, length);
	name[length] = '\0';
	return length;
}

static bool is_address(const char *name)
{
	unsigned char binary[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, name, binary) == 1 || inet_pton(AF_INET6, name, binary) == 1;
}

static bool is_local(const char *name)
{
	size_t length = strlen(name), suffix = strlen(LOCAL);

	return length >= suffix && !strcasecmp(name + length - suffix, LOCAL) &&
	       (length == suffix || name[length - suffix - 1] == '.');
}

/* Own name, or its first label: no other machine has a name without a dot. */
static bool is_own(const char *name, const char *own)
{
	size_t length = strlen(name);

	return *own && !strncasecmp(name, own, length) &&
	       (!own[length] || (own[length] == '.' && !strchr(name, '.')));
}

static bool is_listed(const char *name, const char *list)
{
	size_t length = strlen(name), part;

	for (; list && *list; list += part + (list[part] == ',')) {
		part = strcspn(list, ",");
		if ((part == 1 && *list == '*') ||
		    (part == length && !strncasecmp(list, name, length)))
			return true;
	}
	return false;
}

bool exporter_host_is_allowed(const struct exporter_hosts *hosts, const char *header)
{
	char name[NAME_MOST];

	if (is_listed("*", hosts->allowed))
		return true;
	return name_read(name, header) &&
	       (is_address(name) || is_local(name) || is_own(name, hosts->own) ||
		is_listed(name, hosts->allowed));
}

/* --- Answers --- */

#ifdef HAVE_MICROHTTPD
#include <microhttpd.h>

#define HTTP(name) __typeof__(MHD_##name) *name
struct http {
	HTTP(add_response_header);
	HTTP(create_response_from_buffer);
	HTTP(destroy_response);
	HTTP(get_connection_info);
	HTTP(get_connection_values);
	HTTP(get_daemon_info);
	HTTP(get_timeout);
	HTTP(lookup_connection_value);
	HTTP(queue_response);
	HTTP(run);
	HTTP(start_daemon);
};

#define TAKE(http, name) library_take(library, MHD_##name, &(http)->name)

#ifdef LINK_ALL
/* Stands for the functions of TLS, of which the library calls only one to set it up: distributions
 * build it with TLS, and this program does not use that. */
int no_tls(void);
int no_tls(void)
{
	return 0;
}
#endif

static bool http_load(struct http *http)
{
	void *library = library_open(HTTP_LIBRARY);

	return library && TAKE(http, add_response_header) &&
	       TAKE(http, create_response_from_buffer) && TAKE(http, destroy_response) &&
	       TAKE(http, get_connection_info) && TAKE(http, get_connection_values) &&
	       TAKE(http, get_daemon_info) && TAKE(http, get_timeout) &&
	       TAKE(http, lookup_connection_value) && TAKE(http, queue_response) &&
	       TAKE(http, run) && TAKE(http, start_daemon);
}

/* Limits per client. */
#define CLIENT_BYTES ((size_t)32 << 10) /* request line and headers */
#define IDLE_SECONDS 10U                /* in which it reads nothing of its answer */
/* Without a complete request, however busily it writes one: while there are fewer than CLIENTS,
 * and when others wait to be let in. */
#define REQUEST_NS (2 * NSEC_PER_SEC)
#define REQUEST_CROWDED_NS (100 * NSEC_PER_MSEC)
#define CLIENTS 64U
#define CLIENTS_OF_ADDRESS 16U

/* MHD renamed these. */
enum {
	STATUS_OK = 200,
	STATUS_NOT_FOUND = 404,
	STATUS_METHOD = 405,
	STATUS_BODY = 413,
	STATUS_MISDIRECTED = 421,
};

/* A client's connection; fd -1: unused. */
struct link {
	int fd;
	uint64_t asked_since; /* CLOCK_MONOTONIC ns: its request is not complete; 0: it is */
};

struct exporter_server {
	struct http http;
	struct link links[CLIENTS];
	struct MHD_Daemon *daemon;
	int channel;
	struct exporter_hosts hosts;
	struct MHD_Response *shown[EXPORTER_FORMS]; /* reference-counted */
	struct packet packet;
};

static const char *const types[EXPORTER_FORMS] = {
	[EXPORTER_PROMETHEUS] = "text/plain; version=0.0.4; charset=utf-8",
	[EXPORTER_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
};
static const char plain[] = "text/plain; charset=utf-8";

static const char front_page[] = "<!DOCTYPE html>\n"
				 "<html lang=\"en\"><head><title>kernel_delay</title></head>\n"
				 "<body><h1>kernel_delay</h1>\n"
				 "<p><a href=\"metrics\">Metrics</a></p></body></html>\n";

/* --- Responses --- */

static struct MHD_Response *form_response(const struct exporter_server *server, char *text,
					  size_t length, const char *type)
{
	struct MHD_Response *response =
		server->http.create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE);

	if (!response) {
		free(text);
		return NULL;
	}
	if (server->http.add_response_header(response, "Content-Type", type) == MHD_YES &&
	    server->http.add_response_header(response, "Vary", "Accept") == MHD_YES)
		return response;
	server->http.destroy_response(response);
	return NULL;
}

static int form_take(struct exporter_server *server, enum exporter_form form, int fd, off_t at,
		     size_t length)
{
	char *text = malloc(length + 1);
	struct MHD_Response *response;

	for (size_t done = 0; text && done < length;) {
		ssize_t got = pread(fd, text + done, length - done, at + (off_t)done);

		if (got <= 0) {
			free(text);
			return -EIO;
		}
		done += (size_t)got;
	}
	response = text ? form_response(server, text, length, types[form]) : NULL;
	if (!response)
		return -ENOMEM;
	if (server->shown[form])
		server->http.destroy_response(server->shown[form]);
	server->shown[form] = response;
	return 0;
}

/* Both formats are in one file; the first one has t bytes. */
static int texts_take(struct exporter_server *server)
{
	const struct packet *packet = &server->packet;
	struct stat status;
	uint64_t first = packet->head.t;
	int err;

	if (packet->head.type != EXPORTER_TEXTS || packet->fd < 0)
		return -EBADMSG;
	err = fstat(packet->fd, &status) ? -errno : 0;
	if (!err && first > (uint64_t)status.st_size)
		err = -EBADMSG;
	if (!err)
		err = form_take(server, 0, packet->fd, 0, first);
	if (!err)
		err = form_take(server, 1, packet->fd, (off_t)first,
				(size_t)status.st_size - first);
	close(packet->fd);
	return err;
}
_Static_assert(EXPORTER_FORMS == 2, "texts_take()");

/* Takes all published texts. Returns 0, or a negative errno if no more will follow. */
static int server_update(struct exporter_server *server)
{
	int err;

	do {
		err = packet_receive(server->channel, &server->packet, true, 1);
		if (!err)
			err = texts_take(server);
		if (err == -ENOMEM && server->shown[0] && server->shown[1])
			err = 0; /* keep the current ones: clients may hold many older ones */
	} while (!err);
	return err == -ETIMEDOUT ? 0 : err;
}

/* --- Connections --- */

/* *context is the connection's entry; NULL: there is none free, so the daemon's limit ends it. */
static void link_noted(void *server_context, struct MHD_Connection *connection, void **context,
		       enum MHD_ConnectionNotificationCode code)
{
	struct exporter_server *server = server_context;
	struct link *link = *context;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED && link) {
		link->fd = -1;
	} else if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		for (size_t i = 0; i < CLIENTS && !link; i++)
			if (server->links[i].fd < 0)
				link = &server->links[i];
		*context = link;
		if (link)
			*link = (struct link){
				.fd = server->http
					      .get_connection_info(
						      connection, MHD_CONNECTION_INFO_CONNECTION_FD)
					      ->connect_fd,
				.asked_since = clock_monotonic(),
			};
	}
}

static struct link *link_of(const struct exporter_server *server, struct MHD_Connection *connection)
{
	return server->http.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		->socket_context;
}

/* The next request may follow. */
static void request_done(void *context, struct MHD_Connection *connection, void **begun,
			 enum MHD_RequestTerminationCode code)
{
	struct link *link = link_of(context, connection);

	(void)begun;
	(void)code;
	if (link)
		link->asked_since = clock_monotonic();
}

/* Ends connections whose request takes too long. Returns when to look again, ns from now;
 * UINT64_MAX: no need. */
static uint64_t links_expire(struct exporter_server *server)
{
	uint64_t now = clock_monotonic(), next = UINT64_MAX, limit = REQUEST_CROWDED_NS;

	for (size_t i = 0; i < CLIENTS; i++)
		if (server->links[i].fd < 0)
			limit = REQUEST_NS;
	for (size_t i = 0; i < CLIENTS; i++) {
		struct link *link = &server->links[i];
		uint64_t until = link->asked_since + limit;

		if (link->fd < 0 || !link->asked_since)
			continue;
		if (until > now) {
			next = u64_min(next, until - now);
			continue;
		}
		link->asked_since = 0;
		shutdown(link->fd, SHUT_RDWR); /* the daemon closes it when it sees that */
	}
	return next;
}

/* --- Requests --- */

static enum MHD_Result answer_text(const struct exporter_server *server,
				   struct MHD_Connection *connection, unsigned int status,
				   const char *type, const char *text, const char *allow)
{
	struct MHD_Response *response;
	enum MHD_Result done = MHD_NO;

	/* The text is constant and is never written to. */
	response = server->http.create_response_from_buffer(strlen(text), (void *)text,
							    MHD_RESPMEM_PERSISTENT);
	if (!response)
		return MHD_NO;
	if (server->http.add_response_header(response, "Content-Type", type) == MHD_YES &&
	    (!allow || server->http.add_response_header(response, "Allow", allow) == MHD_YES))
		done = server->http.queue_response(connection, status, response);
	server->http.destroy_response(response);
	return done;
}

/* Data of the headers. */
struct wanted {
	const struct exporter_hosts *hosts;
	struct exporter_accept accept;
	bool is_misdirected;
};

static enum MHD_Result header_found(void *context, enum MHD_ValueKind kind, const char *name,
				    const char *value)
{
	struct wanted *wanted = context;

	(void)kind;
	if (value && !strcasecmp(name, "Accept"))
		exporter_accept_add(&wanted->accept, value);
	if (!strcasecmp(name, "Host"))
		wanted->is_misdirected |= !exporter_host_is_allowed(wanted->hosts, value ?: "");
	return MHD_YES;
}

static struct wanted headers_read(struct exporter_server *server, struct MHD_Connection *connection)
{
	struct wanted wanted = { .hosts = &server->hosts };

	server->http.get_connection_values(connection, MHD_HEADER_KIND, header_found, &wanted);
	return wanted;
}

static enum MHD_Result answer_metrics(struct exporter_server *server,
				      struct MHD_Connection *connection)
{
	struct wanted wanted = headers_read(server, connection);

	server_update(server); /* a failure shows up again */
	return server->http.queue_response(connection, STATUS_OK,
					   server->shown[exporter_accept_form(&wanted.accept)]);
}

static bool has_body(const struct exporter_server *server, struct MHD_Connection *connection)
{
	const char *length = server->http.lookup_connection_value(connection, MHD_HEADER_KIND,
								  "Content-Length");

	return (length && strspn(length, "0") != strlen(length)) ||
	       server->http.lookup_connection_value(connection, MHD_HEADER_KIND,
						    "Transfer-Encoding");
}

/* Refuses first: nothing more is read then. MHD_YES: not refused. */
static enum MHD_Result request_refuse(struct exporter_server *server,
				      struct MHD_Connection *connection, const char *method)
{
	if (headers_read(server, connection).is_misdirected)
		return answer_text(server, connection, STATUS_MISDIRECTED, plain,
				   "this name is not known here: ask by address, or give it to "
				   "kernel_delay with --listen=PORT,allow-host=NAME\n",
				   NULL);
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return answer_text(server, connection, STATUS_METHOD, plain,
				   "only GET and HEAD are answered\n", "GET, HEAD");
	if (has_body(server, connection))
		return answer_text(server, connection, STATUS_BODY, plain,
				   "requests have no body here\n", NULL);
	return MHD_YES;
}

/* Called once after the headers, and again after the full request. */
static enum MHD_Result request_answer(void *context, struct MHD_Connection *connection,
				      const char *path, const char *method, const char *version,
				      const char *data, size_t *size, void **begun)
{
	struct exporter_server *server = context;
	struct link *link = link_of(server, connection);

	(void)version;
	(void)data;
	(void)size;
	if (!*begun) {
		*begun = context;
		if (link)
			link->asked_since = 0;
		return request_refuse(server, connection, method);
	}
	if (!strcmp(path, "/metrics"))
		return answer_metrics(server, connection);
	if (!strcmp(path, "/healthz"))
		return answer_text(server, connection, STATUS_OK, plain, "ok\n", NULL);
	if (!strcmp(path, "/"))
		return answer_text(server, connection, STATUS_OK, "text/html; charset=utf-8",
				   front_page, NULL);
	return answer_text(server, connection, STATUS_NOT_FOUND, plain, "see /metrics\n", NULL);
}

/* --- Process --- */

/* The first message carries the socket; number: IPv6; n: its port. */
static int daemon_start(struct exporter_server *server)
{
	const struct packet *packet = &server->packet;
	int err = packet_receive(server->channel, &server->packet, true, 0);
	unsigned int flags;

	if (err)
		return err;
	flags = MHD_USE_EPOLL | (packet->head.number ? MHD_USE_IPv6 : 0);
	errno = 0;
	server->daemon = server->http.start_daemon(
		flags, (uint16_t)packet->head.n, NULL, NULL, request_answer, server,
		MHD_OPTION_LISTEN_SOCKET, packet->fd, MHD_OPTION_CONNECTION_LIMIT, CLIENTS,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, CLIENTS_OF_ADDRESS,
		MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		CLIENT_BYTES, MHD_OPTION_NOTIFY_CONNECTION, link_noted, server,
		MHD_OPTION_NOTIFY_COMPLETED, request_done, server, MHD_OPTION_END);
	return server->daemon ? 0 : -(errno ? errno : ENOMEM);
}

/* Milliseconds; -1: no limit. */
static int poll_timeout(struct exporter_server *server)
{
	uint64_t left = links_expire(server);
	MHD_UNSIGNED_LONG_LONG ms;

	if (server->http.get_timeout(server->daemon, &ms) == MHD_YES)
		left = u64_min(left, u64_times(ms, NSEC_PER_MSEC));
	return left == UINT64_MAX
		       ? -1
		       : (int)u64_min((left + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC, INT_MAX);
}

int exporter_server_new(struct exporter_server **out, int channel,
			const struct exporter_hosts *hosts)
{
	struct exporter_server *server = *out = calloc(1, sizeof(*server));

	if (!server)
		return -ENOMEM;
	server->channel = channel;
	server->hosts = *hosts;
	for (size_t i = 0; i < CLIENTS; i++)
		server->links[i].fd = -1;
	return http_load(&server->http) ? 0 : -ELIBACC;
}

int exporter_server_open(struct exporter_server *server)
{
	int err = daemon_start(server);

	if (!err)
		err = server_update(server);
	return !err && !(server->shown[0] && server->shown[1]) ? -EBADMSG : err;
}

int exporter_server_run(struct exporter_server *server)
{
	const union MHD_DaemonInfo *info = server->http.get_daemon_info(server->daemon,
									MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[] = { { info->epoll_fd, POLLIN, 0 }, { server->channel, POLLIN, 0 } };
	int err;

	do {
		poll(fds, 2, poll_timeout(server));
		err = server_update(server);
		if (!err)
			server->http.run(server->daemon);
	} while (!err);
	return err == -EPIPE ? 0 : err;
}

#else

int exporter_server_new(struct exporter_server **out, int channel,
			const struct exporter_hosts *hosts)
{
	(void)out, (void)channel, (void)hosts;
	return -ENOSYS;
}

int exporter_server_open(struct exporter_server *server)
{
	(void)server;
	return -ENOSYS;
}

int exporter_server_run(struct exporter_server *server)
{
	(void)server;
	return -ENOSYS;
}

#endif
