// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "exporter_host.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* --- Which form of metrics a client takes: what its Accept header says (RFC 9110, 12.5.1) --- */

#define BLANKS " \t"
#define QUALITY_MAX 1000

enum { RANK_NONE, RANK_ANY, RANK_TYPE, RANK_NAMED, RANK_VERSION };

struct text_span {
	const char *at;
	size_t length;
};

/* "type/subtype;version=1;q=0.5" */
struct range {
	struct text_span type, version;
	unsigned int quality;
	bool is_wrong;
};

static const struct kind {
	const char *type, *any, *version;
} kinds[EXPORTER_FORMS] = {
	[EXPORTER_PROMETHEUS] = { "text/plain", "text/*", "0.0.4" },
	[EXPORTER_OPENMETRICS] = { "application/openmetrics-text", "application/*", "1.0.0" },
};

static bool span_is(struct text_span span, const char *word)
{
	return strlen(word) == span.length && !strncasecmp(span.at, word, span.length);
}

static struct text_span span_trim(struct text_span span)
{
	while (span.length && strchr(BLANKS, span.at[0])) {
		span.at++;
		span.length--;
	}
	while (span.length && strchr(BLANKS, span.at[span.length - 1]))
		span.length--;
	return span;
}

/* What stands before the next comma or semicolon outside quotes, where *at is left. */
static struct text_span part_next(const char **at)
{
	struct text_span part = { *at, 0 };
	bool quoted = false;

	for (; **at && (quoted || !strchr(",;", **at)); ++*at) {
		if (**at == '"')
			quoted = !quoted;
		else if (quoted && **at == '\\' && (*at)[1])
			++*at;
	}
	part.length = (size_t)(*at - part.at);
	return span_trim(part);
}

/* 0 to 1 with up to three decimals. Returns false if it is something else. */
static bool quality_read(struct text_span text, unsigned int *quality)
{
	unsigned int unit = QUALITY_MAX;

	if (!text.length || text.length > 5 || (text.at[0] != '0' && text.at[0] != '1') ||
	    (text.length > 1 && text.at[1] != '.'))
		return false;
	*quality = (unsigned int)(text.at[0] - '0') * QUALITY_MAX;
	for (size_t i = 2; i < text.length; i++) {
		if (text.at[i] < '0' || text.at[i] > '9')
			return false;
		unit /= 10;
		*quality += (unsigned int)(text.at[i] - '0') * unit;
	}
	return *quality <= QUALITY_MAX;
}

static void parameter_read(struct range *range, struct text_span text)
{
	const char *equals = memchr(text.at, '=', text.length);
	struct text_span name = text, value;

	if (!equals)
		return;
	name.length = (size_t)(equals - text.at);
	value = (struct text_span){ equals + 1, text.length - name.length - 1 };
	name = span_trim(name);
	value = span_trim(value);
	if (value.length > 1 && value.at[0] == '"' && value.at[value.length - 1] == '"')
		value = (struct text_span){ value.at + 1, value.length - 2 };
	if (span_is(name, "q"))
		range->is_wrong |= !quality_read(value, &range->quality);
	else if (span_is(name, "version"))
		range->version = value;
}

/* Returns what follows. */
static const char *range_read(struct range *range, const char *at)
{
	*range = (struct range){ .type = part_next(&at), .quality = QUALITY_MAX };
	while (*at == ';') {
		at++;
		parameter_read(range, part_next(&at));
	}
	return at;
}

static unsigned int range_rank(const struct range *range, const struct kind *kind)
{
	if (range->is_wrong)
		return RANK_NONE;
	if (span_is(range->type, "*/*"))
		return RANK_ANY;
	if (span_is(range->type, kind->any))
		return RANK_TYPE;
	if (!span_is(range->type, kind->type))
		return RANK_NONE;
	if (!range->version.at)
		return RANK_NAMED;
	return span_is(range->version, kind->version) ? RANK_VERSION : RANK_NONE;
}

void exporter_accept_add(struct exporter_accept *accept, const char *header)
{
	while (*header) {
		struct range range;

		header = range_read(&range, header);
		for (int form = 0; form < EXPORTER_FORMS; form++) {
			unsigned int rank = range_rank(&range, &kinds[form]);

			if (rank < accept->forms[form].rank || rank == RANK_NONE ||
			    (rank == accept->forms[form].rank &&
			     range.quality <= accept->forms[form].quality))
				continue;
			accept->forms[form].rank = rank;
			accept->forms[form].quality = range.quality;
		}
		header += *header == ',';
	}
}

enum exporter_form exporter_accept_form(const struct exporter_accept *accept)
{
	unsigned int quality = accept->forms[EXPORTER_OPENMETRICS].quality;
	bool named = accept->forms[EXPORTER_OPENMETRICS].rank >= RANK_NAMED;
	unsigned int other = accept->forms[EXPORTER_PROMETHEUS].quality;

	return quality > other || (quality && quality == other && named) ? EXPORTER_OPENMETRICS
									 : EXPORTER_PROMETHEUS;
}

/* --- Whether a request's Host header means this exporter --- */

/* A page of the web can make a browser ask for whatever the page's own name leads to, which may
 * change to an address of ours (DNS rebinding); its requests have that name. */

#define LOCAL "localhost"
#define NAME_MOST 256 /* of the DNS */

struct exporter_hosts exporter_hosts_new(const char *allowed)
{
	struct exporter_hosts hosts = { .allowed = allowed };

	if (gethostname(hosts.own, sizeof(hosts.own) - 1))
		*hosts.own = '\0';
	return hosts;
}

/* The header without blanks, port and the dot of the root; of an IPv6 address without brackets.
 * False if it is too long or none of both. */
static bool name_read(char name[static NAME_MOST], const char *header)
{
	size_t length, port;

	header += strspn(header, " \t");
	length = strcspn(header, " \t");
	port = *header == '[' ? strcspn(header, "]") + 1 : strcspn(header, ":");
	if (port > length || length > NAME_MOST - 1 ||
	    header[length + strspn(header + length, " \t")])
		return false;
	if (port < length &&
	    (header[port] != ':' || strspn(header + port + 1, "0123456789") != length - port - 1))
		return false;
	length = port;
	if (*header == '[') {
		header++;
		length -= 2;
	} else if (length && header[length - 1] == '.') {
		length--;
	}
	memcpy(name, header, length);
	name[length] = '\0';
	return length;
}

static bool is_address(const char *name)
{
	unsigned char binary[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, name, binary) == 1 || inet_pton(AF_INET6, name, binary) == 1;
}

static bool is_local(const char *name)
{
	size_t length = strlen(name), suffix = strlen(LOCAL);

	return length >= suffix && !strcasecmp(name + length - suffix, LOCAL) &&
	       (length == suffix || name[length - suffix - 1] == '.');
}

/* Its name, or the first part of it: nobody else has a name without a dot. */
static bool is_own(const char *name, const char *own)
{
	size_t length = strlen(name);

	return *own && !strncasecmp(name, own, length) &&
	       (!own[length] || (own[length] == '.' && !strchr(name, '.')));
}

static bool is_listed(const char *name, const char *list)
{
	size_t length = strlen(name), part;

	for (; list && *list; list += part + (list[part] == ',')) {
		part = strcspn(list, ",");
		if ((part == 1 && *list == '*') ||
		    (part == length && !strncasecmp(list, name, length)))
			return true;
	}
	return false;
}

bool exporter_host_is_known(const struct exporter_hosts *hosts, const char *header)
{
	char name[NAME_MOST];

	if (is_listed("*", hosts->allowed))
		return true;
	return name_read(name, header) &&
	       (is_address(name) || is_local(name) || is_own(name, hosts->own) ||
		is_listed(name, hosts->allowed));
}
