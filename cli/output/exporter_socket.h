/* SPDX-License-Identifier: Apache-2.0 */
/* The socket that the exporter listens on. */
#ifndef EXPORTER_SOCKET_H
#define EXPORTER_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/exit_status.h"

/* Listens on an address (IPv4 or IPv6, as numbers; :: takes both) and port (0: any, then
 * *port becomes it). Returns 0, or after printing what failed an exit status. The caller
 * closes *fd, which is -1 after an error. */
exit_status exporter_socket_open(int *fd, bool *is_v6, const char *address, uint16_t *port);

#endif
