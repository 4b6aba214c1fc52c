// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "attach_cost.h"

#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "attach.h"
#include "self_probe.h"
#include "cost.skel.h"

#define BATCHES 31
#define CALLS 16

/* What to measure. A return probe also puts a breakpoint on the function's entry, and shares it
 * with an entry probe there. */
enum probed {
	PROBED_ENTRY,
	PROBED_RETURN,
	PROBED_BOTH,
	PROBED_KINDS,
};
_Static_assert(PROBED_KINDS == SELF_PROBE_COPIES, "a copy of each function for each");

struct attach_costs {
	const struct trigger_sites *triggers;
	size_t n_triggers;
	bool any, wanted[PROBED_KINDS][INSTRUCTION_CLASSES];
	uint64_t bare[INSTRUCTION_CLASSES];
	uint64_t ns[PROBED_KINDS][INSTRUCTION_CLASSES]; /* 0: unknown */
	struct cost *skel;
	struct attachment *attachments[2]; /* to entries, to returns */
	bool tried, attached;
};

static bool is_entry_of(const struct trigger_sites *trigger, const struct site *site)
{
	for (size_t i = 0; trigger_is_user(&trigger->trigger) && i < trigger->n_sets; i++)
		for (size_t j = 0; j < trigger->sets[i]->n; j++) {
			const struct site *other = &trigger->sets[i]->all[j];

			if (!other->on_return && other->offset == site->offset &&
			    file_id_is(&other->file, &site->file))
				return true;
		}
	return false;
}

static enum probed probed_how(const struct attach_costs *costs, const struct site *site)
{
	if (!site->on_return)
		return PROBED_ENTRY;
	for (size_t i = 0; i < costs->n_triggers; i++)
		if (is_entry_of(&costs->triggers[i], site))
			return PROBED_BOTH;
	return PROBED_RETURN;
}

static void site_want(struct attach_costs *costs, const struct site *site)
{
	enum instruction_class instruction = site->instruction;
	enum probed probed = probed_how(costs, site);

	costs->any = costs->wanted[probed][instruction] = true;
	if (probed == PROBED_BOTH)
		costs->wanted[PROBED_ENTRY][instruction] = true;
	costs->wanted[PROBED_ENTRY][CLASS_OTHER] = true; /* to compare with */
}

struct attach_costs *attach_costs_new(const struct trigger_sites *triggers, size_t n)
{
	struct attach_costs *costs = calloc(1, sizeof(*costs));

	if (!costs)
		return NULL;
	costs->triggers = triggers;
	costs->n_triggers = n;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; trigger_is_user(&triggers[i].trigger) && j < triggers[i].n_sets;
		     j++)
			for (size_t k = 0; k < triggers[i].sets[j]->n; k++)
				site_want(costs, &triggers[i].sets[j]->all[k]);
	return costs;
}

void attach_costs_free(struct attach_costs *costs)
{
	if (!costs)
		return;
	attachments_close(costs->attachments, 2);
	cost__destroy(costs->skel);
	free(costs);
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return ORDER(*left, *right);
}

/* Returns the CPU time of a batch of calls. */
static uint64_t batch_ns(self_probe_fn *function)
{
	uint64_t began = clock_read(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < CALLS; i++)
		function();
	return clock_read(CLOCK_THREAD_CPUTIME_ID) - began;
}

static uint64_t median(uint64_t *batches)
{
	qsort(batches, BATCHES, sizeof(*batches), by_size);
	return batches[BATCHES / 2];
}

/* Attaches to all wanted functions in one go, as detaching waits once for all. */
static int list_attach(struct attach_costs *costs, bool on_return)
{
	const enum probed alone = on_return ? PROBED_RETURN : PROBED_ENTRY;
	struct attachment **attachment = &costs->attachments[on_return];
	struct site sites[2 * INSTRUCTION_CLASSES];
	const struct site *list[2 * INSTRUCTION_CLASSES], *failed;
	int file = self_probe_open(), error = file < 0 ? file : 0;
	size_t n = 0;

	for (unsigned int i = 0; i < 2 * INSTRUCTION_CLASSES && !error; i++) {
		enum probed probed = i < INSTRUCTION_CLASSES ? alone : PROBED_BOTH;
		enum instruction_class instruction = i % INSTRUCTION_CLASSES;

		if (!costs->wanted[probed][instruction])
			continue;
		list[n] = &sites[n];
		error = self_probe_find(self_probe(instruction, probed), file, &sites[n]);
		sites[n++].on_return = on_return;
	}
	if (n && !error)
		error = attachment_add_list(attachment, costs->skel->progs.kd_cost, list, n,
					    getpid(), &failed);
	if (file >= 0)
		close(file);
	return error;
}

static void bare_measure(struct attach_costs *costs)
{
	uint64_t batches[BATCHES];

	for (unsigned int i = 0; i < INSTRUCTION_CLASSES; i++) {
		for (int batch = 0; batch < BATCHES; batch++)
			batches[batch] = batch_ns(self_probe(i, 0));
		costs->bare[i] = median(batches);
	}
}

static bool costs_attach(struct attach_costs *costs)
{
	bare_measure(costs);
	costs->skel = cost__open();
	if (!costs->skel)
		return false;
	attachment_prepare(costs->skel->progs.kd_cost, true);
	return !cost__load(costs->skel) && !list_attach(costs, false) && !list_attach(costs, true);
}

/* Takes turns, so that a brief disturbance does not hit one kind only. */
static void probed_measure(struct attach_costs *costs)
{
	uint64_t batches[PROBED_KINDS * INSTRUCTION_CLASSES][BATCHES];

	for (int batch = 0; batch < BATCHES; batch++)
		for (unsigned int i = 0; i < PROBED_KINDS * INSTRUCTION_CLASSES; i++)
			if (costs->wanted[i / INSTRUCTION_CLASSES][i % INSTRUCTION_CLASSES])
				batches[i][batch] = batch_ns(self_probe(i % INSTRUCTION_CLASSES,
									i / INSTRUCTION_CLASSES));
	for (unsigned int i = 0; i < PROBED_KINDS * INSTRUCTION_CLASSES; i++) {
		uint64_t with, bare = costs->bare[i % INSTRUCTION_CLASSES], now;
		uint64_t *ns = &costs->ns[i / INSTRUCTION_CLASSES][i % INSTRUCTION_CLASSES];

		if (!costs->wanted[i / INSTRUCTION_CLASSES][i % INSTRUCTION_CLASSES])
			continue;
		with = median(batches[i]);
		now = with > bare ? (with - bare) / CALLS : 0;
		*ns = *ns ? (*ns + now) / 2 : now;
	}
}

void attach_costs_measure(struct attach_costs *costs)
{
	if (costs->any && !costs->tried)
		costs->attached = costs_attach(costs);
	costs->tried = true;
	if (costs->attached)
		probed_measure(costs);
}

const struct bpf_program *attach_costs_program(const struct attach_costs *costs)
{
	return costs->attached ? costs->skel->progs.kd_cost : NULL;
}

static uint64_t measured(const struct attach_costs *costs, const struct site *site)
{
	enum instruction_class instruction = site->instruction;
	enum probed probed = probed_how(costs, site);
	uint64_t ns = costs->ns[probed][instruction], entry;

	if (probed != PROBED_BOTH)
		return ns;
	entry = costs->ns[PROBED_ENTRY][instruction]; /* the other trigger's share */
	return ns > entry ? ns - entry : 0;
}

uint64_t attach_cost(const struct attach_costs *costs, const struct trigger *trigger,
		     const struct site *site)
{
	uint64_t ns = trigger_is_user(trigger) ? measured(costs, site) : 0;

	return ns ? ns : probe_kinds[trigger->kind].hit_ns;
}

const char *attach_cost_reason(const struct attach_costs *costs, const struct trigger *trigger,
			       const struct site *site)
{
	const uint64_t *ns = costs->ns[PROBED_ENTRY];

	if (!trigger_is_user(trigger) || !measured(costs, site))
		return "typical, not measured";
	if (site->on_return)
		return "return";
	/* A step takes a second exception. */
	return ns[site->instruction] * 4 >= ns[CLASS_OTHER] * 3 ? "instruction single-stepped"
								: "instruction emulated";
}

uint64_t attach_cost_mean(const struct attach_costs *costs, const struct trigger_sites *trigger)
{
	uint64_t ns = 0, n = 0;

	for (size_t i = 0; i < trigger->n_sets; i++)
		for (size_t j = 0; j < trigger->sets[i]->n; j++, n++)
			ns += attach_cost(costs, &trigger->trigger, &trigger->sets[i]->all[j]);
	return n ? ns / n : 0;
}
