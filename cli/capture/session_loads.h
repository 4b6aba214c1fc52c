/* SPDX-License-Identifier: Apache-2.0 */
/* BPF programs are verified side by side, by a thread for each other CPU that this program may
 * use: libbpf loads one after the other, and the verifier is most of a start. libbpf gets a program
 * of two instructions in each one's place, whose descriptor then becomes that of the real one. Part
 * of the session. */
#ifndef SESSION_LOADS_H
#define SESSION_LOADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define PROGRAM_LOADS_MAX 32
#define PROGRAM_LOADERS_MAX 8

struct bpf_prog_load_opts;
struct bpf_program;
struct program_load;

/* Starts zeroed. */
struct program_loads {
	struct program_load *loads[PROGRAM_LOADS_MAX];
	size_t n, next; /* how many there are, and how many have been taken */
	bool begun, complete;
	pthread_mutex_t lock; /* of the members above */
	pthread_cond_t more;  /* they have changed */
	pthread_t loaders[PROGRAM_LOADERS_MAX];
	size_t n_loaders;
};

/* Begins to load a program. To be called by libbpf, when it is about to do that (as
 * prog_prepare_load_fn). Returns 0 or a negative errno. */
int program_load_begin(struct program_loads *loads, struct bpf_program *program,
		       struct bpf_prog_load_opts *options);

/* Loads what is left, waits for all, and puts them in their places, unless libbpf has failed to
 * load the others. Returns 0, or the first error as a negative errno; what the verifier says of it
 * is a debugging message. */
int program_loads_end(struct program_loads *loads);

#endif
