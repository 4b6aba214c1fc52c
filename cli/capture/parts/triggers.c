// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "triggers.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/rings.h"
#include "cli/process/trigger_set.h"
#include "probes/attach.h"
#include "probes/attach_cost.h"
#include "probes/condition.h"
#include "probes/kernel.h"
#include "kernel_delay.skel.h"

/* --- Conditions of hits, and deltas: the least length of windows --- */

/* Sets which triggers have conditions, and whether there are deltas by name, before loading. */
static void values_select(struct kernel_delay *skel, const struct trigger_set *set)
{
	bool conditions = false;

	for (int role = 0; role < KD_ROLES; role++) {
		skel->rodata->kd_conditional[role] = set->triggers[role].conditions != NULL;
		conditions |= skel->rodata->kd_conditional[role];
	}
	bpf_map__set_autocreate(skel->maps.kd_conditions, conditions);
	skel->rodata->kd_delta = deltas_least(&set->deltas);
	skel->rodata->kd_delta_others = set->deltas.others;
	skel->rodata->kd_named_deltas = (__u32)set->deltas.n;
	bpf_map__set_autocreate(skel->maps.kd_deltas, set->deltas.n > 0);
}

/* Hands the conditions of a role's sites to the BPF side, before attaching to these. Returns 0, or
 * an exit status after printing what failed. */
static exit_status values_conditions(struct kernel_delay *skel, enum kd_role role,
				     const struct trigger_sites *sites)
{
	const struct conditions *conditions = sites->conditions;

	for (size_t i = 0; conditions && i < conditions->n; i++) {
		__u32 key = (__u32)(role * KD_CONDITIONS + i);

		if (!bpf_map_update_elem(bpf_map__fd(skel->maps.kd_conditions), &key,
					 &conditions->all[i], BPF_ANY))
			continue;
		log_error("cannot hand the condition of trigger '%s' to the kernel: %s",
			  sites->trigger.text, strerror(errno));
		return EX_OSERR;
	}
	return 0;
}

/* Hands over deltas by name, once. */
static exit_status values_deltas(struct kernel_delay *skel, const struct deltas *deltas)
{
	for (__u32 i = 0; i < deltas->n; i++) {
		struct kd_delta delta = { .ns = deltas->named[i].ns };

		if (names_compile(&delta.names, deltas->named[i].names) &&
		    !bpf_map_update_elem(bpf_map__fd(skel->maps.kd_deltas), &i, &delta, BPF_ANY))
			continue;
		log_error("cannot hand a delta by name to the kernel: %s", strerror(errno));
		return EX_OSERR;
	}
	return 0;
}

/* --- Programs of the triggers --- */

struct triggers {
	struct kernel_delay *skel;
	struct bpf_program *programs[KD_ROLES]; /* NULL: none */
	bool calls[KD_ROLES];                   /* its program runs at all system calls */
	struct attachment *attachments[KD_ROLES];
	const struct trigger_set *set;
	pid_t pid;                  /* process that hits probes in files; 0: any */
	struct attach_costs *costs; /* NULL: not measured yet */
	bool stale;                 /* sites were added after measuring */
	uint64_t means[KD_ROLES];   /* of costs, ns */
	pthread_t detacher;
	bool detaching, detached;        /* detached is atomic */
	uint64_t dropped;                /* hits of probes that have been detached */
	uint64_t dropped_seen[KD_ROLES]; /* of attached ones, when last read */
	bool on, token;
};

/* Marks the system calls of a role's trigger, for the program at all calls. Returns false if any of
 * its sites is not a system call. */
static bool calls_mark(struct kernel_delay *skel, const struct trigger_sites *given,
		       enum kd_role role)
{
	bool exit;

	for (size_t i = 0; i < given->n_sets; i++)
		for (size_t j = 0; j < given->sets[i]->n; j++) {
			int number = site_call(&given->sets[i]->all[j], &exit);

			if (number < 0 || number >= KD_CLASSES)
				return false;
			skel->rodata->kd_trigger_calls[number] |= KD_AT(role, exit);
		}
	return true;
}

/* Returns the program of a role: start, stop, or both at once. */
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

static void trigger_select(struct triggers *triggers, enum kd_role role, bool classic)
{
	const struct trigger_set *set = triggers->set;
	const struct trigger_sites *given = &set->triggers[role];
	bool start = role == KD_START || set->same_probe;
	bool stop = role == KD_STOP || set->same_probe;

	if (!given->n_sets || (set->same_probe && role == KD_STOP))
		return;
	triggers->calls[role] = classic && calls_mark(triggers->skel, given, role);
	if (triggers->calls[role])
		triggers->programs[role] = call_program_of(triggers->skel, start, stop);
	else
		triggers->programs[role] = program_of(triggers->skel, start, stop,
						      trigger_is_tracepoint(&given->trigger),
						      triggers->token);
	bpf_program__set_autoload(triggers->programs[role], true);
	attachment_prepare(triggers->programs[role], trigger_is_user(&given->trigger));
	triggers->on = true;
}

/* True if ending threads hit the stop: no start of theirs is then left to be dropped. */
static bool stop_is_end(const struct trigger_sites *stop)
{
	if (!stop->n_sets || !trigger_is_tracepoint(&stop->trigger))
		return false;
	for (size_t i = 0; i < stop->n_sets; i++)
		for (size_t j = 0; j < stop->sets[i]->n; j++)
			if (!strcmp(stop->sets[i]->all[j].name, "sched_process_exit"))
				return true;
	return false;
}

/* Selects programs that notice execve, and the ends of threads or processes whose stop cannot come
 * any more. */
static exit_status ends_select(const struct triggers *triggers, struct session_btf *btf,
			       const struct processes *processes)
{
	const struct trigger_set *set = triggers->set;
	struct kernel_delay *skel = triggers->skel;
	struct bpf_program *exec = triggers->token ? skel->progs.kd_trigger_exec_token
						   : skel->progs.kd_trigger_exec;
	struct bpf_program *exit = triggers->token ? skel->progs.kd_trigger_exit_token
						   : skel->progs.kd_trigger_exit;
	/* Not with a single process: its end ends the run. */
	bool windows = !processes_is_one(processes) && trigger_set_has(set, KD_START) &&
		       trigger_set_has(set, KD_STOP);
	bool ends = (set->same_thread || windows) && !stop_is_end(&set->triggers[KD_STOP]);
	int error = btf_target(btf, exec, "sched_process_exec");

	bpf_program__set_autoload(exec, true);
	if (!error && ends)
		error = btf_target(btf, exit, "sched_process_exit");
	bpf_program__set_autoload(exit, ends);
	if (!error)
		return 0;
	log_error("cannot find tracepoint sched_process_exit or sched_process_exec in the "
		  "kernel's BTF: %s",
		  strerror(-error));
	return EX_OSERR;
}

/* Selects programs. Where those at a single call's tracepoint may be preempted (programs.classic),
 * those at all calls are used. */
static exit_status triggers_select(struct session *session)
{
	const struct session_config *config = session->config;
	const struct trigger_set *set = config->triggers;
	struct triggers *triggers = session->triggers;
	struct kernel_delay *skel = session->skel;

	triggers->skel = skel;
	triggers->set = set;
	triggers->pid = set->everywhere ? 0 : config->tgid;
	triggers->token = session->triggered && !skel->rodata->kd_swaps;
	for (int role = 0; role < KD_ROLES; role++) {
		trigger_select(triggers, role, session->programs.classic);
		skel->rodata->kd_target_only[role] = set->target_only[role];
		skel->rodata->kd_everywhere[role] = set->everywhere &&
						    trigger_set_in_files(set, role);
	}
	values_select(skel, set);
	bpf_map__set_autocreate(skel->maps.kd_tallies, triggers->on);
	bpf_map__set_autocreate(skel->maps.kd_ring, triggers->on);
	bpf_map__set_autocreate(skel->maps.kd_pairs, triggers->on);
	bpf_map__set_autocreate(skel->maps.kd_edge_token, triggers->token);
	skel->rodata->kd_same_thread = set->same_thread;
	skel->rodata->kd_rounds = config->options->long_poll > 0;
	skel->rodata->kd_closes_itself = trigger_set_has(set, KD_STOP);
	skel->rodata->kd_list_skipped = config->options->verbose;
	skel->rodata->kd_interval = config->options->sample_interval;
	skel->rodata->kd_worst = (__u32)config->options->trigger_worst;
	skel->rodata->kd_stop_in_program = trigger_set_has(set, KD_START) &&
					   trigger_set_in_files(set, KD_STOP);
	return triggers->on ? ends_select(triggers, &session->btf, config->processes) : 0;
}

int triggers_token(const struct triggers *triggers)
{
	return triggers->token ? bpf_map__fd(triggers->skel->maps.kd_edge_token) : -1;
}

static exit_status program_attach(struct bpf_program *program, struct bpf_link **link)
{
	if (!bpf_program__autoload(program))
		return 0;
	*link = bpf_program__attach(program);
	if (*link)
		return 0;
	log_error("cannot attach to the ends of threads: %s", strerror(errno));
	return EX_OSERR;
}

static exit_status ends_attach(const struct triggers *triggers)
{
	struct kernel_delay *skel = triggers->skel;

	return program_attach(skel->progs.kd_trigger_exit, &skel->links.kd_trigger_exit)
		       ?: program_attach(skel->progs.kd_trigger_exit_token,
					 &skel->links.kd_trigger_exit_token)
		       ?: program_attach(skel->progs.kd_trigger_exec,
					 &skel->links.kd_trigger_exec)
		       ?: program_attach(skel->progs.kd_trigger_exec_token,
					 &skel->links.kd_trigger_exec_token);
}

static exit_status trigger_attach(struct triggers *triggers, enum kd_role role)
{
	const struct trigger_sites *given = &triggers->set->triggers[role];
	struct attachment **attachment = &triggers->attachments[role];
	const struct bpf_program *program = triggers->programs[role];
	int status = values_conditions(triggers->skel, role, given);

	if (status)
		return status;
	if (triggers->calls[role])
		return attachment_add_calls(attachment, program, &given->trigger);
	return attachment_add(attachment, program, &given->trigger, given->sets, given->n_sets,
			      triggers->pid);
}

/* Attaches the stop first: no window is opened that nothing would close. */
static exit_status probes_attach(struct triggers *triggers)
{
	int status = 0;

	for (int role = KD_ROLES - 1; role >= 0 && !status; role--)
		if (triggers->programs[role])
			status = trigger_attach(triggers, role);
	return status;
}

/* Sums the drops of the attached probes. After attached_drop() they can no longer be read. */
static uint64_t dropped_now(struct triggers *triggers)
{
	uint64_t dropped, sum = 0;

	for (int role = 0; role < KD_ROLES; role++) {
		if (triggers->attachments[role] &&
		    attachment_dropped(triggers->attachments[role], &dropped))
			triggers->dropped_seen[role] = dropped;
		sum += triggers->dropped_seen[role];
	}
	return sum;
}

/* Call it before the probes are detached. */
static void dropped_keep(struct triggers *triggers)
{
	triggers->dropped += dropped_now(triggers);
	memset(triggers->dropped_seen, 0, sizeof(triggers->dropped_seen));
}

static void silence_note(const struct triggers *triggers, struct programs *programs)
{
	uint64_t dropped;

	for (int role = 0; role < KD_ROLES; role++)
		if (triggers->attachments[role] &&
		    trigger_is_return(&triggers->set->triggers[role].trigger) &&
		    !trigger_is_user(&triggers->set->triggers[role].trigger) &&
		    !attachment_dropped(triggers->attachments[role], &dropped))
			programs_absent(programs, "TRIGGER STATISTICS",
					"may lack hits of kr:, if many threads are in the function "
					"at once: this kernel does not say how many it drops");
}

/* Attaches first what notices that a stop cannot come. */
static exit_status triggers_attach(struct session *session)
{
	struct triggers *triggers = session->triggers;
	__u32 token = 1;
	int status;

	if (!triggers->on)
		return 0;
	if (triggers->token &&
	    bpf_map_update_elem(triggers_token(triggers), NULL, &token, BPF_ANY)) {
		log_error("cannot put the token for edges: %s", strerror(errno));
		return EX_OSERR;
	}
	status = session_ring_open(session, RING_EVENTS, triggers->skel->maps.kd_ring,
				  sizeof(struct kd_event))
			 ?: values_deltas(triggers->skel, &triggers->set->deltas)
			 ?: ends_attach(triggers)
			 ?: probes_attach(triggers);
	if (!status)
		silence_note(triggers, &session->programs);
	return status;
}

/* Attaches to a role's sets from that index on. Leaves out sets that fail, from now on. Returns the
 * first failure's status. */
static exit_status sites_attach(struct triggers *triggers, enum kd_role role, size_t from)
{
	const struct trigger_sites *sites = &triggers->set->triggers[role];
	int status = 0;

	for (size_t i = from; i < sites->n_sets; i++) {
		int failed = attachment_add(&triggers->attachments[role], triggers->programs[role],
					    &sites->trigger, &sites->sets[i], 1, triggers->pid);

		if (!failed)
			continue;
		sites->sets[i]->left_out = true;
		log_warn("trigger '%s': left out in %s", sites->trigger.text,
			 sites->sets[i]->all[0].object);
		status = status ? status : failed;
	}
	return status;
}

/* Attaches a role's probes again. Sets that fail now are left out; only if all fail is this a
 * failure. */
static exit_status trigger_attach_again(struct triggers *triggers, enum kd_role role)
{
	const struct trigger_sites *sites = &triggers->set->triggers[role];
	int status;

	if (triggers->calls[role] || sites->n_sets <= 1)
		return trigger_attach(triggers, role);
	status = values_conditions(triggers->skel, role, sites);
	if (status)
		return status;
	status = sites_attach(triggers, role, 0);
	for (size_t i = 0; i < sites->n_sets; i++)
		if (!sites->sets[i]->left_out)
			return 0;
	return status ? status : EX_OSERR;
}

exit_status triggers_extend(struct triggers *triggers, enum kd_role role, size_t before)
{
	if (!triggers->programs[role])
		return 0;
	triggers->stale = true;
	/* Attaching again will include them. */
	if (triggers->detaching || !triggers->attachments[role])
		return 0;
	return values_conditions(triggers->skel, role, &triggers->set->triggers[role])
		       ?: sites_attach(triggers, role, before);
}

bool triggers_have_events(const struct triggers *triggers, bool in_files)
{
	for (int role = 0; role < KD_ROLES; role++)
		if (attachment_has_events(triggers->attachments[role]) &&
		    (!in_files || trigger_set_in_files(triggers->set, role)))
			return true;
	return false;
}

static void probes_detach(struct triggers *triggers)
{
	attachments_close(triggers->attachments, KD_ROLES);
	memset(triggers->attachments, 0, sizeof(triggers->attachments));
}

void triggers_detach(struct triggers *triggers)
{
	dropped_keep(triggers);
	probes_detach(triggers);
}

static void hits_count(struct triggers *triggers, bool count)
{
	__atomic_store_n(&triggers->skel->data_word->kd_armed, count, __ATOMIC_SEQ_CST);
}

static void *detach(void *context)
{
	struct triggers *triggers = context;

	probes_detach(triggers);
	__atomic_store_n(&triggers->detached, true, __ATOMIC_RELEASE);
	return NULL;
}

int triggers_detach_begin(struct triggers *triggers)
{
	sigset_t all, before;
	int error;

	hits_count(triggers, false);
	dropped_keep(triggers);
	triggers->detached = false;
	/* Blocks signals in the new thread: another thread waits for them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&triggers->detacher, NULL, detach, triggers);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	triggers->detaching = !error;
	return -error;
}

static void detacher_await(struct triggers *triggers)
{
	if (triggers->detaching)
		pthread_join(triggers->detacher, NULL);
	triggers->detaching = false;
}

/* Forgets what threads had begun when the probes were detached: no stop may continue it. */
static void pairs_forget(struct triggers *triggers)
{
	int fd = bpf_map__fd(triggers->skel->maps.kd_pairs);
	__u64 key;

	while (!bpf_map_get_next_key(fd, NULL, &key) && !bpf_map_delete_elem(fd, &key))
		;
}

bool triggers_detach_end(struct triggers *triggers)
{
	if (!__atomic_load_n(&triggers->detached, __ATOMIC_ACQUIRE))
		return false;
	detacher_await(triggers);
	pairs_forget(triggers);
	return true;
}

exit_status triggers_attach_again(struct triggers *triggers)
{
	int status = 0;

	for (int role = KD_ROLES - 1; role >= 0 && !status; role--)
		if (triggers->programs[role])
			status = trigger_attach_again(triggers, role);
	if (!status)
		hits_count(triggers, true);
	return status;
}

static void triggers_close(struct session *session)
{
	struct triggers *triggers = session->triggers;

	detacher_await(triggers);
	probes_detach(triggers);
	attach_costs_free(triggers->costs);
}

SESSION_PART(triggers) = {
	SESSION_STATE(triggers),
	.select = triggers_select,
	.attach = triggers_attach,
	.close = triggers_close,
};

uint64_t triggers_skipped(const struct triggers *triggers)
{
	uint64_t skipped = 0;

	for (int role = 0; role < KD_ROLES; role++)
		if (triggers->programs[role])
			skipped += program_skipped(triggers->programs[role]);
	return skipped;
}

uint64_t triggers_dropped(struct triggers *triggers)
{
	return triggers->dropped + (triggers->detaching ? 0 : dropped_now(triggers));
}

void triggers_remeasure(struct triggers *triggers)
{
	if (triggers->stale) { /* new sites may have other instructions */
		attach_costs_free(triggers->costs);
		triggers->costs = NULL;
	}
	triggers->stale = false;
	if (!triggers->costs)
		triggers->costs = attach_costs_new(triggers->set->triggers, KD_ROLES);
	if (!triggers->costs)
		return;
	attach_costs_measure(triggers->costs);
	for (int role = 0; role < KD_ROLES; role++)
		if (triggers->programs[role])
			triggers->means[role] = attach_cost_mean(triggers->costs,
								 &triggers->set->triggers[role]);
}

uint64_t triggers_hit_cost(struct triggers *triggers, enum kd_role role)
{
	if (!triggers->costs)
		triggers_remeasure(triggers);
	return triggers->means[role];
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
