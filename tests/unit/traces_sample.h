/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks and a sample that has them, for the tests of reports. */
#ifndef TESTS_UNIT_TRACES_SAMPLE_H
#define TESTS_UNIT_TRACES_SAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/syscall_set.h"
#include "cli/model/sample.h"
#include "need.h"

#define SECOND 1000000000ULL
#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define STACK(name, ...)                                                                           \
	__attribute__((unused)) static const struct stack name = { .frames = name##_frames,        \
								   .n = COUNT(name##_frames),      \
								   __VA_ARGS__ }

static const struct frame kernel_futex_frames[] = {
	{ "futex_wait_queue", 0x63, NULL, NULL, 0 },
	{ "futex_wait", 0x13a, NULL, NULL, 0 },
	{ "do_futex", 0xcb, NULL, NULL, 0 },
	{ "entry_SYSCALL_64_after_hwframe", 0x76, NULL, NULL, 0 },
};
STACK(kernel_futex);

static const struct frame kernel_module_frames[] = {
	{ "ovs_dp_cmd_del", 0, "openvswitch", NULL, 0 },
	{ "genl_rcv", 0x24, NULL, NULL, 0 },
	{ NULL, 0xffffffffc0a01234, "nf_tables", NULL, 0 },
	{ NULL, 0xffffffff81000076, NULL, NULL, 0 },
};
STACK(kernel_module);

static const struct frame user_main_frames[] = {
	{ "__lll_lock_wait", 0x2b, "/usr/lib/x86_64-linux-gnu/libc.so.6", "aa", 0 },
	{ "ovs_mutex_lock_at", 0x10, "/usr/sbin/ovs-vswitchd", "bb", 0 },
	{ NULL, 0x32b30, "/usr/sbin/ovs-vswitchd", "0123456789abcdef0123456789abcdef01234567", 0 },
	{ "main", 0x5a0, "/usr/sbin/ovs-vswitchd", "bb", 0 },
	{ "_start", 0x21, "/usr/sbin/ovs-vswitchd", "bb", 0 },
};
STACK(user_main);

static const struct frame user_cut_frames[] = {
	{ "clock_gettime", 0x9, "[vdso]", NULL, 0 },
	{ NULL, 0x1234, "/usr/lib/libstripped.so.1", NULL, 0 },
	{ NULL, 0x7f0012345678, NULL, NULL, 0 },
};
STACK(user_cut, .stop = "the next address is in no file", .by_frame_pointers = true);

static const struct frame user_cpp_frames[] = {
	{ "operator new(unsigned long)", 0x1c, "/usr/lib/libstdc++.so.6", NULL, 0 },
	{ "std::map<int, a; b>::operator[](int&&)", 0x8, "/opt/my app/server 2", NULL, 0 },
};
STACK(user_cpp);

/* What a malicious file can contain. */
static const struct frame user_hostile_frames[] = {
	{ "\x1b[2J\nfutex_wait+0x1 [kernel]", 1, "/tmp/a\tb;c\x1b]0;x\x07.so", NULL, 0 },
	{ "", 2, "", "", 0 },
	{ "\xff\xfe;;  \r\v\f;", 3, "/", "\n", 0 },
	{ "a\xe2\x80\xae"
	  "b",
	  4, "[", NULL, 0 },
	{ NULL, 5, "[]", "\x1b", 0 },
	{ NULL, UINT64_MAX, "[a\nb]", NULL, 0 },
	{ "# WARNING: 1", 0, "/x/", NULL, 0 },
	{ NULL, 0, NULL, NULL, 0 },
};
STACK(user_hostile, .stop = "no\nreason");

__attribute__((unused)) static struct sample traces_begin(void)
{
	return (struct sample){
		.pid = 9719,
		.start = 3650 * SECOND,
		.end = 3651 * SECOND,
		.wall_dump = { .tv_sec = 1795218874, .tv_nsec = 981958999 },
		.traces = { .kernel_stacks_wanted = true, .user_stacks_wanted = true },
	};
}

static struct trace_row trace(enum trace_kind kind, pid_t tid, const char *name, const char *call)
{
	struct trace_row row = {
		.kind = kind,
		.tid = tid,
		.call = call ? syscall_number(call) : KD_CALL_NONE,
		.start = 3650618858022,
		.end = 3650618883600,
	};

	memcpy(row.name, name, strnlen(name, sizeof(row.name)));
	return row;
}

static void trace_add(struct sample *sample, struct trace_row row)
{
	need(!traces_add(&sample->traces, &row));
}

/* Of several processes: 812 and those behind it, which are called "postgres: N". */
__attribute__((unused)) static void trace_processes(struct sample *sample, pid_t n)
{
	sample->processes = calloc((size_t)n, sizeof(*sample->processes));
	need(sample->processes);
	for (pid_t i = 0; i < n; i++) {
		struct process_row *process = &sample->processes[sample->n_processes++];

		process->pid = 812 + i;
		strcpy(process->name, "postgres");
		snprintf(process->title, sizeof(process->title), "postgres: %d", (int)i);
	}
}

#endif
