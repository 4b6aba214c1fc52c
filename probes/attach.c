// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/sandbox/confine.h"
#include "self_probe.h"

/* --- Links of many user-space probes (uprobe.multi, Linux 6.6) --- */

/* Detaching one waits once, not once for each probe. Calls bpf() itself, as libbpf has
 * these links only since 1.3. */

/* From include/uapi/linux/bpf.h of 6.6; the headers at build may lack it. */
#define TRACE_UPROBE_MULTI 48
#define TRACE_UPROBE_SESSION 57 /* 6.13 */
#define MULTI_RETURN 1U

struct link_request {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t n, multi_flags, pid, pad;
};

static uint64_t pointer(const void *memory)
{
	return (uint64_t)(uintptr_t)memory;
}

static int link_create(const struct link_request *request)
{
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, request, sizeof(*request));

	return fd < 0 ? -errno : fd;
}

/* Attaches the program to offsets in a file, with their semaphores (0: none) and cookies. Pid 0:
 * in every process that maps the file. on_return: to the returns of the functions there. Returns
 * a link, to be detached by close(), or a negative errno. */
static int link_sites(int program, bool on_return, int file, const uint64_t *offsets,
		      const uint64_t *semaphores, const uint64_t *cookies, size_t n, pid_t pid)
{
	char path[32] = "";
	struct link_request request = {
		.prog_fd = (uint32_t)program,
		.attach_type = TRACE_UPROBE_MULTI,
		.path = pointer(path),
		.offsets = pointer(offsets),
		.n = (uint32_t)n,
		.multi_flags = on_return ? MULTI_RETURN : 0,
		.pid = (uint32_t)pid,
	};

	for (size_t i = 0; i < n; i++) {
		if (semaphores[i])
			request.semaphores = pointer(semaphores);
		if (cookies[i])
			request.cookies = pointer(cookies);
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	return link_create(&request);
}

static int multi_program_load(const struct bpf_insn *insns, size_t n, uint32_t attach_type)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = (enum bpf_attach_type)attach_type);

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "kd_multi", "GPL", insns, n, &options);
}

/* A kernel with such links reports that "/" is no regular file. */
static bool kernel_knows(uint32_t attach_type)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	uint64_t offset = 0;
	struct link_request request = {
		.attach_type = attach_type,
		.path = pointer("/"),
		.offsets = pointer(&offset),
		.n = 1,
	};
	int program = multi_program_load(insns, sizeof(insns) / sizeof(*insns), attach_type);
	int result;

	if (program < 0)
		return false;
	request.prog_fd = (uint32_t)program;
	result = link_create(&request);
	if (result >= 0)
		close(result);
	close(program);
	return result == -EBADF;
}

/* Loads a program that writes 1 into the map's first element. */
static int marker_load(int map)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_VALUE,
		  .imm = map },
		{ 0 },
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_1, .imm = 1 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return multi_program_load(insns, sizeof(insns) / sizeof(*insns), TRACE_UPROBE_MULTI);
}

static void *thread_call(void *nothing)
{
	self_probe(CLASS_NOP, 0)();
	return nothing;
}

/* True if a call by a second thread ran the program. */
static bool thread_is_probed(int program, int map)
{
	const uint64_t none = 0;
	uint32_t ran = 0, zero = 0;
	struct site site;
	pthread_t thread;
	int file = self_probe_open(), link;

	if (file < 0 || self_probe_find(self_probe(CLASS_NOP, 0), file, &site))
		return false;
	link = link_sites(program, false, file, &site.offset, &none, &none, 1, getpid());
	if (link >= 0 && !pthread_create(&thread, NULL, thread_call, NULL))
		pthread_join(thread, NULL);
	if (link >= 0)
		close(link);
	close(file);
	return !bpf_map_lookup_elem(map, &zero, &ran) && ran;
}

static bool threads_are_probed(void)
{
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "kd_multi", sizeof(uint32_t), sizeof(uint32_t),
				 1, NULL);
	int program = map < 0 ? -1 : marker_load(map);
	bool ran = program >= 0 && thread_is_probed(program, map);

	if (program >= 0)
		close(program);
	if (map >= 0)
		close(map);
	return ran;
}

/* True if this kernel has such links and a pid means the entire process. The first 6.6 to 6.9 only
 * took the main thread (fixed by 46ba0e49b642); sessions came later. */
static bool attach_multi_is_possible(void)
{
	return kernel_knows(TRACE_UPROBE_MULTI) &&
	       (kernel_knows(TRACE_UPROBE_SESSION) || threads_are_probed());
}

/* --- All kinds of probes --- */

#define CLOSERS 16

/* A link by libbpf or, if that is NULL, a descriptor of a link of many probes. */
struct attached {
	struct bpf_link *link;
	int multi;
};

struct attachment {
	struct attached *links;
	size_t n, capacity;
	bool has_events;
};

void attachment_prepare(struct bpf_program *program, bool in_files)
{
	/* The kernel fixes the type when it loads the program. */
	if (in_files && attach_multi_is_possible())
		bpf_program__set_expected_attach_type(program,
						      (enum bpf_attach_type)TRACE_UPROBE_MULTI);
}

static bool program_is_multi(const struct bpf_program *program)
{
	return bpf_program__type(program) == BPF_PROG_TYPE_KPROBE &&
	       bpf_program__expected_attach_type(program) != 0;
}

/* Attaches to the file in which the probe was found, wherever its path leads by now. */
static struct bpf_link *attach_file(const struct bpf_program *program, const struct site *site,
				    pid_t pid)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = site->on_return,
		    .ref_ctr_offset = site->semaphore, .bpf_cookie = site->condition);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", site->fd);
	return bpf_program__attach_uprobe_opts(program, pid ? pid : -1, path, site->offset,
					       &options);
}

static struct bpf_link *attach_tracepoint(const struct bpf_program *program,
					  const struct site *site)
{
	LIBBPF_OPTS(bpf_tracepoint_opts, options, .bpf_cookie = site->condition);

	return bpf_program__attach_tracepoint_opts(program, site->group, site->name, &options);
}

static struct bpf_link *attach_site(const struct bpf_program *program, const struct site *site,
				    pid_t pid)
{
	LIBBPF_OPTS(bpf_kprobe_opts, options, .retprobe = site->on_return, .offset = site->offset);

	if (site->object)
		return attach_file(program, site, pid);
	if (site->group)
		return attach_tracepoint(program, site);
	return bpf_program__attach_kprobe_opts(program, site->name, &options);
}

static int attach_alone(struct attachment *attachment, const struct bpf_program *program,
			const struct site *site, pid_t pid)
{
	struct bpf_link *link = attach_site(program, site, pid);

	if (!link)
		return -errno;
	attachment->links[attachment->n++] = (struct attached){ .link = link };
	attachment->has_events = true;
	return 0;
}

static exit_status attach_failed(const struct trigger *trigger, const struct site *site, pid_t pid,
				 int error)
{
	if (error == ESRCH && pid) {
		log_error("process %d has ended", (int)pid);
		return EX_UNAVAILABLE;
	}
	log_error("cannot attach %s to %s%s%s: %s", trigger_kind_name(trigger->kind),
		  site->object ? site->object : "", site->object ? ":" : "",
		  *site->name ? site->name : trigger->text, strerror(error));
	switch (error) {
	case EPERM:
	case EACCES:
		if (site->object && !capability_has(CAP_SYS_ADMIN))
			log_hint("CAP_SYS_ADMIN is missing, which this kernel wants for probes in "
				 "files: run it as root, or grant it");
		else
			capability_hint_perf();
		return EX_NOPERM;
	case EINVAL:
		/* uprobe_register() refuses a ref_ctr_offset other than the one the site has. */
		if (site->object)
			log_hint("another tracer may hold a probe there %s: look for bpftrace, "
				 "perf, systemtap and uprobe_events in tracefs; kernel messages "
				 "(dmesg) then speak of a \"ref_ctr_offset mismatch\"",
				 site->semaphore ? "without the USDT probe's reference counter, "
						   "or with another one"
						 : "as a USDT probe, with a reference counter");
		/* fall through */
	case EOPNOTSUPP:
		if (site->condition) {
			log_hint("its sites have the values in different places, and this "
				 "kernel does not tell which of them is hit (Linux 5.15 does)");
			return EX_OSERR;
		}
		log_hint("the kernel cannot put a probe on that instruction: choose another one");
		return EX_OSERR;
	case ENOENT:
		log_hint("this kernel lacks that kind of probe: use another kind");
		return EX_OSERR;
	case EMFILE:
		log_hint_files();
		return EX_OSERR;
	default:
		log_hint("--check shows where the probes would be, --debug what libbpf says");
		return EX_OSERR;
	}
}

/* Attaches to n sites of one file, either all on returns or none. */
static int attach_together(struct attachment *attachment, const struct bpf_program *program,
			   const struct site *const *sites, size_t n, pid_t pid)
{
	uint64_t *offsets = calloc(3 * n, sizeof(*offsets)), *semaphores = offsets + n;
	uint64_t *cookies = semaphores + n;
	int link;

	if (!offsets)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		offsets[i] = sites[i]->offset;
		semaphores[i] = sites[i]->semaphore;
		cookies[i] = sites[i]->condition;
	}
	link = link_sites(bpf_program__fd(program), sites[0]->on_return, sites[0]->fd, offsets,
			  semaphores, cookies, n, pid);
	free(offsets);
	if (link < 0)
		return link;
	attachment->links[attachment->n++] = (struct attached){ .multi = link };
	return 0;
}

/* Returns how many sites of a list share a link with the first one. */
static size_t same_link(const struct site *const *sites, size_t n)
{
	size_t same = 1;

	while (same < n && sites[same]->fd == sites[0]->fd &&
	       sites[same]->on_return == sites[0]->on_return)
		same++;
	return same;
}

int attachment_add_list(struct attachment **out, const struct bpf_program *program,
			const struct site *const *sites, size_t n, pid_t pid,
			const struct site **failed)
{
	struct attachment *attachment = *out ?: calloc(1, sizeof(*attachment));
	int error = attachment ? 0 : -ENOMEM;

	*out = attachment;
	*failed = NULL;
	for (size_t done = 0, step; done < n && !error; done += step) {
		*failed = sites[done];
		if (ARRAY_GROW(attachment->links, attachment->n, attachment->capacity))
			return -ENOMEM;
		if (program_is_multi(program)) {
			step = same_link(&sites[done], n - done);
			error = attach_together(attachment, program, &sites[done], step, pid);
		} else {
			step = 1;
			error = attach_alone(attachment, program, sites[done], pid);
		}
	}
	return error;
}

/* Lists all sites of the sets. NULL: no memory. */
static const struct site **sites_join(struct sites *const *sets, size_t n_sets, size_t *n)
{
	const struct site **list;
	size_t all = 0;

	for (size_t i = 0; i < n_sets; i++)
		all += sets[i]->n;
	list = calloc(all + 1, sizeof(*list));
	*n = 0;
	for (size_t i = 0; list && i < n_sets; i++)
		for (size_t j = 0; j < sets[i]->n && !sets[i]->left_out; j++)
			list[(*n)++] = &sets[i]->all[j];
	return list;
}

bool attachment_has_events(const struct attachment *attachment)
{
	return attachment && attachment->has_events;
}

static exit_status list_attach(struct attachment **attachment, const struct bpf_program *program,
			       const struct trigger *trigger, const struct site *const *sites,
			       size_t n, pid_t pid)
{
	const struct site *failed;
	int error = attachment_add_list(attachment, program, sites, n, pid, &failed);

	if (!error)
		return 0;
	return failed ? attach_failed(trigger, failed, pid, -error) : log_no_memory();
}

exit_status attachment_add(struct attachment **attachment, const struct bpf_program *program,
			   const struct trigger *trigger, struct sites *const *sets, size_t n_sets,
			   pid_t pid)
{
	size_t n;
	const struct site **list = sites_join(sets, n_sets, &n);
	int status = list ? list_attach(attachment, program, trigger, list, n, pid)
			  : log_no_memory();

	free(list);
	return status;
}

exit_status attachment_add_calls(struct attachment **attachment, const struct bpf_program *program,
				 const struct trigger *trigger)
{
	static const struct site sites[] = {
		{ .fd = -1, .group = "raw_syscalls", .name = "sys_enter", .condition = 0 },
		{ .fd = -1, .group = "raw_syscalls", .name = "sys_exit", .condition = 1 },
	};
	const struct site *const list[] = { &sites[0], &sites[1] };

	return list_attach(attachment, program, trigger, list, 2, 0);
}

/* Beginning of struct bpf_link_info for kprobe events since 6.7 (commit 3acf8ace6823), and two
 * values of enum bpf_perf_event_type: others have something else there. The headers at build may
 * have less. */
enum { PERF_EVENT_KPROBE = 3, PERF_EVENT_KRETPROBE = 4 };
struct kprobe_info {
	__u32 type, id, program, unused;
	__u32 event, unused_too;
	__u64 name;
	__u32 name_length, offset;
	__u64 address;
	__u64 missed;
};

bool attachment_dropped(const struct attachment *attachment, uint64_t *dropped)
{
	*dropped = 0;
	for (size_t i = 0; i < attachment->n; i++) {
		struct bpf_link *link = attachment->links[i].link;
		struct kprobe_info info = { 0 };
		__u32 size = sizeof(info);

		/* If the kernel's structure ends earlier, the size says so. */
		if (!link || bpf_obj_get_info_by_fd(bpf_link__fd(link), &info, &size) ||
		    info.type != BPF_LINK_TYPE_PERF_EVENT || size < sizeof(info) ||
		    (info.event != PERF_EVENT_KPROBE && info.event != PERF_EVENT_KRETPROBE))
			return false;
		*dropped += info.missed;
	}
	return attachment->n;
}

/* Links for several threads to close. Each thread mostly waits for the kernel, and a breakpoint
 * stays until its last probe is gone. */
struct closing {
	struct attachment *const *attachments;
	size_t n;
	pthread_mutex_t lock;
	size_t attachment, link; /* the next one */
};

/* Takes the next link out of its attachment. NULL: none is left. */
static const struct attached *link_take(struct closing *closing)
{
	const struct attached *taken = NULL;

	pthread_mutex_lock(&closing->lock);
	while (closing->attachment < closing->n && !taken) {
		const struct attachment *attachment = closing->attachments[closing->attachment];

		if (attachment && closing->link < attachment->n) {
			taken = &attachment->links[closing->link++];
		} else {
			closing->attachment++;
			closing->link = 0;
		}
	}
	pthread_mutex_unlock(&closing->lock);
	return taken;
}

static void *links_close(void *context)
{
	const struct attached *attached;

	while ((attached = link_take(context)))
		if (attached->link)
			bpf_link__destroy(attached->link);
		else
			close(attached->multi);
	return NULL;
}

void attachments_close(struct attachment *const *attachments, size_t n)
{
	struct closing closing = { .attachments = attachments,
				   .n = n,
				   .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t threads[CLOSERS];
	size_t links = 0, n_threads = 0;
	sigset_t all, before;

	for (size_t i = 0; i < n; i++)
		if (attachments[i])
			links += attachments[i]->n;
	/* Signals go to the thread that waits for them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (n_threads < CLOSERS && n_threads + 1 < links &&
	       !pthread_create(&threads[n_threads], NULL, links_close, &closing))
		n_threads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	links_close(&closing);
	while (n_threads)
		pthread_join(threads[--n_threads], NULL);
	for (size_t i = 0; i < n; i++) {
		if (!attachments[i])
			continue;
		free(attachments[i]->links);
		free(attachments[i]);
	}
}
