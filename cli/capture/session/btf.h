/* SPDX-License-Identifier: Apache-2.0 */
/* Finds tracepoints and kernel types for programs in a slice of the kernel's BTF, much faster
 * than libbpf's own searches. Part of the session. */
#ifndef SESSION_BTF_H
#define SESSION_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "btf_slice.h"

/* --- The slice of the kernel's BTF --- */

#define BTF_PROGRAMS_MAX 32

struct bpf_object;
struct bpf_program;
struct btf;
struct loading;

/* Must not move from btf_open() to btf_close(): libbpf has its address. */
struct session_btf {
	int handlers[2]; /* libbpf has one set per process: one session at a time */
	int fd;          /* of the slice */
	char path[32];   /* for libbpf's btf_custom_path */
	struct btf_slice slice;
	struct btf *types; /* of the slice */
	struct {
		const struct bpf_program *program;
		uint32_t id; /* of the attach target */
	} targets[BTF_PROGRAMS_MAX];
	size_t n_targets;
	struct loading *loading; /* NULL: libbpf loads all programs */
};

/* Call it before the object is opened with path. Returns 0 or a negative errno. */
int btf_open(struct session_btf *btf);

/* Makes BTF of the kernel's types that are named like types of an open object, and of what these
 * types contain. Relocations against it give the same results as against the kernel's full BTF.
 * Returns 0 or a negative errno. */
int btf_search(struct session_btf *btf, const struct bpf_object *object);

/* Chooses a program's attach target, a tracepoint or iterator of this name. Returns 0, or a
 * negative errno if the kernel has none. */
int btf_target(struct session_btf *btf, struct bpf_program *program, const char *name);

/* Like btf_target(), by section name, for programs to be loaded that have no target yet. */
int btf_targets(struct session_btf *btf, struct bpf_object *object);

/* True if the kernel has the tracepoint, which is one that a program's section names. */
bool btf_has_tracepoint(const struct session_btf *btf, const char *name);

/* True if the kernel has the function trace_call_bpf_faultable(). */
bool btf_calls_are_preempted(const struct session_btf *btf);

/* Call it after the object is closed. */
void btf_close(struct session_btf *btf);

/* --- One of two BPF objects --- */

struct kernel_delay;
struct session_btf;

/* Opens the object with or without the code for traces; the latter loads faster. Both have the
 * same maps, programs and variables. Finds its types in what btf_open() prepared. Returns NULL
 * on failure, with the reason in errno. The caller destroys it. */
struct kernel_delay *skeleton_open(bool traces, const struct session_btf *btf);

#endif
