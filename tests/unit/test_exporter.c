/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter, asked over real connections: each answer is one of those that were published,
 * whole, while others are being made. And how it reads headers, and which connections have to go.
 * Clients that are many, slow or wrong, and addresses: tests/integration/exporter.t. */
#define TAP_OWN_MAIN
#define _GNU_SOURCE
#include "cli/output/exporter.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "cases.h"
#include "golden.h"
#include "judged.h"
#include "metrics_sample.h"
#include "sanitized.h"
#include "tap.h"
#include "cli/metrics/metric_sample.h"
#include "cli/metrics/metric_text.h"
#include "cli/metrics/metric_values.h"
#include "cli/output/exporter_server.h"

#define OPENMETRICS "Accept: application/openmetrics-text\r\n"
#define ROUNDS 100
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
	need(fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof(to)));
	return fd;
}

/* All that comes until the server closes. The caller frees it. */
static char *read_all(int fd)
{
	size_t used = 0, capacity = 1 << 20;
	char *text = malloc(capacity);
	ssize_t got = 1;

	while (text && used < capacity - 1 && got > 0) {
		got = read(fd, text + used, capacity - 1 - used);
		used += got > 0 ? (size_t)got : 0;
	}
	need(text);
	text[used] = '\0';
	return text;
}

static char *wanted(uint16_t port, const char *request, const char *headers)
{
	int fd = connected(port);
	char *text;

	need(dprintf(fd, "%s HTTP/1.1\r\nHost: localhost\r\n%sConnection: close\r\n\r\n", request,
		     headers) >= 0);
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

	need(metrics && !metrics_expect(metrics, &metrics_capture, sample.pid));
	for (unsigned int i = 0; i < n; i++)
		need(!metrics_add(metrics, judged(&sample)));
	need(out && !writer(metrics, out));
	text = golden_read(out, &length);
	fclose(out);
	sample_clear(&sample);
	metrics_free(metrics);
	return text;
}

static void is_answer(struct exporter *exporter, const char *headers, const char *type,
		      const char *want, const char *what)
{
	char *answer = wanted(exporter_port(exporter), "GET /metrics", headers);

	ok(!strncmp(answer, "HTTP/1.1 200 ", 13) && strstr(answer, type), "%s: %s", what, type);
	if (want)
		is_str(body_of(answer), want, "%s: what metrics write", what);
	free(answer);
}

/* Waits until this is what is answered: that may not be due at once. */
static void refreshed(struct exporter *exporter, const char *want)
{
	for (bool is = false; !is;) {
		char *answer;

		usleep(1000);
		need(!exporter_refresh(exporter));
		answer = wanted(exporter_port(exporter), "GET /metrics", OPENMETRICS);
		is = !strcmp(body_of(answer), want);
		free(answer);
	}
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
		is_i64(exporter_add(exporter, judged(&sample)), 0, "a sample is added");
	refreshed(exporter, openmetrics);
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
		const char *request, *headers, *status;
	} cases[] = {
		{ "GET /", "", "200 " },
		{ "GET /metrics?x=1", "", "200 " },
		{ "GET /healthz", "", "200 " },
		{ "GET /metrics", "Host: evil.example\r\n", "421 " },
		{ "GET /metrics/", "", "404 " },
		{ "GET /other", "", "404 " },
		{ "POST /metrics", "Content-Length: 1000000000\r\n", "405 " },
		{ "DELETE /", "", "405 " },
		{ "TRACE /metrics", "", "405 " },
		{ "OPTIONS /metrics", "", "405 " },
		{ "BREW /metrics", "", "405 " },
		{ "GET /metrics", "Content-Length: 5\r\n", "413 " },
		{ "GET /metrics", "Transfer-Encoding: chunked\r\n", "413 " },
		{ "GET /metrics", "Content-Length: 0\r\n", "200 " },
	};
	char *answer;
	int fd = connected(exporter_port(exporter));

	need(dprintf(fd, "GET /metrics HTTP/1.0\r\n\r\n") >= 0);
	answer = read_all(fd);
	ok(!strncmp(answer + 8, " 200 ", 5), "HTTP/1.0 without Host: %.12s", answer);
	free(answer);
	close(fd);
	for (size_t i = 0; i < COUNT(cases); i++) {
		answer = wanted(exporter_port(exporter), cases[i].request, cases[i].headers);
		answer[13] = '\0';
		is_str(answer + 9, cases[i].status, "%s %s", cases[i].request, cases[i].headers);
		free(answer);
	}
	answer = wanted(exporter_port(exporter), "PUT /metrics", "");
	ok(strstr(answer, "\r\nAllow: GET, HEAD\r\n"), "what is allowed is said");
	free(answer);
	answer = wanted(exporter_port(exporter), "HEAD /metrics", "");
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
		char *answer = wanted(scraping->port, "GET /metrics", OPENMETRICS), *at;
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
		need(!pthread_create(&threads[i], NULL, scrape, &scraping));
	for (int i = 0; i < ROUNDS || scraping.answers <= SCRAPERS; i++) {
		failed += exporter_add(exporter, judged(&sample)) != 0;
		usleep(1000);
	}
	atomic_store(&scraping.over, true);
	for (int i = 0; i < SCRAPERS; i++)
		pthread_join(threads[i], NULL);
	is_u64(failed, 0, "samples are added meanwhile");
	is_u64(scraping.torn, 0, "each is whole, and none older than the one before");
	sample_clear(&sample);
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

/* --- Accept headers, as programs send them, and others: one in a line --- */

static const char *form_of_both(const char *first, const char *second)
{
	struct exporter_accept accept = { 0 };

	exporter_accept_add(&accept, first);
	if (second)
		exporter_accept_add(&accept, second);
	return exporter_accept_form(&accept) == EXPORTER_OPENMETRICS ? "OpenMetrics" : "0.0.4";
}

static const char *form_of(const char *header)
{
	return form_of_both(header, NULL);
}

/* The first two are of Prometheus 2.42 and 3. Commas and semicolons may be in quotes. */
static const char openmetrics_headers[] =
	"application/openmetrics-text;version=1.0.0,"
	"application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,"
	"*/*;q=0.1"
	"|application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
	"application/openmetrics-text;version=0.0.1;q=0.5,"
	"text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,"
	"*/*;q=0.2"
	"|application/openmetrics-text"
	"|Application/OpenMetrics-Text ; Version=\"1.0.0\" ; Q=1.000"
	"|application/openmetrics-text, text/plain|text/plain, application/openmetrics-text"
	"|text/plain;q=0.899, application/openmetrics-text;q=0.9"
	"|text/*;q=0.5, application/openmetrics-text;q=0.5"
	"|*/*;q=0.1, application/openmetrics-text;q=0.2"
	"|application/openmetrics-text;q=x, application/openmetrics-text;q=0.1"
	"|text/plain;q=0.5;x=\"\\\"\", application/openmetrics-text"
	"|application/openmetrics-text;x=\"unended, text/plain"
	"|,,;;,application/openmetrics-text,,|application/openmetrics-text;;;q=0.5;"
	"|application/openmetrics-text;version";

/* The first three are of one that knows a draft of OpenMetrics only, a browser and curl. Wrong
 * ones say nothing. */
static const char plain_headers[] =
	"application/"
	"vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,"
	"application/openmetrics-text;version=0.0.1;q=0.8,text/plain;version=0.0.4;q=0.5"
	"|text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
	"|*/*||application/openmetrics-text;version=1.0.0;q=0"
	"|application/openmetrics-text;version=2.0.0|application/openmetrics-text;version=1.0"
	"|application/openmetrics-texts"
	"|text/plain;q=0.9, application/openmetrics-text;q=0.899|application/*, text/*"
	"|application/openmetrics-text;q=0.3, */*;q=0.5"
	"|*/*;q=1, application/openmetrics-text;q=0.1, text/plain;q=0.2"
	"|image/png|*/*;q=0|application/openmetrics-text;q=2"
	"|application/openmetrics-text;q=1.1|application/openmetrics-text;q=-1"
	"|application/*|application/openmetrics-text;q=|application/openmetrics-text;q=nan";

static void test_accept(void)
{
	const struct exporter_accept none = { 0 };

	cases_same(openmetrics_headers, "OpenMetrics", form_of, "OpenMetrics");
	cases_same(plain_headers, "0.0.4", form_of, "0.0.4");
	is_str(form_of_both("text/plain;q=0.5", "application/openmetrics-text"), "OpenMetrics",
	       "two headers");
	is_i64(exporter_accept_form(&none), EXPORTER_PROMETHEUS, "no header");
}

/* Whatever the bytes are, the reader ends within them: for the sanitizers to see. */
static void test_noise(void)
{
	static const char pieces[][28] = { "application/openmetrics-text",
					   "text/plain",
					   "*/*",
					   ";",
					   ",",
					   "=",
					   "\"",
					   "\\",
					   "q",
					   "version",
					   "0.5",
					   "1.0.0",
					   " " };
	unsigned int openmetrics = 0, rounds = 20000;

	srandom(1);
	for (unsigned int round = 0; round < rounds; round++) {
		struct exporter_accept accept = { 0 };
		size_t used = 0, capacity = 28 * 12 + 1;
		char *text = malloc(capacity);

		need(text);
		for (long n = random() % 12; n > 0; n--) {
			const char *piece = pieces[random() % 13];
			size_t length = strnlen(piece, sizeof(pieces[0]));

			memcpy(text + used, piece, length);
			used += length;
		}
		text[used] = '\0';
		/* As long as it is, no byte more. */
		text = realloc(text, used + 1);
		exporter_accept_add(&accept, text);
		openmetrics += exporter_accept_form(&accept) == EXPORTER_OPENMETRICS;
		free(text);
	}
	ok(openmetrics > 0 && openmetrics < rounds, "noise: %u of %u take OpenMetrics", openmetrics,
	   rounds);
}

/* --- Host headers --- */

static const char *host_known(const char *header)
{
	const struct exporter_hosts hosts = { "node1.example.com", "metrics.example,other" };

	return exporter_host_is_allowed(&hosts, header) ? "known" : "not known";
}

static const char known_hosts[] =
	"127.0.0.1|127.0.0.1:10440| 10.1.2.3:80 |[::1]|[fe80::1]:10440|localhost"
	"|LocalHost:10440|a.localhost.|node1.example.com|NODE1|metrics.example:1|other";

static const char unknown_hosts[] =
	"evil.example|evil.example:10440|notlocalhost|localhost.evil.example"
	"|127.0.0.1.evil.example|node1.evil.example|node1.example|node|metrics"
	"|metrics.example,other|*|localhost evil.example|localhost:evil.example|[::1"
	"|[::1]evil.example|[]||:10440|.";

static void test_hosts(void)
{
	const struct exporter_hosts any = { "", "*" }, none = { "", NULL };
	char name[2000] = "";

	cases_same(known_hosts, "known", host_known, "a host");
	cases_same(unknown_hosts, "not known", host_known, "a host");
	memset(name, 'a', sizeof(name) - 1);
	is_str(host_known(name), "not known", "a long one");
	ok(exporter_host_is_allowed(&any, "evil.example"), "any, if they are allowed");
	ok(!exporter_host_is_allowed(&none, ""), "none, without a name");
	ok(*exporter_hosts_new(NULL).own, "this machine has a name");
}

int main(void)
{
	unsigned int fds = count_entries("/proc/self/fd");
	struct exporter *exporter;
	int status;

	test_accept();
	test_noise();
	test_hosts();
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
	exporter_close(exporter);
	exporter_close(NULL);
	is_i64(exporter_add(NULL, NULL), 0, "no exporter has nothing to do");
	is_u64(count_entries("/proc/self/fd"), fds, "no descriptor is left open");
	is_u64(count_entries("/proc/self/task"), 3, "no thread is left");
	return done_testing();
}
