// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "attach_multi.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "self_probe.h"

/* From include/uapi/linux/bpf.h of 6.6, which the headers may not have yet. */
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

/* A kernel that knows such links finds that "/" is no file. */
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

/* A program that writes 1 into the map's first element. */
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

/* Whether the program has seen a call by a second thread. */
static bool thread_is_seen(int program, int map)
{
	const uint64_t none = 0;
	uint32_t seen = 0, zero = 0;
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
	return !bpf_map_lookup_elem(map, &zero, &seen) && seen;
}

static bool threads_are_seen(void)
{
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "kd_multi", sizeof(uint32_t), sizeof(uint32_t),
				 1, NULL);
	int program = map < 0 ? -1 : marker_load(map);
	bool seen = program >= 0 && thread_is_seen(program, map);

	if (program >= 0)
		close(program);
	if (map >= 0)
		close(map);
	return seen;
}

/* Sessions came after the filter was right. */
bool attach_multi_is_possible(void)
{
	return kernel_knows(TRACE_UPROBE_MULTI) &&
	       (kernel_knows(TRACE_UPROBE_SESSION) || threads_are_seen());
}

void attach_multi_prepare(struct bpf_program *program)
{
	bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)TRACE_UPROBE_MULTI);
}

int attach_multi(const struct bpf_program *program, bool on_return, int file,
		 const uint64_t *offsets, const uint64_t *semaphores, const uint64_t *cookies,
		 size_t n, pid_t pid)
{
	return link_sites(bpf_program__fd(program), on_return, file, offsets, semaphores, cookies,
			  n, pid);
}
