// SPDX-License-Identifier: Apache-2.0
/* What is ours of serving metrics: any requests of a connection, and the headers that are looked
 * at. An input is all that a client sends. The server runs in a thread here, where what it reaches
 * is seen; in the program it is a process of its own. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "cli/output/exporter.h"
#include "cli/sandbox/helper.h"
#include "input.h"
#include "cli/output/exporter_server.h"

#define ANSWER_ROOM 4096
#define ANSWERED_MS 2
#define SILENT_MS 50

static const char prometheus[] = "up 1\n", openmetrics[] = "up 1\n# EOF\n";
static struct exporter_hosts hosts;
static struct exporter_server *server;
static struct sockaddr_in to = { .sin_family = AF_INET };

/* What exporter_http.c sends: the socket, and what is to be answered with. */
static void channel_fill(int channel)
{
	static struct packet packet;
	int file = memfd_create("metrics", MFD_CLOEXEC), socket;
	uint16_t port = 0;
	bool is_v6;

	MUST(!exporter_socket_open(&socket, &is_v6, "127.0.0.1", &port));
	to.sin_port = htons(port);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	packet_begin(&packet, EXPORTER_SOCKET);
	packet.head.n = port;
	MUST(!packet_send(channel, &packet, socket, 0));
	close(socket);
	MUST(write(file, prometheus, strlen(prometheus)) > 0);
	MUST(write(file, openmetrics, strlen(openmetrics)) > 0);
	packet_begin(&packet, EXPORTER_TEXTS);
	packet.head.t = strlen(prometheus);
	MUST(!packet_send(channel, &packet, file, 0));
	close(file);
}

static void *serve(void *unused)
{
	(void)unused;
	exporter_server_run(server);
	abort(); /* the channel stays open */
}

/* Whether it is by itself, or with others that take the same or less. */
static void accept_check(struct input input)
{
	struct exporter_accept accept = { 0 };
	char *text = input_text_of(input), *rest = text, *header;

	while ((header = strsep(&rest, "\n"))) {
		enum exporter_form form;

		exporter_accept_add(&accept, header);
		form = exporter_accept_form(&accept);
		MUST(form == EXPORTER_PROMETHEUS || form == EXPORTER_OPENMETRICS);
		MUST(form == EXPORTER_PROMETHEUS || accept.quality[form] > 0);
		for (int i = 0; i < EXPORTER_FORMS; i++)
			MUST(accept.quality[i] >= 0 && accept.quality[i] <= 1);
		exporter_host_is_allowed(&hosts, header);
	}
	free(text);
}

/* Whether there is something to read, soon. MHD does not see the end of a connection that it has
 * just answered, and keeps it for as long as an idle one. */
static bool readable(int fd, bool answered)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	return poll(&poller, 1, answered ? ANSWERED_MS : SILENT_MS) > 0;
}

/* Returns how much of an answer there was; its beginning is in answer. */
static size_t answer_read(int fd, char answer[ANSWER_ROOM])
{
	size_t n = 0;
	ssize_t got = 1;

	while (n < ANSWER_ROOM && got > 0 && readable(fd, n)) {
		got = read(fd, answer + n, ANSWER_ROOM - n);
		n += got > 0 ? (size_t)got : 0;
	}
	return n;
}

static void connection_check(struct input input)
{
	const struct linger at_once = { .l_onoff = 1 }; /* leaves no port in TIME_WAIT */
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char answer[ANSWER_ROOM];
	size_t n;

	MUST(fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof(to)));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	send(fd, input.at, input.left, MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	n = answer_read(fd, answer);
	MUST(!n || (n > 12 && !memcmp(answer, "HTTP/1.", 7)));
	close(fd);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	pthread_t thread;
	int ends[2];

	(void)argc;
	(void)argv;
	MUST(!packet_connect(ends));
	channel_fill(ends[0]);
	hosts = exporter_hosts_new("metrics.example,*.lab");
	MUST(!exporter_server_new(&server, ends[1], &hosts) && !exporter_server_open(server));
	MUST(!pthread_create(&thread, NULL, serve, NULL));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = { bytes, size };

	accept_check(input);
	connection_check(input);
	return 0;
}
