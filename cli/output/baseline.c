// SPDX-License-Identifier: Apache-2.0
#include "baseline.h"

#include <stdlib.h>

#include "cli/base/log.h"
#include "cli/json/replay.h"

struct baseline {
	struct course *before, *now;
	struct comparison comparison;
};

static exit_status before_add(const struct sample *sample, void *context)
{
	struct baseline *baseline = context;

	return course_add(baseline->before, sample) ? log_no_memory() : 0;
}

exit_status baseline_read(struct baseline **out, const char *path)
{
	struct baseline *baseline = calloc(1, sizeof(*baseline));
	const struct replay_handlers handlers = { .sample = before_add, .context = baseline };

	*out = baseline;
	if (!baseline)
		return log_no_memory();
	baseline->before = course_new();
	baseline->now = course_new();
	if (!baseline->before || !baseline->now)
		return log_no_memory();
	return replay_read(path, &handlers);
}

exit_status baseline_add(struct baseline *baseline, const struct sample *sample)
{
	return course_add(baseline->now, sample) ? log_no_memory() : 0;
}

const struct comparison *baseline_compare(struct baseline *baseline)
{
	comparison_clear(&baseline->comparison);
	if (!comparison_find(&baseline->comparison, baseline->before, baseline->now))
		return &baseline->comparison;
	log_no_memory();
	return NULL;
}

void baseline_free(struct baseline *baseline)
{
	if (!baseline)
		return;
	comparison_clear(&baseline->comparison);
	course_free(baseline->before);
	course_free(baseline->now);
	free(baseline);
}
