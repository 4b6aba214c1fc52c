/* SPDX-License-Identifier: Apache-2.0 */
/* The sites of a trigger while they are being found (resolve.h), and the files that they
 * are in. */
#ifndef SITES_H
#define SITES_H

#include "cli/base/exit_status.h"
#include "cli/sandbox/packet.h"
#include "probes/elf/elf_file.h"
#include "probes/elf/objects.h"
#include "resolve.h"
#include "trigger.h"

/* An object's file, open for all its sites. */
struct binary {
	int fd;
	struct file_id file;
	struct elf_file *elf; /* NULL: no longer needed */
	char *path;
};

struct sites {
	struct site_entry *entries; /* see sites.c */
	size_t n;
	struct binary *binaries;
	size_t n_binaries;
	bool left_out;
};

/* Adds a copy of the site, with copies of its group and name, if it is not there yet.
 * Returns 0, or an exit status after printing what is wrong. */
exit_status sites_add(struct sites *sites, const struct trigger *trigger, const struct site *site);

/* Prints that a trigger has more sites than there may be; returns the exit status. */
exit_status sites_refuse_more(const struct trigger *trigger);

/* Opens an object; the sites own what was opened. Returns 0 or a -errno. */
int binary_open(struct binary **binary, struct sites *sites, const struct objects *objects,
		const struct object *object);

/* Adds one that another process has opened: the descriptor becomes the sites', unless that fails;
 * the path is copied. Returns 0 or a -errno. */
int sites_add_binary(struct sites *sites, int fd, const struct file_id *file, const char *path);

/* Closes the one that was opened last, which has no sites. */
void binary_close(struct sites *sites);

/* --- From the process that has found them (reader.h) to the one that attaches --- */

/* Sends all sites and their files. Returns 0, or an exit status after printing what failed. */
exit_status sites_send(const struct sites *sites, const struct trigger *trigger, int socket);

/* Takes a packet of these, and its file, and adds what is in it. Returns 0, or an exit status after
 * printing what is wrong. */
exit_status sites_receive(struct sites *sites, const struct trigger *trigger,
			  struct packet *packet);

#endif
