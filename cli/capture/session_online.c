// SPDX-License-Identifier: Apache-2.0
#include "session_online.h"

#include <errno.h>
#include <string.h>

#include "cli/base/log.h"
#include "session_counters.h"
#include "session_faults.h"
#include "session_tracing.h"

void session_online_open(struct session_online *online, struct faults *faults,
			 struct counters *counters, struct tracing *tracing)
{
	online->faults = faults;
	online->counters = counters;
	online->tracing = tracing;
	online_cpus_open(&online->cpus, "/sys/devices/system/cpu/online");
}

static void cpu_changed(void *context, int cpu, bool is_online)
{
	const struct session_online *online = context;
	int error;

	faults_cpu_change(online->faults, cpu, is_online);
	if (!is_online)
		return;
	error = counters_cpu_online(online->counters, cpu)
			?: tracing_cpu_online(online->tracing, cpu);
	if (error)
		log_warn("CPU %d has come online, and its perf events cannot be had: %s: what runs "
			 "there is missing in counters and profiles%s",
			 cpu, strerror(-error),
			 error == -EPERM || error == -EACCES
				 ? ", unless the run keeps the right to have them "
				   "(--keep-privileges)"
				 : "");
}

void session_online_look(struct session_online *online)
{
	online_cpus_look(&online->cpus, cpu_changed, online);
}

void session_online_close(struct session_online *online)
{
	online_cpus_close(&online->cpus);
}
