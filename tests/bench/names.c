/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a line for every BPF program and map there is, for joining with the IDs
 * in /proc/PID/fdinfo:
 *   prog ID NAME BTF-ID TRACEPOINT   (or what else it is attached to)
 *   map ID NAME */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TRACEPOINT_TYPE "btf_trace_"

static void program_print(const struct btf *btf, __u32 id)
{
	struct bpf_prog_info info = { 0 };
	const struct btf_type *type = NULL;
	const char *where = "-";
	__u32 size = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);

	if (fd < 0) /* gone meanwhile */
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &size)) {
		if (btf && info.attach_btf_id)
			type = btf__type_by_id(btf, info.attach_btf_id);
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
