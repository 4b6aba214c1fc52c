/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a sleep is for an answer. */
#include "cli/model/asked.h"
#include "tap.h"

#define MS 1000000ULL

static void socket_is(struct socket_facts facts, enum asked_kind alone, enum asked_kind in_loop,
		      const char *what)
{
	is_u64(asked_of_socket(&facts, true), alone, "%s: alone", what);
	is_u64(asked_of_socket(&facts, false), in_loop, "%s: one of several", what);
}

TEST(sockets)
{
	struct socket_facts tcp = { .role = SOCKET_CONNECTED,
				    .stream = true,
				    .sent = 3,
				    .received = 3,
				    .sent_bytes = 600,
				    .sent_ago = 800 * MS,
				    .received_ago = 900 * MS,
				    .acked_ago = 800 * MS };

	socket_is(tcp, ASKED_OPEN, ASKED_OPEN, "asked long after the last answer");
	tcp.received_ago = 810 * MS;
	socket_is(tcp, ASKED_OPEN, ASKED_IDLE, "just after it: perhaps an acknowledgement");
	tcp.received_ago = 800 * MS;
	socket_is(tcp, ASKED_IDLE, ASKED_IDLE, "answered at once");
	tcp.acked_ago = 756 * MS;
	socket_is(tcp, ASKED_OPEN, ASKED_IDLE, "asked at once after an answer");
	tcp.acked_ago = 100 * MS;
	socket_is(tcp, ASKED_IDLE, ASKED_IDLE, "answered at once, and kept alive");
	tcp.received_ago = 10 * MS;
	socket_is(tcp, ASKED_IDLE, ASKED_IDLE, "answered");
	tcp.received = 0, tcp.received_ago = tcp.sent_ago;
	socket_is(tcp, ASKED_OPEN, ASKED_OPEN, "never answered");
	tcp.sent = 9, tcp.sent_bytes = 900;
	socket_is(tcp, ASKED_IDLE, ASKED_IDLE, "never answered, sends again and again: it reports");
	tcp.sent_bytes = 90000;
	socket_is(tcp, ASKED_OPEN, ASKED_OPEN, "one long request");
	tcp.sent = 40, tcp.sent_bytes = 4000, tcp.received = 7, tcp.received_ago = 2000 * MS;
	socket_is(tcp, ASKED_IDLE, ASKED_IDLE, "seldom answered");
	tcp.received = 18;
	socket_is(tcp, ASKED_OPEN, ASKED_OPEN, "asks several times until it is answered");
	tcp.sent = 0;
	socket_is(tcp, ASKED_IDLE, ASKED_IDLE, "never asked");
	tcp.sent = 3, tcp.role = SOCKET_ACCEPTED;
	socket_is(tcp, ASKED_OUTSIDE, ASKED_OUTSIDE, "its client is silent");
	tcp.role = SOCKET_CONNECTING;
	socket_is(tcp, ASKED_OPEN, ASKED_OPEN, "no connection yet");
	tcp.role = SOCKET_UNKNOWN;
	socket_is(tcp, ASKED_OUTSIDE, ASKED_OUTSIDE, "an unknown one");
	socket_is((struct socket_facts){ .role = SOCKET_SERVICE }, ASKED_OPEN, ASKED_OPEN,
		  "a name server");
	socket_is((struct socket_facts){ .role = SOCKET_CONNECTED, .unread = true }, ASKED_OPEN,
		  ASKED_OPEN, "a local server that does not read");
	socket_is((struct socket_facts){ .role = SOCKET_CONNECTED }, ASKED_IDLE, ASKED_IDLE,
		  "a local server that has read all");
}

TEST(choice)
{
	enum asked_kind kinds[] = { ASKED_OWN, ASKED_CHILD, ASKED_IDLE, ASKED_OPEN, ASKED_OPEN };

	is_u64(asked_choose(kinds, 0), 0, "of none");
	is_u64(asked_choose(kinds, 1), 1, "what only this process ends");
	is_u64(asked_choose(kinds, 3), 1, "its child");
	is_u64(asked_choose(kinds, 5), 3, "the first open request, before its child");
	kinds[2] = ASKED_OUTSIDE;
	is_u64(asked_choose(kinds, 3), 3, "not a child: work may come");
	is_u64(asked_choose(kinds, 5), 5, "nor a request");
}
