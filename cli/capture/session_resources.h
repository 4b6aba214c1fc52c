/* SPDX-License-Identifier: Apache-2.0 */
/* What threads read and write, their requests to disks, and what TCP sends again, as the kernel
 * side counts it. Part of the session. */
#ifndef SESSION_RESOURCES_H
#define SESSION_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/exit_status.h"
#include "cli/model/sample.h"
#include "session_hash.h"
#include "session_types.h"

#define RESOURCE_HOOKS 9

struct bpf_link;
struct file_names;
struct kernel_delay;
struct programs;

struct resources {
	bool on;
	struct kernel_delay *skel;
	struct kd_io_record *records; /* banks of slots */
	uint32_t slots, banks;
	struct bpf_link *links[RESOURCE_HOOKS];
};

/* Before the programs are loaded: all that is here is loaded only if it is wanted. Returns 0, or
 * after printing what failed EX_OSERR. */
exit_status resources_select(struct resources *resources, const struct programs *programs,
			     bool wanted, uint32_t slots, uint32_t banks);

/* When they are loaded. Returns 0, or after printing what failed EX_OSERR. */
exit_status resources_attach(struct resources *resources, struct programs *programs);

/* What a slot's thread has read and written in a window, into its row. Returns 0 or -ENOMEM. */
int resources_read_slot(const struct resources *resources, const struct session_view *view,
			uint32_t slot, struct thread_row *row);

/* Adds requests to disks to the rows of threads (hash.map is set here). Returns 0 or -ENOMEM. */
int resources_read(const struct resources *resources, struct session_hash hash);

/* What was sent again in a window, of processes that the sample has; its usage has been added up.
 * Returns 0 or -ENOMEM. */
int resources_read_resent(const struct resources *resources, const struct windows *windows,
			  const struct session_view *view, struct file_names *names,
			  struct sample *sample);

/* The slot is another thread's from now on. */
void resources_free_slot(struct resources *resources, uint32_t slot);

void resources_close(struct resources *resources);

#endif
