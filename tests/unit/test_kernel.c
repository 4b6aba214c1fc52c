/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoints and functions of kernels, by trees that are like /proc and /sys, and of this one. */
#define _GNU_SOURCE
#include "cli/base/exit_status.h"
#include "probes/kernel.h"
#include "captured.h"
#include "tree.h"

static struct trigger trigger;
static char found[4096]; /* "group:name+offset " of each */
static const char *said; /* on stderr */

static int take(void *context, const char *group, const char *name)
{
	size_t length = strlen(found);

	snprintf(found + length, sizeof(found) - length, "%s%s%s+%" PRIu64, length ? " " : "",
		 group ? group : "", name, trigger.offset);
	return *(const int *)context;
}

/* What kernel_find() returns; what it prints goes to said. */
static int find(const char *text, int result)
{
	const char *why;
	int status;

	found[0] = '\0';
	if (trigger_parse(&trigger, text, &why))
		return -1;
	capture_begin();
	status = kernel_find(tree, &trigger, take, &result);
	said = capture_end();
	trigger_clear(&trigger);
	return status;
}

static void finds(const char *text, const char *want)
{
	is_i64(find(text, 0), 0, "%s is there", text);
	is_str(found, want, "%s", text);
}

static void fails(const char *text, int status, const char *words, const char *hint)
{
	is_i64(find(text, 0), status, "%s: status %d", text, status);
	is_str(found, "", "%s: nothing found", text);
	ok(strstr(said, words) && strstr(said, hint), "%s: the reason and what to do", text);
	if (strstr(said, words) && strstr(said, hint))
		return;
	tap_print_string("said", said);
	tap_print_string("reason", words);
	tap_print_string("what to do", hint);
}

TEST(tracepoints)
{
	fails("t:sched:sched_switch", EX_OSERR, "No such file", "mount -t tracefs");
	tree_put("sys/kernel/debug/tracing/available_events",
		 "irq:irq_handler_exit\nsched:sched_switch\nsched:sched_waking\nsched:a.b\n"
		 "syscalls:sys_exit_poll\nsyscalls:sys_enter_poll\nsyscalls:sys_enter_ppoll\n"
		 "broken\nsched:cut_off");
	finds("t:sched:sched_switch", "schedsched_switch+0");
	finds("t:syscalls:*_poll", "syscallssys_enter_poll+0 syscallssys_exit_poll+0");
	finds("t:sched:a?b", "scheda.b+0");
	fails("t:sched:aXb", EX_CONFIG, "no such tracepoint in sched", "t:sched:a.b");
	fails("t:sched:sched_swich", EX_CONFIG, "no such tracepoint in sched",
	      "similar names: t:sched:sched_switch");
	fails("t:sched:cut_off", EX_CONFIG, "no such tracepoint", "--list-probes");
	fails("t:shed:sched_switch", EX_CONFIG, "no tracepoints in shed", "similar names: t:sched");
	fails("t:openvswitch:ovs_dp_upcall", EX_CONFIG, "no tracepoints in openvswitch", "module");
	fails("t:syscalls:*_epoll*", EX_CONFIG, "no such tracepoint",
	      "--list-probes='t:syscalls:*'");
	fails("t:syscalls:*_enter_pol", EX_CONFIG, "no such tracepoint",
	      "similar names: t:syscalls:sys_enter_poll");
	tree_put("sys/kernel/tracing/available_events", "net:napi\n");
	finds("t:net:napi", "netnapi+0");
	is_i64(find("t:net:napi", 70), 70, "what the caller returns is passed on");
}

TEST(functions)
{
	fails("k:ip_rcv", EX_OSERR, "no probes on its functions", "CONFIG_KPROBE_EVENTS");
	tree_put("sys/bus/event_source/devices/kprobe/type", "8\n");
	fails("k:ip_rcv", EX_OSERR, "No such file", "CONFIG_KALLSYMS");
	tree_put("proc/kallsyms",
		 "0000000000000000 T ip_rcv\n0000000000000000 t __pfx_ip_rcv\n"
		 "0000000000000000 t cleanup\n0000000000000000 t cleanup\n"
		 "0000000000000000 D ip_data\n0000000000000000 A fixed\n"
		 "ffffffff81000000 W ip_weak\nffffffffc0000000 t ovs_flow\t[openvswitch]\n"
		 "ffffffffc0000010 t cleanup\t[openvswitch]\n"
		 "ffffffffc0000020 t bpf_prog_1_x\t[bpf]\n"
		 "ffffffffc0000030 t tramp\t[__builtin__ftrace]\n"
		 "0000000000000000 t tcp_ack.isra.0\n0000000000000000\nx\n\n");
	finds("k:ip_rcv", "ip_rcv+0");
	finds("kr:ip_weak", "ip_weak+0");
	finds("k:ip_rcv+0x1b", "ip_rcv+27");
	finds("k:ovs_flow", "ovs_flow+0");
	finds("k:tcp_ack.isra.0", "tcp_ack.isra.0+0");
	finds("k:ip_*", "ip_rcv+0 ip_weak+0");
	fails("k:cleanup", EX_CONFIG, "3 functions of that name", "tracepoint");
	fails("k:cleanu?", EX_CONFIG, "functions of that name", "tracepoint");
	fails("k:tcp_ack", EX_CONFIG, "no such function", "similar names: k:tcp_ack.isra.0");
	fails("kr:ip_rvc", EX_CONFIG, "no such function", "similar names: kr:ip_rcv");
	fails("k:ip_data", EX_CONFIG, "no such function", "module");
	fails("k:__pfx_ip_rcv", EX_CONFIG, "no such function", "--list-probes");
	fails("k:bpf_prog_1_x", EX_CONFIG, "no such function", "--list-probes");
	finds("k:*", "ip_rcv+0 ip_weak+0 ovs_flow+0 tcp_ack.isra.0+0");
	ok(strstr(said, "warning: k:*: left out the names that several functions share: 1"),
	   "warns of what it leaves out");
	tree_put("sys/kernel/tracing/available_filter_functions",
		 "ip_rcv\n__ftrace_invalid_address___8\ncleanup [openvswitch]\nip_rcv\n"
		 "ovs_flow [openvswitch]\n");
	finds("k:*", "ip_rcv+0 ovs_flow+0");
	finds("k:ip_weak", "ip_weak+0");
	is_i64(find("k:*", 70), 70, "what the caller returns is passed on");
	is_str(found, "ip_rcv+0", "and ends the search");
}

TEST(many)
{
	static char text[40 * 20000];
	size_t length = 0;

	tree_remove("sys/kernel/tracing/available_filter_functions");
	for (unsigned int i = 0; i < 20000; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length,
					   "0000000000000000 t many_%u\n", i);
	tree_put("proc/kallsyms", text);
	fails("k:many_*", EX_CONFIG, "more than 1000 match", "narrow");
	is_i64(find("k:many_1???", 0), 0, "a thousand are not too many");
	finds("k:many_19999", "many_19999+0");
}

/* A line longer than any name of the kernel does not become two lines. */
TEST(long_line)
{
	static char text[5000];

	memset(text, 'x', 4000);
	memcpy(text, "0000000000000000 t ", 19);
	strcpy(text + 1023, "0000000000000000 t hidden\n0000000000000000 t seen\n");
	tree_put("proc/kallsyms", text);
	finds("k:*", "seen+0");
}

static int count_event(void *context, const char *system, const char *event)
{
	*(unsigned int *)context += *system && *event;
	return 0;
}

static int count_function(void *context, const char *group, const char *function)
{
	(void)group;
	*(unsigned int *)context += !!*function;
	return 0;
}

/* The running kernel, whatever it lets us see. */
TEST(here)
{
	unsigned int events = 0, functions = 0;
	int result = kernel_each_event("", count_event, &events);

	ok(result ? !events : events > 100, "this kernel's tracepoints: %u, %d", events, result);
	result = kernel_each_function("", count_function, &functions);
	ok(result ? !functions : functions > 1000, "its functions: %u, %d", functions, result);
	printf("# kprobes: %s\n", kernel_has_kprobes("") ? "yes" : "no");
}
