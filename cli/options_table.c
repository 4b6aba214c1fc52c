/* SPDX-License-Identifier: Apache-2.0 */
#include "options_table.h"

/* argp puts --help and --version into group -1, the last one, by itself. */
enum group {
	GROUP_HELP = -1,
	GROUP_TARGET = 1,
	GROUP_SAMPLES,
	GROUP_TRIGGERS,
	GROUP_STACKS,
	GROUP_OUTPUT,
	GROUP_RUN
};

const struct argp_option options_table[] = {
	{ .doc = "Target:", .group = GROUP_TARGET },
	{ "pid", 'p', "PID", 0, "Watch the process PID.", GROUP_TARGET },
	{ "comm", 'C', "NAME", 0,
	  "Watch the one process of this name (default: the one running ovs-vswitchd, else the one "
	  "running vpp_main or vpp).",
	  GROUP_TARGET },

	{ .doc = "Samples:", .group = GROUP_SAMPLES },
	{ "sample-time", OPT_SAMPLE_TIME, "DURATION", 0,
	  "Length of a sample, more than 0 (default: 0.5s).", GROUP_SAMPLES },
	{ "sample-count", OPT_SAMPLE_COUNT, "N", 0,
	  "Number of samples; 0: until stopped (default: 1).", GROUP_SAMPLES },
	{ "sample-interval", OPT_SAMPLE_INTERVAL, "DURATION", 0,
	  "Pause between two samples (default: 0s).", GROUP_SAMPLES },

	{ "duration", OPT_DURATION, "DURATION", 0,
	  "End the whole run after this time (default: no limit).", GROUP_SAMPLES },
	{ "histogram", OPT_HISTOGRAM, NULL, 0,
	  "Show how the durations of runs, of waits for a CPU and of each system call are "
	  "distributed.",
	  GROUP_SAMPLES },

	{ .doc = "Triggers:", .group = GROUP_TRIGGERS },
	{ "start-trigger", OPT_START_TRIGGER, "TRIGGER", 0, "Start a sample when TRIGGER is hit.",
	  GROUP_TRIGGERS },
	{ "stop-trigger", OPT_STOP_TRIGGER, "TRIGGER", 0,
	  "Stop the sample when TRIGGER is hit (default: after the sample time).", GROUP_TRIGGERS },
	{ "trigger-delta", OPT_TRIGGER_DELTA, "NS", OPTION_ARG_OPTIONAL,
	  "Skip samples from start to stop trigger that are shorter; a number of ns, or with a "
	  "unit. NS may follow a space (default: 0).",
	  GROUP_TRIGGERS },
	{ "trigger-same-thread", OPT_TRIGGER_SAME_THREAD, NULL, 0,
	  "A stop counts only on the thread that hit the start; each thread's pairs are measured.",
	  GROUP_TRIGGERS },
	{ "trigger-target-only", OPT_TRIGGER_TARGET_ONLY, NULL, 0,
	  "Kernel probes, too, count only when the process hits them.", GROUP_TRIGGERS },
	{ "trigger-worst", OPT_TRIGGER_WORST, "N", 0,
	  "Of the samples between start and stop trigger print the N longest, at the end "
	  "(default: each as it comes). Needs --duration or --sample-count.",
	  GROUP_TRIGGERS },
	{ "long-poll", OPT_LONG_POLL, "DURATION", OPTION_ARG_OPTIONAL,
	  "Sample from a thread's return from poll, select or epoll_wait (ppoll, pselect6, "
	  "epoll_pwait too) to its next such call, if that takes DURATION or longer (default: "
	  "1s).",
	  GROUP_TRIGGERS },
	{ "max-overhead", OPT_MAX_OVERHEAD, "PERCENT", 0,
	  "Give up when probes take more of a thread's time; 0: never (default: 10).",
	  GROUP_TRIGGERS },
	{ "window-banks", OPT_WINDOW_BANKS, "N", 0,
	  "Samples that may wait to be read while the next ones are taken, 2 to 7 (default: 4).",
	  GROUP_TRIGGERS },
	{ "verbose", 'v', NULL, 0, "Print three lines for each skipped sample, too.",
	  GROUP_TRIGGERS },
	{ "list-probes", OPT_LIST_PROBES, "GLOB", OPTION_ARG_OPTIONAL,
	  "List what can be a trigger for the process, or of that what GLOB matches.",
	  GROUP_TRIGGERS },
	{ "check", OPT_CHECK, NULL, 0, "Say where the triggers' probes would be, and end.",
	  GROUP_TRIGGERS },

	{ .doc = "Slow system calls, waits, running code, and their stacks:",
	  .group = GROUP_STACKS },
	{ "syscall-events", 's', "NS", OPTION_ARG_OPTIONAL,
	  "List the system calls that took at least so long: a number of ns, or with a unit. NS "
	  "may follow a space (default: 0, all of them).",
	  GROUP_STACKS },
	{ "skip-syscall-poll-events", OPT_SKIP_POLL_EVENTS, NULL, 0,
	  "Leave poll, select, epoll_wait and their variants out of that list.", GROUP_STACKS },
	{ "syscall-filter", 'e', "LIST", 0,
	  "List only these system calls: futex,recvmsg; or all but some: '!poll,futex'. Names, "
	  "patterns, numbers.",
	  GROUP_STACKS },
	{ "off-cpu", OPT_OFF_CPU, "DURATION", 0,
	  "List where threads waited, asleep or for a CPU, for at least so long.", GROUP_STACKS },
	{ "profile", OPT_PROFILE, "HZ", OPTION_ARG_OPTIONAL,
	  "List what threads were running, so often per second of CPU time. HZ may follow a space "
	  "(default: 49).",
	  GROUP_STACKS },
	{ "stack-trace-size", OPT_STACK_TRACE_SIZE, "N", 0,
	  "Keep so many different stacks; 0: no stacks (default: 4096).", GROUP_STACKS },
	{ "user-stack-bytes", OPT_USER_STACK_BYTES, "BYTES", 0,
	  "Copy so much of each user stack, up to 128K; 0: no user stacks (default: 128K).",
	  GROUP_STACKS },
	{ "stack-rate", OPT_STACK_RATE, "N", 0,
	  "Copy so many user stacks per second at most; 0: no limit (default: 500).",
	  GROUP_STACKS },
	{ "buffer-page-count", OPT_BUFFER_PAGE_COUNT, "N", 0,
	  "Size of the buffer between kernel and program, in pages of 4096 bytes, rounded up to a "
	  "power of two (default: 1024).",
	  GROUP_STACKS },

	{ .doc = "Output:", .group = GROUP_OUTPUT },
	{ "output", 'o', "FORMAT[:FILE]", 0,
	  "Write the samples to FILE, or to standard output, as text, json, openmetrics, "
	  "prometheus "
	  "(its text format 0.0.4) or folded (stacks, for flame graphs); can be repeated (default: "
	  "text). A FILE alone is one for text. %n in its name is the sample's number, %t the "
	  "time, "
	  "%p the process ID of this program.",
	  GROUP_OUTPUT },
	{ "output-mode", OPT_OUTPUT_MODE, "OCTAL", 0, "Permissions of files (default: 0600).",
	  GROUP_OUTPUT },
	{ "output-limit", OPT_OUTPUT_LIMIT, "SIZE", 0,
	  "Most bytes that the files of an output may fill, or with K, M, G; the oldest of this "
	  "run "
	  "are removed (default: no limit).",
	  GROUP_OUTPUT },
	{ "quiet", OPT_QUIET, NULL, 0, "No text unless -o asks for it, no warnings and notes.",
	  GROUP_OUTPUT },
	{ "fail-if", OPT_FAIL_IF, "EXPR", 0,
	  "End with status 4 if a sample fulfils EXPR, as 'ready.max>1ms', 'softirq.pct>5', "
	  "'lost>0'; can be repeated.",
	  GROUP_OUTPUT },
	{ "replay", OPT_REPLAY, "FILE", 0,
	  "Take the samples from FILE, as -o json:FILE has saved them; -: standard input.",
	  GROUP_OUTPUT },
	{ "per-thread", OPT_PER_THREAD, NULL, 0,
	  "In metrics each thread for itself, with its TID (default: with one sample; else the "
	  "sums "
	  "of threads of one name).",
	  GROUP_OUTPUT },
	{ "fold-names", OPT_FOLD_NAMES, NULL, 0,
	  "In metrics leave out the numbers that thread names end with.", GROUP_OUTPUT },
	{ "max-syscalls", OPT_MAX_SYSCALLS, "N", 0,
	  "In metrics the N longest system calls of a thread, and the sum of the others; 0: all "
	  "(default: 0).",
	  GROUP_OUTPUT },
	{ "timestamps", OPT_TIMESTAMPS, NULL, 0, "In metrics the time of the sample.",
	  GROUP_OUTPUT },
	{ "list-metrics", OPT_LIST_METRICS, NULL, 0, "List the metrics, and end.", GROUP_OUTPUT },
	{ "listen", OPT_LISTEN, "[ADDR:]PORT", 0,
	  "Serve metrics by HTTP while sampling (default ADDR: 127.0.0.1).", GROUP_OUTPUT },

	{ .doc = "Run:", .group = GROUP_RUN },
	{ "skip-upcall-stats", OPT_SKIP_UPCALL_STATS, NULL, 0,
	  "Do not count the upcalls of openvswitch.", GROUP_RUN },
	{ "btf", OPT_BTF, "FILE", 0,
	  "Take the kernel's types from FILE (default: /sys/kernel/btf/vmlinux).", GROUP_RUN },
	{ "strict", OPT_STRICT, NULL, 0,
	  "Exit with status 1 if anything was lost, or a signal cut a sample short.", GROUP_RUN },
	{ "debug", 'D', "N", OPTION_ARG_OPTIONAL,
	  "Print the messages of libbpf and of the kernel's verifier. N may follow a space; 0: do "
	  "not print them (default: 0; without N: 63).",
	  GROUP_RUN },

	{ .doc = "Help:", .group = GROUP_HELP },
	{ "help", 'h', NULL, 0, "Print this help (-? too).", GROUP_HELP },
	{ "usage", OPT_USAGE, NULL, 0, "Print a short usage message.", GROUP_HELP },
	{ "version", 'V', NULL, 0, "Print the version.", GROUP_HELP },
	{ 0 },
};
#define LENGTH (sizeof(options_table) / sizeof(*options_table))
_Static_assert(LENGTH <= OPTIONS_TABLE_ROOM, "room for each option");

const struct argp options_help = {
	.options = options_table,
	.doc = "Show where each thread of a running process spends its time, and which of it is "
	       "the kernel's doing.\v"
	       "DURATION is a number of seconds, or a number directly followed by ns, us, ms, s "
	       "or min: 0.5, 250ms, 2min. The longest is 365 days.\n\n"
	       "TRIGGER is one of\n"
	       "  u:[OBJECT:]PROVIDER:PROBE      USDT probe (also usdt:)\n"
	       "  up:[OBJECT:]FUNCTION[+OFFSET]  function of the process (uprobe:)\n"
	       "  up:[OBJECT:]0xADDR             address as in OBJECT's symbol table\n"
	       "  ur:[OBJECT:]FUNCTION           its return (upr:, uretprobe:)\n"
	       "  ur:[OBJECT:]0xADDR             its return\n"
	       "  t:SYSTEM:EVENT                 kernel tracepoint (trace:)\n"
	       "  k:FUNCTION[+OFFSET]            function of the kernel (kprobe:)\n"
	       "  kr:FUNCTION                    its return (kretprobe:)\n"
	       "OBJECT is a file that the process has mapped, by path or soname (default: its "
	       "executable). Names may be patterns: all that match are one trigger.\n\n"
	       "SIGINT and SIGTERM end the sample and print it; a second one quits at once.\n\n"
	       "Exit status: 0 success, 1 losses with --strict, 4 --fail-if, 64 wrong command "
	       "line, 65 "
	       "damaged file, 66 no such file, or several processes fit, 69 no such process, 71 "
	       "refused by the kernel, 72 no BTF, 74 output "
	       "error, 75 no trigger within the duration, or too costly ones, 77 not permitted, "
	       "78 wrong trigger.",
};

size_t options_table_length(void)
{
	return LENGTH;
}

const struct argp_option *options_table_find(int key)
{
	for (size_t i = 0; i < LENGTH; i++) {
		if (options_table[i].name && options_table[i].key == key)
			return &options_table[i];
	}
	return NULL;
}
