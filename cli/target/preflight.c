// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "preflight.h"

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"

/* Linux 5.8; the headers at build may be older. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* PROC_PID_INIT_INO, include/linux/proc_ns.h */
#define INITIAL_PID_NAMESPACE "pid:[4026531836]"

static uint64_t capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &header, data))
		return 0;
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

static bool has(uint64_t set, int capability)
{
	return set >> capability & 1;
}

static exit_status privileges_check(void)
{
	uint64_t set = capabilities();
	char missing[64];

	if (has(set, CAP_SYS_ADMIN) || (has(set, CAP_BPF) && has(set, CAP_PERFMON)))
		return 0;
	if (geteuid()) {
		log_error("not permitted to load BPF programs");
		log_hint("run it as root: sudo kernel_delay ...");
		return EX_NOPERM;
	}
	snprintf(missing, sizeof(missing), "%s%s%s", has(set, CAP_BPF) ? "" : "CAP_BPF",
		 has(set, CAP_BPF) || has(set, CAP_PERFMON) ? "" : " and ",
		 has(set, CAP_PERFMON) ? "" : "CAP_PERFMON");
	log_error("not permitted to load BPF programs: root lacks %s here", missing);
	log_hint("grant these, or CAP_SYS_ADMIN; a container needs --privileged or --cap-add");
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
