// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/process/preflight.h"
#include "cli/sandbox/confine.h"
#include "btf.h"
#include "loading.h"
#include "kernel_delay.skel.h"

/* --- BPF programs that visit the threads of a process on request --- */

struct bpf_link *iterator_attach(const struct bpf_program *program, pid_t tgid)
{
	union bpf_iter_link_info info = { .task.pid = (__u32)tgid };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info,
		    .link_info_len = sizeof(info));
	struct bpf_link *link = tgid ? bpf_program__attach_iter(program, &options) : NULL;

	if (!link)
		link = bpf_program__attach_iter(program, NULL);
	if (!link)
		log_error("cannot create the task iterator: %s", strerror(errno));
	return link;
}

int iterator_run(const struct bpf_link *iterator)
{
	char nothing[64];
	ssize_t got;
	int fd = bpf_iter_create(bpf_link__fd(iterator));

	if (fd < 0)
		return -errno;
	/* After a sleep, this CPU's run queue clock is fresh: see seed.bpf.h. */
	clock_wait_until(clock_monotonic() + NSEC_PER_USEC);
	do {
		got = read(fd, nothing, sizeof(nothing));
	} while (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)));
	close(fd);
	return got < 0 ? -errno : 0;
}

/* --- What each kernel supports --- */

bool kernel_has_swap(void)
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
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "kd_swap", KD_LICENSE, insns,
			       sizeof(insns) / sizeof(*insns), NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void programs_absent(struct programs *programs, const char *section, const char *what)
{
	for (size_t i = 0; i < programs->n_absences; i++)
		if (programs->absences[i].what == what)
			return;
	if (programs->n_absences < MAX_ABSENCES)
		programs->absences[programs->n_absences++] = (struct absence){ section, what };
}

/* What the report lacks without a tracepoint, by prefix of its name. NULL: the tool needs it.
 * Interrupts that are not listed do not exist on every machine. */
/* clang-format off */
static const struct {
	const char *prefix, *section, *without;
} uses[] = {
	{ "sys_", NULL, NULL },
	{ "sched_", NULL, NULL },
	{ "page_fault_user", "THREAD TIME", "has no page faults, they are in running user: this kernel lacks their tracepoint" },
	{ "softirq_", "SOFT IRQ STATISTICS", "is left out: this kernel lacks its tracepoints" },
	{ "irq_handler_", "HARD IRQ STATISTICS", "leaves out interrupt lines: this kernel lacks their tracepoints" },
	{ "block_rq_complete", "THREAD SLEEP STATISTICS", "has no requests of disks: this kernel lacks their tracepoint" },
	{ "contention_", "THREAD LOCK STATISTICS", "leaves out locks of the kernel: this kernel lacks their tracepoints" },
#if defined(__x86_64__) || defined(__i386__)
	{ "local_timer_", "HARD IRQ STATISTICS", "leaves out the local timer: this kernel lacks its tracepoints" },
#endif
};
/* clang-format on */
#define N_USES (sizeof(uses) / sizeof(*uses))

/* Tracepoints for kd_vector_entry and kd_vector_exit. needs: a file without which the machine lacks
 * the interrupt (therm_throt_en in arch/x86/kernel/cpu/mce/therm_throt.c). */
static const struct {
	const char *ends[2], *needs;
} vectors[] = {
	{ .ends = { "local_timer_entry", "local_timer_exit" } },
	{ .ends = { "reschedule_entry", "reschedule_exit" } },
	{ .ends = { "call_function_entry", "call_function_exit" } },
	{ .ends = { "call_function_single_entry", "call_function_single_exit" } },
	{ .ends = { "irq_work_entry", "irq_work_exit" } },
	{ .ends = { "thermal_apic_entry", "thermal_apic_exit" },
	  .needs = "/sys/devices/system/cpu/cpu0/thermal_throttle" },
};

/* Notes that a tracepoint is missing. Returns false if nothing works without it. */
static bool tracepoint_spare(struct programs *programs, const char *tracepoint)
{
	size_t use = 0;

	while (use < N_USES && strncmp(tracepoint, uses[use].prefix, strlen(uses[use].prefix)))
		use++;
	if (use == N_USES)
		return true;
	if (!uses[use].section)
		return false;
	programs_absent(programs, uses[use].section, uses[use].without);
	return true;
}

static exit_status tracepoint_missing(const char *tracepoint)
{
	log_error("this kernel has no tracepoint %s", tracepoint);
	log_hint("a kernel of 5.10 or later is needed, built with CONFIG_FTRACE_SYSCALLS=y and "
		 "CONFIG_DEBUG_INFO_BTF=y");
	return EX_OSERR;
}

static exit_status tracepoint_unknown(const char *tracepoint, int error)
{
	log_error("cannot find tracepoint %s in the kernel's BTF: %s", tracepoint,
		  strerror(-error));
	return EX_OSERR;
}

static const char *program_tracepoint(const struct bpf_program *program)
{
	const char *slash = strrchr(bpf_program__section_name(program), '/');

	return slash ? slash + 1 : "";
}

/* Returns NULL if classic tracepoints can be used, or what the report may lack without them. */
static const char *classic_refused(void)
{
	switch (tracefs_provide()) {
	case 0:
		break;
	case -EACCES:
		return "may miss calls: this kernel needs tracefs, which is there, but not for "
		       "this user";
	default:
		return "may miss calls: this kernel needs tracefs mounted on /sys/kernel/tracing";
	}
	if (perf_needs_admin() && !capability_has(CAP_SYS_ADMIN))
		return "may miss calls: this kernel needs CAP_SYS_ADMIN, or "
		       "kernel.perf_event_paranoid of 2";
	return NULL;
}

/* True if raw tracepoints of system calls may be preempted, as since trace_call_bpf_faultable()
 * (7.x). Runs of these programs by other threads on that CPU are skipped meanwhile. Classic
 * tracepoints are never preempted. */
static bool calls_are_classic(struct programs *programs)
{
	const char *refused;

	if (!btf_calls_are_preempted(programs->btf))
		return false;
	refused = classic_refused();
	if (refused)
		programs_absent(programs, "SYSCALL STATISTICS", refused);
	return !refused;
}

/* True for programs of triggers, upcalls and traces: these name no tracepoint, and are enabled and
 * attached elsewhere. */
static bool program_is_optional(const struct programs *programs, const struct bpf_program *program)
{
	return bpf_program__type(program) == BPF_PROG_TYPE_KPROBE ||
	       program == programs->skel->progs.kd_open_calls_iter || !*program_tracepoint(program);
}

/* Enables a program if every run needs it. If it needs the kernel's BTF, a missing tracepoint shows
 * here, otherwise when it is attached. */
static exit_status program_select(struct programs *programs, struct bpf_program *program)
{
	const char *tracepoint = program_tracepoint(program);
	int error;
	bool on;

	if (program == programs->skel->progs.kd_task_iter ||
	    program == programs->skel->progs.kd_vector_entry ||
	    program == programs->skel->progs.kd_vector_exit)
		on = true;
	else if (program_is_optional(programs, program))
		on = false;
	else if (bpf_program__type(program) == BPF_PROG_TYPE_TRACEPOINT)
		on = programs->classic;
	else if (programs->classic && !strncmp(tracepoint, "sys_", 4))
		on = false;
	else if (bpf_program__type(program) == BPF_PROG_TYPE_RAW_TRACEPOINT)
		on = true;
	else {
		error = btf_target(programs->btf, program, tracepoint);
		if (error && error != -ESRCH && error != -ENOENT)
			return tracepoint_unknown(tracepoint, error);
		on = !error;
		if (error && !tracepoint_spare(programs, tracepoint))
			return tracepoint_missing(tracepoint);
	}
	bpf_program__set_autoload(program, on);
	return 0;
}

exit_status programs_select(struct programs *programs)
{
	struct bpf_program *program;
	int status = 0;

	programs->classic = calls_are_classic(programs);
	bpf_object__for_each_program (program, programs->skel->obj)
		status = status ?: program_select(programs, program);
	return status;
}

/* True if the first line of a file of the kernel has a word. */
static bool file_says(const char *path, const char *word)
{
	char line[128] = "";
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	if (!fgets(line, sizeof(line), file))
		*line = '\0';
	fclose(file);
	return strstr(line, word);
}

/* Returns 0 if no setting of the kernel forbids what the programs do. */
static exit_status settings_forbid(void)
{
	if (file_says("/sys/kernel/security/lockdown", "[confidentiality]")) {
		log_error("the kernel is locked down: BPF programs may not read its memory");
		log_hint("boot it without lockdown=confidentiality, or with lockdown=integrity");
		return EX_NOPERM;
	}
	/* Its interpreter takes no tail calls together with functions (fixup_call_args() in
	 * kernel/bpf/verifier.c). */
	if (file_says("/proc/sys/net/core/bpf_jit_enable", "0")) {
		log_error("the kernel's compiler for BPF programs is off");
		log_hint("turn it on: sysctl net.core.bpf_jit_enable=1");
		return EX_OSERR;
	}
	return 0;
}

static exit_status load_failed(const struct programs *programs, int error)
{
	int status = settings_forbid();

	if (status)
		return status;
	/* SELinux refuses like the verifier. */
	if (error == -EACCES && file_says("/sys/fs/selinux/enforce", "1"))
		error = -EPERM;
	switch (-error) {
	case EPERM:
		log_error("the kernel refused to load the BPF programs: %s", strerror(-error));
		log_hint(
			"a container, a security module or seccomp may forbid bpf(): run it on the "
			"host; before Linux 5.11 `ulimit -l` may be too small, too");
		return EX_NOPERM;
	case EMFILE:
		log_error("too many open files");
		log_hint_files();
		return EX_OSERR;
	case ENOMEM:
		log_error("no memory for the BPF maps");
		log_hint("raise the memory limit of this session's cgroup or `ulimit -l`");
		return EX_OSERR;
	case ESRCH:
	case ENOENT:
		log_error("the kernel's BTF lacks what the BPF programs need");
		log_hint("a kernel of 5.10 or later with CONFIG_DEBUG_INFO_BTF=y is needed; "
			 "--debug shows libbpf's messages");
		return EX_OSFILE;
	default:
		log_error("the kernel refused the BPF programs: %s", strerror(-error));
		log_hint("%s? --debug shows the verifier's messages",
			 programs->btf_file ? "is the file of --btf from another kernel"
					    : "kernel too old (5.10 or later is needed), or locked "
					      "down (confidentiality)");
		return EX_OSERR;
	}
}

exit_status programs_load(struct programs *programs)
{
	struct session_btf *btf = programs->btf;
	int error = btf_targets(btf, programs->skel->obj);

	if (error)
		return load_failed(programs, error);
	/* The verifier's messages are libbpf's. */
	btf->loading = log_is_debug() ? NULL : loading_open();
	error = loading_close(btf->loading, kernel_delay__load(programs->skel));
	btf->loading = NULL;
	return error ? load_failed(programs, error) : 0;
}

/* True if the tracepoint is missing, or what it needs of the machine: all errors but lack of
 * memory, descriptors or permission. */
static bool is_missing(int error)
{
	return error != ENOMEM && error != EMFILE && error != ENFILE && error != EPERM &&
	       error != EACCES;
}

static exit_status attach_refused(const char *tracepoint, int error)
{
	log_error("cannot attach to tracepoint %s: %s", tracepoint, strerror(error));
	if (error == ENOMEM)
		log_hint("raise the memory limit of this session's cgroup or `ulimit -l`");
	else if (error == EMFILE || error == ENFILE)
		log_hint_files();
	else
		log_hint("does lockdown, a security module or a container forbid it?");
	return error == EPERM || error == EACCES ? EX_NOPERM : EX_OSERR;
}

int programs_hook(struct programs *programs, const struct bpf_program *program,
		  const char *tracepoint, const char *section, const char *without)
{
	struct bpf_link *link;

	if (ARRAY_GROW(programs->links, programs->n_links, programs->capacity_links))
		return log_no_memory();
	link = bpf_program__type(program) == BPF_PROG_TYPE_TRACEPOINT
		       ? bpf_program__attach_tracepoint(program, "raw_syscalls", tracepoint)
		       : bpf_program__attach_raw_tracepoint(program, tracepoint);
	if (link) {
		programs->links[programs->n_links++] = link;
		return 0;
	}
	if (!is_missing(errno))
		return attach_refused(tracepoint, errno);
	if (section)
		programs_absent(programs, section, without);
	return -ENOENT;
}

/* Judges errno. Returns 0 if the report can do without the tracepoint. */
static exit_status attach_failed(struct programs *programs, const char *tracepoint)
{
	int error = errno;

	if (is_missing(error) && tracepoint_spare(programs, tracepoint))
		return 0;
	return error == ENOENT ? tracepoint_missing(tracepoint) : attach_refused(tracepoint, error);
}

static exit_status vectors_attach(struct programs *programs)
{
	const struct bpf_program *ends[] = { programs->skel->progs.kd_vector_entry,
					     programs->skel->progs.kd_vector_exit };
	int status = 0;

	for (size_t i = 0; i < 2 * sizeof(vectors) / sizeof(*vectors) && status <= 0; i++) {
		/* The exit first: see kd_softirq_exit. */
		const size_t which = !(i % 2);
		const char *end = vectors[i / 2].ends[which], *needs = vectors[i / 2].needs;

		if (needs && access(needs, F_OK))
			continue;
		status = programs_hook(programs, ends[which], end, NULL, NULL);
		if (status < 0)
			tracepoint_spare(programs, end);
	}
	return status > 0 ? status : 0;
}

/* True if programs_attach() attaches it to the tracepoint that its section names. */
static bool program_is_attached(const struct programs *programs, const struct bpf_program *program)
{
	return bpf_program__autoload(program) && !program_is_optional(programs, program) &&
	       program != programs->skel->progs.kd_task_iter;
}

/* Makes programs at the other wakeup tracepoints continue in the one that does the work. */
static exit_status wakeups_join(struct programs *programs)
{
	int array = bpf_map__fd(programs->skel->maps.kd_wakeups);
	int program = bpf_program__fd(programs->skel->progs.kd_sched_waking);

	if (!bpf_map_update_elem(array, &(__u32){ 0 }, &program, BPF_ANY))
		return 0;
	log_error("cannot join the programs at wake-ups: %s", strerror(errno));
	return EX_OSERR;
}

exit_status programs_attach(struct programs *programs)
{
	struct bpf_object_skeleton *skeleton = programs->skel->skeleton;
	int status = wakeups_join(programs);

	for (int i = 0; i < skeleton->prog_cnt && !status; i++) {
		struct bpf_program *program = *skeleton->progs[i].prog;

		if (!program_is_attached(programs, program))
			continue;
		*skeleton->progs[i].link = bpf_program__attach(program);
		if (!*skeleton->progs[i].link)
			status = attach_failed(programs, program_tracepoint(program));
	}
	return status ?: vectors_attach(programs);
}

void programs_close(struct programs *programs)
{
	while (programs->n_links)
		bpf_link__destroy(programs->links[--programs->n_links]);
	free(programs->links);
	programs->links = NULL;
}

void programs_attach_upcalls(struct programs *programs)
{
	struct bpf_program *program = programs->skel->progs.kd_upcall;
	int error;

	if (!bpf_program__autoload(program))
		return;
	programs->skel->links.kd_upcall = bpf_program__attach(program);
	error = errno;
	if (programs->skel->links.kd_upcall)
		return;
	if (!is_missing(error))
		log_warn("cannot probe the kernel's ovs_dp_upcall: %s", strerror(error));
	programs_absent(programs, "UPCALL STATISTICS",
			is_missing(error)
				? "is left out: it needs the openvswitch kernel module and "
				  "kretprobes"
				: "is left out: the kernel refused its probe");
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

/* The verifier's limit (BPF_MAX_SUBPROGS, include/linux/bpf_verifier.h). */
#define FUNCTIONS_MAX 256

/* Calls found() for a program's functions. A kernel that hides its addresses reports 0 for each. */
static int program_code(const struct bpf_program *program, code_fn *found, void *context)
{
	__u64 addresses[FUNCTIONS_MAX] = { 0 };
	__u32 sizes[FUNCTIONS_MAX] = { 0 };
	struct bpf_prog_info info = {
		.jited_ksyms = (uintptr_t)addresses,
		.nr_jited_ksyms = FUNCTIONS_MAX,
		.jited_func_lens = (uintptr_t)sizes,
		.nr_jited_func_lens = FUNCTIONS_MAX,
	};
	__u32 size = sizeof(info);
	int fd = bpf_program__fd(program), error = 0;

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return 0;
	for (__u32 i = 0; i < FUNCTIONS_MAX && !error; i++)
		if (addresses[i] && sizes[i])
			error = found(context, addresses[i], sizes[i]);
	return error;
}

int programs_code(const struct programs *programs, code_fn *found, void *context)
{
	struct bpf_program *program;
	int error = 0;

	bpf_object__for_each_program (program, programs->skel->obj)
		error = error ?: program_code(program, found, context);
	return error;
}
