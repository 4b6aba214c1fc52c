// SPDX-License-Identifier: Apache-2.0
/* Programs that leave traces, and their ring. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/syscall_set.h"
#include "session_parts.h"
#include "kernel_delay.skel.h"

#define WAKERS_PROGRAMS 4

struct tracing {
	struct kernel_delay *skel;
	struct bpf_link *open_calls; /* iterator */
	struct bpf_link **samplers;  /* by CPU; NULL: offline */
	int n_samplers;              /* possible CPUs */
	unsigned int hz;
	uint64_t maps_lost; /* already reported */
};

/* --- Properties of system calls --- */

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
		"pselect6_time64", "epoll_wait", "epoll_pwait", "epoll_pwait2", "io_uring_enter",
		"io_getevents", "io_pgetevents", "io_pgetevents_time64") },
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

const struct session_part classes_part = { .select = classes_select };

/* Sets which calls are traced (calls; NULL: none), which have a path, and which may map code. */
static void classes_set_traced(struct kernel_delay *skel, const struct syscall_set *calls)
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

/* --- Upcalls of openvswitch --- */

static exit_status upcalls_select(struct session *session)
{
	bpf_program__set_autoload(session->skel->progs.kd_upcall, true);
	return session_map_resize(session->skel->maps.kd_upcalls, session->cpus * session->banks);
}

static exit_status upcalls_attach(struct session *session)
{
	programs_attach_upcalls(&session->programs);
	return 0;
}

const struct session_part upcalls_part = {
	.scans = SCAN_UPCALLS,
	.select = upcalls_select,
	.attach = upcalls_attach,
};

/* Adds one CPU's counts in a window's bank. */
static int upcalls_add(const struct kd_upcalls *counts, uint32_t cpu, struct sample *sample)
{
	for (uint32_t i = 0; i < KD_ERRNOS; i++) {
		struct upcall_row row = { cpu, i, counts->count[i] };

		if (counts->count[i] && !ARRAY_APPEND(sample->upcalls, sample->n_upcalls, &row))
			return -ENOMEM;
	}
	return 0;
}

int session_upcalls(const struct session *session, const struct session_view *view,
		    struct sample *sample)
{
	const struct kernel_delay *skel = session->skel;
	uint32_t cpus = session->cpus;
	int fd = bpf_map__fd(skel->maps.kd_upcalls), result = 0;
	struct kd_upcalls counts;

	sample->has_upcalls = skel->links.kd_upcall != NULL;
	for (uint32_t cpu = 0; sample->has_upcalls && cpu < cpus && !result; cpu++) {
		uint32_t index = view->bank * cpus + cpu;

		if (!bpf_map_lookup_elem(fd, &index, &counts) && counts.gen == view->gen)
			result = upcalls_add(&counts, cpu, sample);
	}
	return result;
}

/* --- Who woke whom, and from what kind of interrupt --- */

struct hook {
	struct bpf_program *program;
	const char *tracepoint;
};

static struct hook hook_of(const struct kernel_delay *skel, size_t i)
{
	const struct hook hooks[WAKERS_PROGRAMS] = {
		{ skel->progs.kd_timer_begin, "hrtimer_expire_entry" },
		{ skel->progs.kd_timer_end, "hrtimer_expire_exit" },
		{ skel->progs.kd_request_completed, "block_rq_complete" },
		{ skel->progs.kd_packet_queued, "netif_rx" },
	};

	return hooks[i];
}

static exit_status wakers_select(struct session *session)
{
	const struct tracing_config *wanted = &session->config->tracing;
	struct kernel_delay *skel = session->skel;

	for (size_t i = 0; i < WAKERS_PROGRAMS; i++)
		bpf_program__set_autoload(hook_of(skel, i).program, true);
	if (wanted->wait_ns == KD_UNWANTED)
		return 0;
	skel->rodata->kd_all_wakers = wanted->all_wakers;
	return session_map_resize(skel->maps.kd_wakers,
				  session->slots + (wanted->all_wakers ? KD_WAKERS_OF_OTHERS : 0));
}

/* Attaches what the kernel has. Notes what it lacks. */
static exit_status wakers_attach(struct session *session)
{
	int status = 0;

	for (size_t i = 0; i < WAKERS_PROGRAMS && status <= 0; i++) {
		struct hook hook = hook_of(session->skel, i);

		status = programs_hook(
			&session->programs, hook.program, hook.tracepoint, "OFF-CPU WAITS",
			"may call a timer or a disk an interrupt, and does not name who sent a "
			"packet: this kernel lacks their tracepoints");
	}
	return status > 0 ? status : 0;
}

const struct session_part wakers_part = {
	.scans = SCAN_WAITS | SCAN_RECORDING,
	.select = wakers_select,
	.attach = wakers_attach,
};

/* --- Programs and ring of traces --- */

#define SCRATCHES_PER_CPU 2 /* bpf/stack.bpf.h */

/* Returns the share of each of the programs' accounts: calls and waits in them, waits in user mode,
 * and samples. 0: no limit. */
static uint64_t stack_share(const struct tracing_config *wanted)
{
	bool waits = wanted->wait_ns != KD_UNWANTED;
	bool calls = wanted->call_ns != KD_UNWANTED || waits;
	uint64_t share = wanted->share / ((uint64_t)calls + waits + (wanted->profile_hz > 0));

	return share || !wanted->share ? share : 1;
}

static void tracing_tell(struct kernel_delay *skel, const struct tracing_config *wanted)
{
	skel->rodata->kd_tracing = 1;
	skel->rodata->kd_call_ns = wanted->call_ns;
	skel->rodata->kd_wait_ns = wanted->wait_ns;
	if (wanted->call_ns != KD_UNWANTED)
		skel->rodata->kd_call_wait_ns = wanted->call_ns / 2;
	skel->rodata->kd_note_ns = skel->rodata->kd_call_wait_ns;
	if (wanted->wait_ns < skel->rodata->kd_note_ns)
		skel->rodata->kd_note_ns = wanted->wait_ns;
	skel->rodata->kd_kernel_stacks = wanted->kernel_stacks;
	skel->rodata->kd_user_bytes = wanted->user_bytes;
	skel->rodata->kd_ring_half = wanted->ring_bytes / 2;
	skel->rodata->kd_stack_share = stack_share(wanted);
	skel->rodata->kd_stack_burst = NSEC_PER_SEC;
	classes_set_traced(skel, wanted->calls);
}

static exit_status tracing_select(struct session *session)
{
	const struct tracing_config *wanted = &session->config->tracing;
	struct kernel_delay *skel = session->skel;

	session->tracing->skel = skel;
	tracing_tell(skel, wanted);
	bpf_program__set_autoload(skel->progs.kd_sample, wanted->profile_hz > 0);
	bpf_program__set_autoload(skel->progs.kd_open_calls_iter, wanted->call_ns != KD_UNWANTED);
	return session_map_resize(skel->maps.kd_scratches, session->cpus * SCRATCHES_PER_CPU + 1)
		       ?: session_map_resize(skel->maps.kd_waits, session->slots)
		       ?: session_map_resize(skel->maps.kd_shapes, wanted->user_bytes ? KD_SHAPES : 1)
		       ?: session_map_resize(skel->maps.kd_cached, wanted->user_bytes ? KD_CACHED : 1)
		       ?: session_map_resize(skel->maps.kd_traces, wanted->ring_bytes);
}

static exit_status sampler_failed(int error, unsigned int hz)
{
	log_error("cannot sample running code at %u Hz: %s", hz, strerror(error));
	if (error == EINVAL)
		log_hint("see the limit in /proc/sys/kernel/perf_event_max_sample_rate");
	else
		log_hint("does a container or a security module forbid perf_event_open()?");
	return error == EPERM || error == EACCES ? EX_NOPERM : EX_OSERR;
}

/* Samples whatever runs on a CPU: threads born later could get no sampler of their own. Returns 0,
 * also for an offline CPU, or a negative errno. */
static int sampler_attach(struct tracing *tracing, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = tracing->hz,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	int error;

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno;
	tracing->samplers[cpu] = bpf_program__attach_perf_event(tracing->skel->progs.kd_sample,
								fd); /* owns fd */
	if (tracing->samplers[cpu])
		return 0;
	error = -errno;
	close(fd);
	return error;
}

static exit_status samplers_attach(struct tracing *tracing, unsigned int hz)
{
	int cpus = libbpf_num_possible_cpus(), error = 0;

	tracing->samplers = calloc((size_t)cpus, sizeof(*tracing->samplers));
	if (!tracing->samplers)
		return sampler_failed(ENOMEM, hz);
	tracing->n_samplers = cpus;
	tracing->hz = hz;
	for (int cpu = 0; cpu < cpus && !error; cpu++)
		error = sampler_attach(tracing, cpu);
	return error ? sampler_failed(-error, hz) : 0;
}

static int tracing_turn_cpu(struct session *session, int cpu, bool online)
{
	struct tracing *tracing = session->tracing;

	if (!online || cpu >= tracing->n_samplers)
		return 0;
	bpf_link__destroy(tracing->samplers[cpu]); /* went offline with the CPU */
	tracing->samplers[cpu] = NULL;
	return sampler_attach(tracing, cpu);
}

static exit_status tracing_attach(struct session *session)
{
	const struct tracing_config *wanted = &session->config->tracing;
	struct tracing *tracing = session->tracing;
	int status = session_ring_open(session, RING_TRACES, tracing->skel->maps.kd_traces,
				       offsetof(struct kd_trace, kernel));

	if (status)
		return status;
	if (wanted->call_ns != KD_UNWANTED) {
		tracing->open_calls = iterator_attach(tracing->skel->progs.kd_open_calls_iter,
						      session_visited(session));
		if (!tracing->open_calls)
			return EX_OSERR;
	}
	tracing->skel->data->kd_traces_from = clock_monotonic() - session->epoch;
	return wanted->profile_hz ? samplers_attach(tracing, wanted->profile_hz) : 0;
}

int tracing_visit(struct tracing *tracing)
{
	return tracing->open_calls ? iterator_run(tracing->open_calls) : 0;
}

uint64_t tracing_maps_lost(struct tracing *tracing)
{
	uint64_t lost, last;

	if (!tracing)
		return 0;
	last = tracing->maps_lost;
	lost = __atomic_load_n(&tracing->skel->bss->kd_maps_lost, __ATOMIC_RELAXED);
	tracing->maps_lost = lost;
	return lost - last;
}

/* Adds a shape, unless it is there. If its ways are all taken, the hash chooses the one to
 * replace. */
static void shape_put(const struct tracing *tracing, const struct kd_shape *shape, uint64_t hash)
{
	int fd = bpf_map__fd(tracing->skel->maps.kd_shapes);
	__u32 first = kd_shape_index(shape->ip, shape->sp), index = first + hash % KD_SHAPE_WAYS;
	struct kd_shape there;

	for (__u32 way = first; way < first + KD_SHAPE_WAYS; way++) {
		if (bpf_map_lookup_elem(fd, &way, &there) || !memcmp(&there, shape, sizeof(there)))
			return;
		if (!there.sp)
			index = way;
	}
	bpf_map_update_elem(fd, &index, shape, BPF_ANY);
}

void tracing_cache_stack(const struct tracing *tracing, const struct kd_shape *shape, uint64_t hash,
			 uint64_t stack, uint64_t mapped_at)
{
	const struct kd_cached_stack cached = {
		.check = kd_hash_check(hash, stack, mapped_at),
		.stack = stack,
	};
	__u32 index = hash % KD_CACHED;

	/* If that fails, the stack is copied again. */
	shape_put(tracing, shape, hash);
	bpf_map_update_elem(bpf_map__fd(tracing->skel->maps.kd_cached), &index, &cached, BPF_ANY);
}

static void tracing_close(struct session *session)
{
	struct tracing *tracing = session->tracing;

	for (int cpu = 0; cpu < tracing->n_samplers; cpu++)
		bpf_link__destroy(tracing->samplers[cpu]);
	free(tracing->samplers);
	bpf_link__destroy(tracing->open_calls);
}

const struct session_part tracing_part = {
	SESSION_STATE(tracing),   .scans = SCAN_TRACES,         .select = tracing_select,
	.attach = tracing_attach, .turn_cpu = tracing_turn_cpu, .close = tracing_close,
};
