/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that no machine would have: any number, any name. The same every time, with the same
 * compiler. */
#ifndef TESTS_UNIT_RANDOM_SAMPLE_H
#define TESTS_UNIT_RANDOM_SAMPLE_H

#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/model/distribution.h"
#include "cli/model/resource.h"
#include "cli/model/sample.h"
#include "cli/model/trigger_stats.h"
#include "need.h"
#include "random_thread.h"

#define RANDOM_STACKS 6
#define RANDOM_FRAMES 5

static void random_usages(struct sample *sample)
{
	sample->usages = random_rows(&sample->n_usages, 3, sizeof(*sample->usages));
	for (size_t i = 0; i < sample->n_usages; i++) {
		struct usage_row *usage = &sample->usages[i];

		usage->pid = (pid_t)i / 2;
		usage->process_start = i * random_number();
		usage->cpu_ns = random_number();
		usage->memory = (struct memory){ random_number(), 1, random_number() };
		for (size_t j = 0; j < KD_IO_KINDS; j++)
			usage->io[j] = (struct io_row){ { random_number(), 1 },
							{ 0, random_number() } };
		usage->disk_requests = random_number(), usage->disk_bytes = random_number();
		usage->rings = chance(2) * random_number(), usage->resent = random_number();
		usage->forks = chance(2) * random_number();
		usage->execs = chance(2) * random_number();
	}
	sample->resent = random_rows(&sample->n_resent, 3, sizeof(*sample->resent));
	for (size_t i = 0; i < sample->n_resent; i++) {
		struct resent_row *row = &sample->resent[i];

		row->pid = (pid_t)chance(INT32_MAX), row->is.fd = (int32_t)chance(1000);
		row->count = random_number(), row->is.inode = random_number();
		random_name(row->is.protocol, sizeof(row->is.protocol));
		random_name(row->is.local, sizeof(row->is.local));
		random_name(row->is.peer, sizeof(row->is.peer));
	}
}

static void random_softirq_delays(struct sample *sample)
{
	sample->has_softirq_delays = true;
	sample->softirq_delays = random_rows(&sample->n_softirq_delays, 5,
					     sizeof(*sample->softirq_delays));
	for (size_t i = 0; i < sample->n_softirq_delays; i++) {
		struct softirq_delay *row = &sample->softirq_delays[i];

		row->cpu = random_u32(), row->vector = random_u32();
		random_name(row->name, sizeof(row->name));
		row->delays.count = random_number(), row->delays.total = random_number();
		row->delays.max = random_number(), row->open = chance(2);
		row->raised.tid = row->ran.tid = (uint32_t)chance(INT32_MAX);
		random_name(row->raised.comm, sizeof(row->raised.comm));
		random_name(row->ran.comm, sizeof(row->ran.comm));
	}
}

static void random_interruptions(struct sample *sample)
{
	sample->distributions = random_number() & 1;
	sample->interruptions_from = random_number();
	sample->interruptions = random_rows(&sample->n_interruptions, 5,
					    sizeof(*sample->interruptions));
	for (size_t i = 0; i < sample->n_interruptions; i++) {
		struct interruption *interruption = &sample->interruptions[i];

		interruption->since = random_number(), interruption->until = random_number();
		interruption->ns = random_number(), interruption->entry_ns = random_number();
		for (size_t j = 0; j < INTERRUPTION_CAUSES; j++)
			interruption->by[j] = random_number();
		interruption->tid = (pid_t)chance(INT32_MAX);
		random_name(interruption->name, sizeof(interruption->name));
		interruption->cpu = random_u32();
		interruption->moved = chance(2), interruption->open = chance(2);
		interruption->cause = (uint32_t)chance(INTERRUPTION_CAUSES);
		interruption->tick_late = chance(2) * random_number();
		random_name(interruption->who, KD_COMM_LEN);
		interruption->who_tid = (pid_t)chance(INT32_MAX);
		interruption->who_others = (uint32_t)chance(2) * random_u32();
	}
}

/* The same stacks every time, with other frames. */
static const struct stack *random_stack(bool new)
{
	static struct frame frames[RANDOM_STACKS][RANDOM_FRAMES];
	static struct stack stacks[RANDOM_STACKS];

	for (unsigned int i = 0; new &&i < RANDOM_STACKS; i++) {
		stacks[i] = (struct stack){ frames[i], chance(RANDOM_FRAMES + 1), random_text(),
					    chance(2) };
		for (unsigned int j = 0; j < RANDOM_FRAMES; j++)
			frames[i][j] = (struct frame){ random_text(), random_number(),
						       random_text(), random_text(),
						       (uint32_t)chance(3) };
	}
	return chance(4) ? &stacks[chance(RANDOM_STACKS)] : NULL;
}

static void random_blocker(struct blocker *blocker)
{
	blocker->lock = chance(8) ? 0 : random_number();
	blocker->kind = (enum kd_lock)chance(KD_LOCK_KINDS);
	blocker->holder = chance(2) ? (pid_t)chance(INT32_MAX) : 0;
	blocker->holder_pid = chance(2) ? (pid_t)chance(INT32_MAX) : 0;
	random_name(blocker->holder_name, sizeof(blocker->holder_name));
	random_name(blocker->disk, sizeof(blocker->disk));
	blocker->request = chance(2) ? random_number() : 0;
}

static void random_trace(struct trace_row *row, const struct trace_list *list)
{
	static const uint32_t states[] = { KD_BLOCKED,     KD_BLOCKED_UNINT,   KD_STOPPED,
					   KD_READY_WOKEN, KD_READY_PREEMPTED, KD_FROZEN };

	*row = (struct trace_row){ .kind = (enum trace_kind)chance(TRACE_KINDS) };
	row->tid = (pid_t)chance(4);
	if (list->n && chance(2))
		memcpy(row->name, list->rows[0].name, sizeof(row->name));
	else
		random_name(row->name, sizeof(row->name));
	row->start = random_number();
	row->end = row->kind == TRACE_SAMPLE ? row->start : chance(4) ? random_number() : 0;
	row->since = random_number();
	row->cpu = random_u32();
	row->call = random_call();
	if (row->kind == TRACE_CALL) {
		row->waited = random_number();
		row->result = row->end ? (int64_t)random_number() : 0;
	} else {
		row->state = row->kind == TRACE_WAIT ? states[chance(5)]
						     : KD_USER + (uint32_t)chance(2);
	}
	for (size_t i = 0; i < KD_WAKERS && chance(2); i++) {
		row->wakers[i].tid = chance(2) ? (pid_t)chance(INT32_MAX) : 0;
		row->wakers[i].from = (uint32_t)chance(KD_FROM_CONTEXTS);
		row->wakers[i].at = random_number();
		random_name(row->wakers[i].name, sizeof(row->wakers[i].name));
	}
	row->user_ip = random_number(), row->user_sp = random_number();
	row->kernel = random_stack(false);
	row->user = random_stack(false);
	row->no_user = random_text();
	row->no_kernel = chance(2) ? "it was not to be seen" : NULL;
	row->limited = chance(2), row->cut = chance(2), row->earlier = chance(2);
	row->tracing = chance(2);
	row->at = random_text();
	random_blocker(&row->blocker);
	row->path = chance(8) ? NULL : random_text();
	row->path_cut = row->path && chance(2);
	row->no_path = !row->path && chance(2);
}

static void random_traces(struct trace_list *list)
{
	struct trace_row row;

	list->calls_wanted = chance(2), list->waits_wanted = chance(2);
	list->call_threshold = random_number();
	list->wait_threshold = random_number();
	list->profile_hz = chance(2) ? random_u32() : 0;
	list->kernel_stacks_wanted = chance(2), list->user_stacks_wanted = chance(2);
	list->stack_share = random_number();
	list->lost = random_number() * chance(2);
	list->beyond = random_number() * chance(2);
	list->failed = random_number() * chance(2);
	list->failure = random_text();
	list->limited = random_number() * chance(2);
	list->incomplete = random_number() * chance(2);
	list->kernel_hidden = chance(2);
	random_stack(true);
	for (uint64_t n = chance(20); n; n--) {
		random_trace(&row, list);
		need(!traces_add(list, &row));
	}
}

static const struct capture *random_capture(void)
{
	static struct capture capture;

	capture.version = random_text();
	random_name(capture.process, sizeof(capture.process));
	random_name(capture.host, sizeof(capture.host) - 1);
	random_name(capture.kernel, sizeof(capture.kernel) - 1);
	capture.start_trigger = random_text();
	capture.stop_trigger = random_text();
	capture.sample_count = random_number();
	random_name(capture.container, chance(2) * sizeof(capture.container));
	random_name(capture.image, chance(2) * sizeof(capture.image));
	random_name(capture.pod, chance(2) * sizeof(capture.pod));
	return chance(4) ? &capture : NULL;
}

static void random_path(struct critical_path *path)
{
	path->thread.tid = (pid_t)chance(INT32_MAX), path->thread.pid = (pid_t)chance(INT32_MAX);
	random_name(path->thread.name, sizeof(path->thread.name));
	path->chosen = (uint32_t)chance(PATH_CHOICES);
	path->start = random_number(), path->end = random_number();
	path->legs = random_number(), path->lost = random_number();
	path->rows = random_rows(&path->n_rows, 20, sizeof(*path->rows));
	for (size_t i = 0; i < path->n_rows; i++) {
		struct path_row *row = &path->rows[i];

		row->start = random_number(), row->end = random_number();
		row->legs = random_number(), row->mostly = random_number();
		row->thread.tid = chance(2) ? 7 : (pid_t)chance(INT32_MAX);
		random_name(row->thread.name, sizeof(row->thread.name));
		row->thread.of_target = chance(2), row->thread.of_kernel = chance(2);
		row->multiple_threads = chance(2);
		for (size_t j = 0; j < PATH_STATES; j++)
			row->states[j] = chance(2) ? random_number() : 0;
		row->state = (uint32_t)chance(PATH_STATES);
		row->awaited = (uint32_t)chance(KD_AWAITED_KINDS);
		row->ended_by = (uint32_t)chance(KD_FROM_CONTEXTS);
		row->reason = (uint32_t)chance(PATH_REASONS);
		row->call = chance(2) ? (int32_t)chance(500) : KD_CALL_NONE;
		row->by.kind = (uint32_t)chance(CULPRIT_KINDS);
		row->by.tid = (pid_t)(chance(2) * chance(INT32_MAX));
		random_name(row->by.name, sizeof(row->by.name));
	}
}

/* To be released by sample_clear(); some of it lives up to the next call only. */
__attribute__((unused)) static struct sample random_sample(void)
{
	static const struct absence absent[] = { { "HARD IRQ STATISTICS", "is left out" },
						 { "UPCALL STATISTICS", "is left out: \"why\"" } };
	struct sample sample = {
		.capture = random_capture(),
		.number = random_number(),
		.pid = (pid_t)chance(INT32_MAX),
		.restarts = chance(2) ? random_number() : 0,
		.predecessor = (pid_t)chance(INT32_MAX),
		.foreign_calls = !chance(4),
		.start = random_number(),
		.end = random_number(),
		.start_triggered = chance(2),
		.stop_triggered = chance(2),
		.wall_start = { .tv_sec = (time_t)chance(1ULL
							 << 33), /* +- 584 years are RFC 3339's */
				.tv_nsec = (long)chance(1000000000) },
		.wall_dump = { .tv_sec = (time_t)chance(253402300800),
			       .tv_nsec = (long)chance(1000000000) },
		.interrupted = chance(2),
		.target_exited = chance(2),
		.expired = chance(2),
		.overloaded = chance(2),
		.pressed = chance(2),
		.has_upcalls = chance(2),
		.skipped_runs = random_number(),
		.hidden = random_number(),
		.resynced = random_number(),
		.page_faults_untimed = chance(2) ? random_number() : 0,
		.entry = { .call_ns = random_number(),
			   .irq_ns = random_number(),
			   .fault_ns = random_number() },
		.own = { random_number(), random_number(), random_number() },
		.quota = { "/some/group", random_number(), random_number() },
		.torn = random_number(),
		.absent = absent,
		.n_absent = chance(3),
	};
	struct upcall_row upcall;

	if (sample.start_triggered)
		sample.started_on = (pid_t)chance(INT32_MAX);
	if (sample.stop_triggered)
		sample.stopped_on = (pid_t)chance(INT32_MAX);
	for (size_t i = 0; i < KD_LOSSES; i++)
		sample.losses[i] = chance(2) ? random_number() : 0;
	sample.threads = random_rows(&sample.n_threads, 6, sizeof(*sample.threads));
	for (size_t i = 0; i < sample.n_threads; i++)
		random_thread(&sample.threads[i]);
	for (uint64_t n = sample.has_upcalls ? chance(4) : 0; n; n--) {
		upcall = (struct upcall_row){ random_u32(), (uint32_t)chance(140),
					      random_number() };
		need(ARRAY_APPEND(sample.upcalls, sample.n_upcalls, &upcall));
	}
	sample.has_resources = chance(2);
	if (sample.has_resources)
		random_usages(&sample);
	if (chance(2))
		random_softirq_delays(&sample);
	sample.has_interruptions = chance(2);
	if (sample.has_interruptions)
		random_interruptions(&sample);
	if (chance(2))
		random_path(&sample.path);
	if (chance(2))
		random_traces(&sample.traces);
	return sample;
}

/* To be released by trigger_stats_clear(). */
__attribute__((unused)) static void random_triggers(struct trigger_stats *stats)
{
	const char *name;

	memset(stats, 0, sizeof(*stats));
	for (int role = 0; role < KD_ROLES; role++) {
		name = random_text();
		if (!name)
			continue;
		stats->names[role] = name;
		stats->target_only[role] = chance(2);
		stats->cost[role] = random_number();
		stats->tally.hits[role] = random_number();
		stats->tally.unmet[role] = chance(2) ? random_number() : 0;
		stats->tally.unread[role] = chance(2) ? random_number() : 0;
		for (int i = 0; i < KD_OUTCOMES; i++)
			stats->tally.outcome[role][i] = random_number();
	}
	stats->delta = random_number();
	stats->lasted = random_number();
	stats->same_thread = chance(2);
	stats->skipped = random_number();
	stats->dropped = random_number();
	stats->tally.foreign = random_number();
	stats->tally.outside = chance(2) ? random_number() : 0;
	if (chance(2)) {
		stats->payer.tid = 1 + (pid_t)chance(INT32_MAX - 1);
		random_name(stats->payer.name, sizeof(stats->payer.name));
		stats->payer.cost = random_number();
		stats->payer.cpu = random_number();
	}
	stats->duty.off = random_number();
	stats->duty.phases = random_number();
	stats->duty.dropped = random_number();
	stats->duty.worked_on = random_number();
	stats->duty.worked_off = random_number();
	stats->tally.nested = random_number();
	stats->windows = random_distribution();
	if (stats->windows.n) {
		stats->tally.min = random_number();
		stats->tally.max = random_number();
		stats->tally.total = random_number();
	}
	for (uint64_t n = chance(4); n; n--) {
		struct nested_pair pair = { (pid_t)chance(INT32_MAX), "", random_number(),
					    random_number() };

		random_name(pair.name, sizeof(pair.name));
		need(ARRAY_APPEND(stats->nested, stats->n_nested, &pair));
	}
}

#endif
