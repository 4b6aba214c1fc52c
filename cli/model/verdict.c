/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/base/arith.h"
#include "command.h"
#include "verdict_fold.h"
#include "verdict_sleeps.h"
#include "verdict_together.h"

/* Further culprits of a cause are merged into an unnamed one: a screen shows few. */
#define ROWS_MOST 512

/* What a thread lost to a row, by the row's number. */
struct victim {
	const struct thread_row *thread;
	size_t row;
	uint64_t ns;
};

struct verdict_search {
	struct claimant claimant; /* first, because claim_take() casts it back */
	struct verdict *verdict;
	struct victim *victims; /* in the order of threads */
	size_t n_victims;
	const struct thread_row *thread;  /* thread with the current claims */
	uint64_t delay, claimed, longest; /* totals of that thread so far */
	struct verdict_row together;      /* ns 0: none */
	bool failed;
};

static bool is_same(const struct verdict_who *x, const struct verdict_who *y)
{
	return x->tid == y->tid && x->pid == y->pid &&
	       !strncmp(x->comm, y->comm, sizeof(x->comm)) && !strcmp(x->stopped_by, y->stopped_by);
}

/* What a worker did; NULL: it is none, or not known. */
static const char *work_of(const struct sample *sample, const struct verdict_who *who)
{
	for (size_t i = 0; i < sample->n_workers; i++)
		if (sample->workers[i].tid == who->tid)
			return sample->workers[i].work;
	return NULL;
}

/* Finds or adds the row of a cause and culprit; NULL: no memory. */
static struct verdict_row *row_find(struct verdict_search *finding, enum cause cause,
				    const struct verdict_who *who)
{
	static const struct verdict_who unknown;
	struct verdict *verdict = finding->verdict;
	struct verdict_row row = {
		.cause = cause,
		.who = *who,
		.culprits = !is_same(who, &unknown),
		.and_others = is_same(who, &unknown),
		.number = verdict->n_rows,
	};

	for (size_t i = 0; i < verdict->n_rows; i++)
		if (verdict->rows[i].cause == cause && is_same(&verdict->rows[i].who, who))
			return &verdict->rows[i];
	if (verdict->n_rows >= ROWS_MOST && !is_same(who, &unknown))
		return row_find(finding, cause, &unknown);
	row.who.work = work_of(finding->claimant.sample, who);
	return ARRAY_APPEND(verdict->rows, verdict->n_rows, &row);
}

/* Returns false without memory. */
static bool victim_add(struct verdict_search *finding, size_t row, uint64_t ns)
{
	const struct victim victim = { finding->thread, row, ns };

	return ARRAY_APPEND(finding->victims, finding->n_victims, &victim);
}

/* The longest case counts as a whole; what exceeds all of the claim's time is outside the window,
 * and before it, as nothing counts after its end. */
static void longest_add(struct verdict_row *row, const struct claim *claim, uint64_t ns)
{
	bool before = claim->longest > claim->ns;
	uint64_t longest = before ? claim->longest : u64_min(claim->longest, ns);

	if (longest > row->longest) {
		row->before = before;
		row->began = claim->began;
	}
	row->longest = u64_max(row->longest, longest);
}

static void claim_take(struct claimant *claimant, enum cause cause, const struct claim *claim)
{
	struct verdict_search *finding = (struct verdict_search *)claimant;
	/* A wait claimed by two causes counts once. */
	const uint64_t ns = u64_min(claim->ns, finding->delay - finding->claimed);
	struct verdict_row *row;

	finding->claimed += ns;
	finding->longest = u64_max(finding->longest, ns ? claim->longest : 0);
	if (!ns || !verdict_is_about(finding->verdict, finding->thread))
		return;
	row = row_find(finding, cause, &claim->who);
	finding->failed |= !row;
	if (!row)
		return;
	row->ns = u64_add(row->ns, ns);
	row->count = u64_add(row->count, claim->count);
	longest_add(row, claim, ns);
	row->so_far = u64_max(row->so_far, claim->so_far);
	verdict_row_at(row, claim->at, ns);
	verdict_row_wait(row, &claim->wait, ns);
	verdict_row_via(row, claim->via, ns);
	verdict_row_lock(row, claim->lock, ns);
	row->chained = u64_add(row->chained, claim->seen ? ns : 0);
	row->seen = u64_add(row->seen, u64_times(ns, claim->seen) / 100);
	count_join(&row->requests, &claim->requests);
	row->queued = u64_add(row->queued, claim->queued);
	for (int i = 0; i < KD_IDLE_KINDS; i++)
		row->idle[i] = u64_add(row->idle[i], u64_min(claim->idle[i], ns));
	finding->failed |= !victim_add(finding, row->number, ns);
}

static void claim_leave(struct claimant *claimant, const struct claim *claim)
{
	const struct verdict_search *finding = (struct verdict_search *)claimant;
	struct verdict *verdict = finding->verdict;

	if (claim->ns > verdict->unclaimed.ns && verdict_is_about(verdict, finding->thread))
		verdict->unclaimed = *claim;
}

static void thread_add(struct verdict_search *finding, struct verdict_thread *into,
		       const struct thread_row *thread)
{
	struct verdict *verdict = finding->verdict;
	const struct ledger *ledger = &thread->ledger;
	bool of_subject = thread == verdict->subject;
	uint64_t work = of_subject ? 0 : sleep_idle(finding->claimant.sample, thread);
	uint64_t ran = u64_add(u64_add(ledger->ns[LEDGER_USER], ledger->ns[LEDGER_KERNEL]),
			       ledger->ns[LEDGER_GUEST]);
	uint64_t busy = ledger->life - u64_min(work, ledger->life);

	finding->claimant.of_subject = of_subject;
	finding->thread = thread;
	finding->delay = busy - u64_min(ran, busy);
	finding->claimed = finding->longest = 0;
	claims_find(&finding->claimant, thread);
	sleep_claims(&finding->claimant, thread);
	*into = (struct verdict_thread){
		.row = thread,
		.busy = busy,
		.delay = finding->delay,
		.unexplained = finding->delay - finding->claimed,
		.longest = finding->longest,
	};
	if (!verdict_is_about(verdict, thread))
		return;
	verdict->user = u64_add(verdict->user, ledger->ns[LEDGER_USER]);
	verdict->kernel = u64_add(verdict->kernel, ledger->ns[LEDGER_KERNEL]);
	verdict->guest = u64_add(verdict->guest, ledger->ns[LEDGER_GUEST]);
	verdict->life = u64_add(verdict->life, ledger->life);
	verdict->work = u64_add(verdict->work, work);
	verdict->busy = u64_add(verdict->busy, busy);
	verdict->delay = u64_add(verdict->delay, into->delay);
	verdict->unexplained = u64_add(verdict->unexplained, into->unexplained);
#define TIME_ADD(member, ...) verdict->member = u64_add(verdict->member, thread->member);
	EACH_THREAD_TIME(TIME_ADD)
#undef TIME_ADD
}

/* True if too small for a verdict while more time is left to explain. In triggered windows,
 * microseconds may matter. */
static bool is_little(const struct verdict_row *row, const struct verdict *verdict,
		      const struct sample *sample)
{
	bool triggered = sample->start_triggered || sample->stop_triggered;

	if (row->ns < verdict->least)
		return true;
	if (row->ns >= u64_max(verdict->unexplained, verdict_ran(verdict)))
		return false;
	return u64_times(row->ns, 100) <
		       u64_times(sample->end - sample->start, VERDICT_WINDOW_LEAST) ||
	       (!triggered && row->ns < VERDICT_NS_LEAST);
}

static void row_hit(struct verdict_row *row, const struct victim *victim)
{
	const struct thread_row *thread = victim->thread;
	const int cpu = thread_only_cpu(thread);

	if (row->last != thread) {
		row->cpu = row->last && row->cpu != cpu ? -1 : cpu;
		row->last = thread;
		row->last_ns = 0;
		row->threads += thread->members;
	}
	row->last_ns = u64_add(row->last_ns, victim->ns);
	if (row->last_ns > row->worst_ns) {
		row->worst = thread;
		row->worst_ns = row->last_ns;
	}
}

/* Folds rows, and counts the threads of those that are left. Returns 0 or -ENOMEM. */
static int rows_settle(struct verdict_search *finding)
{
	struct verdict *verdict = finding->verdict;
	size_t *places = calloc(verdict->n_rows ?: 1, sizeof(*places));
	struct folding folding = { verdict->rows, verdict->n_rows, verdict->busy };

	if (!places)
		return -ENOMEM;
	if (verdict_fold(&folding, places)) {
		free(places);
		return -ENOMEM;
	}
	verdict->n_rows = folding.n;
	if (!verdict_together(verdict->rows, verdict->n_rows, finding->claimant.sample->pid,
			      &finding->together))
		finding->together.ns = 0;
	for (size_t i = 0; i < finding->n_victims; i++) {
		struct verdict_row *row = &verdict->rows[places[finding->victims[i].row]];

		row_hit(row, &finding->victims[i]);
		if (finding->together.ns && row->together)
			row_hit(&finding->together, &finding->victims[i]);
	}
	free(places);
	return 0;
}

static int row_order(const void *a, const void *b)
{
	const struct verdict_row *x = a, *y = b;

	return ORDER(y->blamed, x->blamed) ?: ORDER(y->rank, x->rank)
		       ?: ORDER(x->cause, y->cause) ?: ORDER(x->who.tid, y->who.tid);
}

/* The largest that is blamed; it need not be the first, see rank. */
static uint64_t blamed_most(const struct verdict *verdict)
{
	uint64_t most = 0;

	for (size_t i = 0; i < verdict->n_told_blamed; i++)
		most = u64_max(most, verdict->told[i].ns);
	return most;
}

bool verdict_is_unexplained(const struct verdict *verdict)
{
	if (verdict->unexplained < verdict->least)
		return false;
	if (verdict->n_told_blamed && verdict->unexplained > blamed_most(verdict))
		return true;
	return verdict->unexplained && u64_times(verdict->unexplained, 100) >=
					       u64_times(verdict->busy, VERDICT_SELDOM_LEAST);
}

enum kd_idle_kind verdict_idle(const struct verdict *verdict, const struct verdict_row *row)
{
	const uint64_t *idle = row->idle;
	const bool allowed = idle[KD_IDLE_ALLOWED] >= idle[KD_IDLE_BARRED];
	const uint64_t most = idle[allowed ? KD_IDLE_ALLOWED : KD_IDLE_BARRED];

	if (most && most >= verdict->least &&
	    u64_times(most, 100) >= u64_times(row->ns, VERDICT_IDLE_LEAST))
		return allowed ? KD_IDLE_ALLOWED : KD_IDLE_BARRED;
	return idle[KD_IDLE_NONE] > row->ns / 2 ? KD_IDLE_NONE : KD_IDLE_KINDS;
}

bool verdict_is_undisturbed(const struct verdict *verdict)
{
	return !verdict->n_told_blamed && !verdict_is_unexplained(verdict) &&
	       u64_times(verdict->delay, 100) < u64_times(verdict->life, VERDICT_WINDOW_LEAST);
}

bool verdict_had_little(const struct verdict *verdict)
{
	return verdict_is_undisturbed(verdict) &&
	       u64_times(verdict->delay, 100) >= u64_times(verdict->busy, VERDICT_SELDOM_LEAST) &&
	       verdict->delay;
}

#define POLLER_LEAST 25 /* percent of busy time that is lost */

/* What others took from them, and not their own page faults or the like: all of it, and the largest
 * part. */
struct taken {
	uint64_t all, most;
};

static struct taken taken_find(const struct verdict *verdict)
{
	struct taken taken = { 0, 0 };

	for (size_t i = 0; i < verdict->n_told_blamed; i++) {
		const enum cause cause = verdict->told[i].cause;
		const uint64_t ns = verdict->told[i].ns;

		if (cause > CAUSE_STOLEN && cause != CAUSE_STOPPED && cause != CAUSE_FROZEN)
			continue;
		taken.all = u64_add(taken.all, ns);
		taken.most = u64_max(taken.most, ns);
	}
	return taken;
}

/* True if most of the busy time is of threads that never sleep, and much of it is lost. They need
 * all of their CPUs, as those that poll for work: that they ran most of the time says little. */
static bool pollers_lost(const struct verdict *verdict)
{
	uint64_t busy = 0;

	if (u64_times(verdict->delay, 100) < u64_times(verdict->busy, POLLER_LEAST))
		return false;
	for (size_t i = 0; i < verdict->n_threads; i++) {
		const struct verdict_thread *thread = &verdict->threads[i];

		if (verdict_is_about(verdict, thread->row) && !ledger_blocked(&thread->row->ledger))
			busy = u64_add(busy, thread->busy);
	}
	return busy > verdict->busy / 2;
}

static enum verdict_share largest_of(const struct verdict *verdict)
{
	const uint64_t ran = verdict_ran(verdict);
	const uint64_t blamed = blamed_most(verdict);
	const struct taken taken = taken_find(verdict);

	if (verdict_is_unexplained(verdict) && verdict->unexplained > u64_max(ran, blamed))
		return VERDICT_UNEXPLAINED;
	if (taken.most > verdict->delay / 2 && pollers_lost(verdict))
		return VERDICT_BLAMED;
	return blamed && u64_max(blamed, taken.all) >= ran ? VERDICT_BLAMED : VERDICT_RAN;
}

/* --- Threads that move target threads against the scheduler's choice --- */

/* Not a cause of the verdict, because it costs no measurable time. */

/* Fewer moves than this, in total and per second, name no thread. */
#define VERDICT_MOVES 3
#define VERDICT_MOVES_PER_SECOND 10

/* Names beyond this are not counted; the first ones keep their own sums. */
#define NAMES_MOST 16

/* Adds to the row of a name; several TIDs become 0. Returns the new number of rows. */
static size_t name_add(struct mover_row names[static NAMES_MOST], size_t n,
		       const struct mover_row *mover)
{
	for (size_t i = 0; i < n; i++) {
		if (strncmp(names[i].name, mover->name, sizeof(mover->name)) != 0)
			continue;
		names[i].count = u64_add(names[i].count, mover->count);
		if (names[i].tid != mover->tid)
			names[i].tid = names[i].pid = 0;
		return n;
	}
	if (n < NAMES_MOST)
		names[n++] = *mover;
	return n;
}

/* Finds the thread outside the target that moved target threads most often by sched_setaffinity.
 * Threads of the same name count together; the TID is set only for a single thread. Returns the
 * number of moves, 0 if too few. */
static uint64_t mover_find(const struct sample *sample, struct verdict_who *who)
{
	struct mover_row names[NAMES_MOST] = { { 0 } };
	const struct mover_row *most = names;
	size_t n = 0;

	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *thread = &sample->threads[i];

		for (size_t j = 0; j < thread->n_movers; j++)
			if (thread->movers[j].tid &&
			    !sample_has_process(sample, thread->movers[j].pid))
				n = name_add(names, n, &thread->movers[j]);
	}
	for (size_t i = 1; i < n; i++)
		if (names[i].count > most->count)
			most = &names[i];
	if (most->count < VERDICT_MOVES ||
	    u64_times(most->count, 1000000000) / VERDICT_MOVES_PER_SECOND <
		    sample->end - sample->start)
		return 0;
	*who = (struct verdict_who){ .tid = most->tid, .pid = most->pid };
	memcpy(who->comm, most->name, sizeof(most->name));
	return most->count;
}

/* --- Verdict --- */

/* While a command goes on, a main thread that mostly waited for others of its threads says nothing:
 * what these do is not known before they end. */
static const struct thread_row *command_subject(const struct sample *sample)
{
	const struct thread_row *main = command_main(sample);
	const bool decides = sample->n_threads == 1 || (main && main->ended);

	return main && (decides ||
			main->ledger.awaited[KD_AWAITED_LOCK].total <= main->ledger.life / 2)
		       ? main
		       : NULL;
}

/* NULL: the window is about all threads. */
static const struct thread_row *subject_find(const struct sample *sample)
{
	const bool made = sample->start_triggered && sample->stop_triggered;

	return made ? sample_thread(sample, sample->started_on) : command_subject(sample);
}

/* Returns false without memory. */
static bool told_make(struct verdict_search *finding, const struct sample *sample)
{
	struct verdict *verdict = finding->verdict;
	struct verdict_row *sum = &finding->together;

	verdict->told = verdict->rows;
	verdict->n_told = verdict->n_rows;
	verdict->n_told_blamed = verdict->n_blamed;
	sum->blamed = verdict_row_is_large(sum, verdict->busy) && !is_little(sum, verdict, sample);
	if (!sum->ns || !sum->blamed)
		return true;
	verdict->told = calloc(verdict->n_rows, sizeof(*verdict->told));
	if (!verdict->told) {
		verdict->n_told = verdict->n_told_blamed = 0;
		return false;
	}
	verdict->told[0] = *sum;
	verdict->n_told = verdict->n_told_blamed = 1;
	for (size_t i = 0; i < verdict->n_rows; i++) {
		if (verdict->rows[i].together)
			continue;
		verdict->told[verdict->n_told++] = verdict->rows[i];
		verdict->n_told_blamed += verdict->rows[i].blamed;
	}
	return true;
}

int verdict_find(struct verdict *verdict, struct sample *sample)
{
	struct verdict_search finding = {
		.claimant = { .take = claim_take, .unclaimed = claim_leave, .sample = sample },
		.verdict = verdict,
	};

	sample->verdict = verdict;
	verdict->subject = subject_find(sample);
	if (!sample_is_triggered(sample))
		verdict->least = (sample->end - sample->start) / 100 * VERDICT_HARM_LEAST;
	verdict->threads = calloc(sample->n_threads ?: 1, sizeof(*verdict->threads));
	if (!verdict->threads)
		return -ENOMEM;
	for (size_t i = 0; i < sample->n_threads && !finding.failed; i++)
		thread_add(&finding, &verdict->threads[verdict->n_threads++], &sample->threads[i]);
	finding.failed |= rows_settle(&finding) != 0;
	free(finding.victims);
	verdict->moves = mover_find(sample, &verdict->mover);
	for (size_t i = 0; i < verdict->n_rows; i++) {
		verdict->rows[i].blamed = verdict_row_is_large(&verdict->rows[i], verdict->busy) &&
					  !is_little(&verdict->rows[i], verdict, sample);
		verdict->n_blamed += verdict->rows[i].blamed;
	}
	ARRAY_SORT(verdict->rows, verdict->n_rows, row_order);
	finding.failed |= !told_make(&finding, sample);
	verdict->largest = largest_of(verdict);
	return finding.failed ? -ENOMEM : 0;
}

void verdict_clear(struct verdict *verdict)
{
	if (verdict->told != verdict->rows)
		free(verdict->told);
	free(verdict->rows);
	free(verdict->threads);
	memset(verdict, 0, sizeof(*verdict));
}

/* --- Processes --- */

#define SUM(key, member) FIELD_SUM(key, struct process_sum, member)
const struct field process_sum_fields[] = {
	SUM("threads", threads),
	SUM("life_ns", life),
	SUM("running_ns", running),
	SUM("stolen_ns", stolen),
	SUM("ready_ns", ready),
	SUM("throttled_ns", throttled),
	SUM("blocked_ns", blocked),
	SUM("stopped_ns", stopped),
	SUM("frozen_ns", frozen),
	SUM("busy_ns", busy),
	SUM("kept_ns", delay),
#define TIME_FIELD(member, key, ...) SUM(key, member),
	EACH_THREAD_TIME(TIME_FIELD) FIELDS_END,
#undef TIME_FIELD
};

static void sum_add(struct process_sum *sum, const struct verdict_thread *thread)
{
	const struct thread_row *row = thread->row;
	const uint64_t *ns = row->ledger.ns;
	const struct process_sum of_thread = {
		.threads = row->members ? row->members : 1,
		.life = row->ledger.life,
		.running = ledger_running(&row->ledger),
		.stolen = ns[LEDGER_STOLEN],
		.ready = u64_add(ns[LEDGER_READY_WOKEN], ns[LEDGER_READY_PREEMPTED]),
		.throttled = ns[LEDGER_THROTTLED],
		.blocked = ledger_blocked(&row->ledger),
		.stopped = ns[LEDGER_STOPPED],
		.frozen = ns[LEDGER_FROZEN],
		.busy = thread->busy,
		.delay = thread->delay,
#define TIME_OF(member, ...) .member = row->member,
		EACH_THREAD_TIME(TIME_OF)
#undef TIME_OF
	};

	fields_merge(process_sum_fields, sum, &of_thread);
	if (!sum->worst || thread->delay > sum->worst_delay) {
		sum->worst = row;
		sum->worst_delay = thread->delay;
	}
}

static int sum_by_delay(const void *a, const void *b)
{
	const struct process_sum *x = a, *y = b;

	return ORDER(y->delay, x->delay)
		       ?: ORDER(y->running, x->running)
		       ?: process_row_compare(x->process, y->process);
}

int processes_sum(const struct sample *sample, struct process_sum **sums)
{
	const struct verdict *verdict = sample->verdict;

	*sums = calloc(sample->n_processes ?: 1, sizeof(**sums));
	if (!*sums)
		return -ENOMEM;
	for (size_t i = 0; i < sample->n_processes; i++)
		(*sums)[i].process = &sample->processes[i];
	for (size_t i = 0; i < verdict->n_threads; i++) {
		const struct process_row *row = process_of(sample, verdict->threads[i].row);

		if (row)
			sum_add(&(*sums)[row - sample->processes], &verdict->threads[i]);
	}
	ARRAY_SORT(*sums, sample->n_processes, sum_by_delay);
	return 0;
}
