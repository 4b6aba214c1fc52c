// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/array.h"
#include "cli/base/parse.h"

bool sample_is_triggered(const struct sample *sample)
{
	return sample->start_triggered || sample->stop_triggered ||
	       (sample->capture &&
		(sample->capture->start_trigger || sample->capture->stop_trigger));
}

/* --- Processes --- */

static int by_identity(pid_t pid, uint64_t start, pid_t other, uint64_t other_start)
{
	return ORDER(pid, other) ?: ORDER(start, other_start);
}

int process_row_compare(const void *a, const void *b)
{
	const struct process_row *x = a, *y = b;

	return by_identity(x->pid, x->start, y->pid, y->start);
}

int process_compare(const struct thread_row *a, const struct thread_row *b)
{
	return by_identity(a->pid, a->process_start, b->pid, b->process_start);
}

void processes_sort_rows(struct sample *sample)
{
	ARRAY_SORT(sample->processes, sample->n_processes, process_row_compare);
}

struct thread_row *sample_thread(const struct sample *sample, pid_t tid)
{
	for (size_t i = 0; i < sample->n_threads; i++)
		if (sample->threads[i].tid == tid && sample->threads[i].members == 1)
			return &sample->threads[i];
	return NULL;
}

struct thread_row *sample_most(const struct sample *sample,
			       uint64_t (*time_of)(const struct thread_row *), unsigned int percent)
{
	struct thread_row *most = NULL;
	uint64_t least = (sample->end - sample->start) / 100 * percent;

	for (size_t i = 0; i < sample->n_threads; i++)
		if (time_of(&sample->threads[i]) > least) {
			most = &sample->threads[i];
			least = time_of(most);
		}
	return most;
}

pid_t thread_pid(const struct sample *sample, const struct thread_row *thread)
{
	return thread->pid ? thread->pid : sample->pid;
}

const struct process_row *process_of(const struct sample *sample, const struct thread_row *thread)
{
	const struct process_row key = { .pid = thread->pid, .start = thread->process_start };

	if (!sample->n_processes)
		return NULL;
	return bsearch(&key, sample->processes, sample->n_processes, sizeof(key),
		       process_row_compare);
}

bool sample_has_process(const struct sample *sample, pid_t pid)
{
	return pid == sample->pid || process_at(sample, pid, UINT64_MAX);
}

const struct process_row *process_at(const struct sample *sample, pid_t pid, uint64_t at)
{
	const struct process_row *rows = sample->processes;
	size_t begun = ARRAY_SPLIT(sample->n_processes, i,
				   by_identity(rows[i].pid, rows[i].start, pid, at) <= 0);

	return begun && rows[begun - 1].pid == pid ? &rows[begun - 1] : NULL;
}

uint64_t processes_count(const struct sample *sample)
{
	uint64_t count = 0;

	for (size_t i = 0; i < sample->n_processes; i++)
		count += sample->processes[i].members ?: 1;
	return count;
}

/* --- Wall clock --- */

static bool wall_is_known(const struct sample *sample)
{
	return sample->wall_start.tv_sec || sample->wall_start.tv_nsec;
}

bool sample_wall_at(const struct sample *sample, uint64_t moment, struct timespec *when)
{
	const __int128 second = NSEC_PER_SEC;
	__int128 ns = (__int128)moment - sample->start + sample->wall_start.tv_nsec;
	__int128 seconds = ns / second - (ns % second < 0);

	when->tv_nsec = (long)(ns - seconds * second);
	when->tv_sec = sample->wall_start.tv_sec + (time_t)seconds;
	return wall_is_known(sample);
}

uint64_t sample_moment_of(const struct sample *sample, const struct timespec *when)
{
	__int128 ns = (__int128)when->tv_sec - sample->wall_start.tv_sec;

	ns = ns * NSEC_PER_SEC + when->tv_nsec - sample->wall_start.tv_nsec + sample->start;
	return wall_is_known(sample) && ns > 0 && ns <= UINT64_MAX ? (uint64_t)ns : 0;
}

/* --- Memory --- */

void sample_clear(struct sample *sample)
{
	for (size_t i = 0; i < sample->n_threads; i++)
		thread_clear(&sample->threads[i]);
	free(sample->threads);
	free(sample->processes);
	free(sample->workers);
	free(sample->upcalls);
	free(sample->softirq_delays);
	free(sample->interruptions);
	free(sample->usages);
	free(sample->resent);
	traces_clear(&sample->traces);
	recording_clear(sample->recording);
	free(sample->recording);
	critical_path_clear(&sample->path);
	memset(sample, 0, sizeof(*sample));
}

/* --- Values that exceeded a condition --- */

void excess_words(char words[EXCESS_WORDS_LEN], const struct excess *excess)
{
	char value[NUMBER_LEN], whose[KD_COMM_LEN + 64] = "";
	const char *unit = excess->total ? " %" : excess->is_time ? " ns" : "";

	if (excess->total)
		number_percent(value, excess->value, excess->total);
	else
		number_grouped(value, excess->value);
	if (excess->members > 1)
		snprintf(whose, sizeof(whose), " of %u threads '%.*s'", excess->members,
			 KD_COMM_LEN, excess->name);
	else if (!excess->sample && *excess->name)
		snprintf(whose, sizeof(whose), " more of '%.*s'", KD_COMM_LEN, excess->name);
	else if (excess->tid)
		snprintf(whose, sizeof(whose), " of thread %d '%.*s'", (int)excess->tid,
			 KD_COMM_LEN, excess->name);
	snprintf(words, EXCESS_WORDS_LEN, "%s%s%s%s", value, unit, excess->so_far ? " so far" : "",
		 whose);
}
