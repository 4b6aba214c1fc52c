// SPDX-License-Identifier: Apache-2.0
#include "text_triggers.h"

#include <stdio.h>
#include <string.h>

#include "../distribution.h"
#include "../escape.h"
#include "columns.h"
#include "timestamp.h"

#define NAME_WIDTH 40
#define SCOPE_WIDTH 8
#define COUNT_WIDTH 12

static const char *const outcome_names[KD_OUTCOMES] = {
	[KD_HIT_USED] = "USED",     [KD_HIT_SKIPPED] = "SKIPPED",
	[KD_HIT_MISSED] = "MISSED", [KD_HIT_OVERLAPPED] = "OVERLAPPED",
	[KD_HIT_IDLE] = "IDLE",     [KD_HIT_UNMATCHED] = "UNMATCHED",
};

static const char *const role_names[KD_ROLES] = {
	[KD_START] = "start",
	[KD_STOP] = "stop",
};

/* Text from the command line or the target at the left of a column, whole even if
 * it is wider. */
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
	uint64_t decided = 0;

	columns_left(columns, role_names[role], 6);
	foreign(columns, stats->names[role], strlen(stats->names[role]), NAME_WIDTH);
	columns_left(columns, stats->target_only[role] ? " target" : " any", SCOPE_WIDTH);
	columns_ns(columns, tally->hits[role], COUNT_WIDTH);
	for (int i = 0; i < KD_OUTCOMES; i++) {
		uint64_t count = tally->outcome[role][i];

		decided += count;
		/* A start whose stop has not come when the run ends. */
		if (i == KD_HIT_UNMATCHED && tally->hits[role] > decided)
			count += tally->hits[role] - decided;
		columns_ns(columns, count, COUNT_WIDTH);
	}
	columns_add(columns, "\n");
}

static void hits(struct columns *columns, const struct trigger_stats *stats)
{
	columns_add(columns, "\n# TRIGGER STATISTICS:\n");
	columns_left(columns, "TRIGGER", 6 + NAME_WIDTH);
	columns_left(columns, " OF", SCOPE_WIDTH);
	columns_right(columns, "HITS", COUNT_WIDTH);
	for (int i = 0; i < KD_OUTCOMES; i++)
		columns_right(columns, outcome_names[i], COUNT_WIDTH);
	columns_add(columns, "\n");
	for (int role = 0; role < KD_ROLES; role++)
		if (stats->names[role])
			role_line(columns, stats, role);
}

/* What the probes took from the threads that hit them. */
static void cost(struct columns *columns, const struct trigger_stats *stats)
{
	uint64_t count = 0, ns = 0;

	for (int role = 0; role < KD_ROLES; role++) {
		count += stats->cost[role] ? stats->tally.hits[role] : 0;
		ns += stats->tally.hits[role] * stats->cost[role];
	}
	if (!count)
		return;
	columns_add(columns, "Estimated cost of the probes: ");
	columns_ns(columns, ns, 0);
	columns_add(columns, " ns in ");
	columns_ns(columns, stats->lasted, 0);
	columns_add(columns, " ns, ");
	columns_ns(columns, ns / count, 0);
	columns_add(columns, " ns per hit.\n");
}

static void durations(struct columns *columns, const struct trigger_stats *stats)
{
	const uint64_t min = ~stats->tally.min, max = stats->tally.max;

	if (!stats->windows.n)
		return;
	columns_add(columns, "\n# WINDOW DURATIONS (ns, of all from start to stop");
	columns_add(columns, stats->same_thread ? " on one thread):\n" : "):\n");
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
	columns_add(columns,
		    "\n# NESTED LONG (as long as the delta, begun while another window was "
		    "open): ");
	columns_ns(columns, stats->tally.nested, 0);
	columns_add(columns,
		    "\nTID        THREAD                     START (ns)      DURATION ns\n");
	for (size_t i = 0; i < stats->n_nested; i++) {
		const struct nested_pair *pair = &stats->nested[i];

		columns_count(columns, (uint64_t)pair->tid, 10);
		columns_add(columns, " ");
		foreign(columns, pair->name, sizeof(pair->name), 16);
		columns_count(columns, pair->start, 21);
		columns_ns(columns, pair->end - pair->start, 17);
		columns_add(columns, "\n");
	}
	if (!unlisted)
		return;
	columns_add(columns, "(and ");
	columns_ns(columns, unlisted, 0);
	columns_add(columns, " more, for which there was no room)\n");
}

int report_text_triggers(const struct trigger_stats *stats, FILE *out)
{
	struct columns columns;

	columns_begin(&columns, out);
	hits(&columns, stats);
	cost(&columns, stats);
	durations(&columns, stats);
	nested(&columns, stats);
	if (stats->tally.outcome[KD_STOP][KD_HIT_MISSED])
		columns_add(&columns,
			    "# WARNING: Windows were missed, as all banks were waiting to "
			    "be read; raise --window-banks.\n");
	if (stats->skipped) {
		columns_add(&columns, "# WARNING: ");
		columns_ns(&columns, stats->skipped, 0);
		columns_add(&columns, stats->skipped == 1 ? " hit is" : " hits are");
		columns_add(&columns, " missing (another BPF program was busy on that CPU); stop "
				      "other tracing tools.\n");
	}
	return columns_end(&columns);
}

int report_text_skipped(FILE *out, uint64_t delta, const struct timespec *when)
{
	struct columns columns;
	char time[TIMESTAMP_LEN];

	timestamp_format(time, when);
	columns_begin(&columns, out);
	columns_add(&columns, "# Sample dump skipped, delta ");
	columns_ns(&columns, delta, 0);
	columns_add(&columns, " ns @");
	columns_add(&columns, time);
	columns_add(&columns, "\n");
	return columns_end(&columns);
}
