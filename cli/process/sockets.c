// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sockets.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/proc_file.h"

/* include/net/tcp_states.h, and of unix sockets, too */
#define ESTABLISHED 1
#define SYN_SENT 2
#define LISTEN 10

#define LINES_MOST 20000 /* of a table in /proc; each takes about 1 us */
#define PORTS 65536

/* An end of a connection, as inet_diag has it: all in network order. */
struct end {
	uint32_t address[4];
	uint16_t port;
};

struct entry {
	bool is_tcp;
	int family;
	struct end local, peer;
	unsigned int state;
	uint64_t inode;
};

struct sockets {
	int netlink; /* -1: none */
	uint32_t sequence;
	struct entry *entries; /* of the tables of a network namespace; NULL: not read */
	size_t n, capacity;
	ino_t net;
	uint8_t listening[PORTS / 8]; /* by port of TCP */
};

struct sockets *sockets_open(void)
{
	struct sockets *sockets = calloc(1, sizeof(*sockets));

	if (sockets)
		sockets->netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
					  NETLINK_SOCK_DIAG);
	return sockets;
}

void sockets_close(struct sockets *sockets)
{
	if (!sockets)
		return;
	if (sockets->netlink >= 0)
		close(sockets->netlink);
	free(sockets->entries);
	free(sockets);
}

void sockets_forget(struct sockets *sockets)
{
	free(sockets->entries);
	sockets->entries = NULL;
	sockets->n = sockets->capacity = 0;
	sockets->net = 0;
}

/* --- Tables of /proc/PID/net --- */

/* "0100007F:1F90", with 8 or 32 digits: words in the machine's order. */
static bool end_read(const char *text, struct end *end)
{
	const char *colon = strchr(text, ':');
	char word[9] = "";

	memset(end, 0, sizeof(*end));
	if (!colon || (colon - text != 8 && colon - text != 32))
		return false;
	for (size_t i = 0; text + 8 * i < colon; i++) {
		memcpy(word, text + 8 * i, 8);
		end->address[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	end->port = htons((uint16_t)strtoul(colon + 1, NULL, 16));
	return true;
}

/* Without memory, what follows is unknown. */
static void table_read(struct sockets *sockets, pid_t pid, const char *table, struct entry like)
{
	char path[64], line[256], local[48], peer[48];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, table);
	file = fopen(path, "re");
	for (size_t n = 0; file && n < LINES_MOST && fgets(line, sizeof(line), file); n++) {
		if (sscanf(line, " %*[^:]: %47s %47s %x %*s %*s %*s %*s %*s %" SCNu64, local, peer,
			   &like.state, &like.inode) != 4 ||
		    !end_read(local, &like.local) || !end_read(peer, &like.peer))
			continue;
		if (ARRAY_ADD(sockets->entries, sockets->n, sockets->capacity, like))
			break;
	}
	if (file)
		fclose(file);
}

static void tables_read(struct sockets *sockets, pid_t pid)
{
	const pid_t of = proc_thread(pid);
	struct stat net;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)of);
	if (stat(path, &net))
		net.st_ino = 0;
	if (net.st_ino && sockets->net == net.st_ino)
		return;
	sockets_forget(sockets);
	memset(sockets->listening, 0, sizeof(sockets->listening));
	sockets->net = net.st_ino;
	table_read(sockets, of, "tcp", (struct entry){ .is_tcp = true, .family = AF_INET });
	table_read(sockets, of, "tcp6", (struct entry){ .is_tcp = true, .family = AF_INET6 });
	table_read(sockets, of, "udp", (struct entry){ .family = AF_INET });
	table_read(sockets, of, "udp6", (struct entry){ .family = AF_INET6 });
	for (size_t i = 0; i < sockets->n; i++) {
		const struct entry *entry = &sockets->entries[i];
		const unsigned int port = ntohs(entry->local.port);

		if (entry->is_tcp && entry->state == LISTEN)
			sockets->listening[port / 8] |= (uint8_t)(1U << port % 8);
	}
}

static bool is_listening(const struct sockets *sockets, unsigned int port)
{
	return sockets->listening[port / 8] >> port % 8 & 1;
}

bool sockets_listen(struct sockets *sockets, pid_t pid, unsigned int port)
{
	tables_read(sockets, pid);
	return port <= UINT16_MAX && is_listening(sockets, port);
}

/* --- Questions to the kernel --- */

#define ANSWER_SIZE 4096

/* Sends a request, and returns the first message of its answer; NULL: none. */
static const struct nlmsghdr *ask(struct sockets *sockets, const void *request, size_t size,
				  void *answer)
{
	struct {
		struct nlmsghdr header;
		char request[128];
	} message = { .header = { .nlmsg_len = (uint32_t)(NLMSG_HDRLEN + size),
				  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
				  .nlmsg_flags = NLM_F_REQUEST,
				  .nlmsg_seq = ++sockets->sequence } };
	const struct nlmsghdr *header = answer;
	ssize_t length;

	if (sockets->netlink < 0 || size > sizeof(message.request))
		return NULL;
	memcpy(message.request, request, size);
	if (send(sockets->netlink, &message, message.header.nlmsg_len, 0) < 0)
		return NULL;
	/* The kernel has answered before send() returns. */
	do
		length = recv(sockets->netlink, answer, ANSWER_SIZE, 0);
	while (length > 0 && header->nlmsg_seq != sockets->sequence);
	return length > 0 && NLMSG_OK(header, length) && header->nlmsg_type == SOCK_DIAG_BY_FAMILY
		       ? header
		       : NULL;
}

/* Copies an attribute, or what the kernel has of it. */
static bool attribute_read(const struct nlmsghdr *header, size_t fixed, unsigned short type,
			   void *to, size_t size)
{
	const struct rtattr *at =
		(const void *)((const char *)NLMSG_DATA(header) + NLMSG_ALIGN(fixed));
	size_t left = header->nlmsg_len - NLMSG_HDRLEN - NLMSG_ALIGN(fixed);

	for (; RTA_OK(at, left); at = RTA_NEXT(at, left)) {
		if (at->rta_type != type)
			continue;
		memset(to, 0, size);
		memcpy(to, RTA_DATA(at), RTA_PAYLOAD(at) < size ? RTA_PAYLOAD(at) : size);
		return true;
	}
	return false;
}

/* --- TCP --- */

/* Asks for the connection between these ends, in this program's network namespace. False: there is
 * none. Its inode is 0 until it is accepted. */
static bool tcp_ask(struct sockets *sockets, int family, const struct end *local,
		    const struct end *peer, struct tcp_info *info, uint64_t *inode)
{
	_Alignas(struct nlmsghdr) char answer[ANSWER_SIZE];
	struct inet_diag_req_v2 request = {
		.sdiag_family = (uint8_t)family,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_ext = 1 << (INET_DIAG_INFO - 1),
		.idiag_states = ~0U,
		.id = { .idiag_sport = local->port,
			.idiag_dport = peer->port,
			.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } },
	};
	const struct nlmsghdr *header;

	memcpy(request.id.idiag_src, local->address, sizeof(local->address));
	memcpy(request.id.idiag_dst, peer->address, sizeof(peer->address));
	header = ask(sockets, &request, sizeof(request), answer);
	if (!header || !attribute_read(header, sizeof(struct inet_diag_msg), INET_DIAG_INFO, info,
				       sizeof(*info)))
		return false;
	*inode = ((const struct inet_diag_msg *)NLMSG_DATA(header))->idiag_inode;
	return true;
}

/* The inode of who listens at a port; 0: nobody. */
static uint64_t listener_find(const struct sockets *sockets, uint16_t port)
{
	for (size_t i = 0; i < sockets->n; i++) {
		const struct entry *entry = &sockets->entries[i];

		if (entry->is_tcp && entry->state == LISTEN && entry->local.port == port)
			return entry->inode;
	}
	return 0;
}

/* True if the kernel has data for less than a packet, and does not send it before what it sent is
 * acknowledged, although there is space for it. */
static bool is_kept_back(const struct tcp_info *info)
{
	return info->tcpi_unacked && info->tcpi_unacked < info->tcpi_snd_cwnd &&
	       info->tcpi_notsent_bytes && info->tcpi_notsent_bytes < info->tcpi_snd_mss;
}

/* Who sent last. The other end is with the listener until it is accepted. */
static void tcp_fill(struct sockets *sockets, const struct entry *entry, struct socket_facts *facts)
{
	struct tcp_info info, of_peer;
	uint64_t inode;

	if (!tcp_ask(sockets, entry->family, &entry->local, &entry->peer, &info, &inode) ||
	    inode != entry->inode)
		return;
	facts->sent = info.tcpi_data_segs_out;
	facts->received = info.tcpi_data_segs_in;
	facts->sent_bytes = info.tcpi_bytes_acked;
	facts->sent_ago = info.tcpi_last_data_sent * NSEC_PER_MSEC;
	facts->received_ago = info.tcpi_last_data_recv * NSEC_PER_MSEC;
	facts->acked_ago = info.tcpi_last_ack_recv * NSEC_PER_MSEC;
	facts->kept_back = is_kept_back(&info) ? KEPT_OWN : KEPT_NOT;
	if (!tcp_ask(sockets, entry->family, &entry->peer, &entry->local, &of_peer,
		     &facts->peer_inode))
		return;
	if (!facts->kept_back && is_kept_back(&of_peer))
		facts->kept_back = KEPT_OTHER;
	if (!facts->peer_inode)
		facts->peer_inode = listener_find(sockets, entry->peer.port);
}

/* --- Unix sockets --- */

struct unix_facts {
	bool listens, has_name, has_peer, unread;
	uint32_t peer; /* 0: not accepted yet */
	char name[DESCRIPTOR_ADDRESS_LEN];
};

static bool unix_ask(struct sockets *sockets, uint32_t inode, struct unix_facts *facts)
{
	_Alignas(struct nlmsghdr) char answer[ANSWER_SIZE];
	const struct unix_diag_req request = {
		.sdiag_family = AF_UNIX,
		.udiag_states = ~0U,
		.udiag_ino = inode,
		.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN,
		.udiag_cookie = { ~0U, ~0U },
	};
	const struct nlmsghdr *header = ask(sockets, &request, sizeof(request), answer);
	const size_t fixed = sizeof(struct unix_diag_msg);
	struct unix_diag_rqlen queues = { 0 };

	*facts = (struct unix_facts){ .peer = 0 };
	if (!header)
		return false;
	facts->listens = ((const struct unix_diag_msg *)NLMSG_DATA(header))->udiag_state == LISTEN;
	facts->has_name = attribute_read(header, fixed, UNIX_DIAG_NAME, facts->name,
					 sizeof(facts->name) - 1);
	if (!*facts->name && facts->has_name)
		*facts->name = '@';
	facts->has_peer = attribute_read(header, fixed, UNIX_DIAG_PEER, &facts->peer,
					 sizeof(facts->peer));
	attribute_read(header, fixed, UNIX_DIAG_RQLEN, &queues, sizeof(queues));
	facts->unread = queues.udiag_wqueue > 0;
	return true;
}

/* An end without a name connected to one that has one. */
static void unix_fill(struct sockets *sockets, struct socket_facts *facts)
{
	struct unix_facts own, peer = { .peer = 0 };

	if (!unix_ask(sockets, (uint32_t)facts->inode, &own))
		return;
	snprintf(facts->protocol, sizeof(facts->protocol), "unix");
	facts->peer_inode = own.peer;
	if (own.peer)
		unix_ask(sockets, own.peer, &peer);
	facts->unread = own.unread;
	if (own.listens)
		facts->role = SOCKET_LISTENS;
	else if (own.has_name)
		facts->role = own.peer ? SOCKET_ACCEPTED : SOCKET_LISTENS;
	else if (peer.has_name || (own.has_peer && !own.peer))
		facts->role = SOCKET_CONNECTED;
	else if (own.peer)
		facts->role = SOCKET_PAIR;
	memcpy(facts->peer, peer.name, sizeof(facts->peer));
}

#define ACCEPTS 0x10000U /* __SO_ACCEPTCON, include/linux/net.h */

/* "0000000000000000: 00000002 00000000 00010000 0001 01 21745 /run/socket"; names begin with '@'
 * instead of NUL. The connections to a listener have its name, too. */
uint64_t sockets_named(pid_t pid, const char *name, size_t length)
{
	char path[64], line[256], wanted[DESCRIPTOR_PATH_LEN];
	unsigned int flags, type;
	uint64_t inode, found = 0;
	FILE *file;
	int at;

	snprintf(wanted, sizeof(wanted), "%s%.*s", *name ? "" : "@", (int)length - !*name,
		 name + !*name);
	snprintf(path, sizeof(path), "/proc/%d/net/unix", (int)proc_thread(pid));
	file = fopen(path, "re");
	for (size_t n = 0; file && !found && n < LINES_MOST && fgets(line, sizeof(line), file);
	     n++) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%*s %*s %*s %x %x %*s %" SCNu64 " %n", &flags, &type, &inode,
			   &at) == 3 &&
		    (type == SOCK_DGRAM || flags & ACCEPTS) && !strcmp(line + at, wanted))
			found = inode;
	}
	if (file)
		fclose(file);
	return found;
}

/* --- All --- */

/* True if an address is one of this machine. */
static bool is_here(const struct entry *entry)
{
	const struct end *peer = &entry->peer;

	return !memcmp(peer->address, entry->local.address, sizeof(peer->address)) ||
	       (entry->family == AF_INET
			? ntohl(peer->address[0]) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET
			: !memcmp(peer->address, &in6addr_loopback, sizeof(in6addr_loopback)));
}

static void tcp_found(struct sockets *sockets, const struct entry *entry,
		      struct socket_facts *facts, bool asks, bool alone)
{
	const unsigned int port = ntohs(entry->local.port);

	facts->stream = true;
	snprintf(facts->protocol, sizeof(facts->protocol), "tcp");
	if (entry->state == LISTEN)
		facts->role = SOCKET_LISTENS;
	else if (entry->state == SYN_SENT)
		facts->role = SOCKET_CONNECTING;
	else if (entry->state == ESTABLISHED)
		facts->role = is_listening(sockets, port) ? SOCKET_ACCEPTED : SOCKET_CONNECTED;
	if (entry->peer.port)
		address_text(facts->peer, entry->family, entry->peer.address,
			     ntohs(entry->peer.port));
	/* Its listener accepts none. */
	if (facts->role == SOCKET_CONNECTING && is_here(entry))
		facts->peer_inode = listener_find(sockets, entry->peer.port);
	if (asks && (facts->role == SOCKET_CONNECTED || (facts->role == SOCKET_ACCEPTED && alone)))
		tcp_fill(sockets, entry, facts);
}

/* Services that only answer, by port: whoever receives from one has asked it. */
static bool is_service(unsigned int port)
{
	static const unsigned int ports[] = { 53 /* DNS */, 88 /* Kerberos */, 123 /* NTP */,
					      161 /* SNMP */, 1812 /* RADIUS */ };

	for (size_t i = 0; i < sizeof(ports) / sizeof(*ports); i++)
		if (port == ports[i])
			return true;
	return false;
}

static void udp_found(const struct entry *entry, struct socket_facts *facts)
{
	snprintf(facts->protocol, sizeof(facts->protocol), "udp");
	if (!entry->peer.port) {
		facts->role = SOCKET_LISTENS;
		return;
	}
	address_text(facts->peer, entry->family, entry->peer.address, ntohs(entry->peer.port));
	if (is_service(ntohs(entry->peer.port)))
		facts->role = SOCKET_SERVICE;
}

static const struct entry *entry_find(const struct sockets *sockets, uint64_t inode)
{
	for (size_t i = 0; i < sockets->n; i++)
		if (sockets->entries[i].inode == inode)
			return &sockets->entries[i];
	return NULL;
}

void sockets_look(struct sockets *sockets, pid_t pid, struct socket_facts *facts, size_t n)
{
	/* In the network namespace of this program. */
	const bool asks = proc_same_namespace(pid, "net") == 1;

	tables_read(sockets, pid);
	for (size_t i = 0; i < n; i++) {
		const struct entry *entry = facts[i].inode ? entry_find(sockets, facts[i].inode)
							   : NULL;

		/* Of clients' connections a server may have many. */
		if (entry && entry->is_tcp)
			tcp_found(sockets, entry, &facts[i], asks, n == 1);
		else if (entry)
			udp_found(entry, &facts[i]);
		else if (facts[i].inode && asks)
			unix_fill(sockets, &facts[i]);
	}
}
