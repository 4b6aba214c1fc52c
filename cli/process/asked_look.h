/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a thread that sleeps has asked for something: the other end of its connections, or its
 * child. See model/asked.h. */
#ifndef ASKED_LOOK_H
#define ASKED_LOOK_H

#include "awaited_process.h"
#include "sockets.h"

struct asked {
	int fd;
	bool open;                       /* a request of its own was not answered */
	uint64_t sent_ago;               /* ns since that; 0: unknown */
	char to[DESCRIPTOR_ADDRESS_LEN]; /* to whom; "": unknown */
	uint64_t peer_inode;             /* socket of the other end, on this machine; 0: unknown */
	pid_t child;                     /* who is waited for, without such a request */
};

/* Looks at the descriptors of the system call, by its number, in which a thread of a process
 * sleeps. Takes some ms at most. False: it is idle, or that is not known. */
bool asked_look(struct asked *asked, struct sockets *sockets, pid_t pid, pid_t tid, uint32_t call);

/* Finds who has the other end, or the child. Takes some ms more, at most. */
bool asked_who(struct awaited_process *found, const struct asked *asked, pid_t pid);

/* True if a child of a process (of up to 16) waits for clients or for requests of its parent. */
bool asked_child_serves(struct sockets *sockets, pid_t pid);

/* Finds who has the other end of a socket, on this machine: of its connection, or to whom a thread
 * that sleeps in such a call sends or connects. */
bool asked_peer(struct awaited_process *found, struct sockets *sockets, pid_t pid, pid_t tid,
		int fd, uint32_t call);

/* Whether data of a connection is kept back while a thread sleeps in such a call. */
enum kept_back asked_kept_back(struct sockets *sockets, pid_t pid, pid_t tid, uint32_t call);

/* True if who has a lock waits for connections, at a socket that the process has, too, and at which
 * none of its own threads sleeps, unless it has the lock itself: it waits for its turn to do that.
 */
bool asked_takes_turns(struct sockets *sockets, pid_t pid, pid_t holder);

/* True if it is a connection that a client made, or a socket to which anybody may send. */
bool asked_is_accepted(struct sockets *sockets, pid_t pid, int fd);

#endif
