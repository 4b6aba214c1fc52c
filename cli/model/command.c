/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include <string.h>

#include "cli/base/arith.h"
#include "rows.h"

static struct thread_row *main_of(const struct sample *sample)
{
	const bool is_one = sample->capture && sample->capture->command;

	return is_one && !sample_is_triggered(sample) ? sample_thread(sample, sample->pid) : NULL;
}

const struct thread_row *command_main(const struct sample *sample)
{
	return main_of(sample);
}

/* A sleep of which the longest has most: who ended that, ended them. */
static bool is_of_longest(const struct descriptor_row *sleep)
{
	return sleep->ended_by && !sleep->shorter && sleep->waits.max >= sleep->waits.total / 2;
}

bool command_follows(const struct thread_row *main, const struct thread_row *thread)
{
	for (size_t i = 0; i < main->n_descriptors; i++)
		if (is_of_longest(&main->descriptors[i]) &&
		    main->descriptors[i].ended_by == thread->tid)
			return true;
	return main == thread;
}

static bool has_chain(const struct thread_row *main, const struct descriptor_row *sleep)
{
	for (size_t i = 0; i < main->n_chains; i++)
		if (main->chains[i].call == sleep->call &&
		    !strncmp(main->chains[i].wchan, sleep->wchan, sizeof(sleep->wchan)))
			return true;
	return false;
}

/* The thread's part of a life, of the sleep's time. */
static int leg_add(struct thread_row *main, const struct descriptor_row *sleep,
		   const struct chain_row *like, uint64_t ns, uint64_t life)
{
	struct chain_row leg = *like;

	leg.legs.count = 1;
	leg.legs.total = (uint64_t)((unsigned __int128)sleep->waits.max * ns / life);
	leg.legs.max = leg.legs.total;
	return leg.legs.total ? row_list_add(&chain_list, &main->chains, &main->n_chains, &leg) : 0;
}

/* True if the sleep was most of a thread's life. */
static bool is_life(const struct descriptor_row *sleep, const struct thread_row *thread)
{
	const uint64_t life = thread->ledger.life;

	return thread->ended && life && life - life / 5 <= sleep->waits.max;
}

/* What a thread did in its life, which was this sleep of the main thread. */
static int life_add(struct thread_row *main, const struct descriptor_row *sleep,
		    const struct thread_row *thread)
{
	const struct ledger *ledger = &thread->ledger;
	const uint64_t ready = u64_add(ledger->ns[LEDGER_READY_WOKEN],
				       ledger->ns[LEDGER_READY_PREEMPTED]);
	uint64_t left = ledger_blocked(ledger);
	struct chain_row leg = {
		.call = sleep->call, .via = thread->tid, .tid = thread->tid, .in_call = KD_CALL_NONE
	};
	int error;

	memcpy(leg.wchan, sleep->wchan, sizeof(leg.wchan));
	memcpy(leg.via_name, thread->name, sizeof(leg.via_name));
	memcpy(leg.name, thread->name, sizeof(leg.name));
	leg.state = CHAIN_RAN;
	error = leg_add(main, sleep, &leg, ledger_running(ledger), ledger->life);
	leg.state = CHAIN_READY;
	error = error ?: leg_add(main, sleep, &leg, ready, ledger->life);
	leg.state = CHAIN_ASLEEP;
	for (size_t i = 0; i < thread->n_descriptors && !error; i++) {
		const struct descriptor_row *in = &thread->descriptors[i];
		const uint64_t ns = u64_min(in->waits.total, left);

		if (in->shorter || descriptor_row_is_others(in))
			continue;
		leg.in_call = in->call;
		memcpy(leg.in_wchan, in->wchan, sizeof(leg.in_wchan));
		error = leg_add(main, sleep, &leg, ns, ledger->life);
		left -= ns;
	}
	leg.in_call = KD_CALL_NONE;
	memset(leg.in_wchan, 0, sizeof(leg.in_wchan));
	return error ?: leg_add(main, sleep, &leg, left, ledger->life);
}

static int sleep_follow(struct thread_row *main, const struct descriptor_row *sleep,
			const struct thread_row *thread)
{
	main->followed = u64_add(main->followed, sleep->waits.max);
	return life_add(main, sleep, thread);
}

int command_chains(struct sample *sample)
{
	struct thread_row *main = main_of(sample);
	int error = 0;

	for (size_t i = 0; main && i < main->n_descriptors && !error; i++) {
		const struct descriptor_row *sleep = &main->descriptors[i];
		const struct thread_row *thread = is_of_longest(sleep)
							  ? sample_thread(sample, sleep->ended_by)
							  : NULL;

		if (thread && thread != main && *sleep->wchan && is_life(sleep, thread) &&
		    !has_chain(main, sleep))
			error = sleep_follow(main, sleep, thread);
	}
	return error;
}
