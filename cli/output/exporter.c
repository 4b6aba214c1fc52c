// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "exporter.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/metrics/metrics.h"
#include "cli/metrics/openmetrics.h"
#include "cli/metrics/prometheus.h"
#include "exporter_http.h"

/* Answers are made for at most one part in so many of the time: the consumer has samples
 * to take. */
#define SHARE 10

struct exporter {
	struct metrics *metrics;
	struct exporter_http *http;
	bool changed; /* since the last answer was made */
	uint64_t due; /* CLOCK_MONOTONIC ns: not before that the next one */
};

static int (*const writers[EXPORTER_FORMS])(const struct metrics *metrics, FILE *out) = {
	[EXPORTER_PROMETHEUS] = metrics_write_prometheus,
	[EXPORTER_OPENMETRICS] = metrics_write_openmetrics,
};

static exit_status exporter_failed(int error)
{
	if (error == -EPIPE) {
		log_error("cannot serve metrics: the process that answers requests has ended");
		return EX_OSERR;
	}
	log_error("cannot serve metrics: %s", strerror(-error));
	return EX_OSERR;
}

/* The caller frees the text, also after an error. */
static int form_write(const struct metrics *metrics, enum exporter_form form,
		      struct exporter_text *text)
{
	FILE *out = open_memstream(&text->text, &text->length);
	int error;

	if (!out)
		return -errno;
	error = writers[form](metrics, out);
	return fclose(out) && !error ? -ENOMEM : error;
}

static int answer_make(struct exporter *exporter)
{
	struct exporter_text texts[EXPORTER_FORMS] = { 0 };
	int error = 0;

	for (int form = 0; form < EXPORTER_FORMS && !error; form++)
		error = form_write(exporter->metrics, (enum exporter_form)form, &texts[form]);
	if (!error)
		return exporter_http_publish(exporter->http, texts);
	for (int form = 0; form < EXPORTER_FORMS; form++)
		free(texts[form].text);
	return error;
}

exit_status exporter_refresh(struct exporter *exporter)
{
	uint64_t now;
	int error;

	if (!exporter || !exporter->changed)
		return 0;
	now = clock_monotonic();
	if (now < exporter->due)
		return 0;
	error = answer_make(exporter);
	exporter->changed = error == -EAGAIN;
	if (exporter->changed)
		error = 0;
	exporter->due = clock_monotonic() + (SHARE - 1) * (clock_monotonic() - now);
	return error ? exporter_failed(error) : 0;
}

exit_status exporter_add(struct exporter *exporter, const struct sample *sample)
{
	int error;

	if (!exporter)
		return 0;
	error = metrics_add(exporter->metrics, sample);
	exporter->changed = true;
	return error ? exporter_failed(error) : exporter_refresh(exporter);
}

exit_status exporter_add_triggers(struct exporter *exporter, const struct trigger_stats *stats)
{
	int error;

	if (!exporter)
		return 0;
	error = metrics_add_triggers(exporter->metrics, stats);
	exporter->changed = true;
	return error ? exporter_failed(error) : exporter_refresh(exporter);
}

static void exporter_tell(const struct exporter *exporter, const char *address)
{
	bool is_v6 = strchr(address, ':');

	log_note("serving metrics at http://%s%s%s:%u/metrics", is_v6 ? "[" : "", address,
		 is_v6 ? "]" : "", exporter_port(exporter));
}

exit_status exporter_open(struct exporter **out, const struct exporter_config *config)
{
	struct exporter *exporter = calloc(1, sizeof(*exporter));
	const struct exporter_http_config http = {
		.address = config->address,
		.port = config->port,
		.allowed = config->allowed,
		.without = config->without,
	};
	int status;

	*out = exporter;
	if (!exporter)
		return exporter_failed(-ENOMEM);
	exporter->metrics = metrics_new(&config->report);
	if (!exporter->metrics || metrics_expect(exporter->metrics, config->capture, config->pid))
		return exporter_failed(-ENOMEM);
	status = exporter_http_open(&exporter->http, &http);
	exporter->changed = true;
	if (!status)
		status = exporter_refresh(exporter);
	if (!status)
		status = exporter_http_start(exporter->http);
	if (!status)
		exporter_tell(exporter, config->address);
	return status;
}

uint16_t exporter_port(const struct exporter *exporter)
{
	return exporter_http_port(exporter->http);
}

pid_t exporter_child(const struct exporter *exporter)
{
	return exporter ? exporter_http_child(exporter->http) : 0;
}

void exporter_close(struct exporter *exporter)
{
	if (!exporter)
		return;
	exporter_http_close(exporter->http);
	metrics_free(exporter->metrics);
	free(exporter);
}
