// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "overhead.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/proc_file.h"
#include "cli/capture/parts/triggers.h"
#include "cli/capture/session/windows.h"
#include "cli/model/trigger_stats.h"
#include "session.h"

/* --- What probes cost --- */

#define PERIOD_NS (50 * NSEC_PER_MSEC)
#define COST_MAX_NS (20 * NSEC_PER_USEC)
/* Credit is capped at what this much CPU time earns. A new account starts with that of the
 * second. */
#define CREDIT_NS (200 * NSEC_PER_MSEC)
#define CREDIT_AT_FIRST_NS (100 * NSEC_PER_MSEC)
#define SLEEPER_PERCENT 1 /* of the time */
/* Reserve from the credit earned: with colder caches, and while probes are attached and
 * detached, a hit costs slightly more than measured. */
#define RESERVE_PERCENT 10

/* Account of the thread in a slot. Slot 0, which no thread has, stands for other processes, as
 * if each CPU were one of their threads. */
struct account {
	uint64_t task;     /* of the thread */
	uint64_t hits;     /* at the last look */
	uint64_t cpu;      /* its CPU time, too */
	int64_t balance;   /* ns */
	uint64_t all_hits; /* since the beginning */
	uint64_t all_cpu;
	uint64_t lost; /* between the last two looks, ns of lost_of */
	uint64_t lost_of, earned;
	bool hits_them; /* since the probes were last turned on */
};

/* The thread that paid most; keeps the hits of an ended one. */
struct payer {
	pid_t tid;
	char name[KD_COMM_LEN];
	uint64_t hits, cpu;
};

enum duty_state {
	DUTY_ON,
	DUTY_CLOSING, /* hits no longer count, but the probes may still be there */
	DUTY_OFF,
};

struct overhead {
	struct session *session;
	uint64_t percent;
	uint64_t looked;          /* time of the last look */
	struct account *accounts; /* by slot */
	struct account *worst;
	pid_t worst_tid;
	struct payer payer;
	struct kd_tally tally; /* last reading: too large for the stack */
	enum duty_state state;
	uint64_t since;         /* hits began to count, or ceased to */
	uint64_t awaited;       /* generation of the window that keeps the probes; 0: none */
	struct probe_duty duty; /* off: in finished phases */
};

struct overhead *overhead_new(struct session *session, uint64_t percent)
{
	struct overhead *overhead = calloc(1, sizeof(*overhead));

	if (!overhead)
		return NULL;
	overhead->session = session;
	overhead->percent = percent;
	overhead->accounts = calloc(session_window_now(session).slots, sizeof(*overhead->accounts));
	if (!overhead->accounts) {
		overhead_free(overhead);
		return NULL;
	}
	overhead->worst = overhead->accounts;
	overhead_look(overhead, true);
	overhead->since = clock_monotonic();
	return overhead;
}

void overhead_free(struct overhead *overhead)
{
	if (!overhead)
		return;
	free(overhead->accounts);
	free(overhead);
}

/* Returns the CPU time of a thread. It may be switched during the read. */
static uint64_t thread_cpu(const struct kd_thread *thread, uint64_t now)
{
	uint64_t before, ns;

	do {
		uint64_t since;
		bool running;

		before = __atomic_load_n(&thread->run_ns, __ATOMIC_ACQUIRE);
		since = __atomic_load_n(&thread->run_since, __ATOMIC_ACQUIRE);
		running = thread->state == KD_UNSEEN ? (bool)kd_is_running(thread->seed_state)
						     : thread->on_cpu;
		ns = before + (running ? u64_sub(now, since) : 0);
	} while (__atomic_load_n(&thread->run_ns, __ATOMIC_ACQUIRE) != before);
	return ns;
}

static bool thread_sleeps(const struct kd_thread *thread)
{
	uint32_t state = thread_state(thread);

	return state == KD_BLOCKED || state == KD_BLOCKED_UNINT || state == KD_STOPPED ||
	       state == KD_FROZEN;
}

/* Returns the mean cost of start and stop, by their hits; the higher one, if only other processes
 * hit them. */
static uint64_t hit_cost(struct overhead *overhead)
{
	const struct kd_tally *tally = &overhead->tally;
	uint64_t ns = 0, hits = 0, most = 0;

	if (triggers_tally(session_triggers(overhead->session), &overhead->tally))
		return 0;
	for (int role = 0; role < KD_ROLES; role++) {
		uint64_t cost = triggers_hit_cost(session_triggers(overhead->session), role);

		ns += tally_looked_at(tally, role) * cost;
		hits += tally_looked_at(tally, role);
		most = u64_max(most, cost);
	}
	return hits ? ns / hits : most;
}

/* Activity on an account since the last look. */
struct turnover {
	uint64_t hits;
	uint64_t cpu;  /* ns; a share of it is earned */
	uint64_t free; /* ns that may be lost in any case */
};

static uint64_t earned(const struct overhead *overhead, const struct turnover *turnover)
{
	return u64_max(overhead->percent * turnover->cpu / 100 * (100 - RESERVE_PERCENT) / 100,
		       turnover->free);
}

/* Books an account's activity. cost: of a hit; 0: not measured, as there was little. */
static void account_book(struct overhead *overhead, struct account *account,
			 const struct turnover *turnover, uint64_t cost)
{
	const int64_t most = (int64_t)(overhead->percent * CREDIT_NS / 100);
	uint64_t spent = turnover->hits * cost;

	account->earned = earned(overhead, turnover);
	account->balance += (int64_t)account->earned - (int64_t)spent;
	if (account->balance > most)
		account->balance = most;
	account->all_hits += turnover->hits;
	account->all_cpu += turnover->cpu;
	account->lost = spent;
	account->lost_of = turnover->cpu;
	if (turnover->hits)
		account->hits_them = true;
	if (!account->hits_them || account == overhead->accounts)
		return;
	if (overhead->state == DUTY_ON)
		overhead->duty.worked_on += u64_sub(turnover->cpu, spent);
	else
		overhead->duty.worked_off += turnover->cpu;
}

/* True if hits stay far below the limit, even on a slow machine: their cost need not be
 * measured. */
static bool is_little(const struct overhead *overhead, const struct turnover *turnover)
{
	return !overhead->percent || turnover->hits * COST_MAX_NS <= earned(overhead, turnover);
}

/* Accounts the hits of other processes. */
static void others_look(struct overhead *overhead, uint64_t elapsed, uint64_t *cost)
{
	struct account *account = overhead->accounts;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct turnover turnover = { .cpu = elapsed };
	uint64_t hits;

	if (triggers_tally(session_triggers(overhead->session), &overhead->tally) || cpus < 1)
		return;
	hits = overhead->tally.foreign + overhead->tally.outside;
	turnover.hits = (hits - account->hits) / (uint64_t)cpus;
	account->hits = hits;
	if (!*cost && !is_little(overhead, &turnover))
		*cost = hit_cost(overhead);
	account_book(overhead, account, &turnover, *cost);
}

static void payer_offer(struct overhead *overhead, const struct account *account, pid_t tid,
			const char *name)
{
	struct payer *payer = &overhead->payer;

	if (account->all_hits < payer->hits || !account->all_hits)
		return;
	payer->tid = tid;
	memcpy(payer->name, name, sizeof(payer->name));
	payer->hits = account->all_hits;
	payer->cpu = account->all_cpu;
}

static void thread_look(struct overhead *overhead, const struct kd_thread *thread,
			struct account *account, uint64_t elapsed, uint64_t now, uint64_t *cost)
{
	uint64_t hits = thread->hits, cpu = thread_cpu(thread, now);
	struct turnover turnover = { 0 };

	if (thread->task != account->task || hits < account->hits)
		*account = (struct account){
			.task = thread->task,
			.hits = thread->born ? 0 : hits,
			.cpu = thread->born ? 0 : cpu,
			.balance = (int64_t)(overhead->percent * CREDIT_AT_FIRST_NS / 100),
		};
	turnover.hits = hits - account->hits;
	account->hits = hits;
	if (cpu > account->cpu) {
		turnover.cpu = cpu - account->cpu;
		account->cpu = cpu;
	}
	if (thread_sleeps(thread))
		turnover.free = SLEEPER_PERCENT * elapsed / 100;
	if (!*cost && !is_little(overhead, &turnover))
		*cost = hit_cost(overhead);
	account_book(overhead, account, &turnover, *cost);
	payer_offer(overhead, account, (pid_t)thread->tid, thread->comm);
}

bool overhead_look(struct overhead *overhead, bool at_once)
{
	struct session_view view = session_window_now(overhead->session);
	uint64_t now = clock_monotonic(), elapsed = now - overhead->looked, cost = 0;

	if (!at_once && elapsed < PERIOD_NS)
		return false;
	overhead->looked = now;
	others_look(overhead, elapsed, &cost);
	overhead->worst = overhead->accounts;
	overhead->worst_tid = 0;
	for (uint32_t slot = 1; slot < view.slots; slot++) {
		const struct kd_thread *thread = &view.threads[slot];
		struct account *account = &overhead->accounts[slot];

		if (!thread->task)
			continue;
		thread_look(overhead, thread, account, elapsed, now - view.epoch, &cost);
		if (!thread->died && account->balance < overhead->worst->balance) {
			overhead->worst = account;
			overhead->worst_tid = (pid_t)thread->tid;
		}
	}
	return true;
}

bool overhead_is_overdrawn(const struct overhead *overhead)
{
	return overhead->percent && overhead->worst->balance < 0;
}

/* Forgives all debts. */
static void overhead_forgive(struct overhead *overhead)
{
	uint32_t slots = session_window_now(overhead->session).slots;

	for (uint32_t slot = 0; slot < slots; slot++)
		if (overhead->accounts[slot].balance < 0)
			overhead->accounts[slot].balance = 0;
}

/* True if the account deepest in debt went deeper between the last two looks. */
static bool overhead_is_growing(const struct overhead *overhead)
{
	return overhead->worst->lost > overhead->worst->earned;
}

uint64_t overhead_worst(const struct overhead *overhead, pid_t *tid)
{
	const struct account *worst = overhead->worst;

	*tid = overhead->worst_tid;
	return u64_min(worst->lost_of ? worst->lost * 100 / worst->lost_of : 100, 100);
}

void overhead_tell(struct overhead *overhead, struct trigger_stats *stats)
{
	const struct payer *payer = &overhead->payer;
	uint64_t cost;

	overhead_look(overhead, true);
	cost = payer->hits ? hit_cost(overhead) : 0;
	stats->payer = (struct probe_payer){
		.tid = payer->tid,
		.cost = payer->hits * cost,
		.cpu = payer->cpu,
	};
	memcpy(stats->payer.name, payer->name, sizeof(payer->name));
	stats->duty = overhead->duty;
	if (overhead->state != DUTY_ON)
		stats->duty.off += clock_monotonic() - overhead->since;
}

/* --- Keeps the cost below the limit: probes are detached for some of the time --- */

/* Times between switches. Each one costs the target something: its code is written, and CPUs that
 * run it are interrupted. */
#define ON_MIN_NS (100 * NSEC_PER_MSEC)
#define OFF_MIN_NS (500 * NSEC_PER_MSEC)
/* A longest time, as a thread that gets no CPU earns nothing. */
#define OFF_MAX_NS (30 * NSEC_PER_SEC)
/* A window open for this long keeps the probes attached, while that costs nothing: it may be the
 * stall that the user looks for. */
#define WINDOW_LONG_NS (2 * NSEC_PER_MSEC)
#define WINDOW_MAX_NS (10 * NSEC_PER_SEC)

static exit_status turn_off(struct overhead *overhead)
{
	uint64_t now = clock_monotonic();
	int error = triggers_detach_begin(session_triggers(overhead->session));

	if (error) {
		log_error("cannot start a thread: %s", strerror(-error));
		return EX_OSERR;
	}
	overhead_look(overhead, true);
	overhead->since = now;
	overhead->duty.phases++;
	overhead->state = DUTY_CLOSING;
	triggers_remeasure(session_triggers(overhead->session));
	return 0;
}

static exit_status turn_on(struct overhead *overhead)
{
	int status = triggers_attach_again(session_triggers(overhead->session));
	uint32_t slots = session_window_now(overhead->session).slots;

	overhead_look(overhead, true);
	for (uint32_t slot = 0; slot < slots; slot++)
		overhead->accounts[slot].hits_them = false;
	overhead->duty.off += clock_monotonic() - overhead->since;
	overhead->since = clock_monotonic();
	overhead->state = DUTY_ON;
	return status;
}

static void windows_drop(struct overhead *overhead)
{
	struct session *session = overhead->session;
	struct session_view view = session_window_now(session);

	while (session_window_close(session) && view.gen) {
		windows_release(session_windows(session), view.bank);
		overhead->duty.dropped++;
		view = session_window_now(session);
	}
}

/* True if the probes stay because of the open window. */
static bool window_is_awaited(struct overhead *overhead)
{
	struct session_view view = session_window_now(overhead->session);
	uint64_t lasted = view.gen ? clock_monotonic() - view.epoch - view.start : 0;
	bool first = view.gen != overhead->awaited;

	overhead->awaited = 0;
	if (lasted < WINDOW_LONG_NS || lasted > WINDOW_MAX_NS)
		return false;
	if (!first && overhead_is_growing(overhead))
		return false;
	overhead->awaited = view.gen;
	return true;
}

exit_status overhead_tick(struct overhead *overhead, bool drop)
{
	bool looked = overhead_look(overhead, false);
	uint64_t lasted = clock_monotonic() - overhead->since;

	switch (overhead->state) {
	case DUTY_ON:
		if (!looked || lasted < ON_MIN_NS || !overhead_is_overdrawn(overhead) ||
		    window_is_awaited(overhead))
			return 0;
		return turn_off(overhead);
	case DUTY_CLOSING:
		if (!session_detach_end(overhead->session))
			return 0;
		if (drop)
			windows_drop(overhead);
		overhead->state = DUTY_OFF;
		return 0;
	case DUTY_OFF:
		if (lasted < OFF_MIN_NS || (overhead_is_overdrawn(overhead) && lasted < OFF_MAX_NS))
			return 0;
		overhead_forgive(overhead);
		return turn_on(overhead);
	}
	return 0;
}

bool overhead_is_on(const struct overhead *overhead)
{
	return overhead->state == DUTY_ON;
}

/* --- This program's own cost --- */

/* Counts all threads, including ended ones. */
static struct own_cost self_read(void)
{
	struct own_cost cost = {
		.cpu_ns = clock_read(CLOCK_PROCESS_CPUTIME_ID),
		.period_ns = clock_monotonic(),
	};
	struct rusage usage;

	if (!getrusage(RUSAGE_SELF, &usage))
		cost.wakeups = (uint64_t)usage.ru_nvcsw;
	return cost;
}

/* getrusage() counts children only after they end. */
static struct own_cost child_read(pid_t child)
{
	struct own_cost cost = { 0 };
	clockid_t clock;

	if (!child || clock_getcpuclockid(child, &clock))
		return cost;
	cost.cpu_ns = clock_read(clock);
	cost.wakeups = proc_status_number(child, "voluntary_ctxt_switches:");
	return cost;
}

void own_cost_begin(struct own_cost_meter *meter, const pid_t children[OWN_CHILDREN])
{
	meter->self = self_read();
	for (int i = 0; i < OWN_CHILDREN; i++) {
		meter->children[i] = child_read(children[i]);
		meter->of[i] = children[i];
	}
}

struct own_cost own_cost_take(struct own_cost_meter *meter, const pid_t children[OWN_CHILDREN])
{
	static const struct own_cost nothing = { 0 };
	struct own_cost_meter before = *meter;
	struct own_cost cost;

	own_cost_begin(meter, children);
	/* Counts only grow; otherwise the reading failed. */
	cost = (struct own_cost){
		.cpu_ns = u64_sub(meter->self.cpu_ns, before.self.cpu_ns),
		.wakeups = u64_sub(meter->self.wakeups, before.self.wakeups),
		.period_ns = u64_sub(meter->self.period_ns, before.self.period_ns),
	};
	for (int i = 0; i < OWN_CHILDREN; i++) {
		const struct own_cost *now = &meter->children[i], *last = &before.children[i];

		if (before.of[i] != children[i])
			last = &nothing;
		cost.cpu_ns += u64_sub(now->cpu_ns, last->cpu_ns);
		cost.wakeups += u64_sub(now->wakeups, last->wakeups);
	}
	return cost;
}
