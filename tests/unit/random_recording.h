/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings such as no machine makes them: rows in their order, with any times, threads and names.
 */
#ifndef TESTS_UNIT_RANDOM_RECORDING_H
#define TESTS_UNIT_RANDOM_RECORDING_H

#include <stdlib.h>

#include "cli/model/sample.h"
#include "need.h"
#include "random_values.h"

#define RANDOM_TIDS 5
#define RANDOM_ROWS 40

/* Around the window, or anywhere. */
static uint64_t random_time(const struct sample *sample)
{
	return chance(8) ? sample->start - 1000 + chance(2000) : random_number();
}

static pid_t random_tid(size_t i, size_t n)
{
	return (pid_t)(n ? i * RANDOM_TIDS / n : 0);
}

static void random_states(struct recording *recording, const struct sample *sample)
{
	uint64_t at = random_time(sample);

	recording->states = random_rows(&recording->n_states, RANDOM_ROWS,
					sizeof(*recording->states));
	for (size_t i = 0; i < recording->n_states; i++) {
		uint64_t start = at;

		at = chance(9) ? at + chance(300) : random_time(sample);
		recording->states[i] = (struct recorded_state){
			.start = start,
			.end = at,
			.tid = random_tid(i, recording->n_states),
			.cpu = chance(9) ? (uint32_t)chance(3) : random_u32(),
			.state = (uint8_t)chance(chance(9) ? KD_STATES : 256),
			.awaited = (uint8_t)chance(chance(9) ? KD_AWAITED_KINDS : 256),
			.from = (uint8_t)chance(chance(9) ? KD_FROM_CONTEXTS : 256),
			.of_target = chance(2),
			.goes_on = !chance(9),
			.call = random_call(),
			.waker = (pid_t)(chance(2) * chance(2 * RANDOM_TIDS)),
			.holder = (pid_t)(chance(2) * chance(2 * RANDOM_TIDS)),
		};
	}
}

static void random_others(struct recording *recording, const struct sample *sample)
{
	recording->runs = random_rows(&recording->n_runs, RANDOM_ROWS, sizeof(*recording->runs));
	for (size_t i = 0; i < recording->n_runs; i++)
		recording->runs[i] = (struct recorded_run){
			random_time(sample), random_time(sample), random_u32(),
			(uint32_t)chance(chance(2) ? KD_WHO_KINDS : UINT32_MAX), (pid_t)chance(9)
		};
	recording->irqs = random_rows(&recording->n_irqs, RANDOM_ROWS, sizeof(*recording->irqs));
	for (size_t i = 0; i < recording->n_irqs; i++)
		recording->irqs[i] =
			(struct recorded_irq){ random_time(sample), random_time(sample),
					       (uint32_t)chance(4), (pid_t)chance(9),
					       chance(2),           random_text() ?: "",
					       (uint8_t)chance(256) };
	recording->stolen = random_rows(&recording->n_stolen, 5, sizeof(*recording->stolen));
	for (size_t i = 0; i < recording->n_stolen; i++)
		recording->stolen[i] =
			(struct recorded_stolen){ random_time(sample), random_time(sample),
						  random_number(),
						  random_tid(i, recording->n_stolen) };
	recording->hits = random_rows(&recording->n_hits, 3, sizeof(*recording->hits));
	for (size_t i = 0; i < recording->n_hits; i++)
		recording->hits[i] = (struct recorded_hit){ random_time(sample), (pid_t)chance(9),
							    (enum kd_role)chance(KD_ROLES) };
}

static void random_calls(struct recording *recording, const struct sample *sample)
{
	recording->calls = random_rows(&recording->n_calls, RANDOM_ROWS, sizeof(*recording->calls));
	for (size_t i = 0; i < recording->n_calls; i++)
		recording->calls[i] = (struct recorded_call){
			chance(3) * random_time(sample), chance(3) * random_time(sample),
			random_tid(i, recording->n_calls), random_call(), (int32_t)random_u32()
		};
}

static void random_threads(struct recording *recording)
{
	recording->threads = random_rows(&recording->n_threads, RANDOM_TIDS,
					 sizeof(*recording->threads));
	for (size_t i = 0; i < recording->n_threads; i++) {
		struct recorded_thread *thread = &recording->threads[i];

		thread->tid = (pid_t)i * 2;
		thread->pid = (pid_t)(chance(2) * chance(INT32_MAX));
		random_name(thread->name, sizeof(thread->name));
		thread->of_target = chance(2);
		thread->of_kernel = chance(2);
	}
}

static struct recording *random_recording(const struct sample *sample)
{
	struct recording *recording = calloc(1, sizeof(*recording));

	need(recording);
	recording->from = chance(2) ? sample->start - chance(1000) : random_number();
	recording->to = sample->end;
	recording->wanted = random_number();
	recording->lost = chance(2) * random_number();
	random_states(recording, sample);
	random_others(recording, sample);
	random_calls(recording, sample);
	random_threads(recording);
	return recording;
}

#endif
