/* SPDX-License-Identifier: Apache-2.0 */
/* Accept headers as programs send them, and others. */
#include "cli/output/exporter_accept.h"

#include <stdlib.h>

#include "tap.h"

static const char *form_of(const char *first, const char *second)
{
	struct exporter_accept accept = { 0 };

	if (first)
		exporter_accept_add(&accept, first);
	if (second)
		exporter_accept_add(&accept, second);
	return exporter_accept_form(&accept) == EXPORTER_OPENMETRICS ? "OpenMetrics" : "0.0.4";
}

static void test_programs(void)
{
	is_str(form_of("application/openmetrics-text;version=1.0.0,"
		       "application/openmetrics-text;version=0.0.1;q=0.75,"
		       "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		       NULL),
	       "OpenMetrics", "Prometheus 2.42");
	is_str(form_of("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
		       "application/openmetrics-text;version=0.0.1;q=0.5,"
		       "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
		       "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
		       NULL),
	       "OpenMetrics", "Prometheus 3");
	is_str(form_of("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
		       "encoding=delimited,application/openmetrics-text;version=0.0.1;q=0.8,"
		       "text/plain;version=0.0.4;q=0.5",
		       NULL),
	       "0.0.4", "one that knows a draft of OpenMetrics only");
	is_str(form_of("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,"
		       "image/webp,*/*;q=0.8",
		       NULL),
	       "0.0.4", "a browser");
	is_str(form_of("*/*", NULL), "0.0.4", "curl");
	is_str(form_of(NULL, NULL), "0.0.4", "no header");
}

static const struct {
	const char *header, *want;
} cases[] = {
	{ "", "0.0.4" },
	{ "application/openmetrics-text", "OpenMetrics" },
	{ "Application/OpenMetrics-Text ; Version = \"1.0.0\" ; Q=1.000", "OpenMetrics" },
	{ "application/openmetrics-text;version=1.0.0;q=0", "0.0.4" },
	{ "application/openmetrics-text;version=2.0.0", "0.0.4" },
	{ "application/openmetrics-text;version=1.0", "0.0.4" },
	{ "application/openmetrics-texts", "0.0.4" },
	{ "application/openmetrics-text, text/plain", "OpenMetrics" },
	{ "text/plain, application/openmetrics-text", "OpenMetrics" },
	{ "text/plain;q=0.9, application/openmetrics-text;q=0.899", "0.0.4" },
	{ "text/plain;q=0.899, application/openmetrics-text;q=0.9", "OpenMetrics" },
	{ "text/*;q=0.5, application/openmetrics-text;q=0.5", "OpenMetrics" },
	{ "application/*", "OpenMetrics" },
	{ "application/*, text/*", "0.0.4" },
	{ "application/openmetrics-text;q=0.3, */*;q=0.5", "0.0.4" },
	{ "*/*;q=0.1, application/openmetrics-text;q=0.2", "OpenMetrics" },
	/* What is more specific counts, whatever else there is. */
	{ "*/*;q=1, application/openmetrics-text;q=0.1, text/plain;q=0.2", "0.0.4" },
	{ "application/openmetrics-text;q=1, application/openmetrics-text;version=1.0.0;q=0.1, "
	  "text/plain;q=0.5",
	  "0.0.4" },
	/* Neither. */
	{ "image/png", "0.0.4" },
	{ "*/*;q=0", "0.0.4" },
	/* Wrong ones say nothing. */
	{ "application/openmetrics-text;q=2", "0.0.4" },
	{ "application/openmetrics-text;q=1.1", "0.0.4" },
	{ "application/openmetrics-text;q=-1", "0.0.4" },
	{ "application/openmetrics-text;q=0.1234", "0.0.4" },
	{ "application/openmetrics-text;q=", "0.0.4" },
	{ "application/openmetrics-text;q=x, application/openmetrics-text;q=0.1", "OpenMetrics" },
	/* Commas and semicolons in quotes. */
	{ "text/plain;x=\",application/openmetrics-text;q=1,\"", "0.0.4" },
	{ "text/plain;q=0.5;x=\"\\\"\", application/openmetrics-text", "OpenMetrics" },
	{ "application/openmetrics-text;x=\"unended, text/plain", "OpenMetrics" },
	{ ",,;;,application/openmetrics-text,,", "OpenMetrics" },
	{ "application/openmetrics-text;;;q=0.5;", "OpenMetrics" },
	{ "application/openmetrics-text;version", "OpenMetrics" },
};

static void test_headers(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		is_str(form_of(cases[i].header, NULL), cases[i].want, "%s", cases[i].header);
	is_str(form_of("text/plain;q=0.5", "application/openmetrics-text"), "OpenMetrics",
	       "two headers");
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
		size_t used = 0, room = 28 * 12 + 1;
		char *text = malloc(room);

		if (!text)
			abort();
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

int main(void)
{
	test_programs();
	test_headers();
	test_noise();
	return done_testing();
}
