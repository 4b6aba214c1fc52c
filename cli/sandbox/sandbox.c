// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sandbox.h"

#include <cap-ng.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine.h"

#define NOBODY 65534

/* Tables of some large programs, one unpacked .gnu_debugdata, and stacks. */
#define MOST_MEMORY (1ULL << 30)
/* Seconds. A run may resolve stacks for hours; each wait for an answer has a tighter limit. SIGXCPU
 * ends the process somewhat earlier, so that its parent can tell, unless it is blocked. */
#define MOST_CPU 3600
#define WARNED_CPU 10
/* Mapped objects and their debug files, and files with names of JIT code. */
#define MOST_FILES 10500

/* Runs a step with a name; evaluates to true if it failed. */
#define FAILED(step, name) ((step) ? (*what = (name), true) : false)

/* For containers whose filters refuse close_range(). */
static int close_listed(int first)
{
	struct dirent *entry;
	DIR *list = opendir("/proc/self/fd");

	if (!list)
		return -1;
	while ((entry = readdir(list))) {
		int fd = atoi(entry->d_name);

		if (fd >= first && fd != dirfd(list))
			close(fd);
	}
	return closedir(list);
}

/* Otherwise received files would get these numbers. */
static int standard_silence(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < SANDBOX_SOCKET; fd++) {
		if (null < 0 || (null != fd && dup2(null, fd) < 0))
			return -1;
	}
	return 0;
}

/* Closes everything but the socket. */
static int descriptors_close(int socket, unsigned int without)
{
	socket = fcntl(socket, F_DUPFD_CLOEXEC, SANDBOX_SOCKET + 1); /* out of the way */
	if (socket < 0 || (!(without & SANDBOX_WITHOUT_SILENCE) && standard_silence()) ||
	    dup3(socket, SANDBOX_SOCKET, O_CLOEXEC) < 0)
		return -1;
	if (!syscall(SYS_close_range, SANDBOX_SOCKET + 1, ~0U, 0))
		return 0;
	return close_listed(SANDBOX_SOCKET + 1);
}

/* Terminal signals also reach this process, but the other one decides what they mean. */
static int signals_block(void)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGXCPU); /* see MOST_CPU */
	return sigprocmask(SIG_SETMASK, &all, NULL);
}

/* execve() cannot regain capabilities anyway, so it does not matter where the bounding set
 * cannot be reduced. */
static int bounding_set_clear(void)
{
	if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
		return 0;
	capng_clear(CAPNG_SELECT_BOUNDS);
	return capng_apply(CAPNG_SELECT_BOUNDS);
}

/* True if it failed for lack of permission, or of something in this container: /proc, or such a
 * user. */
static bool is_refused(int failed)
{
	return failed && (errno == EPERM || errno == EINVAL || errno == ENOENT);
}

/* Makes the root an empty directory of this process's own, because the filter cannot see the
 * paths of newfstatat(). Namespaces would add nothing to the filter, and creating and removing a
 * network namespace disturbs all CPUs of the machine. */
static int root_drop(void)
{
	int failed = chroot("/proc/self/fdinfo");

	if (failed)
		return is_refused(failed) ? 0 : -1;
	return chdir("/");
}

/* Root without capabilities still owns most files: become nobody. Where that is not possible,
 * dropped capabilities and the filter must suffice. */
static int user_drop(void)
{
	int failed = setgroups(0, NULL);

	if (failed && !is_refused(failed))
		return -1;
	failed = setresgid(NOBODY, NOBODY, NOBODY);
	if (failed && !is_refused(failed))
		return -1;
	failed = setresuid(NOBODY, NOBODY, NOBODY);
	return failed && !is_refused(failed) ? -1 : 0;
}

static int capabilities_drop(void)
{
	capng_clear(CAPNG_SELECT_CAPS | CAPNG_SELECT_AMBIENT);
	if (capng_apply(CAPNG_SELECT_CAPS) ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return -1;
	if (capng_get_caps_process() || capng_have_capabilities(CAPNG_SELECT_CAPS) != CAPNG_NONE) {
		errno = EPERM;
		return -1;
	}
	return 0;
}

/* Keeps enough to open any file for reading: CAP_SYS_ADMIN only in place of the right to follow
 * /proc/PID/map_files, with the filter blocking its other uses. The file system user becomes
 * nobody if the capabilities make up for it. The kernel then clears the file capabilities, so
 * set them again. */
static int opening_keep(void)
{
	const unsigned int maps = capng_have_capability(CAPNG_EFFECTIVE, CAP_CHECKPOINT_RESTORE)
					  ? CAP_CHECKPOINT_RESTORE
					  : CAP_SYS_ADMIN;
	const unsigned int opening[] = { CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, maps };
	bool all = true, has[sizeof(opening) / sizeof(*opening)];

	for (size_t i = 0; i < sizeof(has) / sizeof(*has); i++) {
		has[i] = capng_have_capability(CAPNG_EFFECTIVE, opening[i]);
		all &= has[i];
	}
	if (all) {
		setfsgid(NOBODY);
		setfsuid(NOBODY);
	}
	capng_clear(CAPNG_SELECT_CAPS | CAPNG_SELECT_AMBIENT);
	for (size_t i = 0; i < sizeof(has) / sizeof(*has); i++)
		if (has[i] &&
		    capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, opening[i]))
			return -1;
	return capng_apply(CAPNG_SELECT_CAPS);
}

/* before: how much earlier the soft limit is. */
static int limits_set_both(__rlimit_resource_t resource, rlim_t most, rlim_t before)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return -1;
	limit.rlim_max = most < limit.rlim_max ? most : limit.rlim_max;
	limit.rlim_cur = limit.rlim_max > before ? limit.rlim_max - before : limit.rlim_max;
	return setrlimit(resource, &limit);
}

static int limit_set(__rlimit_resource_t resource, rlim_t most)
{
	return limits_set_both(resource, most, 0);
}

static int limits_set(unsigned int without)
{
	if (!(without & SANDBOX_WITHOUT_MEMORY_LIMIT) && limit_set(RLIMIT_AS, MOST_MEMORY))
		return -1;
	if (!(without & SANDBOX_WITHOUT_CPU_LIMIT) &&
	    limits_set_both(RLIMIT_CPU, MOST_CPU, WARNED_CPU))
		return -1;
	return limit_set(RLIMIT_NOFILE, MOST_FILES) || limit_set(RLIMIT_FSIZE, 0) ||
			       limit_set(RLIMIT_NPROC, 0) || limit_set(RLIMIT_CORE, 0) ||
			       limit_set(RLIMIT_MEMLOCK, 0)
		       ? -1
		       : 0;
}

/* Changing the user resets both (commit_creds()), so this comes after. */
static int process_seclude(int parent)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (getppid() == parent)
		return 0;
	errno = ESRCH;
	return -1;
}

/* A system call allowed with certain arguments. */
struct sandbox_rule {
	int call;
	unsigned int n;
	struct scmp_arg_cmp args[2];
};

/* The kernel only uses 32 bits of descriptors, flags and protections. */
#define BITS(arg, mask, value)                                                                     \
	{                                                                                          \
		(arg), SCMP_CMP_MASKED_EQ, (mask), (value)                                         \
	}
#define INT(arg, value) BITS(arg, UINT32_MAX, value)

static const struct sandbox_rule rules[] = {
	{ .call = SCMP_SYS(brk) },
	{ .call = SCMP_SYS(clock_gettime) },
	{ .call = SCMP_SYS(close) },
	{ .call = SCMP_SYS(exit) },
	{ .call = SCMP_SYS(exit_group) },
	{ .call = SCMP_SYS(fstat) },
	{ .call = SCMP_SYS(futex) },
	{ .call = SCMP_SYS(getrandom) },
	{ .call = SCMP_SYS(lseek) },
	{ .call = SCMP_SYS(madvise) },
	{ .call = SCMP_SYS(mremap) }, /* keeps the protection */
	{ .call = SCMP_SYS(munmap) },
	{ .call = SCMP_SYS(pread64) },
	{ .call = SCMP_SYS(read) },
	{ .call = SCMP_SYS(restart_syscall) },
	{ .call = SCMP_SYS(rt_sigprocmask) }, /* libunwind's locks */
	{ .call = SCMP_SYS(sysinfo) },        /* glibc's qsort() asks for the memory size */
	{ .call = SCMP_SYS(recvmsg), .n = 1, .args = { INT(0, SANDBOX_SOCKET) } },
	{ .call = SCMP_SYS(sendmsg), .n = 1, .args = { INT(0, SANDBOX_SOCKET) } },
	/* elf_begin() checks that the descriptor is valid. */
	{ .call = SCMP_SYS(fcntl), .n = 1, .args = { INT(1, F_GETFD) } },
	/* glibc's fstat() since 2.33 */
	{ .call = SCMP_SYS(newfstatat), .n = 1, .args = { INT(3, AT_EMPTY_PATH) } },
	/* Huge pages are scarce and shared. */
	{ .call = SCMP_SYS(mmap),
	  .n = 2,
	  .args = { BITS(2, PROT_EXEC, 0), BITS(3, MAP_ANONYMOUS | MAP_HUGETLB, MAP_ANONYMOUS) } },
	{ .call = SCMP_SYS(mprotect), .n = 1, .args = { BITS(2, PROT_EXEC, 0) } },
};

/* Additions for opening files. The flags of openat2() are in memory, invisible to filters. */
static const struct sandbox_rule opening_rules[] = {
	{ .call = SCMP_SYS(openat), .n = 1, .args = { BITS(2, O_ACCMODE | O_CREAT | O_TRUNC, 0) } },
	{ .call = SCMP_SYS(openat2) },
#ifdef SYS_stat /* newer machines only have the other two */
	{ .call = SCMP_SYS(stat) },
	{ .call = SCMP_SYS(readlink) },
#endif
	{ .call = SCMP_SYS(readlinkat) },
	{ .call = SCMP_SYS(newfstatat) },
	{ .call = SCMP_SYS(statx) },
	{ .call = SCMP_SYS(fstatfs) },
	{ .call = SCMP_SYS(getdents64) }, /* see proc_thread() */
	{ .call = SCMP_SYS(fcntl), .n = 1, .args = { INT(1, F_DUPFD_CLOEXEC) } },
	{ .call = SCMP_SYS(dup3) },
	{ .call = SCMP_SYS(capget) }, /* to report which one is missing */
};

static int rules_add(scmp_filter_ctx filter, const struct sandbox_rule *all, size_t n)
{
	int err = 0;

	for (size_t i = 0; !err && i < n; i++)
		err = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, all[i].call, all[i].n,
					     all[i].args);
	return err;
}

static int filter_fill(scmp_filter_ctx filter, bool opens)
{
	int err = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS)
			  ?: rules_add(filter, rules, sizeof(rules) / sizeof(*rules));

	return !err && opens ? rules_add(filter, opening_rules,
					 sizeof(opening_rules) / sizeof(*opening_rules))
			     : err;
}

static int filter_load(bool opens)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int err;

	if (!filter) {
		errno = ENOMEM;
		return -1;
	}
	err = filter_fill(filter, opens);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	errno = -err;
	return err ? -1 : 0;
}

/* Reduces the user and rights of the process. */
static int rights_drop(bool opens, const char **what)
{
	if (opens)
		return FAILED(opening_keep(), "dropping capabilities");
	return FAILED(root_drop(), "changing the root directory") ||
	       FAILED(user_drop(), "becoming another user") ||
	       FAILED(capabilities_drop(), "dropping capabilities");
}

int sandbox_enter(int socket, int parent, unsigned int without, const char **what)
{
	bool opens = without & SANDBOX_OPENS;

	errno = EIO;
	if (FAILED(signals_block(), "blocking signals") ||
	    FAILED(descriptors_close(socket, without), "opening /dev/null and closing files") ||
	    FAILED(capng_get_caps_process(), "reading the capabilities") ||
	    FAILED(bounding_set_clear(), "dropping capabilities for good") ||
	    rights_drop(opens, what) || FAILED(process_seclude(parent), "isolating the process") ||
	    FAILED(limits_set(without), "setting limits") ||
	    FAILED(!(without & SANDBOX_WITHOUT_FILTER) && filter_load(opens),
		   "filtering system calls"))
		return errno ? -errno : -EIO;
	return 0;
}
