// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "attach_multi.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From include/uapi/linux/bpf.h of 6.6, which the headers may not have yet. */
#define TRACE_UPROBE_MULTI 48
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

/* A kernel that knows such links finds that "/" is no file. */
bool attach_multi_is_possible(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = (enum bpf_attach_type)TRACE_UPROBE_MULTI);
	uint64_t offset = 0;
	struct link_request request = {
		.attach_type = TRACE_UPROBE_MULTI,
		.path = pointer("/"),
		.offsets = pointer(&offset),
		.n = 1,
	};
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "kd_multi", "GPL", insns,
				    sizeof(insns) / sizeof(*insns), &options);
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

void attach_multi_prepare(struct bpf_program *program)
{
	bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)TRACE_UPROBE_MULTI);
}

int attach_multi(const struct bpf_program *program, bool on_return, int file,
		 const uint64_t *offsets, const uint64_t *semaphores, size_t n, pid_t pid)
{
	char path[32];
	struct link_request request = {
		.prog_fd = (uint32_t)bpf_program__fd(program),
		.attach_type = TRACE_UPROBE_MULTI,
		.path = pointer(path),
		.offsets = pointer(offsets),
		.n = (uint32_t)n,
		.multi_flags = on_return ? MULTI_RETURN : 0,
		.pid = (uint32_t)pid,
	};

	for (size_t i = 0; i < n; i++)
		if (semaphores[i])
			request.semaphores = pointer(semaphores);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	return link_create(&request);
}
