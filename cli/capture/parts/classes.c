// SPDX-License-Identifier: Apache-2.0
/* What is special about which system call. */
#define _GNU_SOURCE
#include "classes.h"

#include "cli/base/syscall_set.h"
#include "cli/capture/session/parts.h"
#include "kernel_delay.skel.h"

/* Adds bits for a call to the BPF side's two tables, of native and of 32-bit calls. */
static void call_add(volatile __u8 native[KD_CLASSES], volatile __u8 compat[KD_CLASSES],
		     const char *name, __u8 bits)
{
	int64_t number = syscall_find(SYSCALL_NATIVE, name);
	int64_t other = syscall_find(SYSCALL_COMPAT, name);
	uint32_t plain = other < 0 ? KD_CLASSES : syscall_plain((uint32_t)other);

	if (number >= 0 && number < KD_CLASSES)
		native[number] |= bits;
	if (plain < KD_CLASSES)
		compat[plain] |= bits;
}

static void class_add(struct kernel_delay *skel, const char *name, __u8 class)
{
	call_add(skel->rodata->kd_class, skel->rodata->kd_compat_class, name, class);
}

/* A property that calls share; the names end with NULL. */
struct call_group {
	__u8 bits;
	const char *const *names;
};

static void groups_add(volatile __u8 native[KD_CLASSES], volatile __u8 compat[KD_CLASSES],
		       const struct call_group *groups, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (const char *const *name = groups[i].names; *name; name++)
			call_add(native, compat, *name, groups[i].bits);
}

/* What a thread asleep in these calls waits for, and whether their first argument is a
 * descriptor. */
static const struct call_group call_awaits[] = {
#define CALLS(...) ((const char *const[]){ __VA_ARGS__, NULL })
	{ KD_AWAITED_WORK,
	  CALLS("poll", "ppoll", "ppoll_time64", "select", "_newselect", "pselect6",
		"pselect6_time64", "epoll_wait", "epoll_pwait", "epoll_pwait2") },
	{ KD_AWAITED_BY_REQUEST,
	  CALLS("io_uring_enter", "io_getevents", "io_pgetevents", "io_pgetevents_time64") },
	{ KD_AWAITED_WORK | KD_AWAITED_AT_FILE, CALLS("accept", "accept4") },
	{ KD_AWAITED_LOCK, CALLS("futex", "futex_time64", "futex_wait", "futex_waitv",
				 "futex_requeue", "semop", "semtimedop", "semtimedop_time64") },
	{ KD_AWAITED_LOCK | KD_AWAITED_AT_FILE, CALLS("flock", "fcntl", "fcntl64") },
	{ KD_AWAITED_DISK, CALLS("sync", "msync") },
	{ KD_AWAITED_DISK | KD_AWAITED_AT_FILE,
	  CALLS("fsync", "fdatasync", "syncfs", "sync_file_range") },
	{ KD_AWAITED_FILE,
	  CALLS("open", "openat", "openat2", "creat", "close", "stat", "lstat", "newfstatat",
		"statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "truncate",
		"unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat",
		"rmdir", "link", "linkat", "symlink", "symlinkat", "mknod", "mknodat", "chmod",
		"fchmodat", "chown", "fchownat", "utimensat", "statfs", "mount", "umount2",
		"chdir") },
	{ KD_AWAITED_FILE | KD_AWAITED_AT_FILE,
	  CALLS("fstat", "getdents", "getdents64", "ftruncate", "fallocate", "fchmod", "fchown",
		"lseek", "copy_file_range", "fstatfs", "fchdir") },
	{ KD_AWAITED_SOCKET, CALLS("socketcall") },
	{ KD_AWAITED_SOCKET | KD_AWAITED_AT_FILE,
	  CALLS("connect", "send", "sendto", "sendmsg", "sendmmsg", "recv", "recvfrom", "recvmsg",
		"recvmmsg", "recvmmsg_time64", "shutdown") },
	{ KD_AWAITED_CHILD, CALLS("wait4", "waitid", "waitpid", "vfork", "clone", "clone3") },
	{ KD_AWAITED_TIMER, CALLS("nanosleep", "clock_nanosleep", "clock_nanosleep_time64") },
	{ KD_AWAITED_SIGNAL, CALLS("rt_sigtimedwait", "rt_sigtimedwait_time64", "pause",
				   "rt_sigsuspend", "sigsuspend") },
	{ KD_AWAITED_BY_FILE | KD_AWAITED_AT_FILE,
	  CALLS("read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev",
		"preadv2", "pwritev2", "sendfile", "sendfile64", "splice", "tee", "vmsplice",
		"ioctl") },
};

/* Calls with a time-out. */
static const struct {
	const char *name;
	__u16 timeout;
} call_timeouts[] = {
#define TIMEOUT(argument, how) (KD_TIMEOUT_GIVEN | (argument) | (how))
	{ "nanosleep", TIMEOUT(0, 0) },
	{ "clock_nanosleep", TIMEOUT(2, KD_TIMEOUT_CLOCK) },
	{ "futex", TIMEOUT(3, KD_TIMEOUT_FUTEX) },
	{ "poll", TIMEOUT(2, KD_TIMEOUT_MS | KD_TIMEOUT_ESTIMATED) },
	{ "ppoll", TIMEOUT(2, KD_TIMEOUT_ESTIMATED) },
	{ "select", TIMEOUT(4, KD_TIMEOUT_US | KD_TIMEOUT_ESTIMATED) },
	{ "pselect6", TIMEOUT(4, KD_TIMEOUT_ESTIMATED) },
	{ "epoll_wait", TIMEOUT(3, KD_TIMEOUT_MS | KD_TIMEOUT_ESTIMATED) },
	{ "epoll_pwait", TIMEOUT(3, KD_TIMEOUT_MS | KD_TIMEOUT_ESTIMATED) },
	{ "epoll_pwait2", TIMEOUT(3, KD_TIMEOUT_ESTIMATED) },
#undef TIMEOUT
};

/* Calls with a path. If there are more paths, the first one that is looked up. */
static const struct call_group call_paths[] = {
#define PATH(argument) (KD_PATH_GIVEN | (argument))
	{ PATH(0), CALLS("open", "creat", "stat", "stat64", "lstat", "lstat64", "oldstat",
			 "oldlstat", "access", "readlink", "truncate", "truncate64", "unlink",
			 "rename", "mkdir", "rmdir", "link", "mknod", "chmod", "chown", "chown32",
			 "lchown", "lchown32", "utime", "utimes", "statfs", "statfs64", "umount",
			 "umount2", "chdir", "chroot", "execve", "swapon", "swapoff", "acct",
			 "uselib", "pivot_root", "setxattr", "lsetxattr", "getxattr", "lgetxattr",
			 "listxattr", "llistxattr", "removexattr", "lremovexattr") },
	{ PATH(1), CALLS("symlink", "mount", "inotify_add_watch", "quotactl") },
	{ PATH(1) | KD_PATH_IN_DIRECTORY,
	  CALLS("openat", "openat2", "newfstatat", "fstatat64", "statx", "faccessat", "faccessat2",
		"readlinkat", "unlinkat", "renameat", "renameat2", "mkdirat", "linkat", "mknodat",
		"fchmodat", "fchmodat2", "fchownat", "utimensat", "utimensat_time64", "futimesat",
		"execveat", "name_to_handle_at", "open_tree", "move_mount", "mount_setattr",
		"fspick", "setxattrat", "getxattrat", "listxattrat", "removexattrat") },
	{ PATH(2) | KD_PATH_IN_DIRECTORY, CALLS("symlinkat") },
#undef PATH
};

/* Calls that read or write. */
static const struct call_group call_io[] = {
	{ KD_IO_READS,
	  CALLS("read", "readv", "pread64", "preadv", "preadv2", "recv", "recvfrom", "recvmsg") },
	{ KD_IO_WRITES, CALLS("write", "writev", "pwrite64", "pwritev", "pwritev2", "send",
			      "sendto", "sendmsg") },
	{ KD_IO_READS_MANY, CALLS("recvmmsg", "recvmmsg_time64") },
	{ KD_IO_WRITES_MANY, CALLS("sendmmsg") },
	{ KD_IO_SENDS_FILE, CALLS("sendfile", "sendfile64") },
	{ KD_IO_COPIES, CALLS("splice", "copy_file_range") },
	{ KD_IO_TEES, CALLS("tee") },
	{ KD_IO_MAPS, CALLS("vmsplice") },
	{ KD_IO_RING, CALLS("io_uring_enter") },
};
#undef CALLS

static void timeouts_set(struct kernel_delay *skel)
{
	for (size_t i = 0; i < sizeof(call_timeouts) / sizeof(*call_timeouts); i++) {
		int64_t number = syscall_find(SYSCALL_NATIVE, call_timeouts[i].name);

		if (number >= 0 && number < KD_CLASSES)
			skel->rodata->kd_call_timeouts[number] = call_timeouts[i].timeout;
	}
}

/* Sets the properties that each run needs. */
static exit_status classes_select(struct session *session)
{
	struct kernel_delay *skel = session->skel;

	timeouts_set(skel);
	groups_add(skel->rodata->kd_call_awaits, skel->rodata->kd_compat_call_awaits, call_awaits,
		   sizeof(call_awaits) / sizeof(*call_awaits));
	class_add(skel, "poll", KD_CLASS_POLL);
	class_add(skel, "ppoll", KD_CLASS_POLL);
	class_add(skel, "ppoll_time64", KD_CLASS_POLL);
	class_add(skel, "uretprobe", KD_CLASS_IGNORED);
	class_add(skel, "uprobe", KD_CLASS_IGNORED);
	class_add(skel, "execve", KD_CLASS_EXEC);
	class_add(skel, "execveat", KD_CLASS_EXEC);
	class_add(skel, "restart_syscall", KD_CLASS_RESTART);
	return 0;
}

SESSION_PART(classes) = { .select = classes_select };

void classes_set_traced(struct kernel_delay *skel, const struct syscall_set *calls)
{
	for (int number = 0; calls && number < KD_CLASSES; number++) {
		if (calls->has[SYSCALL_NATIVE][number])
			skel->rodata->kd_class[number] |= KD_CLASS_TRACED;
		if (calls->has[SYSCALL_COMPAT][number])
			skel->rodata->kd_compat_class[number] |= KD_CLASS_TRACED;
	}
	groups_add(skel->rodata->kd_call_paths, skel->rodata->kd_compat_call_paths, call_paths,
		   sizeof(call_paths) / sizeof(*call_paths));
	class_add(skel, "mmap", KD_CLASS_MAPS);
	class_add(skel, "mmap2", KD_CLASS_MAPS);
	class_add(skel, "mprotect", KD_CLASS_MAPS);
	class_add(skel, "pkey_mprotect", KD_CLASS_MAPS);
}

void classes_set_io(struct kernel_delay *skel)
{
	groups_add(skel->rodata->kd_call_io, skel->rodata->kd_compat_call_io, call_io,
		   sizeof(call_io) / sizeof(*call_io));
}
