/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/log.h"

#define LONG_NS (5 * NSEC_PER_SEC) /* people wait so long without a question */
#define DAY_NS (24 * 3600 * NSEC_PER_SEC)
#define NEVER UINT64_MAX
#define WHEN_LENGTH 40

static uint64_t seconds_of(uint64_t ns)
{
	return ns / NSEC_PER_SEC + (ns % NSEC_PER_SEC > 0);
}

const char *progress_length(char text[static PROGRESS_LENGTH], uint64_t ns)
{
	unsigned long long s = seconds_of(ns), min = s / 60, h = min / 60;
	const struct {
		unsigned long long large, small;
		const char *large_unit, *small_unit;
	} all[] = {
		{ h / 24, h % 24, "d", "h" },
		{ h, min % 60, "h", "min" },
		{ min, s % 60, "min", "s" },
		{ s, 0, "s", "" },
	};
	unsigned int i = s >= 24 * 3600 ? 0 : s >= 3600 ? 1 : s >= 60 ? 2 : 3;

	if (all[i].small)
		snprintf(text, PROGRESS_LENGTH, "%llu %s %llu %s", all[i].large, all[i].large_unit,
			 all[i].small, all[i].small_unit);
	else
		snprintf(text, PROGRESS_LENGTH, "%llu %s", all[i].large, all[i].large_unit);
	return text;
}

/* The wall clock's time, local, with the date if it is not soon. */
static const char *when_text(char text[static WHEN_LENGTH], uint64_t when, uint64_t now)
{
	struct timespec wall = clock_wall_at(when);
	struct tm local;

	if (!localtime_r(&wall.tv_sec, &local) ||
	    !strftime(text, WHEN_LENGTH, when - now < DAY_NS / 2 ? "%H:%M:%S" : "%F %H:%M:%S",
		      &local))
		snprintf(text, WHEN_LENGTH, "its end");
	return text;
}

/* A terminal, and the program is not in its background, where it would write over what
 * is typed. */
static bool is_watched(void)
{
	pid_t foreground;

	if (!isatty(STDERR_FILENO))
		return false;
	foreground = tcgetpgrp(STDERR_FILENO);
	return foreground < 0 || foreground == getpgrp();
}

/* The end of the run, where the sample ends then and these are to be taken after it. */
static uint64_t run_end(const struct progress_config *config, uint64_t sample_end, uint64_t rest)
{
	uint64_t each = u64_add(config->sample_time, config->sample_interval);
	uint64_t end = u64_add(sample_end, u64_times(rest, each));

	return end < config->deadline ? end : config->deadline;
}

static bool has_end(const struct progress_config *config)
{
	return config->deadline != NEVER || (config->samples && !config->triggered);
}

static void announce(const struct progress *progress, uint64_t now)
{
	char length[PROGRESS_LENGTH], when[WHEN_LENGTH];

	progress_length(length, progress->until - now);
	if (!has_end(&progress->config))
		log_note("a sample takes %s; Ctrl-C ends the run and prints the last one", length);
	else
		log_note("sampling for %s, until %s; Ctrl-C ends it and prints the %s", length,
			 when_text(when, progress->until, now),
			 progress->config.samples == 1 ? "report" : "last sample");
}

void progress_begin(struct progress *progress, const struct progress_config *config)
{
	uint64_t now = clock_monotonic();

	*progress = (struct progress){ .config = *config };
	if (config->triggered)
		progress->until = config->deadline;
	else if (has_end(config))
		progress->until = run_end(config, u64_add(now, config->sample_time),
					  config->samples ? config->samples - 1 : NEVER);
	else
		progress->until = u64_add(now, config->sample_time);
	progress->on = !config->quiet && progress->until != NEVER &&
		       progress->until > u64_add(now, LONG_NS);
	if (!progress->on)
		return;
	progress->shown = seconds_of(progress->until - now);
	if (!config->triggered && is_watched())
		announce(progress, now);
}

void progress_sample(struct progress *progress, uint64_t end)
{
	const struct progress_config *config = &progress->config;

	progress->sample++;
	if (config->triggered)
		return;
	if (!has_end(config))
		progress->until = end;
	else
		progress->until = run_end(config, end,
					  !config->samples ? NEVER
					  : config->samples > progress->sample
						  ? config->samples - progress->sample
						  : 0);
}

void progress_tick(struct progress *progress)
{
	uint64_t now, left;
	char length[PROGRESS_LENGTH], sample[64] = "";

	if (!progress->on)
		return;
	now = clock_monotonic();
	left = progress->until > now ? progress->until - now : 0;
	if (seconds_of(left) == progress->shown)
		return;
	progress->shown = seconds_of(left);
	if (!left || !is_watched()) {
		log_progress_end();
		return;
	}
	if (progress->sample && progress->config.samples > 1)
		snprintf(sample, sizeof(sample), "sample %llu of %llu, ",
			 (unsigned long long)progress->sample,
			 (unsigned long long)progress->config.samples);
	else if (progress->sample && !progress->config.samples)
		snprintf(sample, sizeof(sample), "sample %llu%s",
			 (unsigned long long)progress->sample,
			 has_end(&progress->config) ? ", " : ": ");
	log_progress("%s%s left", sample, progress_length(length, left));
}
