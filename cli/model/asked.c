/* SPDX-License-Identifier: Apache-2.0 */
#include "asked.h"

#include "cli/base/arith.h"

/* Acknowledgements of protocols, as those of HTTP/2, follow what they answer by less. */
#define REQUEST_LEAST_NS 20000000

/* Who serves delays acknowledgements, as an answer may come with them. */
#define DELAYED_LEAST_NS 8000000
#define DELAYED_MOST_NS 300000000

#define REPORTS_LEAST 4
#define REPORTS_RATIO 2
#define REPORT_BYTES_MOST 512

/* What is sent in the tick of the last answer came after it if it was acknowledged by itself. */
static bool sent_last(const struct socket_facts *facts)
{
	const uint64_t delay = u64_sub(facts->received_ago, facts->acked_ago);

	return facts->sent_ago < facts->received_ago ||
	       (facts->sent_ago == facts->received_ago && delay >= DELAYED_LEAST_NS &&
		delay <= DELAYED_MOST_NS);
}

/* Who sends again and again, and little each time, and hardly ever receives anything, sends reports
 * that nobody answers. */
static bool reports(const struct socket_facts *facts)
{
	return facts->sent > REPORTS_LEAST + REPORTS_RATIO * facts->received &&
	       facts->sent_bytes < facts->sent * REPORT_BYTES_MOST;
}

static bool is_open(const struct socket_facts *facts, bool alone)
{
	if (facts->unread)
		return true;
	if (!facts->stream || !facts->sent || reports(facts))
		return false;
	if (!facts->received)
		return true;
	return alone ? sent_last(facts)
		     : u64_add(facts->sent_ago, REQUEST_LEAST_NS) < facts->received_ago;
}

enum asked_kind asked_of_socket(const struct socket_facts *facts, bool alone)
{
	switch (facts->role) {
	case SOCKET_CONNECTED:
		return is_open(facts, alone) ? ASKED_OPEN : ASKED_IDLE;
	case SOCKET_CONNECTING:
	case SOCKET_SERVICE:
		return ASKED_OPEN;
	case SOCKET_UNKNOWN:
	case SOCKET_LISTENS:
	case SOCKET_ACCEPTED:
	case SOCKET_PAIR:
		break;
	}
	return ASKED_OUTSIDE;
}

size_t asked_choose(const enum asked_kind *kinds, size_t n)
{
	size_t open = n, child = n;

	for (size_t i = n; i--;) {
		if (kinds[i] == ASKED_OUTSIDE)
			return n;
		open = kinds[i] == ASKED_OPEN ? i : open;
		child = kinds[i] == ASKED_CHILD ? i : child;
	}
	return open < n ? open : child;
}
