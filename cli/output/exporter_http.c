// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "exporter_http.h"

#include "cli/base/exit_status.h"
#include "cli/base/log.h"

#ifdef HAVE_MICROHTTPD

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "exporter_socket.h"

/* What clients may take. One address alone cannot keep others out. */
#define CLIENTS_MAX 64U
#define CLIENTS_OF_ADDRESS 16U
#define CLIENT_BYTES ((size_t)32 << 10) /* for a request's line and headers */
#define IDLE_SECONDS 10U
/* A request with its answer, for those who send or read a byte now and then. */
#define REQUEST_NS (20 * NSEC_PER_SEC)
#define LOOK_MS 1000 /* how often that is looked at */

/* MHD's names of these changed. */
enum { STATUS_OK = 200, STATUS_NOT_FOUND = 404, STATUS_METHOD = 405, STATUS_BODY = 413 };

/* Responses of MHD count their users, are not changed and may have users in any thread. */
struct snapshot {
	struct MHD_Response *forms[EXPORTER_FORMS];
};

struct client {
	int fd; /* -1: none */
	uint64_t since;
};

struct exporter_http {
	struct MHD_Daemon *daemon;
	int stop; /* an eventfd */
	uint16_t port;
	bool running;
	pthread_t thread;
	_Atomic(struct snapshot *) fresh; /* published, and not yet used; NULL: none */

	/* Of the thread alone, while it is there: */
	struct snapshot *shown;
	struct client clients[CLIENTS_MAX];
};

static const char *const types[EXPORTER_FORMS] = {
	[EXPORTER_PROMETHEUS] = "text/plain; version=0.0.4; charset=utf-8",
	[EXPORTER_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

static const char front_page[] = "<!DOCTYPE html>\n"
				 "<html lang=\"en\"><head><title>kernel_delay</title></head>\n"
				 "<body><h1>kernel_delay</h1>\n"
				 "<p><a href=\"metrics\">Metrics</a></p></body></html>\n";

/* --- What is answered with --- */

static void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	for (int form = 0; form < EXPORTER_FORMS; form++)
		if (snapshot->forms[form])
			MHD_destroy_response(snapshot->forms[form]);
	free(snapshot);
}

static struct MHD_Response *form_response(struct exporter_text *text, const char *type)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(text->length, text->text,
									MHD_RESPMEM_MUST_FREE);

	if (!response)
		return NULL;
	text->text = NULL;
	if (MHD_add_response_header(response, "Content-Type", type) == MHD_YES &&
	    MHD_add_response_header(response, "Vary", "Accept") == MHD_YES)
		return response;
	MHD_destroy_response(response);
	return NULL;
}

int exporter_http_publish(struct exporter_http *http, struct exporter_text texts[EXPORTER_FORMS])
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));
	bool whole = snapshot;

	for (int form = 0; form < EXPORTER_FORMS; form++) {
		if (whole)
			snapshot->forms[form] = form_response(&texts[form], types[form]);
		whole = whole && snapshot->forms[form];
		free(texts[form].text);
	}
	if (whole)
		snapshot = atomic_exchange(&http->fresh, snapshot);
	snapshot_free(snapshot);
	return whole ? 0 : -ENOMEM;
}

/* --- Requests --- */

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned int status,
				   const char *type, const char *text, const char *allow)
{
	struct MHD_Response *response;
	enum MHD_Result done = MHD_NO;

	/* The text is constant: it is not written to. */
	response = MHD_create_response_from_buffer(strlen(text), (void *)text,
						   MHD_RESPMEM_PERSISTENT);
	if (!response)
		return MHD_NO;
	if (MHD_add_response_header(response, "Content-Type", type) == MHD_YES &&
	    (!allow || MHD_add_response_header(response, "Allow", allow) == MHD_YES))
		done = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return done;
}

static enum MHD_Result header_found(void *context, enum MHD_ValueKind kind, const char *name,
				    const char *value)
{
	(void)kind;
	if (value && !strcasecmp(name, "Accept"))
		exporter_accept_add(context, value);
	return MHD_YES;
}

static enum MHD_Result answer_metrics(struct exporter_http *http, struct MHD_Connection *connection)
{
	struct snapshot *fresh = atomic_exchange(&http->fresh, NULL);
	struct exporter_accept accept = { 0 };
	enum exporter_form form;

	if (fresh) {
		snapshot_free(http->shown);
		http->shown = fresh;
	}
	MHD_get_connection_values(connection, MHD_HEADER_KIND, header_found, &accept);
	form = exporter_accept_form(&accept);
	return MHD_queue_response(connection, STATUS_OK, http->shown->forms[form]);
}

static bool has_body(struct MHD_Connection *connection)
{
	const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							 "Content-Length");

	return (length && strspn(length, "0") != strlen(length)) ||
	       MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding");
}

/* Is called when the headers are there, and again when all of the request is. Refusals
 * come first: nothing more is read then. */
static enum MHD_Result request_answer(void *context, struct MHD_Connection *connection,
				      const char *path, const char *method, const char *version,
				      const char *data, size_t *size, void **seen)
{
	static const char plain[] = "text/plain; charset=utf-8";

	(void)version;
	(void)data;
	(void)size;
	if (!*seen) {
		*seen = context;
		if (strcmp(method, "GET") && strcmp(method, "HEAD"))
			return answer_text(connection, STATUS_METHOD, plain,
					   "only GET and HEAD are answered\n", "GET, HEAD");
		if (has_body(connection))
			return answer_text(connection, STATUS_BODY, plain,
					   "requests have no body here\n", NULL);
		return MHD_YES;
	}
	if (!strcmp(path, "/metrics"))
		return answer_metrics(context, connection);
	if (!strcmp(path, "/"))
		return answer_text(connection, STATUS_OK, "text/html; charset=utf-8", front_page,
				   NULL);
	return answer_text(connection, STATUS_NOT_FOUND, plain, "see /metrics\n", NULL);
}

/* --- Clients --- */

static void client_changed(void *context, struct MHD_Connection *connection, void **socket_context,
			   enum MHD_ConnectionNotificationCode what)
{
	struct exporter_http *http = context;
	const union MHD_ConnectionInfo *info;
	struct client *client = *socket_context;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (client)
			client->fd = -1;
		return;
	}
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	for (unsigned int i = 0; i < CLIENTS_MAX && info && !*socket_context; i++) {
		if (http->clients[i].fd >= 0)
			continue;
		http->clients[i] = (struct client){ info->connect_fd, clock_monotonic() };
		*socket_context = &http->clients[i];
	}
}

/* The next request of the connection has its own time. */
static void request_ended(void *context, struct MHD_Connection *connection, void **seen,
			  enum MHD_RequestTerminationCode why)
{
	const union MHD_ConnectionInfo *info;

	(void)context;
	(void)seen;
	(void)why;
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	if (info && info->socket_context)
		((struct client *)info->socket_context)->since = clock_monotonic();
}

/* MHD's time limit begins anew with each byte. */
static void clients_expire(struct exporter_http *http)
{
	uint64_t now = clock_monotonic();

	for (unsigned int i = 0; i < CLIENTS_MAX; i++)
		if (http->clients[i].fd >= 0 && now - http->clients[i].since > REQUEST_NS)
			shutdown(http->clients[i].fd, SHUT_RDWR);
}

/* --- The thread --- */

static int poll_timeout(struct MHD_Daemon *daemon)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(daemon, &ms) != MHD_YES)
		return -1;
	return ms < LOOK_MS ? (int)ms : LOOK_MS;
}

static void *http_serve(void *context)
{
	struct exporter_http *http = context;
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon,
							       MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[] = { { info->epoll_fd, POLLIN, 0 }, { http->stop, POLLIN, 0 } };

	while (!fds[1].revents) {
		poll(fds, 2, poll_timeout(http->daemon));
		MHD_run(http->daemon);
		clients_expire(http);
	}
	return NULL;
}

static exit_status http_failed(int error)
{
	log_error("cannot serve metrics: %s", strerror(error));
	return EX_OSERR;
}

int exporter_http_start(struct exporter_http *http)
{
	sigset_t all, before;
	int error;

	/* Signals are for the loop of the run. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&http->thread, NULL, http_serve, http);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	http->running = !error;
	return error ? http_failed(error) : 0;
}

/* MHD's own thread would not call clients_expire(). */
static exit_status daemon_start(struct exporter_http *http, int socket, bool is_v6)
{
	unsigned int flags = MHD_USE_EPOLL | (is_v6 ? MHD_USE_IPv6 : 0);

	errno = 0;
	http->daemon = MHD_start_daemon(
		flags, http->port, NULL, NULL, request_answer, http, MHD_OPTION_LISTEN_SOCKET,
		socket, MHD_OPTION_CONNECTION_LIMIT, CLIENTS_MAX,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, CLIENTS_OF_ADDRESS,
		MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		CLIENT_BYTES, MHD_OPTION_NOTIFY_CONNECTION, client_changed, http,
		MHD_OPTION_NOTIFY_COMPLETED, request_ended, http, MHD_OPTION_END);
	/* Then the socket is closed, or not: that depends on MHD. */
	return http->daemon ? 0 : http_failed(errno ? errno : ENOMEM);
}

exit_status exporter_http_open(struct exporter_http **out, const char *address, uint16_t port)
{
	struct exporter_http *http = calloc(1, sizeof(*http));
	int socket, status;
	bool is_v6;

	*out = http;
	if (!http)
		return http_failed(ENOMEM);
	for (unsigned int i = 0; i < CLIENTS_MAX; i++)
		http->clients[i].fd = -1;
	http->port = port;
	http->stop = eventfd(0, EFD_CLOEXEC);
	if (http->stop < 0)
		return http_failed(errno);
	status = exporter_socket_open(&socket, &is_v6, address, &http->port);
	return status ? status : daemon_start(http, socket, is_v6);
}

uint16_t exporter_http_port(const struct exporter_http *http)
{
	return http->port;
}

void exporter_http_close(struct exporter_http *http)
{
	if (!http)
		return;
	if (http->running) {
		eventfd_write(http->stop, 1);
		pthread_join(http->thread, NULL);
	}
	if (http->daemon)
		MHD_stop_daemon(http->daemon);
	snapshot_free(http->shown);
	snapshot_free(atomic_load(&http->fresh));
	if (http->stop >= 0)
		close(http->stop);
	free(http);
}

#else

exit_status exporter_http_open(struct exporter_http **http, const char *address, uint16_t port)
{
	(void)address;
	(void)port;
	*http = NULL;
	log_error("option --listen: this program was built without libmicrohttpd");
	log_hint("-o prometheus:FILE writes files for node_exporter");
	return EX_USAGE;
}

int exporter_http_start(struct exporter_http *http)
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

void exporter_http_close(struct exporter_http *http)
{
	(void)http;
}

#endif
