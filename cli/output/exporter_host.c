// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "exporter_host.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* --- Format by the client's Accept header (RFC 9110, 12.5.1) --- */

#define BLANKS " \t"

/* Media ranges of each format. A wildcard subtype is not enough for OpenMetrics. */
static const struct range {
	const char *type, *version;
	enum exporter_form form;
} ranges[] = {
	{ "application/openmetrics-text", "1.0.0", EXPORTER_OPENMETRICS },
	{ "text/plain", "0.0.4", EXPORTER_PROMETHEUS },
	{ "text/*", "", EXPORTER_PROMETHEUS },
	{ "*/*", "", EXPORTER_PROMETHEUS },
};

/* 0 to 1; 0 if malformed. */
static double quality_read(const char *text)
{
	char *end;
	double quality = strtod(text, &end);

	return end > text && !*end && quality >= 0 && quality <= 1 ? quality : 0;
}

/* version: may be quoted; NULL: any. */
static bool range_is(const struct range *range, const char *type, const char *version)
{
	size_t length = strlen(range->version);

	if (strcasecmp(type, range->type) != 0)
		return false;
	if (!version)
		return true;
	version += *version == '"';
	return !strncmp(version, range->version, length) &&
	       (!version[length] || version[length] == '"');
}

/* Parses "type/subtype;version=1;q=0.5". */
static void range_add(struct exporter_accept *accept, char *text)
{
	char *rest, *type = strtok_r(text, ";" BLANKS, &rest), *parameter;
	const char *version = NULL;
	double quality = 1;

	while (type && (parameter = strtok_r(NULL, ";" BLANKS, &rest))) {
		if (!strncasecmp(parameter, "q=", 2))
			quality = quality_read(parameter + 2);
		else if (!strncasecmp(parameter, "version=", 8))
			version = parameter + 8;
	}
	for (size_t i = 0; type && i < sizeof(ranges) / sizeof(*ranges); i++)
		if (range_is(&ranges[i], type, version) &&
		    quality > accept->quality[ranges[i].form])
			accept->quality[ranges[i].form] = quality;
}

void exporter_accept_add(struct exporter_accept *accept, const char *header)
{
	char *copy = strdup(header), *at = copy, *range;

	while ((range = strsep(&at, ",")))
		range_add(accept, range);
	free(copy);
}

enum exporter_form exporter_accept_form(const struct exporter_accept *accept)
{
	double quality = accept->quality[EXPORTER_OPENMETRICS];

	return quality > 0 && quality >= accept->quality[EXPORTER_PROMETHEUS] ? EXPORTER_OPENMETRICS
									      : EXPORTER_PROMETHEUS;
}

/* --- Check of the Host header --- */

/* A web page can make a browser send requests to the page's own name, which may be changed to
 * one of our addresses (DNS rebinding). Such requests carry that name. */

#define LOCAL "localhost"
#define NAME_MOST 256 /* limit of DNS */

struct exporter_hosts exporter_hosts_new(const char *allowed)
{
	struct exporter_hosts hosts = { .allowed = allowed };

	if (gethostname(hosts.own, sizeof(hosts.own) - 1))
		*hosts.own = '\0';
	return hosts;
}

/* Reads the header without blanks, port and trailing dot; an IPv6 address without brackets.
 * False if it is too long or malformed. */
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

/* Own name, or its first label: no other machine has a name without a dot. */
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
