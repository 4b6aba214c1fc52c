/* SPDX-License-Identifier: Apache-2.0 */
/* Another process's memory, which may do all it can to keep its reader waiting. */
#ifndef REMOTE_H
#define REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct remote {
	pid_t pid;
	int pagemap; /* -1: this kernel has none */
	uint64_t page;
};

/* False if it may not be read. The caller closes it if not. */
bool remote_open(struct remote *remote, pid_t pid);
void remote_close(const struct remote *remote);

/* Whether the page of an address is in memory or in swap, so that to read it ends. */
bool remote_has_page(const struct remote *remote, uint64_t at);

/* Copies what is in one page. */
bool remote_copy(const struct remote *remote, uint64_t at, void *to, size_t size);

#endif
