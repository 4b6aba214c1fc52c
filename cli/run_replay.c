/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that were saved before, printed again. */
#include "cli/base/exit_status.h"
#include "cli/json/replay.h"
#include "cli/output/fail_if.h"
#include "cli/output/outputs.h"
#include "cli/text/text_parts.h"
#include "run.h"
#include "run_confine.h"
#include "run_sampling.h"

struct replay {
	struct outputs *outputs;
	struct fail_if *fail_if;
	const struct report_options *report;
	uint64_t samples;
	bool lost, matched;
};

static exit_status sample_replay(const struct sample *sample, void *context)
{
	struct replay *replay = context;

	for (size_t i = 0; i < sample->n_threads && !replay->matched; i++)
		replay->matched = text_wants_thread(replay->report, &sample->threads[i]);
	replay->lost |= sample_lost(sample) > 0 || sample->interrupted;
	/* The file may have those of several runs. */
	return fail_if_check(replay->fail_if, sample, ++replay->samples)
		       ?: outputs_write(replay->outputs, sample);
}

static exit_status triggers_replay(const struct trigger_stats *stats, void *context)
{
	struct replay *replay = context;

	return outputs_triggers(replay->outputs, stats);
}

exit_status run_replay(const struct options *options, struct fail_if *fail_if)
{
	struct replay replay = { .fail_if = fail_if, .report = &options->outputs.report };
	const struct replay_handlers handlers = {
		.sample = sample_replay,
		.triggers = triggers_replay,
		.context = &replay,
		.recordings = true,
	};
	int shown, status = outputs_open(&replay.outputs, &options->outputs, 0, NULL);

	/* Whoever has written the file: it is not to be read by root. */
	if (!status)
		run_confine(&(struct run){ .options = options, .outputs = replay.outputs });
	if (!status)
		status = replay_read(options->replay, &handlers);
	if (!status)
		status = outputs_finish(replay.outputs);
	if (!status)
		status = fail_if_compare(fail_if, outputs_comparison(replay.outputs));
	shown = outputs_show(replay.outputs);
	if (!status)
		status = shown;
	if (!status && replay.report->threads && !replay.matched)
		status = run_threads_absent(replay.report->threads);
	if (!status)
		status = run_conclude(options, fail_if, replay.lost);
	outputs_close(replay.outputs);
	return status;
}
