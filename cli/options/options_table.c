/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "options_table.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "cli/base/names.h"

#ifndef KERNEL_DELAY_VERSION
#define KERNEL_DELAY_VERSION "(unversioned build)"
#endif

#define WORST_MAX 1000      /* samples kept in memory */
#define PAGES_MAX (1 << 18) /* 1 GB */
#define STACKS_MAX 1000000
#define PROFILE_MAX 10000

/* Print help, the parts ARGP_HELP_* that are in min, or the version to standard output, and end the
 * process. */
static OPTION_READER(read_help);
static OPTION_READER(read_version);

#define SORT_WORD(sort, key) key,
static const char *const colors[] = { "auto", "always", "never", NULL }; /* enum color_when */
static const char *const sorts[] = { REPORT_SORTS(SORT_WORD) NULL };

static const char *const machine_formats[] = { "text", "json", NULL };

/* Kinds of values. */
#define FIELD(member)                                                                              \
	.field = offsetof(struct options, member), .size = sizeof(((struct options *)NULL)->member)
#define FLAG(member) .read = read_flag, FIELD(member)
#define NUMBER(member, least, most)                                                                \
	.read = read_number, FIELD(member), .min = (least), .max = (most)
#define DURATION(member, least, bare)                                                              \
	.read = read_duration, FIELD(member), .min = (least), .unit = (bare)

#define COUNTERS_HELP                                                                              \
	"cycles, instructions, cache-references, cache-misses, context-switches, minor-faults "    \
	"and "                                                                                     \
	"major-faults"

/* Modes in which options mean something. That --sample-time means nothing with a stop trigger, nor
 * --trigger-delta without two triggers, is no error: scripts for kernel_delay.py may give them. */
#define PAIRS (IN_PAIR | IN_LONG_POLL | IN_COMMAND)
#define TRIGGERED (IN_ONE | PAIRS)
#define SAMPLES (IN_CLOCKED | IN_RECORD_ON | IN_LIVE | TRIGGERED)
#define REPORT (SAMPLES | IN_REPLAY)
#define PROCESS ((SAMPLES & ~IN_COMMAND) | IN_CHECK | IN_LIST_PROBES | IN_MACHINE)
#define EVERYWHERE (~0U)

#define HELP (ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC)

/* The help says what is preset or implied behind the text. */
static const struct option_row rows[] = {
	{ .help = "Target:" },
	{ "pid", 'p', TAKES_VALUE, "PID[,PID...]",
	  "Watch the process with this PID, or several as one target; PIDs alone do the same.",
	  .read = read_pids, FIELD(pids), .words = WORDS_PIDS, .in = PROCESS },
	{ "comm", 'C', TAKES_VALUE, "NAME",
	  "Watch the process with this name; a NAME alone does the same (default: the running "
	  "ovs-vswitchd, else the running vpp_main or vpp).",
	  .read = read_name, FIELD(comm), .words = WORDS_NAMES, .in = PROCESS },
	{ "all", 0, TAKES_NONE, NULL, "Watch all processes with the name of --comm as one target.",
	  FLAG(all), .in = PROCESS },
	{ "exe", 0, TAKES_VALUE, "FILE",
	  "With --comm: only a process that executes this file. Any process can take any name.",
	  .read = read_file, FIELD(exe), .words = WORDS_FILES, .in = PROCESS },
	{ "uid", 0, TAKES_VALUE, "USER|UID",
	  "With --comm: only a process whose real and effective user is this one.",
	  .read = read_user, FIELD(uid), .words = WORDS_USERS, .in = PROCESS },
	{ "cgroup", 0, TAKES_VALUE, "PATH",
	  "Watch all processes of this control group and of those below it as one target, also "
	  "those that come later. PATH is as in /proc/PID/cgroup, or that of its directory.",
	  .read = read_text, FIELD(cgroup), .words = WORDS_FILES, .in = PROCESS },
	{ "container", 0, TAKES_VALUE, "NAME|ID",
	  "Watch all processes of this container as one target, also those that come later: by "
	  "name, POD/NAME, ID or the beginning of one. The name of a pod stands for all its "
	  "containers.",
	  .read = read_text, FIELD(container), .in = PROCESS },
	{ "follow-fork", 0, TAKES_NONE, NULL,
	  "Watch the children of the target, too, as they are born.", FLAG(follow_fork),
	  .in = PROCESS | IN_COMMAND },
	{ "show-arguments", 0, TAKES_NONE, NULL,
	  "Of several processes, show the arguments of their command lines, too, which may hold "
	  "passwords (default: argv[0], or a title that the program wrote itself).",
	  FLAG(show_arguments), .in = SAMPLES },
	{ "tid", 0, TAKES_VALUE, "TID[,TID...]",
	  "Watch only these threads of the target: others cost next to nothing, and are not in "
	  "the report.",
	  .read = read_tids, FIELD(tids), .in = SAMPLES & ~IN_COMMAND },
	{ "threads", 0, TAKES_VALUE, "GLOB",
	  "Watch only threads whose names match, while they do. With --replay: in the text, list "
	  "only those; the verdict is about all that were watched.",
	  .read = read_glob, FIELD(outputs.report.threads), .in = REPORT },
	{ "pidfile", 0, TAKES_VALUE, "FILE", "Watch the process whose PID is in FILE.",
	  .read = read_file, FIELD(pidfile), .words = WORDS_FILES, .in = PROCESS },
	{ "pid-ns", 0, TAKES_VALUE, "PID",
	  "Take the PID of --pid or --pidfile as it is in the PID namespace of this process, such "
	  "as one in a container.",
	  NUMBER(pid_ns, 1, INT32_MAX), .words = WORDS_PIDS, .in = PROCESS },
	{ "wait", 0, TAKES_ATTACHED, "DURATION",
	  "Wait until the process of --comm or --pidfile exists, or one is in the group of "
	  "--cgroup, at most this long (default: no limit).",
	  .read = read_wait, FIELD(wait), .min = 1, .in = PROCESS },
	{ "follow-restart", 0, TAKES_NONE, NULL,
	  "When the process ends, go on with its successor: the next one with the same name and "
	  "executable. Needs several samples, --duration or --listen.",
	  FLAG(follow_restart), .in = IN_CLOCKED | IN_RECORD_ON },
	{ "exit-status", 0, TAKES_NONE, NULL,
	  "Exit with the status of COMMAND, or 128+N if signal N ended it; if that is 0, with "
	  "this program's own.",
	  FLAG(pass_status), .in = SAMPLES & ~IN_LIVE },

	{ .help = "Samples:" },
	{ "sample-time", 0, TAKES_VALUE, "DURATION",
	  "Length of a sample, more than 0. Without it a single sample of a COMMAND lasts until "
	  "that ends.",
	  .read = read_length, FIELD(sample_time), .min = 1, .unit = NSEC_PER_SEC, .preset = "0.5s",
	  .in = SAMPLES },
	{ "sample-count", 0, TAKES_VALUE, "N",
	  "Number of samples; 0: until stopped (default: 1; or 0 if something else ends the run, "
	  "such as --duration).",
	  NUMBER(sample_count, 0, UINT64_MAX - 1), .in = SAMPLES },
	{ "sample-interval", 0, TAKES_VALUE, "DURATION", "Pause between two samples.",
	  DURATION(sample_interval, 0, NSEC_PER_SEC), .preset = "0s",
	  .in = SAMPLES & ~(IN_RECORD_ON | IN_LIVE) },
	{ "at", 0, TAKES_VALUE, "TIME",
	  "Begin at this time of the wall clock, with all programs loaded before: 14:30, 14:30:05, "
	  "2026-11-21T14:30, +5s, or each sample at the next multiple of a period since 1970: "
	  "/10s.",
	  .read = read_at, FIELD(at), .in = IN_CLOCKED | IN_LIVE | IN_COMMAND },
	{ "duration", 0, TAKES_VALUE, "DURATION",
	  "End the run after this time (default: no limit).", DURATION(duration, 1, 0),
	  .in = SAMPLES },
	{ "histogram", 0, TAKES_NONE, NULL,
	  "Show how the durations of runs, of waits for a CPU and of each system call are "
	  "distributed, with percentiles.",
	  FLAG(histogram), .in = SAMPLES },
	{ "interruptions", 0, TAKES_ATTACHED, "DURATION",
	  "List each interruption of a thread that took at least this long, and its causes: "
	  "interrupts, other programs, a quota, page faults.",
	  DURATION(interruptions, 1, 0), .implied = "10us", .in = SAMPLES },
	{ "record", 0, TAKES_ATTACHED, "DURATION",
	  "Record what the threads do, who wakes them and who has their CPUs, all the time, so "
	  "that each sample has what happened before it, this long: for its critical path and "
	  "for -o perfetto. SIGUSR1 asks for a report at once.",
	  DURATION(record, 1, 0), .implied = "5s", .in = SAMPLES },
	{ "record-memory", 0, TAKES_VALUE, "SIZE",
	  "Memory for what is recorded, also with K, M or G, at most 4G. What is older is "
	  "overwritten; the report says how long it held.",
	  .read = read_memory, FIELD(record_memory), .preset = "32M", .in = SAMPLES },
	{ "record-on", 0, TAKES_VALUE, "EXPR",
	  "Record until EXPR, a condition as of --fail-if, is true of the last 100 ms (or "
	  "--sample-time), and report that then; signal: report only what SIGUSR1 asks for.",
	  .read = read_text, FIELD(record_on), .words = WORDS_CONDITIONS,
	  .in = IN_CLOCKED | IN_RECORD_ON | IN_COMMAND },
	{ "counters", 0, TAKES_VALUE, "LIST",
	  "Count perf events for each thread, as in cycles,instructions,page-faults: names as in "
	  "perf-list(1), or raw ones (r3c), at most 16. default: " COUNTERS_HELP ".",
	  .read = read_counters, .in = SAMPLES },
	{ "per-cpu", 0, TAKES_NONE, NULL, "Count them for each CPU that a thread ran on.",
	  FLAG(counters.per_cpu), .in = SAMPLES },
	{ "resources", 0, TAKES_NONE, NULL,
	  "Show what threads and processes use: CPU time, memory, bytes read and written by the "
	  "kind of descriptor, requests to disks, what TCP sent again, forks and execs.",
	  FLAG(resources), .in = SAMPLES },

	{ .help = "Triggers:" },
	{ "start-trigger", 0, TAKES_VALUE, "TRIGGER", "Start a sample when TRIGGER is hit.",
	  .read = read_trigger, FIELD(triggers[KD_START]), .words = WORDS_TRIGGERS,
	  .in = IN_ONE | IN_PAIR | IN_CHECK | IN_COMMAND },
	{ "stop-trigger", 0, TAKES_VALUE, "TRIGGER",
	  "Stop the sample when TRIGGER is hit (default: after the sample time).",
	  .read = read_trigger, FIELD(triggers[KD_STOP]), .words = WORDS_TRIGGERS,
	  .in = IN_ONE | IN_PAIR | IN_CHECK | IN_COMMAND },
	{ "trigger-delta", 0, TAKES_FOLLOWING, "NS[,GLOB:NS...]",
	  "With both triggers: skip samples shorter than this, a number of nanoseconds or a number "
	  "with a unit; those that threads end whose names match a GLOB by its own. It may follow "
	  "after a space.",
	  .read = read_deltas, FIELD(trigger_deltas), .implied = "0", .in = SAMPLES | IN_CHECK },
	{ "trigger-same-thread", 0, TAKES_NONE, NULL,
	  "Pair starts and stops by thread: a stop counts only on the thread that hit the start.",
	  FLAG(same_thread), .in = PAIRS | IN_CHECK },
	{ "trigger-target-only", 0, TAKES_NONE, NULL,
	  "Count hits of kernel probes only if the target makes them.", FLAG(target_only),
	  .in = TRIGGERED | IN_CHECK },
	{ "unsafe-returns", 0, TAKES_NONE, NULL,
	  "Use return probes even where they may kill the process: on functions of Go, and on "
	  "functions that an exception may pass through.",
	  FLAG(unsafe_returns), .in = IN_ONE | IN_PAIR | IN_CHECK | IN_COMMAND },
	{ "trigger-any", 0, TAKES_NONE, NULL,
	  "Count hits of system call tracepoints (t:syscalls:...) by any process.", FLAG(any),
	  .in = IN_ONE | IN_PAIR | IN_CHECK | IN_COMMAND },
	{ "trigger-worst", 0, TAKES_VALUE, "N",
	  "With both triggers: print only the N longest samples, when the run ends (default: each "
	  "as it comes). Needs --duration, --sample-count or a COMMAND.",
	  NUMBER(trigger_worst, 1, WORST_MAX), .in = PAIRS },
	{ "long-poll", 0, TAKES_FOLLOWING, "DURATION",
	  "Sample from a thread's return from poll, select or epoll_wait (or ppoll, pselect6, "
	  "epoll_pwait) to its next such call, if that takes DURATION or longer.",
	  DURATION(long_poll, 1, 0), .implied = "1s", .in = IN_LONG_POLL | IN_CHECK | IN_COMMAND },
	{ "max-overhead", 0, TAKES_VALUE, "PCT[,stop]",
	  "Remove the probes part of the time if they would cost a thread more than this "
	  "percentage of its CPU time; with ',stop' end the run instead; 0: no limit.",
	  .read = read_overhead, FIELD(max_overhead), .max = 100, .preset = "10", .in = TRIGGERED },
	{ "window-banks", 0, TAKES_VALUE, "N",
	  "How many samples may be open (several only with --trigger-same-thread) or waiting to be "
	  "read, 2 to 7.",
	  NUMBER(window_banks, 2, KD_MAX_BANKS), .preset = "4", .in = TRIGGERED },
	{ "verbose", 'v', TAKES_NONE, NULL,
	  "Also print three lines for each skipped sample, and how often attaching interrupts "
	  "other CPUs.",
	  FLAG(verbose), .in = SAMPLES },
	{ "list-probes", 0, TAKES_ATTACHED, "GLOB",
	  "List what can be a trigger for this process, or only what matches GLOB, and exit.",
	  .read = read_listing, .words = WORDS_TRIGGERS, .in = IN_LIST_PROBES | IN_COMMAND },
	{ "check", 0, TAKES_NONE, NULL,
	  "Show where the triggers' probes would be set and what a hit costs, and exit.",
	  FLAG(check), .in = TRIGGERED | IN_CHECK },

	{ .help = "Slow system calls, waits, running code, and their stacks:" },
	{ "syscall-events", 's', TAKES_FOLLOWING, "NS",
	  "List the system calls that took at least this long: a number of nanoseconds, or a "
	  "number with a unit; 0: all of them. NS may follow after a space.",
	  .read = read_events, FIELD(call_threshold), .unit = 1, .implied = "0", .in = SAMPLES },
	{ "skip-syscall-poll-events", 0, TAKES_NONE, NULL,
	  "Leave poll, select, epoll_wait and their variants out of that list.", FLAG(skip_polls),
	  .in = SAMPLES },
	{ "syscall-filter", 'e', TAKES_VALUE, "LIST",
	  "List only these system calls, and waits in them, as in futex,recvmsg, or all but these, "
	  "as in '!poll,futex': names, patterns or numbers.",
	  .read = read_calls, .words = WORDS_CALLS, .in = SAMPLES },
	{ "off-cpu", 0, TAKES_VALUE, "DURATION",
	  "List the waits, asleep or for a CPU, that lasted at least this long.",
	  DURATION(off_cpu, 1, 0), .in = SAMPLES },
	{ "wait-filter", 0, TAKES_VALUE, "LIST",
	  "List only these waits, as in lock,disk,ready_*, or all but these: states, or what the "
	  "thread waited for. A line says how many were left out; '*' lists all.",
	  .read = read_waits, FIELD(waits), .preset = "!work,timer", .words = WORDS_WAITS,
	  .in = SAMPLES },
	{ "wakers", 0, TAKES_NONE, NULL,
	  "Where a thread of another process ended a wait, also show who had woken that thread, as "
	  "is always shown for the process's own. This slows every wake-up on the machine a "
	  "little.",
	  FLAG(all_wakers), .in = SAMPLES },
	{ "profile", 0, TAKES_FOLLOWING, "HZ",
	  "Sample what the threads are running, this many times per second of CPU time. HZ may "
	  "follow after a space.",
	  NUMBER(profile_hz, 1, PROFILE_MAX), .implied = "49", .in = SAMPLES },
	{ "lines", 0, TAKES_NONE, NULL,
	  "In the lists of waits and of running code, give each offset in a function a row of its "
	  "own.",
	  FLAG(outputs.report.lines), .in = REPORT },
	{ "stack-trace-size", 0, TAKES_VALUE, "N",
	  "Number of different stacks to keep; 0: no stacks.", NUMBER(stacks, 0, STACKS_MAX),
	  .preset = "4096", .in = SAMPLES },
	{ "user-stack-bytes", 0, TAKES_VALUE, "BYTES",
	  "How much of each user stack to copy, up to 128K; 0: no user stacks.", .read = read_bytes,
	  FIELD(stack_bytes), .max = KD_STACK_MAX, .preset = "128K", .in = SAMPLES },
	{ "stack-overhead", 0, TAKES_VALUE, "PERCENT",
	  "Spend at most this percentage of each CPU's time on copying user stacks; 0: no limit.",
	  .read = read_percent, FIELD(stack_share), .preset = "1", .in = SAMPLES },
	{ "buffer-page-count", 0, TAKES_VALUE, "N",
	  "Size of the buffer between the kernel and this program, in pages of 4096 bytes, rounded "
	  "up to a power of two.",
	  NUMBER(buffer_pages, 1, PAGES_MAX), .preset = "1024", .in = SAMPLES },

	{ .help = "Output:" },
	{ "output", 'o', TAKES_VALUE, "FORMAT[:FILE]",
	  "Write the samples to FILE, or to standard output, in this format; can be repeated "
	  "(default: text; with a COMMAND on standard error). A FILE alone means text. In its name "
	  "%n is the number of the sample, "
	  "%t its time, %p the process ID of this program.",
	  .read = read_output, .words = WORDS_OUTPUTS, .in = REPORT },
	{ "live", 0, TAKES_NONE, NULL,
	  "Show one window after the other on this terminal, of 1s each unless --sample-time says "
	  "otherwise; ? lists the keys.",
	  FLAG(outputs.live), .in = IN_CLOCKED | IN_LIVE },
	{ "output-mode", 0, TAKES_VALUE, "OCTAL", "Permissions of files.", .read = read_mode,
	  FIELD(outputs.mode), .preset = "0600", .in = REPORT },
	{ "output-limit", 0, TAKES_VALUE, "SIZE",
	  "How many bytes the files of one output may fill, also with K, M or G; the oldest files "
	  "of this run are removed (default: no limit).",
	  .read = read_size, FIELD(outputs.limit), .in = REPORT },
	{ "full", 0, TAKES_NONE, NULL,
	  "In the text, print all sections of all threads, without the first screen.", FLAG(full),
	  .in = REPORT },
	{ "summary", 0, TAKES_NONE, NULL, "In the text, print the first screen only.",
	  FLAG(summary), .in = REPORT },
	{ "top", 0, TAKES_VALUE, "N",
	  "In the text, print sections of the first N threads, and one line for each other "
	  "thread. If N is at most 10, fewer have sections where the report would exceed 400 "
	  "lines.",
	  NUMBER(outputs.report.top, 0, UINT32_MAX), .preset = "10", .in = REPORT },
	{ "sort", 0, TAKES_VALUE, "KEY",
	  "In the text, the order of threads: first those that were kept from running for the "
	  "longest time in total (kept) or at once (longest), or that were running, ready or "
	  "blocked for the longest time; or by name or tid.",
	  .read = read_choice, FIELD(outputs.report.sort), .choices = sorts, .words = WORDS_CHOICES,
	  .preset = "kept", .in = REPORT },
	{ "color", 0, TAKES_VALUE, "WHEN",
	  "Bold headings on the standard streams: always, never, or on a terminal (auto) unless "
	  "NO_COLOR is set. Files have none.",
	  .read = read_choice, FIELD(outputs.color), .choices = colors, .words = WORDS_CHOICES,
	  .preset = "auto", .in = REPORT },
	{ "no-pager", 0, TAKES_NONE, NULL,
	  "Do not show a report that is longer than the terminal with PAGER (default: less).",
	  FLAG(outputs.no_pager), .in = REPORT },
	{ "ewma", 0, TAKES_VALUE, "ALPHA",
	  "Weight of a new sample in the moving averages over several samples, more than 0, up to "
	  "1.",
	  .read = read_alpha, FIELD(outputs.ewma), .preset = "0.2", .in = REPORT },
	{ "quiet", 0, TAKES_NONE, NULL,
	  "Print no text unless -o asks for it, no warnings and no notes.", FLAG(outputs.quiet),
	  .in = EVERYWHERE },
	{ "fail-if", 0, TAKES_VALUE, "EXPR",
	  "End with status 4 if EXPR is true for any sample, such as 'ready.max>1ms', "
	  "'softirq.pct>5' or 'lost>0'; can be repeated.",
	  .read = read_fail_if, .words = WORDS_CONDITIONS, .in = REPORT },
	{ "replay", 0, TAKES_VALUE, "FILE",
	  "Read the samples from FILE, written by -o json:FILE; -: standard input.",
	  .read = read_file, FIELD(replay), .words = WORDS_FILES, .in = IN_REPLAY },
	{ "compare", 0, TAKES_VALUE, "FILE",
	  "At the end, show what differs from the samples in FILE, written by -o json:FILE, beyond "
	  "how the samples of each differ. Eight samples of each, or more, are needed.",
	  .read = read_file, FIELD(outputs.compare), .words = WORDS_FILES,
	  .in = IN_CLOCKED | IN_LIVE | IN_COMMAND | IN_REPLAY },
	{ "per-thread", 0, TAKES_NONE, NULL,
	  "List each thread separately, with its TID: in the list of waits, in folded stacks and "
	  "in metrics (there the default with one sample).",
	  FLAG(outputs.report.per_thread), .in = REPORT },
	{ "fold-names", 0, TAKES_NONE, NULL,
	  "In metrics, drop the numbers at the end of thread names.",
	  FLAG(outputs.report.fold_names), .in = REPORT },
	{ "max-syscalls", 0, TAKES_VALUE, "N",
	  "In metrics, name only the N longest system calls of each thread and add up the others; "
	  "0: name all.",
	  NUMBER(outputs.report.max_syscalls, 0, UINT32_MAX), .preset = "0", .in = REPORT },
	{ "timestamps", 0, TAKES_NONE, NULL,
	  "In metrics, give the time of the sample with each value.",
	  FLAG(outputs.report.timestamps), .in = REPORT },
	{ "list-metrics", 0, TAKES_NONE, NULL, "List the metrics, and exit.", FLAG(list_metrics),
	  .in = IN_LIST_METRICS },
	{ "listen", 0, TAKES_VALUE, "[ADDR:]PORT",
	  "Serve metrics over HTTP while sampling (default ADDR: 127.0.0.1).", .read = read_listen,
	  .in = SAMPLES },
	{ "allow-host", 0, TAKES_VALUE, "NAME[,NAME...]",
	  "With --listen: also answer requests for these names of hosts, not only for addresses, "
	  "localhost and the name of this machine; '*': for any.",
	  .read = read_text, FIELD(outputs.allow_host), .in = SAMPLES },

	{ .help = "Run:" },
	{ "machine", 0, TAKES_ATTACHED, "FORMAT",
	  "Check this machine's setup for what can delay a process, print the findings, and exit; "
	  "if a process is given, check for that one. FORMAT is text or json.",
	  .read = read_machine, .choices = machine_formats, .words = WORDS_CHOICES,
	  .implied = "text", .in = IN_MACHINE },
	{ "skip-upcall-stats", 0, TAKES_NONE, NULL, "Do not count the upcalls of Open vSwitch.",
	  FLAG(skip_upcall_stats), .in = SAMPLES },
	{ "btf", 0, TAKES_VALUE, "FILE",
	  "Read the kernel's types from FILE (default: /sys/kernel/btf/vmlinux).",
	  .read = read_file, FIELD(btf_file), .words = WORDS_FILES, .in = SAMPLES },
	{ "keep-privileges", 0, TAKES_NONE, NULL,
	  "Keep all privileges for the whole run, instead of giving up those that only attaching "
	  "needs.",
	  FLAG(keep_privileges), .in = REPORT },
	{ "strict", 0, TAKES_NONE, NULL,
	  "Exit with status 1 if anything was lost or a signal cut a sample short.", FLAG(strict),
	  .in = REPORT },
	{ "debug", 'D', TAKES_FOLLOWING, "N",
	  "Print the messages of libbpf and of the kernel's verifier. N may follow after a space; "
	  "0: do not print them.",
	  NUMBER(debug, 0, INT32_MAX), .preset = "0", .implied = "63", .in = EVERYWHERE },

	{ .help = "Help:" },
	{ "help", 'h', TAKES_NONE, NULL, "Print this help; -? does the same.", .read = read_help,
	  .min = HELP, .in = EVERYWHERE },
	{ .letter = '?', .read = read_help, .min = HELP, .in = EVERYWHERE },
	{ "usage", 0, TAKES_NONE, NULL, "Print a short usage message.", .read = read_help,
	  .min = ARGP_HELP_USAGE, .in = EVERYWHERE },
	{ "version", 'V', TAKES_NONE, NULL, "Print the version.", .read = read_version,
	  .in = EVERYWHERE },
};
#define ROWS (sizeof(rows) / sizeof(*rows))
_Static_assert(ROWS <= OPTIONS_ROOM, "room for each option");

const struct option_row *option_row_at(size_t index)
{
	return index < ROWS ? &rows[index] : NULL;
}

size_t option_row_index(const struct option_row *row)
{
	return (size_t)(row - rows);
}

/* What argp knows a row by: its letter or a number of its own. */
static int option_row_key(size_t index)
{
	return rows[index].letter ? rows[index].letter : 256 + (int)index;
}

const struct option_row *option_row_find(int key)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].read && option_row_key(i) == key)
			return &rows[i];
	return NULL;
}

/* --- argp finds the options and formats the help --- */

/* It does not say which word is wrong, so that is found out here. */

static const char doc[] =
	"Show where each thread of a running process spends its time, and how much of that "
	"is the kernel's doing. COMMAND is started, and watched from its first instruction to "
	"its end.\v"
	"DURATION is a number directly followed by ns, us, ms, s or min: 0.5s, 250ms, "
	"2min. The longest is 365 days. A number without a unit is an error, except with "
	"--sample-time and --sample-interval, where it means seconds.\n\n"
	"@FILE stands for the options in FILE, one per line as on the command line, without "
	"quotes; "
	"# begins a comment.\n\n"
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
	"executable). Names may be patterns; all that match are one trigger.\n\n"
	"The first SIGINT or SIGTERM ends the sample and prints it, the second one quits "
	"at once.\n\n"
	"Exit status: 0 success, 1 losses with --strict, 4 --fail-if is true, 64 wrong "
	"command line, 65 damaged file, 66 no such file, or several processes or containers "
	"match, 69 no such process, thread, control group or container, 71 refused by the "
	"kernel, 72 no BTF, 74 output error, 75 no trigger led to a sample, the probes cost "
	"too much, or --at or --duration is over, 77 not permitted, 78 wrong trigger, 126 "
	"COMMAND cannot be run, 127 there is no such COMMAND.";

/* --- Reading --- */

struct argp_walk {
	options_found *found;
	void *context;
	int next; /* index of the word that follows what was found last */
	char **command;
	int result; /* of found() */
};

static error_t word_take(int key, char *text, struct argp_state *state)
{
	struct argp_walk *walk = state->input;
	const struct option_row *row = key == ARGP_KEY_ARG ? NULL : option_row_find(key);
	const char *next = state->argv[state->next];

	if (state->quoted && (key == ARGP_KEY_ARG || key == ARGP_KEY_END)) {
		walk->command = &state->argv[state->quoted];
		state->next = state->argc;
		return 0;
	}
	if (!row && key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (row && row->takes == TAKES_FOLLOWING && !text && next && *next >= '0' && *next <= '9')
		text = state->argv[state->next++];
	walk->next = state->next;
	walk->result = walk->found(walk->context, row, text);
	return walk->result ? EINVAL : 0;
}

/* Behind the text what holds without the option, or without its value. */
static char *help_complete(int key, const char *text, void *input)
{
	const struct option_row *row = option_row_find(key);
	const struct output_format *format;
	char *completed = NULL;
	size_t length;
	FILE *out;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC && (!row || !text || !(row->preset || row->implied)))
		return (char *)text;
	out = open_memstream(&completed, &length);
	if (!out)
		return (char *)text;
	if (row) {
		fprintf(out, "%.*s (default: %s", (int)strlen(text) - 1, text,
			row->preset ? row->preset : row->implied);
		if (row->preset && row->implied)
			fprintf(out, "; without %s: %s", row->value, row->implied);
		fputs(").", out);
	} else {
		fputs("FORMAT is one of\n", out);
		for (size_t i = 0; (format = output_format_at(i)); i++)
			fprintf(out, "  %-12s %s\n", format->name, format->about);
		fprintf(out, "\n%s", text);
	}
	if (!fclose(out))
		return completed;
	free(completed);
	return (char *)text;
}

/* Makes *argp, with the entries that it needs. */
static void argp_fill(struct argp *argp, struct argp_option entries[OPTIONS_ROOM + 1])
{
	const struct option_row *row;
	int group = -1;
	size_t i;

	/* argp puts --help and --version into group -1, the last one, by itself. */
	for (i = 0; (row = option_row_at(i)); i++)
		group -= !row->read;
	for (i = 0; (row = option_row_at(i)); i++) {
		bool is_title = !row->read;

		group += is_title;
		entries[i] = (struct argp_option){
			.name = row->name,
			.key = is_title ? 0 : option_row_key(i),
			.arg = row->value,
			.flags = (row->takes > TAKES_VALUE ? OPTION_ARG_OPTIONAL : 0) |
				 (row->help ? 0 : OPTION_HIDDEN),
			.doc = row->help,
			.group = group,
		};
	}
	entries[i] = (struct argp_option){ 0 };
	*argp = (struct argp){
		.options = entries,
		.parser = word_take,
		.args_doc = "[PID|NAME] [@FILE...]\n-- COMMAND [ARGUMENT...]",
		.doc = doc,
		.help_filter = help_complete,
	};
}

int options_walk(int argc, char **argv, options_found *found, void *context, int *at,
		 char ***command)
{
	struct argp_walk walk = { .found = found, .context = context, .next = 1 };
	struct argp_option entries[OPTIONS_ROOM + 1];
	struct argp argp;
	int error;

	argp_fill(&argp, entries);
	error = argp_parse(&argp, argc, argv, ARGP_SILENT | ARGP_IN_ORDER, NULL, &walk);
	*at = walk.next;
	*command = walk.command;
	return walk.result ? walk.result : -error;
}

/* --- Words that cannot be read --- */

static bool begins_with(const char *name, const char *prefix, size_t length)
{
	return name && !strncmp(name, prefix, length);
}

/* The option whose name, or the beginning of whose name alone, this is; NULL if there is
 * none. *similar is how many begin so. */
static const struct option_row *row_named(const char *name, size_t length, size_t *similar)
{
	const struct option_row *row, *found = NULL;

	*similar = 0;
	for (size_t i = 0; length && (row = option_row_at(i)); i++) {
		if (!begins_with(row->name, name, length))
			continue;
		++*similar;
		found = row;
		if (!row->name[length])
			return row;
	}
	return *similar == 1 ? found : NULL;
}

static exit_status refuse_value(const struct option_row *row, const char *word)
{
	if (row->takes == TAKES_NONE)
		log_error("option --%s takes no value: '%s'", row->name, word);
	else
		log_error("option --%s needs a value", row->name);
	return options_see_help();
}

/* --NAME or --NAME=VALUE */
static exit_status refuse_long(const char *word)
{
	size_t length = strcspn(word, "=") - 2, similar;
	const struct option_row *row = row_named(word + 2, length, &similar);
	struct names_closest closest;
	char name[64];

	if (row)
		return refuse_value(row, word);
	log_error("%s option --%.*s", similar ? "ambiguous" : "unknown", (int)length, word + 2);
	snprintf(name, sizeof(name), "%.*s", (int)length, word + 2);
	names_closest_init(&closest, name);
	for (size_t i = 0; (row = option_row_at(i)); i++)
		if (row->name && (!similar || begins_with(row->name, name, length)))
			names_closest_offer(&closest, row->name);
	names_closest_hint(&closest, "--", OPTIONS_SEE_HELP);
	names_closest_clear(&closest);
	return EX_USAGE;
}

exit_status options_refuse_word(const char *word)
{
	const struct option_row *row = NULL;

	if (word[1] == '-')
		return refuse_long(word);
	/* Letters without values may stand before the one that is wrong. */
	while (*++word) {
		row = option_row_find(*word);
		if (!row)
			break;
		if (row->takes == TAKES_VALUE)
			return refuse_value(row, word);
	}
	log_error("unknown option -%c", *word);
	return options_see_help();
}

/* --- Help --- */

#define HELP_ROOM (1 << 16)

/* Ends the process after something was printed on stdout. */
static _Noreturn void finish_output(void)
{
	errno = 0;
	if (fflush(stdout) || ferror(stdout)) {
		exit(log_write_failed("to standard output", errno ? -errno : -EIO));
	}
	exit(EX_OK);
}

const char *options_version(void)
{
	return KERNEL_DELAY_VERSION;
}

static int read_help(const struct option_row *row, const char *text, struct options *options)
{
	struct argp_option entries[OPTIONS_ROOM + 1];
	char *all = malloc(HELP_ROOM);
	struct argp argp;

	(void)text, (void)options;
	if (!all)
		exit(log_no_memory());
	argp_fill(&argp, entries);
	/* Written at once, at the end: of an earlier write that failed nobody knows the reason. */
	setvbuf(stdout, all, _IOFBF, HELP_ROOM);
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error like others */
	argp_help(&argp, stdout, (unsigned int)row->min, (char[]){ PROGRAM });
	finish_output();
}

static int read_version(const struct option_row *row, const char *text, struct options *options)
{
	(void)row, (void)text, (void)options;
	signal(SIGPIPE, SIG_IGN);
	printf(PROGRAM " %s\n", options_version());
	finish_output();
}
