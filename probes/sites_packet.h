/* SPDX-License-Identifier: Apache-2.0 */
/* Sites on their way from the process that has found them (reader.h) to the one that attaches. */
#ifndef SITES_PACKET_H
#define SITES_PACKET_H

#include "cli/base/exit_status.h"
#include "cli/stack/protocol.h"
#include "sites.h"
#include "trigger.h"

/* Sends all sites and their files. Returns 0, or an exit status after printing what failed. */
exit_status sites_send(const struct sites *sites, const struct trigger *trigger, int socket);

/* Takes a packet of these, and its file, and adds what is in it. Returns 0, or an exit status after
 * printing what is wrong. */
exit_status sites_receive(struct sites *sites, const struct trigger *trigger,
			  struct packet *packet);

#endif
