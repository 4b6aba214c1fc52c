// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_triggers.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../probes/attach.h"
#include "../../probes/attach_cost.h"
#include "../../probes/call_place.h"
#include "../exit_status.h"
#include "../log.h"
#include "kernel_delay.skel.h"
#include "session_programs.h"

/* Whether BPF programs may compare and swap (5.12): loads one that does. */
static bool kernel_has_swap(void)
{
	const struct bpf_insn insns[] = {
		/* *(u64 *)(r10 - 8) = 0; r0 = 0; r1 = 0 */
		{ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1 },
		/* cmpxchg((u64 *)(r10 - 8), r0, r1): 0xf1 is BPF_CMPXCHG */
		{ .code = BPF_STX | BPF_DW | 0xc0,
		  .dst_reg = BPF_REG_10,
		  .src_reg = BPF_REG_1,
		  .off = -8,
		  .imm = 0xf1 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "kd_swap", "GPL", insns,
			       sizeof(insns) / sizeof(*insns), NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Where a role's trigger is at single system calls, marks them for the program
 * that looks at all calls. Returns false if any of its places is another. */
static bool calls_mark(struct kernel_delay *skel, const struct session_trigger *given,
		       enum kd_role role)
{
	bool exit;

	for (size_t i = 0; i < given->n_sets; i++)
		for (size_t j = 0; j < places_count(given->sets[i]); j++) {
			int number = place_call(places_get(given->sets[i], j), &exit);

			if (number < 0 || number >= KD_CLASSES)
				return false;
			skel->rodata->kd_trigger_calls[number] |= KD_AT(role, exit);
		}
	return true;
}

/* The program for a role: start, stop, or both at once. */
static struct bpf_program *program_of(const struct kernel_delay *skel, bool start, bool stop,
				      bool tracepoint, bool token)
{
	struct bpf_program *const programs[3][2][2] = {
		{ { skel->progs.kd_start_probe, skel->progs.kd_start_probe_token },
		  { skel->progs.kd_start_tracepoint, skel->progs.kd_start_tracepoint_token } },
		{ { skel->progs.kd_stop_probe, skel->progs.kd_stop_probe_token },
		  { skel->progs.kd_stop_tracepoint, skel->progs.kd_stop_tracepoint_token } },
		{ { skel->progs.kd_both_probe, skel->progs.kd_both_probe_token },
		  { skel->progs.kd_both_tracepoint, skel->progs.kd_both_tracepoint_token } },
	};

	return programs[start && stop ? 2 : stop][tracepoint][token];
}

static struct bpf_program *call_program_of(const struct kernel_delay *skel, bool start, bool stop)
{
	if (start && stop)
		return skel->progs.kd_both_call;
	return start ? skel->progs.kd_start_call : skel->progs.kd_stop_call;
}

static void trigger_select(struct triggers *triggers, const struct session_config *config,
			   enum kd_role role, bool classic)
{
	const struct session_trigger *given = &config->triggers[role];
	bool start = role == KD_START || config->same_probe;
	bool stop = role == KD_STOP || config->same_probe;

	if (!given->n_sets || (config->same_probe && role == KD_STOP))
		return;
	triggers->calls[role] = classic && calls_mark(triggers->skel, given, role);
	if (triggers->calls[role])
		triggers->programs[role] = call_program_of(triggers->skel, start, stop);
	else
		triggers->programs[role] = program_of(triggers->skel, start, stop,
						      given->trigger->kind == TRIGGER_TRACEPOINT,
						      triggers->token);
	triggers->texts[role] = given->trigger;
	bpf_program__set_autoload(triggers->programs[role], true);
	attachment_prepare(triggers->programs[role], given->trigger);
	triggers->on = true;
}

static void autocreate(struct bpf_map *map, bool on)
{
	bpf_map__set_autocreate(map, on);
}

int triggers_select(struct triggers *triggers, struct kernel_delay *skel, bool classic,
		    const struct session_config *config)
{
	triggers->skel = skel;
	if (config->triggers[KD_START].n_sets || config->triggers[KD_STOP].n_sets)
		triggers->token = !kernel_has_swap();
	trigger_select(triggers, config, KD_START, classic);
	trigger_select(triggers, config, KD_STOP, classic);
	autocreate(skel->maps.kd_tallies, triggers->on);
	autocreate(skel->maps.kd_ring, triggers->on);
	autocreate(skel->maps.kd_pairs, triggers->on);
	autocreate(skel->maps.kd_edge_token, triggers->token);
	for (int role = 0; role < KD_ROLES; role++)
		skel->rodata->kd_target_only[role] = config->target_only[role];
	skel->rodata->kd_same_thread = config->same_thread;
	skel->rodata->kd_closes_itself = config->triggers[KD_STOP].n_sets > 0;
	skel->rodata->kd_list_skipped = config->list_skipped;
	skel->rodata->kd_delta = config->delta;
	skel->rodata->kd_interval = config->interval;
	return 0;
}

int triggers_token(const struct triggers *triggers)
{
	return triggers->token ? bpf_map__fd(triggers->skel->maps.kd_edge_token) : -1;
}

static int ring_failed(void)
{
	log_error("cannot read the BPF ring buffer: %s", strerror(errno));
	return EX_OSERR;
}

static int event_found(void *context, void *data, size_t size)
{
	struct triggers *triggers = context;

	return size >= sizeof(struct kd_event) ? triggers->found(triggers->context, data) : 0;
}

int triggers_events_fd(const struct triggers *triggers)
{
	return triggers->ring ? ring_buffer__epoll_fd(triggers->ring) : -1;
}

int triggers_events(struct triggers *triggers, session_event_fn *found, void *context)
{
	int result;

	if (!triggers->ring)
		return 0;
	triggers->found = found;
	triggers->context = context;
	result = ring_buffer__consume(triggers->ring);
	return result < 0 ? result : 0;
}

static int trigger_attach(struct triggers *triggers, const struct session_config *config,
			  enum kd_role role)
{
	const struct session_trigger *given = &config->triggers[role];
	struct attachment **attachment = &triggers->attachments[role];
	const struct bpf_program *program = triggers->programs[role];

	if (triggers->calls[role])
		return attachment_open_calls(attachment, program, given->trigger);
	return attachment_open(attachment, program, given->trigger, given->sets, given->n_sets,
			       config->tgid);
}

/* The stop first: no window is opened that nothing would close. */
int triggers_attach(struct triggers *triggers, const struct session_config *config)
{
	__u32 token = 1;
	int status = 0;

	if (!triggers->on)
		return 0;
	if (triggers->token && bpf_map_update_elem(triggers_token(triggers), NULL, &token, BPF_ANY))
		return ring_failed();
	triggers->ring = ring_buffer__new(bpf_map__fd(triggers->skel->maps.kd_ring), event_found,
					  triggers, NULL);
	if (!triggers->ring)
		return ring_failed();
	for (int role = KD_ROLES - 1; role >= 0 && !status; role--)
		if (triggers->programs[role])
			status = trigger_attach(triggers, config, role);
	return status;
}

void triggers_detach(struct triggers *triggers)
{
	for (int role = 0; role < KD_ROLES; role++) {
		attachment_close(triggers->attachments[role]);
		triggers->attachments[role] = NULL;
	}
}

void triggers_close(struct triggers *triggers)
{
	triggers_detach(triggers);
	for (int role = 0; role < KD_ROLES; role++)
		attachment_close(triggers->measured[role]);
	ring_buffer__free(triggers->ring);
	triggers->ring = NULL;
}

uint64_t triggers_skipped(const struct triggers *triggers)
{
	uint64_t skipped = 0;

	for (int role = 0; role < KD_ROLES; role++)
		if (triggers->programs[role])
			skipped += program_skipped(triggers->programs[role]);
	return skipped;
}

uint64_t triggers_hit_cost(struct triggers *triggers, enum kd_role role)
{
	if (triggers->programs[role] && !triggers->costs[role])
		triggers->costs[role] = attach_cost(
			&triggers->measured[role], triggers->programs[role], triggers->texts[role]);
	return triggers->costs[role];
}

static void tally_add(struct kd_tally *sum, const struct kd_tally *tally)
{
	uint64_t max = sum->max > tally->max ? sum->max : tally->max;
	uint64_t min = sum->min > tally->min ? sum->min : tally->min;
	const __u64 *from = (const __u64 *)tally;
	__u64 *to = (__u64 *)sum;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
	sum->max = max;
	sum->min = min;
}

int triggers_tally(const struct triggers *triggers, struct kd_tally *sum)
{
	int cpus = libbpf_num_possible_cpus(), result = 0;
	struct kd_tally *tallies;
	__u32 zero = 0;

	memset(sum, 0, sizeof(*sum));
	if (!triggers->on)
		return 0;
	if (cpus < 0)
		return cpus;
	tallies = calloc((size_t)cpus, sizeof(*tallies));
	if (!tallies)
		return -ENOMEM;
	if (bpf_map_lookup_elem(bpf_map__fd(triggers->skel->maps.kd_tallies), &zero, tallies))
		result = -errno;
	for (int cpu = 0; cpu < cpus && !result; cpu++)
		tally_add(sum, &tallies[cpu]);
	free(tallies);
	return result;
}
