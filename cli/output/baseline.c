// SPDX-License-Identifier: Apache-2.0
#include "baseline.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/base/log.h"
#include "cli/base/parse.h"
#include "cli/json/replay.h"

struct baseline {
	FILE *in; /* until it is read */
	const char *path;
	struct series *before, *now;
	struct comparison comparison;
};

static exit_status before_add(const struct sample *sample, void *context)
{
	struct baseline *baseline = context;

	return series_add(baseline->before, sample) ? log_no_memory() : 0;
}

static exit_status refuse_windows(const char *whose)
{
	log_error("option --compare: the samples %s are windows of triggers, or were cut short",
		  whose);
	log_hint("take samples of a given time, as with --sample-count 10");
	return EX_DATAERR;
}

static exit_status refuse_times(const struct series *before, const struct series *now)
{
	log_error("option --compare: the samples before are of %s, those now of %s",
		  AS_TIME(before->sample_time), AS_TIME(now->sample_time));
	log_hint("take both with the same --sample-time");
	return EX_DATAERR;
}

exit_status baseline_open(struct baseline **out, const char *path)
{
	struct baseline *baseline = calloc(1, sizeof(*baseline));

	*out = baseline;
	if (!baseline)
		return log_no_memory();
	baseline->before = series_new();
	baseline->now = series_new();
	if (!baseline->before || !baseline->now)
		return log_no_memory();
	baseline->path = path;
	return replay_open(&baseline->in, path);
}

exit_status baseline_read(struct baseline *baseline, uint64_t sample_time)
{
	const struct replay_handlers handlers = { .sample = before_add, .context = baseline };
	const struct series wanted = { .sample_time = sample_time };
	FILE *in = baseline->in;
	int status;

	baseline->in = NULL;
	status = replay_read(in, baseline->path, &handlers);
	if (!status && !baseline->before->samples)
		status = refuse_windows("before");
	if (!status && !comparison_is_fair(baseline->before, &wanted))
		status = refuse_times(baseline->before, &wanted);
	return status;
}

exit_status baseline_add(struct baseline *baseline, const struct sample *sample)
{
	return series_add(baseline->now, sample) ? log_no_memory() : 0;
}

exit_status baseline_compare(struct baseline *baseline, const struct comparison **comparison)
{
	const struct series *before = baseline->before, *now = baseline->now;

	*comparison = &baseline->comparison;
	if (!now->samples && now->unusable)
		return refuse_windows("now");
	comparison_clear(&baseline->comparison);
	if (comparison_find(&baseline->comparison, before, now))
		return log_no_memory();
	/* With too few samples, which may all have ended late, their length does not matter. */
	if (!baseline->comparison.few && !comparison_is_fair(before, now))
		return refuse_times(before, now);
	return 0;
}

void baseline_free(struct baseline *baseline)
{
	if (!baseline)
		return;
	replay_close(baseline->in);
	comparison_clear(&baseline->comparison);
	series_free(baseline->before);
	series_free(baseline->now);
	free(baseline);
}
