// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "online_cpus.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Parses a list such as "0-3,8". Returns false on failure: then nothing is certain. */
static bool list_read(int fd, uint64_t words[static ONLINE_CPUS_MAX / 64])
{
	char text[4096], *at = text, *end;
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);

	memset(words, 0, ONLINE_CPUS_MAX / 8);
	if (length <= 0)
		return false;
	text[length] = '\0';
	for (;; at = end + 1) {
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (end == at)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < ONLINE_CPUS_MAX; first++)
			words[first / 64] |= 1ULL << first % 64;
		if (*end != ',')
			return true;
	}
}

void online_cpus_open(struct online_cpus *cpus, const char *path)
{
	cpus->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (cpus->fd >= 0 && !list_read(cpus->fd, cpus->now))
		online_cpus_close(cpus);
}

void online_cpus_close(struct online_cpus *cpus)
{
	if (cpus->fd >= 0)
		close(cpus->fd);
	cpus->fd = -1;
}

void online_cpus_look(struct online_cpus *cpus, online_changed_fn *changed, void *context)
{
	uint64_t now[ONLINE_CPUS_MAX / 64];

	if (cpus->fd < 0 || !list_read(cpus->fd, now))
		return;
	for (int word = 0; word < ONLINE_CPUS_MAX / 64; word++) {
		uint64_t others = now[word] ^ cpus->now[word];

		cpus->now[word] = now[word];
		for (; others; others &= others - 1) {
			int bit = __builtin_ctzll(others);

			changed(context, word * 64 + bit, now[word] >> bit & 1);
		}
	}
}
