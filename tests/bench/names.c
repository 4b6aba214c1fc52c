/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a line for every BPF program and map there is, for joining with the IDs
 * in /proc/PID/fdinfo:
 *   prog ID NAME BTF-ID TRACEPOINT   (or what else it is attached to; of several, one)
 *   map ID NAME */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TRACEPOINT_TYPE "btf_trace_"

#define NAME_SIZE 128

/* The raw tracepoint that a program without BTF is at. */
static void raw_tracepoint(__u32 program, char name[NAME_SIZE])
{
	for (__u32 id = 0; !bpf_link_get_next_id(id, &id);) {
		char found[NAME_SIZE] = "";
		struct bpf_link_info info = {
			.raw_tracepoint = { .tp_name = (uintptr_t)found, .tp_name_len = NAME_SIZE },
		};
		__u32 size = sizeof(info);
		int fd = bpf_link_get_fd_by_id(id);

		if (fd < 0) /* gone meanwhile */
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &size) && info.prog_id == program &&
		    info.type == BPF_LINK_TYPE_RAW_TRACEPOINT)
			memcpy(name, found, NAME_SIZE);
		close(fd);
	}
}

static void program_print(const struct btf *btf, __u32 id)
{
	struct bpf_prog_info info = { 0 };
	const struct btf_type *type = NULL;
	char raw[NAME_SIZE] = "-";
	const char *where = raw;
	__u32 size = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);

	if (fd < 0) /* gone meanwhile */
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &size)) {
		if (btf && info.attach_btf_id)
			type = btf__type_by_id(btf, info.attach_btf_id);
		if (info.type == BPF_PROG_TYPE_RAW_TRACEPOINT)
			raw_tracepoint(id, raw);
		if (type)
			where = btf__name_by_offset(btf, type->name_off);
		if (!strncmp(where, TRACEPOINT_TYPE, strlen(TRACEPOINT_TYPE)))
			where += strlen(TRACEPOINT_TYPE);
		printf("prog %u %s %u %s\n", id, *info.name ? info.name : "-", info.attach_btf_id,
		       where);
	}
	close(fd);
}

static void map_print(__u32 id)
{
	struct bpf_map_info info = { 0 };
	__u32 size = sizeof(info);
	int fd = bpf_map_get_fd_by_id(id);

	if (fd < 0)
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &size))
		printf("map %u %s\n", id, *info.name ? info.name : "-");
	close(fd);
}

int main(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	__u32 id;

	for (id = 0; !bpf_prog_get_next_id(id, &id);)
		program_print(btf, id);
	for (id = 0; !bpf_map_get_next_id(id, &id);)
		map_print(id);
	btf__free(btf);
	return 0;
}
