// SPDX-License-Identifier: Apache-2.0
#include "perfetto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/model/losses.h"
#include "cli/model/recording.h"
#include "cli/model/verdict.h"
#include "cli/model/words.h"
#include "perfetto_fields.h"
#include "pftrace.h"
#include "timeline.h"

/* --- CPUs of a recording: what ran there, and interrupts --- */

/* Target threads are complete; others are recorded while target threads waited. */

static int irq_compare(const void *a, const void *b)
{
	const struct span *x = *(const struct span *const *)a;
	const struct span *y = *(const struct span *const *)b;

	return ORDER(x->cpu, y->cpu) ?: ORDER(x->start, y->start) ?: ORDER(y->end, x->end);
}

/* --- Runs --- */

static void run_write(struct pftrace *trace, const struct span *run)
{
	const struct recording *recording = trace->sample->recording;
	const struct recorded_thread *thread = recording_thread(recording, run->tid);
	uint64_t track = track_uuid(TRACK_CPU, (pid_t)run->cpu);
	char name[CPU_RUN_NAME_LEN];

	cpu_run_name(run, recording, name);
	slice_begin(trace, CATEGORY_RUN, track, run->start);
	event_name(trace, name, sizeof(name));
	if (run->tid)
		note_i64(trace, NOTE_TID, run->tid);
	if (thread && thread->pid)
		note_i64(trace, NOTE_PID, thread->pid);
	event_end(trace);
	slice_end(trace, track, run->end);
}

static void runs_write(struct pftrace *trace, const struct spans *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		const struct span *run = &runs->all[i];

		if (!i || run[-1].cpu != run->cpu)
			tracks_write_cpu(trace, run->cpu);
		run_write(trace, run);
	}
}

/* --- Interrupts, and CPUs --- */

static bool cpu_has_run(const struct spans *runs, uint32_t cpu)
{
	size_t at = ARRAY_SPLIT(runs->n, i, runs->all[i].cpu < cpu);

	return at < runs->n && runs->all[at].cpu == cpu;
}

static int irqs_write(struct pftrace *trace, const struct spans *runs)
{
	const struct recording *recording = trace->sample->recording;
	const struct span **irqs = irqs_sort(recording, irq_compare);

	if (!irqs)
		return -ENOMEM;
	for (size_t i = 0; i < recording->spans[SPAN_IRQS].n; i++) {
		uint32_t cpu = irqs[i]->cpu;

		if ((!i || irqs[i - 1]->cpu != cpu) && !cpu_has_run(runs, cpu))
			tracks_write_cpu(trace, cpu);
		irq_write(trace, irqs[i], track_uuid(TRACK_CPU_IRQS, (pid_t)cpu));
	}
	free(irqs);
	return 0;
}

/* Writes a track for each recorded CPU. Returns 0 or -ENOMEM. */
static int cpus_write(struct pftrace *trace)
{
	struct spans runs = { 0 };
	int err = cpu_runs_make(&runs, trace->sample->recording, trace->from, trace->sample->end);

	if (!err) {
		tracks_write_cpus(trace);
		runs_write(trace, &runs);
		err = irqs_write(trace, &runs);
	}
	free(runs.all);
	return err;
}

/* --- Critical path as a track: one slice per row --- */

/* Names a row; another thread than the path's is named first. */
static void row_name(const struct pftrace *trace, const struct path_row *row, char *text,
		     size_t size)
{
	const struct critical_path *path = &trace->sample->path;
	char words[PATH_TEXT_LEN];

	path_row_text(row, trace->sample->foreign_calls, words);
	if (row->thread.tid == path->thread.tid || !row->thread.tid)
		snprintf(text, size, "%s", words);
	else
		snprintf(text, size, "%.*s[%d]: %s", KD_COMM_LEN, row->thread.name,
			 (int)row->thread.tid, words);
}

static void row_write(struct pftrace *trace, const struct path_row *row)
{
	uint64_t track = track_uuid(TRACK_PATH, 0);
	struct slice slice = { row->start, row->end };
	char name[PATH_TEXT_LEN + KD_COMM_LEN + 16];

	if (!pftrace_clip(trace, &slice) || slice.start == slice.end)
		return;
	row_name(trace, row, name, sizeof(name));
	slice_begin(trace, CATEGORY_PATH, track, slice.start);
	event_name(trace, name, sizeof(name));
	if (row->thread.tid)
		note_i64(trace, NOTE_TID, row->thread.tid);
	if (row->thread.pid)
		note_i64(trace, NOTE_PID, row->thread.pid);
	note_u64(trace, NOTE_LEGS, row->legs);
	for (unsigned int i = 0; i < LEDGER_STATES && row->legs > 1; i++)
		if (row->states[i])
			note_u64(trace, note_of_state((enum ledger_state)i), row->states[i]);
	if (row->reason != PATH_FOLLOWED && row->reason < PATH_REASONS)
		note_word(trace, NOTE_REASON, path_reason_keys[row->reason]);
	event_end(trace);
	slice_end(trace, track, slice.end);
}

/* Writes nothing without a path. */
static void path_slices_write(struct pftrace *trace)
{
	const struct critical_path *path = &trace->sample->path;

	if (!path->thread.tid)
		return;
	tracks_write_path(trace);
	for (size_t i = 0; i < path->n_rows; i++)
		row_write(trace, &path->rows[i]);
}

/* --- The window, with the verdict inside --- */

static void verdict_row_begin(struct pftrace *trace, const struct verdict_row *row)
{
	const struct cause_words *words = &cause_words[row->cause];
	const struct verdict_who *who = &row->who;
	char name[sizeof(who->comm) + 64];

	snprintf(name, sizeof(name), "%s", words->title);
	if (who->tid)
		snprintf(name, sizeof(name), "%s: %.*s[%d]", words->title, (int)sizeof(who->comm),
			 who->comm, (int)who->tid);
	else if (*who->comm)
		snprintf(name, sizeof(name), "%s: %.*s", words->title, (int)sizeof(who->comm),
			 who->comm);
	slice_begin(trace, CATEGORY_VERDICT, track_uuid(TRACK_WINDOWS, 0), trace->sample->start);
	event_name(trace, name, sizeof(name));
	note_word(trace, NOTE_CAUSE, words->key);
	note_u64(trace, NOTE_NS, row->ns);
	if (row->count)
		note_u64(trace, NOTE_COUNT, row->count);
	if (row->longest)
		note_u64(trace, NOTE_LONGEST, row->longest);
	note_u64(trace, NOTE_THREADS, row->threads);
	if (who->tid)
		note_i64(trace, NOTE_BY_TID, who->tid);
	note_text(trace, NOTE_BY, who->comm, sizeof(who->comm));
	event_end(trace);
}

/* Notes the extent of the recording. */
static void recording_note(struct pftrace *trace, const struct recording *recording)
{
	note_u64(trace, NOTE_RECORDED, u64_sub(trace->sample->start, recording->from));
	note_u64(trace, NOTE_RECORDED_ASKED, recording->wanted);
	note_u64(trace, NOTE_RECORDED_EVENTS, recording->events);
	note_u64(trace, NOTE_RECORDED_LOST, recording->lost);
	note_u64(trace, NOTE_RECORDED_MEMORY, recording->memory);
}

/* Notes why the sample was reported. */
static void fulfilled_note(struct pftrace *trace, const struct fulfilled *fulfilled)
{
	char words[EXCESS_WORDS_LEN];

	if (!*fulfilled->condition)
		return;
	excess_words(words, &fulfilled->by);
	note_text(trace, NOTE_RECORD_ON, fulfilled->condition, sizeof(fulfilled->condition));
	note_text(trace, NOTE_RECORD_ON_VALUE, words, sizeof(words));
}

static void window_begin(struct pftrace *trace, const struct verdict *verdict)
{
	const struct sample *sample = trace->sample;
	const struct capture *capture = sample->capture;
	char name[64] = "window";

	if (sample->number)
		snprintf(name, sizeof(name), "window %llu", (unsigned long long)sample->number);
	slice_begin(trace, CATEGORY_WINDOW, track_uuid(TRACK_WINDOWS, 0), sample->start);
	event_name(trace, name, sizeof(name));
	note_u64(trace, NOTE_NUMBER, sample->number);
	if (capture) {
		note_text(trace, NOTE_VERSION, capture->version, SIZE_MAX);
		note_text(trace, NOTE_HOST, capture->host, sizeof(capture->host));
		note_text(trace, NOTE_KERNEL, capture->kernel, sizeof(capture->kernel));
		note_text(trace, NOTE_START_TRIGGER, capture->start_trigger, SIZE_MAX);
		note_text(trace, NOTE_STOP_TRIGGER, capture->stop_trigger, SIZE_MAX);
	}
	if (sample->start_triggered)
		note_i64(trace, NOTE_START_TID, sample->started_on);
	if (sample->stop_triggered)
		note_i64(trace, NOTE_STOP_TID, sample->stopped_on);
	note_u64(trace, NOTE_BUSY, verdict->busy);
	note_u64(trace, NOTE_DELAY, verdict->delay);
	note_u64(trace, NOTE_UNEXPLAINED, verdict->unexplained);
	/* Data missing from the tracks. */
	note_u64(trace, NOTE_LOST, sample_lost(sample));
	if (sample->traces.lost)
		note_u64(trace, NOTE_TRACES_LOST, sample->traces.lost);
	if (sample->traces.calls_wanted)
		note_u64(trace, NOTE_CALLS_FROM, sample->traces.call_threshold);
	if (sample->traces.waits_wanted) {
		note_u64(trace, NOTE_WAITS_FROM, sample->traces.wait_threshold);
		note_u64(trace, NOTE_WAITS_LEFT_OUT, sample->traces.left_out);
	}
	if (sample->recording)
		recording_note(trace, sample->recording);
	fulfilled_note(trace, &sample->fulfilled);
	event_end(trace);
}

/* Marks where the recording begins, so that missing or lost data is visible. */
static void recording_write(struct pftrace *trace, const struct recording *recording)
{
	uint64_t held = u64_sub(trace->sample->start, recording->from);
	char text[128] = "recording begins";

	if (recording->lost)
		snprintf(text, sizeof(text), "recording begins: %llu events are missing",
			 (unsigned long long)recording->lost);
	else if (held < recording->wanted)
		snprintf(text, sizeof(text), "recording begins: it held no more");
	instant_begin(trace, CATEGORY_RECORDING, track_uuid(TRACK_WINDOWS, 0), trace->from);
	event_name_word(trace, text);
	recording_note(trace, recording);
	event_end(trace);
}

/* Writes the causes below each other, each as long as the window. */
static void window_write(struct pftrace *trace)
{
	const struct verdict *verdict = trace->sample->verdict;

	window_begin(trace, verdict);
	for (size_t i = 0; i < verdict->n_blamed; i++)
		verdict_row_begin(trace, &verdict->rows[i]);
	for (size_t i = 0; i <= verdict->n_blamed; i++)
		slice_end(trace, track_uuid(TRACK_WINDOWS, 0), trace->sample->end);
}

/* --- Processes and threads --- */

static int pid_compare(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return ORDER(x, y);
}

/* Title of a process, from its first thread. "": unknown. */
static const char *process_track_title(const struct pftrace *trace, const struct timeline *timeline,
				       pid_t pid)
{
	const struct sample *sample = trace->sample;
	const struct timeline_thread *first = timeline_thread(timeline, pid);

	if (sample->capture && pid == sample->pid)
		return sample->capture->process;
	return first && first->name && first->pid == pid ? first->name : "";
}

static void process_write(struct pftrace *trace, const struct timeline *timeline, pid_t pid)
{
	const struct sample *sample = trace->sample;
	const struct process_row *row = NULL;

	for (size_t i = 0; i < sample->n_processes && !row; i++)
		if (sample->processes[i].pid == pid)
			row = &sample->processes[i];
	if (row)
		tracks_write_process(trace, pid, row->name, row->title);
	else
		tracks_write_process(trace, pid, process_track_title(trace, timeline, pid), "");
}

/* Writes each process once. */
static int processes_write(struct pftrace *trace, const struct timeline *timeline)
{
	pid_t *pids = calloc(timeline->n_threads + 1, sizeof(*pids));
	size_t n = 0;

	if (!pids)
		return -ENOMEM;
	for (size_t i = 0; i < timeline->n_threads; i++)
		pids[n++] = timeline->threads[i].pid;
	ARRAY_SORT(pids, n, pid_compare);
	for (size_t i = 0; i < n; i++)
		if (!i || pids[i] != pids[i - 1])
			process_write(trace, timeline, pids[i]);
	free(pids);
	return 0;
}

/* --- Trigger hits --- */

/* Writes a hit on its thread's track; hits of other processes go to the track without a process. */
static void hit_write(struct pftrace *trace, const struct timeline *timeline, enum kd_role role,
		      pid_t tid, uint64_t at)
{
	const struct capture *capture = trace->sample->capture;
	bool is_start = role == KD_START;

	instant_begin(trace, CATEGORY_HIT, hit_track(timeline, tid), at);
	event_name_word(trace, is_start ? "start trigger" : "stop trigger");
	note_i64(trace, is_start ? NOTE_START_TID : NOTE_STOP_TID, tid);
	if (capture)
		note_text(trace, is_start ? NOTE_START_TRIGGER : NOTE_STOP_TRIGGER,
			  is_start ? capture->start_trigger : capture->stop_trigger, SIZE_MAX);
	event_end(trace);
}

static void hits_write(struct pftrace *trace, const struct timeline *timeline)
{
	const struct sample *sample = trace->sample;

	if (sample->start_triggered)
		hit_write(trace, timeline, KD_START, sample->started_on, sample->start);
	if (sample->stop_triggered)
		hit_write(trace, timeline, KD_STOP, sample->stopped_on, sample->end);
}

static int threads_write(struct pftrace *trace)
{
	const struct sample *sample = trace->sample;
	struct timeline timeline = { 0 };
	int err = timeline_make(&timeline, sample, trace->from)
			  ?: processes_write(trace, &timeline);

	for (size_t i = 0; i < timeline.n_threads && !err; i++) {
		const struct timeline_thread *thread = &timeline.threads[i];

		tracks_write_thread(trace, thread->pid, thread->tid, thread->name);
		slices_write(trace, thread);
	}
	if (!err)
		wakeups_write(trace, &timeline);
	if (!err && !sample->recording)
		hits_write(trace, &timeline);
	if (!err && sample->recording) {
		recorded_write_hits(trace, &timeline);
		err = cpus_write(trace);
	}
	callstacks_clear(trace);
	timeline_clear(&timeline);
	return err;
}

/* Start of what is shown, without what the previous sample shows in the same file. */
static uint64_t shown_from(const struct sample *sample, const struct report_options *options)
{
	const struct recording *recording = sample->recording;
	uint64_t from = recording ? u64_min(recording->from, sample->start) : sample->start;

	if (options->shown_until <= from || options->shown_from >= sample->end)
		return from;
	return u64_min(options->shown_until, sample->start);
}

int report_perfetto(const struct sample *sample, const struct report_options *options, FILE *out)
{
	struct pftrace *trace;
	int err = pftrace_begin(&trace, sample, out), write_err;

	if (err)
		return err;
	trace->from = shown_from(sample, options);
	tracks_write_common(trace);
	if (sample->recording)
		recording_write(trace, sample->recording);
	window_write(trace);
	path_slices_write(trace);
	err = threads_write(trace);
	write_err = pftrace_end(trace);
	return err ?: write_err;
}
