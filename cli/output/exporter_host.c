// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "exporter_host.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

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
