/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings that no machine would make: rows in their order, with any times, threads and names. */
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

static struct spans *random_spans(struct recording *recording, enum span_list list, size_t most)
{
	struct spans *spans = &recording->spans[list];

	spans->all = random_rows(&spans->n, most, sizeof(*spans->all));
	return spans;
}

static void random_states(struct recording *recording, const struct sample *sample)
{
	struct spans *spans = random_spans(recording, SPAN_STATES, RANDOM_ROWS);
	uint64_t at = random_time(sample);

	for (size_t i = 0; i < spans->n; i++) {
		uint64_t start = at;

		at = chance(9) ? at + chance(300) : random_time(sample);
		spans->all[i] = (struct span){
			.start = start,
			.end = at,
			.tid = random_tid(i, spans->n),
			.cpu = chance(9) ? (uint16_t)chance(3) : (uint16_t)random_u32(),
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
	struct spans *spans = random_spans(recording, SPAN_RUNS, RANDOM_ROWS);

	for (size_t i = 0; i < spans->n; i++)
		spans->all[i] = (struct span){
			.start = random_time(sample),
			.end = random_time(sample),
			.tid = (pid_t)chance(9),
			.cpu = (uint16_t)random_u32(),
			.key = (uint32_t)chance(chance(2) ? KD_WHO_KINDS : UINT32_MAX),
		};
	spans = random_spans(recording, SPAN_IRQS, RANDOM_ROWS);
	for (size_t i = 0; i < spans->n; i++)
		spans->all[i] = (struct span){
			.start = random_time(sample),
			.end = random_time(sample),
			.tid = (pid_t)chance(9),
			.cpu = (uint16_t)chance(4),
			.name = random_text() ?: "",
			.state = (uint8_t)chance(256),
			.hard = chance(2),
		};
	spans = random_spans(recording, SPAN_STOLEN, 5);
	for (size_t i = 0; i < spans->n; i++)
		spans->all[i] = (struct span){
			.start = random_time(sample),
			.end = random_time(sample),
			.tid = random_tid(i, spans->n),
			.value = (int64_t)random_number(),
		};
	spans = random_spans(recording, SPAN_HITS, 3);
	for (size_t i = 0; i < spans->n; i++) {
		uint64_t at = random_time(sample);

		spans->all[i] = (struct span){ .start = at,
					       .end = at,
					       .tid = (pid_t)chance(9),
					       .role = (uint8_t)chance(KD_ROLES) };
	}
}

static void random_calls(struct recording *recording, const struct sample *sample)
{
	struct spans *spans = random_spans(recording, SPAN_CALLS, RANDOM_ROWS);

	for (size_t i = 0; i < spans->n; i++)
		spans->all[i] = (struct span){
			.start = random_time(sample),
			.end = random_time(sample),
			.tid = random_tid(i, spans->n),
			.call = random_call(),
			.value = (int32_t)random_u32(),
			.early = !chance(3),
			.goes_on = !chance(3),
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
