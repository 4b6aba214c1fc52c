/* SPDX-License-Identifier: Apache-2.0 */
/* Timing page faults, as long as there are not too many, and time in reclaim. Part of the
 * session. */
#ifndef SESSION_FAULTS_H
#define SESSION_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_delay.h"
#include "cli/base/clock.h"
#include "cli/base/exit_status.h"

#define FAULTS_RECLAIMS 4 /* pairs of tracepoints */
/* At least so long between two times of timing them inside a window: each begins and ends with
 * changes of the kernel's code, which others feel. */
#define FAULTS_PAUSE_NS (200 * NSEC_PER_MSEC)
#define FAULTS_PAUSES 64 /* remembered; of those long ago several are one */

struct bpf_link;
struct kernel_delay;
struct programs;

/* When faults were not timed, ns of CLOCK_MONOTONIC; to: KD_NEVER if they still are not. And how
 * long, if that are several pauses. */
struct faults_pause {
	uint64_t from, to, ns;
};

/* What timing them took on one CPU beyond its share of the time, ns. */
struct faults_account {
	uint64_t target;          /* of what the target's threads have run */
	uint64_t foreign;         /* of all time, for the faults of others */
	struct kd_fault_cpu paid; /* what of it is in there */
};

/* Zeroed: nothing is timed. */
struct faults {
	struct kernel_delay *skel;
	struct bpf_link *reclaim[2 * FAULTS_RECLAIMS];
	int *events; /* of perf: two for each CPU; -1: none */
	size_t n_events;
	struct kd_fault_cpu *cpus; /* memory of the map */
	struct faults_account *accounts;
	uint32_t n_cpus;
	uint64_t looked_at; /* ns of CLOCK_MONOTONIC */
	struct faults_pause pauses[FAULTS_PAUSES];
	size_t n_pauses;
	bool timed;
};

/* Before loading. Returns 0, or after printing what failed EX_OSERR. */
exit_status faults_select(struct faults *faults, struct kernel_delay *skel);

/* After the programs were attached. What this kernel does not give is left out, and is among
 * the absences then. Returns as above. */
exit_status faults_attach(struct faults *faults, struct programs *programs);

/* To be called often: stops timing if that takes too much of some CPU. call_ns: what the
 * programs take of a system call, which says how fast this machine is. */
void faults_look(struct faults *faults, uint64_t call_ns);

/* Begins again if what it took is paid for, after a pause of at least so many ns. */
void faults_resume(struct faults *faults, uint64_t pause_ns);

/* A CPU has come online, or gone offline, with its events. */
void faults_cpu_change(struct faults *faults, int cpu, bool online);

/* How long they were not timed between these two times; 0 if they never are. */
uint64_t faults_untimed(const struct faults *faults, uint64_t start, uint64_t end);

/* Undoes all that; harmless on a zeroed one. */
void faults_close(struct faults *faults);

#endif
