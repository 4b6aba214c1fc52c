/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of long sleeps, and the verdict of a thread that they lead from. */
#include <stdio.h>
#include <string.h>

#include "cli/model/chain.h"
#include "cli/model/rows.h"
#include "verdict_said.h"

#define THREADS 5
#define SLEEPS 4

/* A thread of the target; number 0 is none. */
struct cast {
	struct chain_thread threads[THREADS];
	struct chain_sleep sleeps[THREADS][SLEEPS];
	struct chains chains;
};

static void cast_init(struct cast *cast)
{
	static const char *const names[THREADS] = { "", "main", "worker", "second", "third" };

	*cast = (struct cast){ .chains = { cast->threads, THREADS, SECOND, 2 * SECOND } };
	for (int i = 1; i < THREADS; i++) {
		cast->threads[i].tid = i;
		snprintf(cast->threads[i].name, KD_COMM_LEN, "%s", names[i]);
		cast->threads[i].sleeps = cast->sleeps[i];
	}
}

/* Times in ms; ran and ready: the sleeper's times before, woken: the waker's at the end. */
static struct chain_sleep *slept(struct cast *cast, uint32_t thread, uint64_t since, uint64_t until,
				 const char *wchan, uint32_t waker)
{
	struct chain_sleep *sleep = &cast->sleeps[thread][cast->threads[thread].n++];

	*sleep = (struct chain_sleep){
		.since = since * MILLI,
		.until = until * MILLI,
		.call = 1,
		.waker = waker,
	};
	snprintf(sleep->wchan, sizeof(sleep->wchan), "%s", wchan);
	return sleep;
}

/* "worker running 30, ..." */
static void leads(struct cast *cast, const char *want, const char *what)
{
	static const char *const states[CHAIN_STATES] = { "unknown", "running", "ready", "asleep" };
	struct thread_row row = { .tid = 1 };
	char text[SAY_LEN] = "";
	uint64_t ns = 0;

	need(!chains_add(&cast->chains, 1, &row));
	for (size_t i = 0; i < row.n_chains; i++) {
		const struct chain_row *chain = &row.chains[i];

		say(text, "%s%s->%s %s%s%s %g", i ? ", " : "", chain->via_name, chain->name,
		    states[chain->state], *chain->in_wchan ? " " : "", chain->in_wchan,
		    ms(chain->legs.total));
	}
	for (size_t i = 0; i < row.n_chains; i++)
		ns += row.chains[i].legs.total;
	if (row.followed != ns)
		say(text, " of %g", ms(row.followed));
	is_str(text, want, "%s", what);
	row_lists_free(thread_fields, &row);
}

/* The waker ran, or was ready, by its times since the last long sleep, or since it is known. */
TEST(awake)
{
	struct cast cast;
	struct chain_sleep *own, *before;

	cast_init(&cast);
	own = slept(&cast, 1, 1100, 1200, "futex_do_wait", 2);
	cast.threads[2].from = 1100 * MILLI;
	own->woken = (struct kd_times){ .running = 70 * MILLI, .ready = 20 * MILLI };
	leads(&cast, "worker->worker running 70, worker->worker ready 20, worker->worker asleep 10",
	      "all of its life");
	before = slept(&cast, 2, 900, 1000, "ep_poll", 0);
	before->did = (struct kd_times){ .running = 10 * MILLI, .ready = 20 * MILLI };
	leads(&cast, "worker->worker running 30, worker->worker asleep 70",
	      "a part of the time since it slept");
	cast.threads[2].n = 0;
	cast.threads[2].from = UINT64_MAX;
	leads(&cast, "worker->worker unknown 100", "not known");
	own->waker = 0;
	leads(&cast, "", "nobody of the target");
}

/* Only what is inside the window counts. */
TEST(window)
{
	struct cast cast;
	struct chain_sleep *own;

	cast_init(&cast);
	own = slept(&cast, 1, 900, 1100, "futex_do_wait", 2);
	own->woken.running = 200 * MILLI;
	cast.threads[2].from = 900 * MILLI;
	leads(&cast, "worker->worker running 100", "it began before");
	own->since = 1900 * MILLI;
	own->until = 2100 * MILLI;
	cast.threads[2].from = 1900 * MILLI;
	leads(&cast, "worker->worker running 100", "it ended later");
	own->since = 2000 * MILLI;
	leads(&cast, "", "outside");
	own->since = 1900 * MILLI;
	slept(&cast, 1, 2100, 2150, "ep_poll", 0);
	own = slept(&cast, 1, 1200, 1250, "ep_poll", 0);
	leads(&cast, "worker->worker running 100 of 150", "beside one that leads nowhere");
}

/* From sleep to sleep, each up to the wakeup that ended it. */
TEST(chain)
{
	struct cast cast;
	struct chain_sleep *own, *first, *next;

	cast_init(&cast);
	own = slept(&cast, 1, 1100, 1200, "futex_do_wait", 2);
	own->woken.running = 25 * MILLI;
	first = slept(&cast, 2, 1050, 1110, "ep_poll", 0);
	first->did.running = 5 * MILLI;
	next = slept(&cast, 2, 1120, 1190, "futex_do_wait", 3);
	next->did.running = 15 * MILLI;
	next->woken.running = 30 * MILLI;
	slept(&cast, 3, 1000, 1160, "pipe_read", 0);
	leads(&cast,
	      "worker->worker running 20, worker->second running 30, "
	      "worker->second asleep pipe_read 40, worker->worker asleep ep_poll 10",
	      "to those that woke it");
}

/* Who is at the end of a chain; the chain has all of 500 ms that main slept. */
static void is_led(struct thread_row *main_row, struct thread_row *worker, struct chain_row *chain,
		   bool chosen, const char *want, const char *what)
{
	struct thread_row rows[] = { *main_row, *worker };
	struct sample sample = verdict_sample(rows, 2);

	rows[0].chains = chain, rows[0].n_chains = 1;
	sample.start_triggered = sample.stop_triggered = chosen;
	sample.started_on = 1;
	is_verdict(&sample, want, what);
}

/* In a window that the user chose, and for locks, what kept the other thread is the cause. */
TEST(verdict)
{
	struct descriptor_row futex = { .awaited = KD_AWAITED_LOCK,
					.wchan = "futex_do_wait",
					.call = 202,
					.is = { .fd = -1 },
					.ended_by = 2,
					.waits = times(5, 500 * MILLI, 100 * MILLI) };
	struct descriptor_row pipe = { .awaited = KD_AWAITED_PIPE,
				       .wchan = "pipe_read",
				       .call = 0,
				       .is = { .fd = 3 },
				       .ended_by = 9,
				       .ended_name = "outside",
				       .waits = times(5, 500 * MILLI, 100 * MILLI) };
	struct culprit hog = { .kind = CULPRIT_TASK,
			       .tid = 8,
			       .pid = 8,
			       .name = "hog",
			       .policy = CULPRIT_POLICY_UNKNOWN,
			       .preempted_ns = 500 * MILLI };
	struct lock_row lock = { .kind = KD_LOCK_MUTEX,
				 .holder = 2,
				 .holder_name = "worker",
				 .waits = times(5, 500 * MILLI, 100 * MILLI) };
	struct chain_row chain = { .wchan = "futex_do_wait",
				   .call = 202,
				   .via = 2,
				   .via_name = "worker",
				   .tid = 2,
				   .name = "worker",
				   .state = CHAIN_RAN,
				   .in_call = KD_CALL_NONE,
				   .legs = times(5, 500 * MILLI, 100 * MILLI) };
	struct thread_row waits = spent(LEDGER_BLOCKED, 500 * MILLI), worker = runner(2, "worker");

	waits.descriptors = &futex, waits.n_descriptors = 1;
	waits.ledger.awaited[KD_AWAITED_LOCK] = futex.waits;
	is_led(&waits, &worker, &chain, false, "kept 500 of 2000, unexplained 500",
	       "without a lock, nobody is accused");
	is_led(&waits, &worker, &chain, true, "wait 500/100 x5 worker[2], kept 500 of 1000",
	       "it ran");
	waits.locks = &lock, waits.n_locks = 1;
	is_led(&waits, &worker, &chain, false, "lock 500/100 x5 worker[2], kept 500 of 2000",
	       "a holder that ran");
	chain.state = CHAIN_READY;
	worker.culprits = &hog, worker.n_culprits = 1;
	is_led(&waits, &worker, &chain, false,
	       "task 500/100 x5 hog[8] policy 4 0, kept 500 of 2000", "who had its CPU");
	worker.n_culprits = 0;
	is_led(&waits, &worker, &chain, false, "lock 500/100 x5 worker[2], kept 500 of 2000",
	       "nobody known had it");
	chain.state = CHAIN_ASLEEP;
	snprintf(chain.in_wchan, sizeof(chain.in_wchan), "pipe_read");
	chain.in_call = 0;
	is_led(&waits, &worker, &chain, false, "lock 500/100 x5 worker[2], kept 500 of 2000",
	       "a sleep that has no row");
	worker.descriptors = &pipe, worker.n_descriptors = 1;
	is_led(&waits, &worker, &chain, false, "peer 500/100 x5 outside[9], kept 500 of 2000",
	       "whom it waited for");
	is_led(&waits, &worker, &chain, true, "peer 500/100 x5 outside[9], kept 500 of 1000",
	       "the same in a window that was chosen");
	chain.legs.total = 99 * MILLI;
	is_led(&waits, &worker, &chain, false,
	       "lock 401/100 x5 worker[2], peer 99/99 x5 outside[9], kept 500 of 2000",
	       "what is known of a part");
	chain.legs.total = 100 * MILLI;
	is_led(&waits, &worker, &chain, false,
	       "peer 500/100 x5 outside[9] seen in 100, kept 500 of 2000",
	       "it stands for the others");
	chain.legs.max = 24 * MILLI;
	is_led(&waits, &worker, &chain, false,
	       "lock 400/100 x5 worker[2], peer 100/24 x5 outside[9], kept 500 of 2000",
	       "not for one that was much longer");
}
