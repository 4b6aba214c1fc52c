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

/* Call it before a trigger's program is loaded. in_files: its sites are in files. */
void attachment_prepare(struct bpf_program *program, bool in_files);

/* True if the probes are perf events, which need the rights of perf_event_open(2), not links of
 * many probes. NULL: false. */
bool attachment_has_events(const struct attachment *attachment);

/* Attaches a loaded program of the right type (tracepoint or kprobe) to every site of the sets.
 * Sites in files: only where the process maps them; with pid 0 in every process, now or later.
 * Adds them to *attachment, which is made if it is NULL; the caller closes it in either case.
 * Returns 0, or an exit status after printing what failed. */
exit_status attachment_add(struct attachment **attachment, const struct bpf_program *program,
			   const struct trigger *trigger, struct sites *const *sets, size_t n_sets,
			   pid_t pid);

/* The same for the entry and exit of all system calls, with cookies 0 and 1. */
exit_status attachment_add_calls(struct attachment **attachment, const struct bpf_program *program,
				 const struct trigger *trigger);

/* The same for n sites, with one link per file, but prints nothing. Returns 0 or a negative errno;
 * *failed is the site where it failed, if it was at a site. */
int attachment_add_list(struct attachment **attachment, const struct bpf_program *program,
			const struct site *const *sites, size_t n, pid_t pid,
			const struct site **failed);

/* Counts hits of kernel functions dropped since attaching: returns of calls beyond the slots for
 * calls in progress, and hits inside another probe. Returns false if the kernel does not say
 * (before 6.7), or there are no such probes. */
bool attachment_dropped(const struct attachment *attachment, uint64_t *dropped);

/* Detaches many attachments at once; takes the kernel about 0.1 s if any site is in a file.
 * NULLs are allowed. */
void attachments_close(struct attachment *const *attachments, size_t n);

#endif
