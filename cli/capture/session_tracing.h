/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that leave traces, and their ring. Part of the session. */
#ifndef SESSION_TRACING_H
#define SESSION_TRACING_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/base/syscall_set.h"
#include "cli/model/sample.h"
#include "session_types.h"

struct bpf_link;
struct kernel_delay;
struct programs;
struct ring_buffer;

/* --- Who woke whom, and from what kind of interrupt --- */

#define WAKERS_PROGRAMS 4

struct wakers {
	struct kernel_delay *skel;
	bool on;
	struct bpf_link *links[WAKERS_PROGRAMS];
};

/* --- Traces --- */

/* Of a record; size says where it ends, see struct kd_trace. Returns 0, or a negative
 * errno, which ends the walk. */
typedef int trace_fn(void *context, const struct kd_trace *trace, size_t size);

struct tracing {
	struct kernel_delay *skel;
	struct wakers wakers;
	struct ring_buffer *ring;
	struct bpf_link *open_calls; /* iterator */
	struct bpf_link **samplers;  /* of each CPU; NULL: it is offline */
	int n_samplers;              /* CPUs that there can be */
	unsigned int hz;
	bool on;
	uint64_t maps_lost; /* already told */
	trace_fn *found;    /* of the walk in progress */
	void *context;
};

/* Before loading: tells the programs what is wanted, and makes room for it. Returns
 * 0, or after printing what failed an exit status. */
exit_status tracing_select(struct tracing *tracing, struct kernel_delay *skel,
			   const struct tracing_config *wanted, uint32_t slots);

/* After loading. What the kernel lacks is noted with the programs. Returns 0, or after printing
 * what failed an exit status. */
exit_status tracing_attach(struct tracing *tracing, struct programs *programs,
			   const struct tracing_config *wanted, pid_t tgid, uint64_t epoch);

/* Samples what runs on a CPU that has come online, if that is wanted. Returns 0 or a negative
 * errno. */
int tracing_cpu_online(struct tracing *tracing, int cpu);

/* Becomes readable when traces should be read at once. -1 if there are none. */
int tracing_fd(const struct tracing *tracing);

/* Calls found() for each record since the last call; times count from the epoch. Returns
 * 0 or a negative errno, which may be found()'s. */
int tracing_read(struct tracing *tracing, trace_fn *found, void *context);

/* Leaves traces of the system calls that are in progress. Returns 0 or a negative
 * errno. */
int tracing_visit(struct tracing *tracing);

/* Mappings of code for which there was no room in the ring, since the last call. */
uint64_t tracing_maps_lost(struct tracing *tracing);

/* Makes a user stack known, by the hash of its shape and values: copies that would be the
 * same are not made. stack: what records will call it. */
void tracing_known(const struct tracing *tracing, const struct kd_shape *shape, uint64_t hash,
		   uint64_t stack, uint64_t mapped_at);

/* Detaches and frees all. */
void tracing_close(struct tracing *tracing);

/* --- What is special about which system call --- */

/* What holds in any run. */
void classes_set(struct kernel_delay *skel);

/* For --resources: which calls read and write. */
void classes_set_io(struct kernel_delay *skel);

/* --- What the program that counts upcalls of openvswitch has counted --- */

/* See session_upcalls(). */
int upcalls_read(const struct kernel_delay *skel, const struct session_view *view,
		 struct sample *sample);

#endif
