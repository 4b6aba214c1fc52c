/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching a BPF program to a trigger's sites. */
#ifndef ATTACH_H
#define ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "sites.h"

struct bpf_program;
struct attachment;

/* To be called before a trigger's program is loaded. */
void attachment_prepare(struct bpf_program *program, const struct trigger *trigger);

/* True if probes are perf events, not links of many probes: what perf_event_open(2) asks for is
 * needed to put them in. NULL: false. */
bool attachment_has_events(const struct attachment *attachment);

/* Attaches a loaded program of the fitting type (tracepoint or kprobe) to every
 * site of the sets; to those in files only where the process has them mapped; with pid 0
 * wherever anybody has, or will have.
 * Returns 0, or after printing what failed an exit status. The caller closes
 * *attachment either way. */
exit_status attachment_open(struct attachment **attachment, const struct bpf_program *program,
			    const struct trigger *trigger, struct sites *const *sets, size_t n_sets,
			    pid_t pid);

/* The same to more sites, which become part of the attachment. */
exit_status attachment_extend(struct attachment *attachment, const struct bpf_program *program,
			      const struct trigger *trigger, struct sites *const *sets,
			      size_t n_sets, pid_t pid);

/* Attaches a loaded program to the entries and the exits of all system calls, which
 * its cookie tells apart: 0, 1. Returns and leaves to the caller the same. */
int attachment_open_calls(struct attachment **attachment, const struct bpf_program *program,
			  const struct trigger *trigger);

/* The same for n sites, those of a file together, and without a word. Returns 0 or
 * a negative errno. */
int attachment_open_list(struct attachment **attachment, const struct bpf_program *program,
			 const struct trigger *trigger, const struct site *const *sites, size_t n,
			 pid_t pid);

/* How many hits of functions of the kernel it has dropped since they were attached to: of returns,
 * those of calls beyond what it has room for at a time; and those within another probe. Returns
 * false if the kernel does not say (before 6.7), or there are no such probes. */
bool attachment_dropped(const struct attachment *attachment, uint64_t *dropped);

/* Detaches, which takes the kernel some 0.1 s if any site is in a file; many at a
 * time. NULLs are allowed. */
void attachments_close(struct attachment *const *attachments, size_t n);

#endif
