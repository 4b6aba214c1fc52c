/* SPDX-License-Identifier: Apache-2.0 */
/* Which Host headers are for the exporter, and which of its clients makes room. */
#include "cli/output/exporter_host.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "cli/output/exporter_clients.h"
#include "tap.h"

static const struct {
	const char *header;
	bool known;
} cases[] = {
	{ "127.0.0.1", true },
	{ "127.0.0.1:10440", true },
	{ " 10.1.2.3:80 ", true },
	{ "[::1]", true },
	{ "[fe80::1]:10440", true },
	{ "localhost", true },
	{ "LocalHost:10440", true },
	{ "a.localhost.", true },
	{ "node1.example.com", true },
	{ "NODE1", true },
	{ "metrics.example:1", true },
	{ "other", true },
	{ "evil.example", false },
	{ "evil.example:10440", false },
	{ "notlocalhost", false },
	{ "localhost.evil.example", false },
	{ "127.0.0.1.evil.example", false },
	{ "node1.evil.example", false },
	{ "node1.example", false },
	{ "node", false },
	{ "metrics", false },
	{ "metrics.example,other", false },
	{ "*", false },
	{ "localhost evil.example", false },
	{ "localhost:evil.example", false },
	{ "[::1", false },
	{ "[::1]evil.example", false },
	{ "[]", false },
	{ "", false },
	{ ":10440", false },
	{ ".", false },
};

static void test_hosts(void)
{
	const struct exporter_hosts hosts = { "node1.example.com", "metrics.example,other" };
	const struct exporter_hosts any = { "", "*" }, none = { "", NULL };
	char name[2000] = "";

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		is_i64(exporter_host_is_known(&hosts, cases[i].header), cases[i].known, "'%s'",
		       cases[i].header);
	for (size_t i = 0; i < sizeof(name) - 1; i++)
		name[i] = 'a';
	ok(!exporter_host_is_known(&hosts, name), "a long one");
	ok(exporter_host_is_known(&any, "evil.example"), "any, if they are allowed");
	ok(!exporter_host_is_known(&none, ""), "none, without a name");
	ok(*exporter_hosts_new(NULL).own, "this machine has a name");
}

static struct exporter_client *come(struct exporter_clients *clients, const char *address, int fd)
{
	struct sockaddr_in from = { .sin_family = AF_INET };

	inet_pton(AF_INET, address, &from.sin_addr);
	return exporter_client_add(clients, fd, (struct sockaddr *)&from, (uint64_t)fd);
}

static void test_clients(void)
{
	struct exporter_clients clients;
	struct exporter_client *client = NULL, *found;
	unsigned int n = 0;

	exporter_clients_init(&clients);
	for (; n < 16; n++)
		client = come(&clients, "10.0.0.1", (int)n);
	ok(!exporter_client_oust(&clients, client), "16 of an address are not too many");
	clients.all[0].is_served = true;
	client = come(&clients, "10.0.0.1", (int)n++);
	found = exporter_client_oust(&clients, client);
	is_i64(found ? found->fd : -1, 1, "the 17th: the one that is idle for longest goes");
	found->fd = -1;
	for (; n < 65; n++) {
		char address[16];

		snprintf(address, sizeof(address), "10.0.1.%u", n);
		client = come(&clients, address, (int)n);
	}
	ok(!exporter_client_oust(&clients, client), "64 are not too many");
	client = come(&clients, "10.0.2.1", (int)n++);
	found = exporter_client_oust(&clients, client);
	is_i64(found ? found->fd : -1, 2, "the 65th: of the address that has the most");
	for (unsigned int i = 0; i < EXPORTER_CLIENTS_MOST; i++)
		clients.all[i].is_served = true;
	client = come(&clients, "10.0.2.2", (int)n++);
	found = exporter_client_oust(&clients, client);
	is_i64(found ? found->fd : -1, 0, "none is idle: the one that is served for longest");
	while (come(&clients, "10.0.3.1", (int)n))
		n++;
	is_u64(n, EXPORTER_CLIENTS_MOST + 1, "there is room for so many");
}

int main(void)
{
	test_hosts();
	test_clients();
	return done_testing();
}
