// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "exporter_clients.h"

#include <stddef.h>
#include <string.h>

void exporter_clients_init(struct exporter_clients *clients)
{
	memset(clients, 0, sizeof(*clients));
	for (unsigned int i = 0; i < EXPORTER_CLIENTS_MOST; i++)
		clients->all[i].fd = -1;
}

/* One of IPv4 as IPv6 has it. */
static struct in6_addr address_take(const struct sockaddr *address)
{
	struct in6_addr taken = IN6ADDR_ANY_INIT;

	if (address && address->sa_family == AF_INET6) {
		memcpy(&taken, &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof(taken));
	} else if (address && address->sa_family == AF_INET) {
		taken.s6_addr[10] = taken.s6_addr[11] = 0xff;
		memcpy(&taken.s6_addr[12], &((const struct sockaddr_in *)address)->sin_addr, 4);
	}
	return taken;
}

struct exporter_client *exporter_client_add(struct exporter_clients *clients, int fd,
					    const struct sockaddr *address, uint64_t now)
{
	for (unsigned int i = 0; i < EXPORTER_CLIENTS_MOST; i++) {
		struct exporter_client *client = &clients->all[i];

		if (client->fd >= 0)
			continue;
		*client = (struct exporter_client){
			.fd = fd,
			.since = now,
			.address = address_take(address),
		};
		return client;
	}
	return NULL;
}

static bool is_there(const struct exporter_client *client)
{
	return client->fd >= 0 && !client->is_leaving;
}

/* Those of an address; NULL: of any. */
static unsigned int clients_count(const struct exporter_clients *clients,
				  const struct in6_addr *address)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < EXPORTER_CLIENTS_MOST; i++)
		n += is_there(&clients->all[i]) &&
		     (!address || !memcmp(&clients->all[i].address, address, sizeof(*address)));
	return n;
}

static const struct in6_addr *most_frequent(const struct exporter_clients *clients)
{
	const struct in6_addr *found = NULL;
	unsigned int most = 0, n;

	for (unsigned int i = 0; i < EXPORTER_CLIENTS_MOST; i++) {
		if (!is_there(&clients->all[i]))
			continue;
		n = clients_count(clients, &clients->all[i].address);
		if (n > most) {
			most = n;
			found = &clients->all[i].address;
		}
	}
	return found;
}

static bool goes_before(const struct exporter_client *client, const struct exporter_client *other)
{
	if (!other || client->is_served != other->is_served)
		return !other || other->is_served;
	return client->since < other->since;
}

struct exporter_client *exporter_client_oust(struct exporter_clients *clients,
					     const struct exporter_client *newcomer)
{
	struct exporter_client *found = NULL;
	const struct in6_addr *address;

	if (clients_count(clients, &newcomer->address) > EXPORTER_CLIENTS_OF_ADDRESS)
		address = &newcomer->address;
	else if (clients_count(clients, NULL) > EXPORTER_CLIENTS)
		address = most_frequent(clients);
	else
		return NULL;
	for (unsigned int i = 0; i < EXPORTER_CLIENTS_MOST; i++) {
		struct exporter_client *client = &clients->all[i];

		if (is_there(client) && client != newcomer &&
		    !memcmp(&client->address, address, sizeof(*address)) &&
		    goes_before(client, found))
			found = client;
	}
	if (found)
		found->is_leaving = true;
	return found;
}
