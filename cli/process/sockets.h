/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel says of sockets: by /proc/PID/net, and for this program's network namespace by
 * sock_diag(7), which alone knows who sent last, and the other end of a local socket. */
#ifndef SOCKETS_H
#define SOCKETS_H

#include <sys/types.h>

#include "cli/model/asked.h"

struct sockets;

/* Opens a netlink socket, which later can no longer be done; what it would tell is unknown without
 * one. NULL: no memory. */
struct sockets *sockets_open(void);
void sockets_close(struct sockets *sockets);

/* Fills in n facts by their inodes; pid: a process that has the sockets. The first time, and in
 * another network namespace, it takes some ms: the tables of all sockets are read. */
void sockets_look(struct sockets *sockets, pid_t pid, struct socket_facts *facts, size_t n);

/* True if something listens at a port of TCP, in the network namespace of pid; as long as it takes
 * sockets_look(). */
bool sockets_listen(struct sockets *sockets, pid_t pid, unsigned int port);

/* The inode of the local socket with such a name, of so many bytes, that receives datagrams or
 * listens, in the network namespace of pid. 0: none, or unknown. */
uint64_t sockets_named(pid_t pid, const char *name, size_t length);

/* Forgets what the tables were. */
void sockets_forget(struct sockets *sockets);

#endif
