/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter, asked over real connections: each answer is one of those that were
 * published, whole, while others are being made. */
#define _GNU_SOURCE
#include "cli/output/exporter.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "cli/metrics/metrics.h"
#include "cli/metrics/openmetrics.h"
#include "cli/metrics/prometheus.h"
#include "golden.h"
#include "metrics_sample.h"
#include "sanitized.h"
#include "tap.h"

#define OPENMETRICS "Accept: application/openmetrics-text\r\n"
#define ROUNDS 300
#define SCRAPERS 4

static const struct report_options defaults = { .fold_names = true };

/* As the samples of metrics_full() are. */
static int opened(struct exporter **exporter, const char *address, uint16_t port)
{
	const struct exporter_config config = {
		.address = address,
		.port = port,
		.pid = 9719,
		.capture = &metrics_capture,
		.report = defaults,
		.allowed = "metrics.example,other",
		.without = SANITIZED & ~SANDBOX_WITHOUT_SILENCE,
	};

	return exporter_open(exporter, &config);
}

static int connected(uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		abort();
	return fd;
}

/* All that comes until the server closes. The caller frees it. */
static char *read_all(int fd)
{
	size_t used = 0, room = 1 << 20;
	char *text = malloc(room);
	ssize_t got = 1;

	while (text && used < room - 1 && got > 0) {
		got = read(fd, text + used, room - 1 - used);
		used += got > 0 ? (size_t)got : 0;
	}
	if (!text)
		abort();
	text[used] = '\0';
	return text;
}

static char *asked(uint16_t port, const char *request, const char *headers)
{
	int fd = connected(port);
	char *text;

	if (dprintf(fd, "%s HTTP/1.1\r\nHost: localhost\r\n%sConnection: close\r\n\r\n", request,
		    headers) < 0)
		abort();
	text = read_all(fd);
	close(fd);
	return text;
}

static const char *body_of(const char *answer)
{
	const char *end = strstr(answer, "\r\n\r\n");

	return end ? end + 4 : "(no body)";
}

/* What metrics write by themselves; n samples. */
static char *expected(unsigned int n, int (*writer)(const struct metrics *, FILE *))
{
	struct metrics *metrics = metrics_new(&defaults);
	struct sample sample = metrics_full();
	FILE *out = tmpfile();
	size_t length;
	char *text;

	if (!metrics || metrics_expect(metrics, &metrics_capture, sample.pid))
		abort();
	for (unsigned int i = 0; i < n; i++)
		if (metrics_add(metrics, &sample))
			abort();
	if (!out || writer(metrics, out))
		abort();
	text = golden_read(out, &length);
	fclose(out);
	sample_clear(&sample);
	metrics_free(metrics);
	return text;
}

static void is_answer(struct exporter *exporter, const char *headers, const char *type,
		      const char *want, const char *what)
{
	char *answer = asked(exporter_port(exporter), "GET /metrics", headers);

	ok(!strncmp(answer, "HTTP/1.1 200 ", 13), "%s: status 200", what);
	ok(strstr(answer, type), "%s: %s", what, type);
	is_str(body_of(answer), want, "%s: what metrics write", what);
	free(answer);
}

static void test_forms(struct exporter *exporter)
{
	struct sample sample = metrics_full();
	char *openmetrics = expected(2, metrics_write_openmetrics);
	char *prometheus = expected(2, metrics_write_prometheus);
	char *before = expected(0, metrics_write_openmetrics);

	ok(strstr(before, "kernel_delay_build_info{version=\"0.1-g1234567\"} 1\n"), "the program");
	ok(strstr(before, "kernel_delay_captures_total{result=\"complete\"} 0\n"), "no samples");
	is_answer(exporter, OPENMETRICS, "application/openmetrics-text; version=1.0.0;", before,
		  "before the first sample");
	free(before);
	for (int i = 0; i < 2; i++)
		is_i64(exporter_add(exporter, &sample), 0, "a sample is added");
	for (int i = 0; i < 1000 && !exporter_refresh(exporter); i++)
		usleep(1000); /* the answer may not be due at once */
	is_answer(exporter, OPENMETRICS,
		  "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n",
		  openmetrics, "OpenMetrics");
	is_answer(exporter, "", "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n",
		  prometheus, "0.0.4");
	free(openmetrics);
	free(prometheus);
	sample_clear(&sample);
}

static void test_requests(struct exporter *exporter)
{
	static const struct {
		const char *request, *headers, *want;
	} cases[] = {
		{ "GET /", "", "HTTP/1.1 200 " },
		{ "GET /metrics?x=1", "", "HTTP/1.1 200 " },
		{ "GET /healthz", "", "HTTP/1.1 200 " },
		{ "GET /metrics", "Host: evil.example\r\n", "HTTP/1.1 421 " },
		{ "GET /metrics/", "", "HTTP/1.1 404 " },
		{ "GET /other", "", "HTTP/1.1 404 " },
		{ "POST /metrics", "Content-Length: 1000000000\r\n", "HTTP/1.1 405 " },
		{ "DELETE /", "", "HTTP/1.1 405 " },
		{ "TRACE /metrics", "", "HTTP/1.1 405 " },
		{ "GET /metrics", "Content-Length: 5\r\n", "HTTP/1.1 413 " },
		{ "GET /metrics", "Transfer-Encoding: chunked\r\n", "HTTP/1.1 413 " },
		{ "GET /metrics", "Content-Length: 0\r\n", "HTTP/1.1 200 " },
	};
	char *answer;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		answer = asked(exporter_port(exporter), cases[i].request, cases[i].headers);
		answer[13] = '\0';
		is_str(answer, cases[i].want, "%s %s", cases[i].request, cases[i].headers);
		free(answer);
	}
	answer = asked(exporter_port(exporter), "PUT /metrics", "");
	ok(strstr(answer, "\r\nAllow: GET, HEAD\r\n"), "what is allowed is said");
	free(answer);
	answer = asked(exporter_port(exporter), "HEAD /metrics", "");
	ok(strstr(answer, "\r\nContent-Length: ") && !strstr(answer, "Content-Length: 0"),
	   "HEAD: the length");
	is_str(body_of(answer), "", "HEAD: no body");
	free(answer);
}

struct scraping {
	uint16_t port;
	atomic_bool over;
	atomic_uint answers, torn;
};

/* In each sample the window is counted once and lasts a second. */
static void *scrape(void *context)
{
	struct scraping *scraping = context;
	unsigned long before = 0;

	while (!atomic_load(&scraping->over)) {
		char *answer = asked(scraping->port, "GET /metrics", OPENMETRICS), *at;
		const char *body = body_of(answer);
		size_t length = strlen(body);
		unsigned long sum = 0, count = 0;

		at = strstr(body, "\nkernel_delay_window_seconds_sum ");
		if (at)
			sum = strtoul(at + 33, NULL, 10);
		at = strstr(body, "\nkernel_delay_window_seconds_count ");
		if (at)
			count = strtoul(at + 35, NULL, 10);
		if (length < 6 || strcmp(body + length - 6, "# EOF\n") || sum != count ||
		    sum < before)
			atomic_fetch_add(&scraping->torn, 1);
		before = sum;
		atomic_fetch_add(&scraping->answers, 1);
		free(answer);
	}
	return NULL;
}

static void test_at_once(struct exporter *exporter)
{
	struct scraping scraping = { .port = exporter_port(exporter) };
	struct sample sample = metrics_full();
	pthread_t threads[SCRAPERS];
	unsigned int failed = 0;

	for (int i = 0; i < SCRAPERS; i++)
		if (pthread_create(&threads[i], NULL, scrape, &scraping))
			abort();
	for (int i = 0; i < ROUNDS; i++) {
		failed += exporter_add(exporter, &sample) != 0;
		usleep(1000);
	}
	atomic_store(&scraping.over, true);
	for (int i = 0; i < SCRAPERS; i++)
		pthread_join(threads[i], NULL);
	is_u64(failed, 0, "samples are added meanwhile");
	ok(scraping.answers > SCRAPERS, "%u answers", scraping.answers);
	is_u64(scraping.torn, 0, "each is whole, and none older than the one before");
	sample_clear(&sample);
}

/* Clients that do not read, and others that say half of what they want. */
static void test_slow(struct exporter *exporter)
{
	struct sample sample = metrics_full();
	int fds[8], status = 0;
	char *answer;

	for (int i = 0; i < 8; i++) {
		fds[i] = connected(exporter_port(exporter));
		dprintf(fds[i], i % 2 ? "GET /metrics HTTP/1.1\r\nHo"
				      : "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
	}
	for (int i = 0; i < 50; i++)
		status |= exporter_add(exporter, &sample);
	is_i64(status, 0, "slow clients: samples are added");
	answer = asked(exporter_port(exporter), "GET /metrics", "");
	ok(!strncmp(answer, "HTTP/1.1 200 ", 13), "slow clients: others get answers");
	free(answer);
	for (int i = 0; i < 8; i++)
		close(fds[i]);
	sample_clear(&sample);
}

static bool is_closed(int fd)
{
	struct pollfd wait = { fd, POLLIN, 0 };
	char byte;

	return poll(&wait, 1, 2000) == 1 && read(fd, &byte, 1) <= 0;
}

static bool is_open(int fd)
{
	struct pollfd wait = { fd, POLLIN, 0 };

	return poll(&wait, 1, 100) == 0;
}

static char *asked_by(int fd)
{
	if (dprintf(fd, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n") <
	    0)
		abort();
	return read_all(fd);
}

/* One address has 16 connections: those that are idle for longest make room, so a newcomer is
 * answered. */
static void test_limit(struct exporter *exporter)
{
	unsigned int open = 0;
	int fds[40];
	char *answer;

	usleep(100000); /* those before are gone */
	for (int i = 0; i < 40; i++)
		fds[i] = connected(exporter_port(exporter));
	answer = asked_by(fds[39]);
	is_str(body_of(answer), "ok\n", "the 40th connection is answered");
	free(answer);
	ok(is_closed(fds[0]), "the first one is closed");
	for (int i = 0; i < 39; i++)
		open += is_open(fds[i]);
	is_u64(open, 15, "of 40, 15 idle ones are open");
	for (int i = 0; i < 40; i++)
		close(fds[i]);
	usleep(100000);
	answer = asked(exporter_port(exporter), "GET /metrics", "");
	ok(!strncmp(answer, "HTTP/1.1 200 ", 13), "afterwards there are answers again");
	free(answer);
}

static void test_big_header(struct exporter *exporter)
{
	static char line[1 << 20];
	int fd = connected(exporter_port(exporter));
	char *answer;

	memset(line, 'a', sizeof(line) - 1);
	dprintf(fd, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ");
	for (size_t sent = 0; sent < sizeof(line) - 1;) {
		ssize_t n = send(fd, line + sent, sizeof(line) - 1 - sent, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		sent += (size_t)n;
	}
	answer = read_all(fd);
	ok(!*answer || !strncmp(answer, "HTTP/1.1 4", 10), "a header of 1 MB is refused");
	free(answer);
	close(fd);
}

static void test_taken(struct exporter *exporter)
{
	struct exporter *second;

	is_i64(opened(&second, "127.0.0.1", exporter_port(exporter)), EX_UNAVAILABLE,
	       "the port is taken");
	exporter_close(second);
	is_i64(opened(&second, "192.0.2.1", 0), EX_UNAVAILABLE, "an address of others");
	exporter_close(second);
}

static unsigned int count_entries(const char *path)
{
	DIR *folder = opendir(path);
	unsigned int n = 0;

	while (folder && readdir(folder))
		n++;
	if (folder)
		closedir(folder);
	return n;
}

static void test_v6(void)
{
	static const char *const addresses[] = { "::1", "::" };

	for (int i = 0; i < 2; i++) {
		struct exporter *exporter;
		struct sockaddr_in6 to = { .sin6_family = AF_INET6 };
		int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
		char *answer;

		if (fd < 0 || opened(&exporter, addresses[i], 0)) {
			ok(true, "no IPv6 here");
			return;
		}
		to.sin6_addr = in6addr_loopback;
		to.sin6_port = htons(exporter_port(exporter));
		ok(!connect(fd, (struct sockaddr *)&to, sizeof(to)), "%s: connected", addresses[i]);
		dprintf(fd, "GET /metrics HTTP/1.0\r\n\r\n");
		answer = read_all(fd);
		ok(strstr(answer, " 200 "), "%s: answered", addresses[i]);
		free(answer);
		close(fd);
		if (i) {
			answer = asked(exporter_port(exporter), "GET /metrics", "");
			ok(strstr(answer, " 200 "), "::: IPv4 too");
			free(answer);
		}
		exporter_close(exporter);
	}
}

int main(void)
{
	unsigned int fds = count_entries("/proc/self/fd");
	struct exporter *exporter;
	int status;

	signal(SIGPIPE, SIG_IGN);
	status = opened(&exporter, "127.0.0.1", 0);
	if (status) {
		is_i64(status, EX_USAGE, "built without libmicrohttpd: refused");
		exporter_close(exporter);
		return done_testing();
	}
	test_forms(exporter);
	test_requests(exporter);
	test_at_once(exporter);
	test_slow(exporter);
	test_limit(exporter);
	test_big_header(exporter);
	test_taken(exporter);
	exporter_close(exporter);
	test_v6();
	exporter_close(NULL);
	is_i64(exporter_add(NULL, NULL), 0, "no exporter has nothing to do");
	is_u64(count_entries("/proc/self/fd"), fds, "no descriptor is left open");
	is_u64(count_entries("/proc/self/task"), 3, "no thread is left");
	return done_testing();
}
