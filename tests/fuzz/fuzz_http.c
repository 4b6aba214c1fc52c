// SPDX-License-Identifier: Apache-2.0
/* What is ours of serving metrics: any requests of a connection, and the Accept header. An
 * input is all that a client sends. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "cli/output/exporter_accept.h"
#include "cli/output/exporter_http.h"
#include "input.h"

#define ANSWER_ROOM 4096
#define ANSWERED_MS 2
#define SILENT_MS 50

static struct exporter_http *http;
static struct sockaddr_in to = { .sin_family = AF_INET };

static void publish(void)
{
	struct exporter_text texts[EXPORTER_FORMS];

	for (int form = 0; form < EXPORTER_FORMS; form++) {
		texts[form].text = strdup(form == EXPORTER_PROMETHEUS ? "up 1\n" : "up 1\n# EOF\n");
		MUST(texts[form].text);
		texts[form].length = strlen(texts[form].text);
	}
	MUST(!exporter_http_publish(http, texts));
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
		MUST(form == EXPORTER_PROMETHEUS || accept.forms[form].quality);
		for (int i = 0; i < EXPORTER_FORMS; i++)
			MUST(accept.forms[i].quality <= 1000);
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
	(void)argc;
	(void)argv;
	MUST(!exporter_http_open(&http, "127.0.0.1", 0));
	publish();
	MUST(!exporter_http_start(http));
	to.sin_port = htons(exporter_http_port(http));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = { bytes, size };

	accept_check(input);
	connection_check(input);
	return 0;
}
