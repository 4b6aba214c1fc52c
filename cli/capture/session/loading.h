/* SPDX-License-Identifier: Apache-2.0 */
/* Has BPF programs verified on several CPUs at once, which libbpf does one after the other. The
 * verifier takes most of a start, and has no lock for those who may trace (bpf_check() in
 * kernel/bpf/verifier.c). Part of the session. */
#ifndef SESSION_LOADING_H
#define SESSION_LOADING_H

struct bpf_prog_load_opts;
struct bpf_program;
struct loading;

/* Returns NULL if there is but one CPU to use, or if no thread can be started: then libbpf loads
 * all programs. */
struct loading *loading_open(void);

/* Call it from a libbpf handler's prog_prepare_load_fn. If the program is large, another thread
 * loads it, and libbpf an empty one in its place. What options point to must outlive this. */
void loading_defer(struct loading *loading, struct bpf_program *program,
		   struct bpf_prog_load_opts *options);

/* Call it when libbpf has loaded the object, with its result. Waits for the other threads; then the
 * descriptors of the empty programs are those of the real ones. Returns 0, or the negative errno
 * of libbpf or of a program that was refused. NULL only returns the error. */
int loading_close(struct loading *loading, int error);

#endif
