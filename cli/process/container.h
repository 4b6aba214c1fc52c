/* SPDX-License-Identifier: Apache-2.0 */
/* Containers and pods, found by the cgroup paths of their runtimes, and described by the
 * runtimes' files. */
#ifndef CONTAINER_H
#define CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/model/sample.h"

#define CONTAINER_ID 64
#define POD_UID 36

struct container {
	char id[CONTAINER_ID + 1]; /* hexadecimal; "": no container in the path */
	size_t end;                /* end of its group in the path */
	char pod[POD_UID + 1];     /* pod UID; "": none */
	size_t pod_end;
};

/* Container of a process, from the procfs mounted on proc ("/proc"). Sets *path, of size bytes,
 * to its cgroup path: from the v2 hierarchy if that has a container, else from that of the cpu
 * controller, else from another one. Returns whether there is a container. */
bool container_of(const char *proc, pid_t pid, struct container *container, char *path,
		  size_t size);

/* Raw, not escaped; "": unknown. */
struct container_names {
	char name[PROCESS_LABEL];
	char image[PROCESS_LABEL];
	char pod[PROCESS_LABEL];
};

/* Reads what docker, containerd, podman and CRI-O stored about a container below root ("" for
 * this machine). Only trusts files of root and of this user. */
void container_describe(const char *root, const char id[static CONTAINER_ID + 1],
			struct container_names *names);

#endif
