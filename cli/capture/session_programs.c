// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "../exit_status.h"
#include "../log.h"
#include "kernel_delay.skel.h"
#include "kernelfs.h"

static void absence_add(struct programs *programs, const char *section, const char *what)
{
	for (size_t i = 0; i < programs->n_absences; i++)
		if (programs->absences[i].what == what)
			return;
	if (programs->n_absences < MAX_ABSENCES)
		programs->absences[programs->n_absences++] = (struct absence){ section, what };
}

/* What the report lacks without a tracepoint, by how its name begins. NULL: the
 * tool is nothing without it. Other interrupts are not on every machine. */
static const struct {
	const char *prefix, *section, *without;
} uses[] = {
	{ "sys_", NULL, NULL },
	{ "sched_", NULL, NULL },
	{ "softirq_", "SOFT IRQ STATISTICS", "is left out: this kernel lacks its tracepoints" },
	{ "irq_handler_", "HARD IRQ STATISTICS",
	  "leaves out interrupt lines: this kernel lacks their tracepoints" },
#if defined(__x86_64__) || defined(__i386__)
	{ "local_timer_", "HARD IRQ STATISTICS",
	  "leaves out the local timer: this kernel lacks its tracepoints" },
#endif
};
#define N_USES (sizeof(uses) / sizeof(*uses))

/* Notes that a tracepoint is missing. Returns false if nothing works without. */
static bool tracepoint_spare(struct programs *programs, const char *tracepoint)
{
	size_t use = 0;

	while (use < N_USES && strncmp(tracepoint, uses[use].prefix, strlen(uses[use].prefix)))
		use++;
	if (use == N_USES)
		return true;
	if (!uses[use].section)
		return false;
	absence_add(programs, uses[use].section, uses[use].without);
	return true;
}

static const char *program_tracepoint(const struct bpf_program *program)
{
	const char *slash = strrchr(bpf_program__section_name(program), '/');

	return slash ? slash + 1 : "";
}

/* Asks the kernel's BTF, which libbpf has in memory for this. */
static bool kernel_has_function(struct programs *programs, const char *name)
{
	return !bpf_program__set_attach_target(programs->skel->progs.kd_function_probe, 0, name);
}

/* Since trace_call_bpf_faultable() (7.x) raw tracepoints of system calls may be
 * preempted: meanwhile all runs of these programs by other threads on that CPU
 * are skipped. The classic tracepoints are never preempted. */
static bool calls_are_classic(struct programs *programs)
{
	if (!kernel_has_function(programs, "trace_call_bpf_faultable"))
		return false;
	if (tracefs_provide())
		return true;
	absence_add(programs, "SYSCALL STATISTICS",
		    "may miss calls: this kernel needs tracefs mounted on /sys/kernel/tracing");
	return false;
}

/* Those that triggers, upcalls and traces need have no tracepoint to be found at;
 * whoever needs them switches them on and attaches them. */
static bool program_is_optional(const struct programs *programs, const struct bpf_program *program)
{
	return bpf_program__type(program) == BPF_PROG_TYPE_KPROBE ||
	       program == programs->skel->progs.kd_open_calls_iter || !*program_tracepoint(program);
}

/* Switches a program on if the run needs it and this kernel has its tracepoint.
 * Returns false if nothing works without. */
static bool program_select(struct programs *programs, struct bpf_program *program)
{
	const char *tracepoint = program_tracepoint(program);
	bool on;

	if (program == programs->skel->progs.kd_task_iter)
		on = true;
	else if (program_is_optional(programs, program))
		on = false;
	else if (bpf_program__type(program) == BPF_PROG_TYPE_TRACEPOINT)
		on = programs->classic;
	else if (programs->classic && !strncmp(tracepoint, "sys_", 4))
		on = false;
	else if (!bpf_program__set_attach_target(program, 0, tracepoint))
		on = true;
	else if (tracepoint_spare(programs, tracepoint))
		on = false;
	else
		return false;
	bpf_program__set_autoload(program, on);
	return true;
}

int programs_select(struct programs *programs)
{
	struct bpf_program *program;

	programs->classic = calls_are_classic(programs);
	bpf_object__for_each_program (program, programs->skel->obj) {
		if (program_select(programs, program))
			continue;
		log_error("this kernel has no tracepoint %s", program_tracepoint(program));
		log_hint("it is needed: use a kernel of 5.10 or later built with "
			 "CONFIG_FTRACE_SYSCALLS=y and CONFIG_DEBUG_INFO_BTF=y");
		return EX_OSERR;
	}
	return 0;
}

int programs_attach(struct programs *programs)
{
	struct bpf_object_skeleton *skeleton = programs->skel->skeleton;

	for (int i = 0; i < skeleton->prog_cnt; i++) {
		struct bpf_program *program = *skeleton->progs[i].prog;
		const char *tracepoint = program_tracepoint(program);

		if (!bpf_program__autoload(program) || program_is_optional(programs, program) ||
		    program == programs->skel->progs.kd_task_iter)
			continue;
		*skeleton->progs[i].link = bpf_program__attach(program);
		if (*skeleton->progs[i].link)
			continue;
		if (!tracepoint_spare(programs, tracepoint)) {
			log_error("cannot attach to tracepoint %s: %s", tracepoint,
				  strerror(errno));
			log_hint("does lockdown, a security module or a container forbid it?");
			return errno == EPERM || errno == EACCES ? EX_NOPERM : EX_OSERR;
		}
	}
	return 0;
}

void programs_attach_upcalls(struct programs *programs)
{
	struct bpf_program *program = programs->skel->progs.kd_upcall;

	if (!bpf_program__autoload(program))
		return;
	programs->skel->links.kd_upcall = bpf_program__attach(program);
	if (!programs->skel->links.kd_upcall)
		absence_add(programs, "UPCALL STATISTICS",
			    "is left out: it needs the openvswitch kernel module and kretprobes");
}

uint64_t program_skipped(const struct bpf_program *program)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);
	int fd = bpf_program__fd(program);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return 0;
	return info.recursion_misses;
}

uint64_t programs_skipped(const struct programs *programs)
{
	struct bpf_program *program;
	uint64_t skipped = 0;

	bpf_object__for_each_program (program, programs->skel->obj)
		skipped += program_skipped(program);
	return skipped;
}
