/* SPDX-License-Identifier: Apache-2.0 */
/* How programs find their tracepoints and the kernel's types: by a slice of its BTF, which
 * takes a fraction of the time of libbpf's own searches. Part of the session. */
#ifndef SESSION_BTF_H
#define SESSION_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- By a slice of the kernel's BTF --- */

#define BTF_PROGRAMS_MAX 32

struct bpf_object;
struct bpf_program;
struct btf;

/* Stays where it is from btf_open() to btf_close(): libbpf has its address. */
struct session_btf {
	int handlers[2]; /* libbpf's, of which a process has one set: one session at a time */
	int fd;          /* of the slice */
	char path[32];   /* for libbpf's btf_custom_path */
	struct btf *slice;
	uint32_t *kernel_ids; /* of the slice's types: in the kernel's BTF */
	struct {
		const struct bpf_program *program;
		uint32_t id; /* of what it will be attached to */
	} targets[BTF_PROGRAMS_MAX];
	size_t n_targets;
};

/* To be called before the object is opened, with path. Returns 0 or a negative errno. */
int btf_open(struct session_btf *btf);

/* Makes BTF of the kernel's types that have the names of an open object's types, and of what these
 * hold: relocations against it come out as against all of the kernel's. Returns 0 or a negative
 * errno. */
int btf_search(struct session_btf *btf, const struct bpf_object *object);

/* Chooses what a program will be attached to, a tracepoint or the iterator of this name.
 * Returns 0, or a negative errno if the kernel has none. */
int btf_target(struct session_btf *btf, struct bpf_program *program, const char *name);

/* The same, by their sections' names, for those that will be loaded and have nothing yet. */
int btf_targets(struct session_btf *btf, struct bpf_object *object);

/* Whether the kernel has the function trace_call_bpf_faultable(). */
bool btf_calls_are_preempted(const struct session_btf *btf);

/* After the object has been closed. */
void btf_close(struct session_btf *btf);

/* --- One of the two BPF objects --- */

struct kernel_delay;
struct session_btf;

/* Opens the object with the code for traces, or the one without, which loads faster; they
 * have the same maps, programs and variables. Its types are looked up in what btf_open() has
 * made ready. Returns NULL if that fails; errno says why.
 * The caller destroys it. */
struct kernel_delay *skeleton_open(bool traces, const struct session_btf *btf);

#endif
