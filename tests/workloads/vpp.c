/* SPDX-License-Identifier: Apache-2.0 */
/* A process shaped like VPP: vpp_main, and vpp_wk_0, which is pinned and spins
 * through the nodes of a shared library, in the variant for one CPU: base,
 * x86_64_v3 or x86_64_v4. Between its rounds it looks for events, without waiting.
 *
 *   cc -shared -fPIC -DNODES vpp.c -o libvnet_test.so
 *   vpp LIBRARY VARIANT CPU       a program of its own, as VPP is found by its file's name
 *
 *   <- hit N          vpp_wk_0 passes N times through ip4_lookup_node_fn[_VARIANT]
 *                     -> {"tid": TID of vpp_wk_0, "from": ns, "to": ns} */
#ifdef NODES
#define NODE(name)                                                                                 \
	unsigned int name(unsigned int n);                                                         \
	__attribute__((noinline)) unsigned int name(unsigned int n)                                \
	{                                                                                          \
		for (volatile unsigned int i = 0; i < n; i++)                                      \
			;                                                                          \
		return n;                                                                          \
	}

NODE(ethernet_input_node_fn)
NODE(ethernet_input_node_fn_x86_64_v3)
NODE(ethernet_input_node_fn_x86_64_v4)
NODE(ip4_lookup_node_fn)
NODE(ip4_lookup_node_fn_x86_64_v3)
NODE(ip4_lookup_node_fn_x86_64_v4)
#else
#include "workload.h"

#include <dlfcn.h>
#include <sys/epoll.h>

typedef unsigned int node_fn(unsigned int);

static node_fn *input, *lookup;
static atomic_long wanted;
static atomic_int worker_tid;
static atomic_llong first, last;
static long cpu;

static void *worker_run(void *arg)
{
	int events = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	long left;

	(void)arg;
	if (events < 0)
		die("epoll_create1");
	pin(cpu);
	prctl(PR_SET_NAME, "vpp_wk_0");
	atomic_store(&worker_tid, gettid());
	for (;;) {
		epoll_pwait(events, &event, 1, 0, NULL);
		input(100);
		left = atomic_load(&wanted);
		if (!left)
			continue;
		atomic_store(&first, now_ns());
		for (long i = 0; i < left; i++) {
			input(100);
			lookup(100);
		}
		atomic_store(&last, now_ns());
		atomic_store(&wanted, 0);
	}
	return NULL;
}

static node_fn *node_find(void *library, const char *node, const char *variant)
{
	char name[64];
	union {
		void *object;
		node_fn *function;
	} found;

	if (!strcmp(variant, "base"))
		snprintf(name, sizeof(name), "%s_node_fn", node);
	else
		snprintf(name, sizeof(name), "%s_node_fn_%s", node, variant);
	found.object = dlsym(library, name);
	if (!found.object) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	return found.function;
}

int main(int argc, char **argv)
{
	void *library;
	long count;

	if (argc != 4)
		die("vpp LIBRARY VARIANT CPU");
	library = dlopen(argv[1], RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	input = node_find(library, "ethernet_input", argv[2]);
	lookup = node_find(library, "ip4_lookup", argv[2]);
	cpu = number(argv[3]);
	prctl(PR_SET_NAME, "vpp_main");
	thread_begin(worker_run, NULL);
	while (!atomic_load(&worker_tid))
		sleep_ns(MS);
	say_ready();
	for (;;) {
		const char *line = command();

		if (sscanf(line, "hit %ld", &count) != 1)
			unknown(line);
		atomic_store(&wanted, count);
		while (atomic_load(&wanted))
			sleep_ns(MS);
		say("{\"tid\": %d, \"from\": %lld, \"to\": %lld}", atomic_load(&worker_tid),
		    atomic_load(&first), atomic_load(&last));
	}
}
#endif
