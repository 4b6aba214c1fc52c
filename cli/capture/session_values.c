// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_values.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "cli/base/log.h"
#include "cli/base/names.h"
#include "probes/conditions.h"
#include "kernel_delay.skel.h"

static const struct conditions *conditions_of(const struct trigger_sites *sites)
{
	return sites->n_sets ? *sites->conditions : NULL;
}

void values_select(struct kernel_delay *skel, const struct session_config *config)
{
	bool conditions = false;

	for (int role = 0; role < KD_ROLES; role++) {
		skel->rodata->kd_conditional[role] = conditions_of(&config->triggers[role]) != NULL;
		conditions |= skel->rodata->kd_conditional[role];
	}
	bpf_map__set_autocreate(skel->maps.kd_conditions, conditions);
	skel->rodata->kd_delta = deltas_least(&config->deltas);
	skel->rodata->kd_delta_others = config->deltas.others;
	skel->rodata->kd_named_deltas = (__u32)config->deltas.n;
	bpf_map__set_autocreate(skel->maps.kd_deltas, config->deltas.n > 0);
}

exit_status values_conditions(struct kernel_delay *skel, enum kd_role role,
			      const struct trigger_sites *sites)
{
	const struct conditions *conditions = conditions_of(sites);

	for (size_t i = 0; conditions && i < conditions->n; i++) {
		__u32 key = (__u32)(role * KD_CONDITIONS + i);

		if (!bpf_map_update_elem(bpf_map__fd(skel->maps.kd_conditions), &key,
					 &conditions->all[i], BPF_ANY))
			continue;
		log_error("cannot hand the condition of trigger '%s' to the kernel: %s",
			  sites->trigger->text, strerror(errno));
		return EX_OSERR;
	}
	return 0;
}

exit_status values_deltas(struct kernel_delay *skel, const struct deltas *deltas)
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
