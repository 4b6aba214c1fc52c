/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a thread that sleeps at descriptors waits for an answer: it is idle unless a request of
 * its own is open. */
#ifndef ASKED_H
#define ASKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "awaited.h"

/* What is known of a socket. */
enum socket_role {
	SOCKET_UNKNOWN,
	SOCKET_LISTENS,    /* for connections, or datagrams of anybody */
	SOCKET_ACCEPTED,   /* a client made the connection */
	SOCKET_CONNECTED,  /* the process made the connection */
	SOCKET_CONNECTING, /* and the other end has not answered yet */
	SOCKET_SERVICE,    /* UDP to the port of a service that only answers */
	SOCKET_PAIR,       /* socketpair(2) */
};

/* Nagle's algorithm: the kernel keeps back data that is less than a packet until all that was sent
 * before is acknowledged; and the other end delays that, as it waits for the rest. */
enum kept_back {
	KEPT_NOT,
	KEPT_OWN,   /* data of the process */
	KEPT_OTHER, /* data of the other end, which this end has to acknowledge */
	KEPT_KINDS,
};

struct socket_facts {
	uint64_t inode; /* which socket */
	enum socket_role role;
	bool stream;             /* TCP, of which these are known: */
	uint64_t sent, received; /* segments with data, in all its life */
	uint64_t sent_bytes;
	uint64_t sent_ago, received_ago; /* ns, in the kernel's ticks; */
	uint64_t acked_ago;              /* so long ago the other end acknowledged data */
	bool unread;                     /* the other end has not read all that was sent */
	enum kept_back kept_back;
	uint64_t peer_inode;               /* of the other end, on this machine; 0: unknown */
	char protocol[12];                 /* "tcp", "udp", "unix" */
	char peer[DESCRIPTOR_ADDRESS_LEN]; /* address; "": none, or unknown */
};

/* What a descriptor of a sleep is. */
enum asked_kind {
	ASKED_OWN,     /* only this process can end the sleep by it: an eventfd, a timer, a pipe */
	ASKED_OUTSIDE, /* anything may come: a listener, an accepted connection, a terminal */
	ASKED_IDLE,    /* a connection that this process made, whose requests were answered */
	ASKED_CHILD,   /* a child is at the other end */
	ASKED_OPEN,    /* a request that was not answered */
};

/* alone: the sleep is at no other descriptor. Else it may be an event loop, whose connections have
 * things to say that are no requests: only what was sent long after the last answer is one. */
enum asked_kind asked_of_socket(const struct socket_facts *facts, bool alone);

/* Index of the descriptor that the sleep is for; n: of none, it is idle. */
size_t asked_choose(const enum asked_kind *kinds, size_t n);

#endif
