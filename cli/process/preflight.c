// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "preflight.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/capability.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"

/* PROC_PID_INIT_INO, include/linux/proc_ns.h */
#define INITIAL_PID_NAMESPACE "pid:[4026531836]"

static exit_status privileges_check(void)
{
	bool bpf = capability_has(CAP_BPF), perfmon = capability_has(CAP_PERFMON);
	const char *missing = bpf ? "CAP_PERFMON" : perfmon ? "CAP_BPF" : "CAP_BPF and CAP_PERFMON";

	if (capability_has(CAP_SYS_ADMIN) || (bpf && perfmon))
		return 0;
	if (geteuid() && !bpf && !perfmon) {
		log_error("not permitted to load BPF programs");
		log_hint("run it as root: sudo kernel_delay ...");
		return EX_NOPERM;
	}
	log_error("not permitted to load BPF programs: %s %s missing", missing,
		  bpf || perfmon ? "is" : "are");
	log_hint("grant what is missing, or CAP_SYS_ADMIN; a container needs --privileged or "
		 "--cap-add");
	return EX_NOPERM;
}

/* The tracepoints tell PIDs of the initial namespace. */
static exit_status namespace_check(void)
{
	char name[64];
	ssize_t length = readlink("/proc/self/ns/pid", name, sizeof(name) - 1);

	if (length <= 0)
		return 0;
	name[length] = '\0';
	if (!strcmp(name, INITIAL_PID_NAMESPACE))
		return 0;
	log_error("this PID namespace is not the host's: its PIDs mean nothing to the tracepoints");
	log_hint("run it on the host, or in a container with the host's PID namespace "
		 "(--pid=host)");
	return EX_NOPERM;
}

exit_status preflight_check(void)
{
	int status = privileges_check();

	return status ? status : namespace_check();
}
