/* SPDX-License-Identifier: Apache-2.0 */
/* Containers and pods, by the paths of control groups that their runtimes make, and what the
 * runtimes' files say of them. */
#ifndef CONTAINER_H
#define CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/model/sample.h"

#define CONTAINER_ID 64
#define POD_UID 36

struct container {
	char id[CONTAINER_ID + 1]; /* hexadecimal; "" : there is no container in the path */
	size_t end;                /* of its group in the path */
	char pod[POD_UID + 1];     /* the pod's UID; "": none */
	size_t pod_end;
};

/* The container of a process, by the procfs that is mounted on proc ("/proc"). *path, of so many
 * bytes, is set to the path of its control group: in version 2's hierarchy if that has it, else
 * in that of the cpu controller, else in another one. Returns whether it is in one. */
bool container_of(const char *proc, pid_t pid, struct container *container, char *path,
		  size_t size);

/* As they are in the files, not escaped; "" if unknown. */
struct container_names {
	char name[PROCESS_LABEL];
	char image[PROCESS_LABEL];
	char pod[PROCESS_LABEL];
};

/* Reads what docker, containerd, podman and CRI-O have written about a container below root
 * ("" for this machine's files). Only files of root and of this user are believed. */
void container_describe(const char *root, const char id[static CONTAINER_ID + 1],
			struct container_names *names);

/* --- Which one is meant --- */

/* Sets *path, of so many bytes, to the control group of the running container with a name, POD/NAME
 * or ID, the beginning of which is enough; or of the pod with that name or UID. What is said in
 * full comes before beginnings of IDs. Returns 0, or after printing what is wrong
 * EX_UNAVAILABLE (there is none), EX_NOINPUT (several; they are listed), or EX_OSERR. */
exit_status container_find(const char *word, char *path, size_t size);

#endif
