/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs that come and go, by a list that is like the kernel's. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/capture/online_cpus.h"
#include "tap.h"

static int list;
static char path[32], changes[256];

static void put(const char *text)
{
	if (ftruncate(list, 0) || pwrite(list, text, strlen(text), 0) != (ssize_t)strlen(text))
		abort();
}

static void changed(void *context, int cpu, bool online)
{
	struct online_cpus *cpus = context;
	size_t length = strlen(changes);

	ok(cpus->fd >= 0, "the caller's");
	snprintf(changes + length, sizeof(changes) - length, "%c%d ", online ? '+' : '-', cpu);
}

static void look(struct online_cpus *cpus, const char *text, const char *want)
{
	put(text);
	*changes = '\0';
	online_cpus_look(cpus, changed, cpus);
	is_str(changes, want, "%s", text);
}

int main(void)
{
	struct online_cpus cpus;

	list = memfd_create("online", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", list);
	put("0-3,8\n");
	online_cpus_open(&cpus, path);
	look(&cpus, "0-3,8\n", "");
	look(&cpus, "0-2,8\n", "-3 ");
	look(&cpus, "0-3,64-65,8191\n", "+3 -8 +64 +65 +8191 ");
	look(&cpus, "", "");
	look(&cpus, "none\n", "");
	online_cpus_close(&cpus);
	put("0\n");
	online_cpus_open(&cpus, path);
	look(&cpus, "0-1,8192-9000\n", "+1 ");
	online_cpus_close(&cpus);
	online_cpus_open(&cpus, "/nowhere/online");
	look(&cpus, "1\n", "");
	online_cpus_close(&cpus);
	put("nothing\n");
	online_cpus_open(&cpus, path);
	look(&cpus, "0\n", "");
	online_cpus_close(&cpus);
	return done_testing();
}
