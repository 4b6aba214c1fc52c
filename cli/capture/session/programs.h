/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the BPF programs that a kernel supports. */
#ifndef SESSION_PROGRAMS_H
#define SESSION_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "config.h"

#define MAX_ABSENCES 8

struct bpf_link;
struct bpf_program;
struct kernel_delay;
struct session_btf;

struct programs {
	struct kernel_delay *skel;
	struct session_btf *btf;
	const char *btf_file; /* of --btf; NULL: the kernel's own */
	bool classic; /* raw tracepoints of system calls may be preempted, so are not used */
	struct absence absences[MAX_ABSENCES]; /* what the report lacks; all different */
	size_t n_absences;
	struct bpf_link **links; /* of programs_hook() */
	size_t n_links, capacity_links;
};

/* True if BPF's atomic operations may have results, as compare-and-swap has (5.12; on arm64, 5.18):
 * loads a program with one. */
bool kernel_has_swap(void);

/* Enables the programs that every run needs. Leaves out a program whose tracepoint is missing in
 * the kernel's BTF. Call it before loading. Returns 0, or EX_OSERR after printing what is
 * missing. */
exit_status programs_select(struct programs *programs);

/* Loads what was selected. Returns 0, or EX_NOPERM, EX_OSERR or EX_OSFILE after printing what
 * failed. */
exit_status programs_load(struct programs *programs);

/* Attaches what was loaded. Leaves out sections without a tracepoint. Returns 0, or EX_NOPERM or
 * EX_OSERR after printing what failed. */
exit_status programs_attach(struct programs *programs);

/* Detaches what programs_hook() attached. */
void programs_close(struct programs *programs);

/* Notes that a section, as named in the report, is not as it should be. Both texts must outlive
 * the run. */
void programs_absent(struct programs *programs, const char *section, const char *what);

/* Attaches a program to a tracepoint that its section does not name, until programs_close().
 * Returns 0; -ENOENT after noting what the section lacks (NULL: nothing), if the kernel has no such
 * tracepoint; or EX_NOPERM or EX_OSERR after printing why. */
int programs_hook(struct programs *programs, const struct bpf_program *program,
		  const char *tracepoint, const char *section, const char *without);

/* Attaches the program that counts upcalls, if loaded; leaves out the section on failure. */
void programs_attach_upcalls(struct programs *programs);

/* Returns how many runs of a program the kernel has skipped since it was loaded. */
uint64_t program_skipped(const struct bpf_program *program);

/* Returns how many runs of the programs the kernel has skipped since loading. */
uint64_t programs_skipped(const struct programs *programs);

/* Calls found() with the address and size of each function of the loaded programs, unless the
 * kernel hides its address. Returns 0, or the first result of found() other than 0. */
typedef int code_fn(void *context, uint64_t address, uint64_t size);
int programs_code(const struct programs *programs, code_fn *found, void *context);

/* --- BPF programs that visit the threads of a process on request --- */

/* Visits one process if the kernel can filter (6.1), else all. Returns NULL after printing what
 * failed. The caller destroys the link. */
struct bpf_link *iterator_attach(const struct bpf_program *program, pid_t tgid);

/* Visits all threads. Returns 0 or a negative errno. */
int iterator_run(const struct bpf_link *iterator);

#endif
