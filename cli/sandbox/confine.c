// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "confine.h"

#include <asm/ioctls.h>
#include <cap-ng.h>
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/log.h"

/* --- Capabilities --- */

bool capability_has(int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	uint64_t set;

	if (syscall(SYS_capget, &header, data))
		return false;
	set = (uint64_t)data[1].effective << 32 | data[0].effective;
	return set >> capability & 1;
}

void capability_hint_ptrace(const char *instead)
{
	log_hint("%s%s%s",
		 capability_has(CAP_SYS_PTRACE)
			 ? "a security module keeps even root from this process, or it belongs to "
			   "another user namespace"
			 : "CAP_SYS_PTRACE is missing: run it as root, or grant it; a container "
			   "needs --cap-add SYS_PTRACE",
		 instead ? "; " : "", instead ? instead : "");
}

/* Level of kernel.perf_event_paranoid at which perf_event_open(2) needs CAP_SYS_ADMIN. Not a
 * mainline level, but one of Debian, Ubuntu and Android. */
#define PARANOID_ADMIN 3

/* kernel.perf_event_paranoid; INT_MAX if unreadable. */
static int perf_paranoid(void)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = INT_MAX;

	if (file && fscanf(file, "%d", &level) != 1)
		level = INT_MAX;
	if (file)
		fclose(file);
	return level;
}

bool perf_needs_admin(void)
{
	return perf_paranoid() >= PARANOID_ADMIN;
}

void capability_hint_perf(void)
{
	int level = perf_paranoid();

	if (level >= PARANOID_ADMIN && level < INT_MAX && !capability_has(CAP_SYS_ADMIN))
		log_hint("CAP_SYS_ADMIN is missing, as kernel.perf_event_paranoid is %d: grant it, "
			 "or set that to 2",
			 level);
	else
		log_hint("does lockdown, a security module or a container forbid "
			 "perf_event_open()?");
}

/* --- Drops what this process no longer needs, for good --- */

#define CAPABILITIES 64
#define CALL_NAME 32

/* --- Capabilities --- */

bool confine_has(unsigned int capability)
{
	return !capng_get_caps_process() && capng_have_capability(CAPNG_PERMITTED, capability);
}

/* Drops what execve() could regain. If the bounding set cannot be reduced, no_new_privs must
 * suffice. */
static int bounds_drop(void)
{
	if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
		return 0;
	capng_clear(CAPNG_SELECT_BOUNDS);
	return capng_apply(CAPNG_SELECT_BOUNDS) ? -EPERM : 0;
}

static int capabilities_keep(uint64_t wanted)
{
	uint64_t granted = 0;
	int error;

	if (capng_get_caps_process())
		return -EIO;
	for (unsigned int i = 0; i < CAPABILITIES; i++)
		if (wanted >> i & 1 && capng_have_capability(CAPNG_PERMITTED, i))
			granted |= CAPABILITY(i);
	error = bounds_drop();
	capng_clear(CAPNG_SELECT_CAPS | CAPNG_SELECT_AMBIENT);
	for (unsigned int i = 0; i < CAPABILITIES; i++)
		if (granted >> i & 1)
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, i);
	if (capng_apply(CAPNG_SELECT_CAPS))
		error = -EPERM;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return error;
}

/* --- System calls --- */

/* Names of system calls that are refused, unless kept. Refusals by argument are below. */
static const struct group {
	unsigned int calls; /* 0: always refused */
	const char *names;
} groups[] = {
	{ CONFINE_ATTACH, "perf_event_open" },
	{ CONFINE_EXECUTE, "execve execveat" },
	{ CONFINE_USERS, "setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid "
			 "setgroups chroot" },
	{ CONFINE_MOUNT, "mount umount2 unshare" },
	{ CONFINE_SOCKETS, "socket bind connect" },
	/* Other processes and namespaces. */
	{ 0, "process_vm_writev process_madvise pidfd_getfd kcmp setns pivot_root mount_setattr "
	     "move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick" },
	/* The machine. */
	{ 0, "init_module finit_module delete_module kexec_load kexec_file_load reboot swapon "
	     "swapoff acct quotactl quotactl_fd syslog settimeofday clock_settime clock_adjtime "
	     "adjtimex sethostname setdomainname iopl ioperm modify_ldt vhangup" },
	/* Rarely used except in attacks. */
	{ 0, "add_key request_key keyctl userfaultfd io_uring_setup io_uring_enter "
	     "io_uring_register open_by_handle_at fanotify_init mknod mknodat personality "
	     "move_pages migrate_pages vmsplice listen accept accept4" },
};

/* The kernel only uses 32 bits of these arguments. */
#define BITS(arg, mask, value)                                                                     \
	{                                                                                          \
		(arg), SCMP_CMP_MASKED_EQ, (mask), (value)                                         \
	}
#define INT(arg, value) BITS(arg, UINT32_MAX, value)
#define FLAG(arg, flag) BITS(arg, flag, flag)

/* System calls refused with such an argument. */
static const struct confine_rule {
	unsigned int calls; /* as above */
	int call;
	struct scmp_arg_cmp argument;
} rules[] = {
	{ CONFINE_ATTACH, SCMP_SYS(bpf), INT(0, BPF_PROG_LOAD) },
	/* Injecting terminal input. */
	{ 0, SCMP_SYS(ioctl), INT(1, TIOCSTI) },
	{ 0, SCMP_SYS(ioctl), INT(1, TIOCLINUX) },
	{ 0, SCMP_SYS(clone), FLAG(0, CLONE_NEWUSER) },
	{ 0, SCMP_SYS(clone), FLAG(0, CLONE_NEWNS) },
	{ 0, SCMP_SYS(clone), FLAG(0, CLONE_NEWPID) },
	{ 0, SCMP_SYS(clone), FLAG(0, CLONE_NEWNET) },
	{ 0, SCMP_SYS(clone), FLAG(0, CLONE_NEWIPC) },
	{ 0, SCMP_SYS(clone), FLAG(0, CLONE_NEWUTS) },
	{ 0, SCMP_SYS(clone), FLAG(0, CLONE_NEWCGROUP) },
};

/* A call unknown to this machine or libseccomp cannot be made, or is newer and unknown here. */
static int group_refuse(scmp_filter_ctx filter, const char *names)
{
	char name[CALL_NAME];
	int error = 0, length;

	for (; !error && sscanf(names, " %31s%n", name, &length) == 1; names += length) {
		int call = seccomp_syscall_resolve_name(name);

		if (call != __NR_SCMP_ERROR)
			error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0);
	}
	return error;
}

static int trace_refuse(scmp_filter_ctx filter, unsigned int left)
{
	const struct scmp_arg_cmp other = { 0, SCMP_CMP_NE, PTRACE_DETACH, 0 };
	unsigned int n = left & CONFINE_DETACH ? 1 : 0;

	return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ptrace), n, &other);
}

/* Disables the speculation mitigation (SSB), which would slow down allowed calls: this process
 * runs no foreign code. clone3() has its flags in memory, invisible to filters; the C library
 * works without it. */
static int filter_fill(scmp_filter_ctx filter, unsigned int left)
{
	int error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);

	seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; !error && i < sizeof(groups) / sizeof(*groups); i++)
		if (!(left & groups[i].calls))
			error = group_refuse(filter, groups[i].names);
	for (size_t i = 0; !error && i < sizeof(rules) / sizeof(*rules); i++)
		if (!(left & rules[i].calls))
			error = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), rules[i].call,
						       1, &rules[i].argument);
	if (!error)
		error = trace_refuse(filter, left);
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return error;
}

static int filter_load(unsigned int left)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int error;

	if (!filter)
		return -ENOMEM;
	error = filter_fill(filter, left);
	if (!error)
		error = seccomp_load(filter);
	seccomp_release(filter);
	return error;
}

/* --- Everything --- */

int confine(const struct confine *left, const char **what)
{
	int error, failed;

	*what = "dropping capabilities";
	error = capabilities_keep(left->capabilities);
	/* libseccomp also does this, but not where filters are unsupported. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !error) {
		*what = "setting no_new_privs";
		error = -errno;
	}
	failed = filter_load(left->calls);
	if (!failed || error)
		return error;
	*what = "filtering system calls";
	return failed;
}
