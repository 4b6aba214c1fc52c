// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/columns.h"
#include "cli/base/escape.h"
#include "cli/base/wall_clock.h"
#include "cli/model/distribution.h"
#include "cli/model/words.h"
#include "text_parts.h"

/* --- Triggers --- */

#define NAME_WIDTH 40
#define SCOPE_WIDTH 8
#define COUNT_WIDTH 12

/* Adds text from the command line or target, left-aligned; longer text is not cut. */
static void foreign(struct columns *columns, const char *text, size_t length, size_t width)
{
	char escaped[512];

	escape_text(escaped, sizeof(escaped), text, length);
	columns_add(columns, escaped);
	columns_pad(columns, escape_width(escaped), width);
}

static void role_line(struct columns *columns, const struct trigger_stats *stats, enum kd_role role)
{
	const struct kd_tally *tally = &stats->tally;

	columns_left(columns, role_keys[role], 6);
	foreign(columns, stats->names[role], strlen(stats->names[role]), NAME_WIDTH);
	columns_left(columns, stats->target_only[role] ? " target" : " any", SCOPE_WIDTH);
	columns_ns(columns, tally->hits[role], COUNT_WIDTH);
	for (int i = 0; i < KD_OUTCOMES; i++)
		columns_ns(columns, tally->outcome[role][i], COUNT_WIDTH);
	columns_add(columns, "\n");
}

static void hits(struct columns *columns, const struct trigger_stats *stats)
{
	columns_add(columns, "\n# TRIGGER STATISTICS:\n");
	columns_left(columns, "TRIGGER", 6 + NAME_WIDTH);
	columns_left(columns, " OF", SCOPE_WIDTH);
	columns_right(columns, "HITS", COUNT_WIDTH);
	for (int i = 0; i < KD_OUTCOMES; i++)
		columns_right(columns, outcome_titles[i], COUNT_WIDTH);
	columns_add(columns, "\n");
	for (int role = 0; role < KD_ROLES; role++)
		if (stats->names[role])
			role_line(columns, stats, role);
}

/* Hits outside this range are ignored. */
static void armed(struct columns *columns, const struct trigger_stats *stats)
{
	if (!stats->to)
		return;
	columns_print(columns,
		      "Hits were counted from %" PRIu64 " to %" PRIu64
		      " (CLOCK_MONOTONIC ns), for %s ns.\n",
		      stats->from, stats->to, GROUPED(stats->to - stats->from));
}

/* Adds hits ruled out by their values. */
static void trigger_conditions(struct columns *columns, const struct trigger_stats *stats)
{
	for (int role = 0; role < KD_ROLES; role++) {
		uint64_t unmet = stats->tally.unmet[role], unread = stats->tally.unread[role];

		if (unmet + unread)
			columns_print(columns,
				      "The condition of the %s was false %s time%s, and could not "
				      "be tested %s time%s, as memory was not there.\n",
				      role_keys[role], GROUPED(unmet), unmet == 1 ? "" : "s",
				      GROUPED(unread), unread == 1 ? "" : "s");
	}
}

static unsigned int share(uint64_t part, uint64_t total)
{
	double permille = total ? (double)part * 1000 / (double)total : 0;

	return permille < 1000 ? (unsigned int)(permille + 0.5) : 1000;
}

/* "12.3": two arguments */
#define PERCENT "%u.%u %%"
#define PERMILLE(permille) (permille) / 10, (permille) % 10

static void trigger_payer(struct columns *columns, const struct probe_payer *payer)
{
	unsigned int lost = share(payer->cost, payer->cpu);
	char name[ESCAPE_SIZE(KD_COMM_LEN)];

	if (!payer->tid)
		return;
	escape_text(name, sizeof(name), payer->name, sizeof(payer->name));
	columns_print(
		columns,
		"Thread %d (%s) lost most to them: " PERCENT " of its CPU time (%s of %s ns).\n",
		(int)payer->tid, name, PERMILLE(lost), GROUPED(payer->cost), GROUPED(payer->cpu));
}

/* Adds hits of probes by other processes that map the file. */
static void outside(struct columns *columns, const struct kd_tally *tally)
{
	if (tally->outside)
		columns_print(columns,
			      "Processes outside the target hit the probes %s time%s: that costs "
			      "them as much, and does not count.\n",
			      GROUPED(tally->outside), tally->outside == 1 ? "" : "s");
}

/* Adds the time that probes took from the threads that hit them. */
static void trigger_cost(struct columns *columns, const struct trigger_stats *stats)
{
	uint64_t count = 0, ns = 0;

	for (int role = 0; role < KD_ROLES; role++) {
		count += stats->cost[role] ? tally_looked_at(&stats->tally, role) : 0;
		ns += tally_looked_at(&stats->tally, role) * stats->cost[role];
	}
	if (!count)
		return;
	columns_print(columns, "Estimated cost of the probes: %s ns, %s ns per hit.\n", GROUPED(ns),
		      GROUPED(ns / count));
	trigger_payer(columns, &stats->payer);
}

/* Notes that the probes were off at times. */
static void trigger_duty(struct columns *columns, const struct trigger_stats *stats)
{
	const struct probe_duty *duty = &stats->duty;
	unsigned int off = share(duty->off, stats->lasted), covered = trigger_stats_coverage(stats);

	if (!duty->off)
		return;
	columns_print(
		columns,
		"To stay below --max-overhead the probes were taken out %s time%s, for " PERCENT
		" of the time (%s of %s ns).\n"
		"About " PERCENT " of the calls were seen; %s open %s dropped.\n",
		GROUPED(duty->phases), duty->phases == 1 ? "" : "s", PERMILLE(off),
		GROUPED(duty->off), GROUPED(stats->lasted), PERMILLE(covered),
		GROUPED(duty->dropped), duty->dropped == 1 ? "window was" : "windows were");
}

static void trigger_durations(struct columns *columns, const struct trigger_stats *stats)
{
	const uint64_t min = ~stats->tally.min, max = stats->tally.max;

	if (!stats->windows.n)
		return;
	columns_print(columns, "\n# WINDOW DURATIONS (ns, of all from start to stop%s):\n",
		      stats->same_thread ? " on one thread" : "");
	columns_right(columns, "COUNT", 18);
	columns_right(columns, "MIN", 18);
	for (size_t i = 0; i < DISTRIBUTION_SHARES; i++)
		columns_right(columns, distribution_shares[i].label, 18);
	columns_right(columns, "MAX", 18);
	columns_add(columns, "\n");
	columns_ns(columns, distribution_count(&stats->windows), 18);
	columns_ns(columns, min, 18);
	for (size_t i = 0; i < DISTRIBUTION_SHARES; i++)
		columns_ns(columns,
			   distribution_permille(&stats->windows, distribution_shares[i].permille,
						 min, max),
			   18);
	columns_ns(columns, max, 18);
	columns_add(columns, "\n");
}

static void nested(struct columns *columns, const struct trigger_stats *stats)
{
	uint64_t unlisted = stats->tally.nested > stats->n_nested
				    ? stats->tally.nested - stats->n_nested
				    : 0;

	if (!stats->tally.nested)
		return;
	columns_print(columns,
		      "\n# NESTED LONG (not shorter than the delta, begun while no bank was free): "
		      "%s\n"
		      "TID        THREAD                     START (ns)      DURATION ns\n",
		      GROUPED(stats->tally.nested));
	for (size_t i = 0; i < stats->n_nested; i++) {
		const struct nested_pair *pair = &stats->nested[i];

		columns_count(columns, (uint64_t)pair->tid, 10);
		columns_add(columns, " ");
		foreign(columns, pair->name, sizeof(pair->name), 16);
		columns_count(columns, pair->start, 21);
		columns_ns(columns, pair->end - pair->start, 17);
		columns_add(columns, "\n");
	}
	if (unlisted)
		columns_print(columns, "(and %s more, not listed)\n", GROUPED(unlisted));
}

int report_text_triggers(const struct trigger_stats *stats, FILE *out)
{
	struct columns columns;

	columns_begin(&columns, out);
	hits(&columns, stats);
	armed(&columns, stats);
	trigger_conditions(&columns, stats);
	trigger_cost(&columns, stats);
	outside(&columns, &stats->tally);
	trigger_duty(&columns, stats);
	trigger_durations(&columns, stats);
	nested(&columns, stats);
	if (stats->tally.outcome[KD_START][KD_HIT_MISSED])
		columns_add(&columns,
			    "# WARNING: Windows were missed, as all banks were waiting to "
			    "be read; raise banks of a trigger.\n");
	if (stats->skipped)
		columns_print(
			&columns,
			"# WARNING: %s %s missing (another BPF program was busy on that CPU); "
			"stop other tracing tools.\n",
			GROUPED(stats->skipped), stats->skipped == 1 ? "hit is" : "hits are");
	if (stats->dropped)
		columns_print(
			&columns,
			"# WARNING: %s %s missing (the kernel dropped %s: more threads were in the "
			"function of a kr: trigger than it can follow); use a tracepoint, or a "
			"function that fewer are in at a time.\n",
			GROUPED(stats->dropped), stats->dropped == 1 ? "hit is" : "hits are",
			stats->dropped == 1 ? "it" : "them");
	return columns_end(&columns);
}

int report_text_skipped(FILE *out, uint64_t delta, const struct timespec *when)
{
	struct columns columns;
	char time[TIMESTAMP_LEN];

	timestamp_format(time, when);
	columns_begin(&columns, out);
	columns_print(&columns, "# Sample dump skipped, delta %s ns @%s\n", GROUPED(delta), time);
	return columns_end(&columns);
}
