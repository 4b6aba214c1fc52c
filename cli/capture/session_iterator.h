/* SPDX-License-Identifier: Apache-2.0 */
/* BPF programs that visit the threads of a process when they are asked to. Part of
 * the session. */
#ifndef SESSION_ITERATOR_H
#define SESSION_ITERATOR_H

#include <sys/types.h>

struct bpf_link;
struct bpf_program;

/* For one process, where the kernel can filter (6.1), else for all. Returns NULL
 * after printing what failed. The caller destroys the link. */
struct bpf_link *iterator_attach(const struct bpf_program *program, pid_t tgid);

/* Visits all threads. Returns 0 or a negative errno. */
int iterator_run(const struct bpf_link *iterator);

#endif
