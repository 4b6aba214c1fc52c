/* SPDX-License-Identifier: Apache-2.0 */
/* What is read while samples are taken: names of descriptors, CPUs that come and go, counts of
 * interrupts; perf events, on machines that are made up, as this one may have no counters; sizes
 * that the BPF programs and user space share; and how a session's parts begin and end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bpf/kernel_delay.h"
#include "cli/capture/session/cpus.h"
#include "cli/capture/session/file_names.h"
#include "cli/capture/session/parts.h"
#include "cli/model/counter.h"
#include "tap.h"
#include "cli/capture/session/types.h"

/* --- Names of this process's own descriptors, also of more than are kept --- */

#define MINOR_BITS 20 /* of the kernel's own device numbers */
#define MANY 20000    /* more than are kept */

/* As the kernel side would note an open file. */
static struct kd_file file_at(int fd)
{
	struct kd_file file;
	struct stat now;

	memset(&file, 0, sizeof(file)); /* with what is between its fields */
	need(!fstat(fd, &now));
	file.kind = KD_AWAITED_FILE;
	file.fd = fd;
	file.inode = now.st_ino;
	file.device = major(now.st_dev) << MINOR_BITS | minor(now.st_dev);
	return file;
}

static void one_file(struct file_names *names, const char *when)
{
	char list_path[] = "/tmp/kdtest-XXXXXX", deleted[sizeof(list_path) + 16];
	int fd = mkstemp(list_path);
	struct kd_file file = file_at(fd), other = file, moved = file;
	const struct descriptor *is = file_names_find(names, getpid(), &file);

	is_str(is->path, list_path, "%s: the list_path of a file", when);
	is_i64(is->fd, fd, "%s: its descriptor", when);
	is_u64(is->inode, file.inode, "%s: its inode", when);
	other.inode++;
	memcpy(other.name, "gone", sizeof("gone"));
	is = file_names_find(names, getpid(), &other);
	is_str(is->path, ".../gone", "%s: a file that the descriptor no longer is", when);
	moved.device++;
	memcpy(moved.name, "moved", sizeof("moved"));
	is = file_names_find(names, getpid(), &moved);
	is_str(is->path, ".../moved", "%s: one on another device", when);
	moved.device++;
	memcpy(moved.name, strrchr(list_path, '/') + 1, sizeof("kdtest-XXXXXX"));
	is = file_names_find(names, getpid(), &moved);
	is_str(is->path, list_path, "%s: one of this name, as overlayfs has it", when);
	moved.device++;
	unlink(list_path);
	is = file_names_find(names, getpid(), &moved);
	snprintf(deleted, sizeof(deleted), "%s (deleted)", list_path);
	is_str(is->path, deleted, "%s: the same when it was removed", when);
	/* Open: the next one has another number. */
}

TEST(files)
{
	struct file_names *names = file_names_new();
	struct kd_file null = file_at(open("/dev/null", O_RDONLY | O_CLOEXEC));
	char *text, wanted[32];
	size_t named = 0;

	need(names);
	one_file(names, "the first one");
	text = file_names_text(names, getpid(), &null);
	snprintf(wanted, sizeof(wanted), "fd %d, /dev/null", (int)null.fd);
	ok(text && !strcmp(text, wanted), "words");
	free(text);
	for (uint64_t i = 1; i < MANY; i++) {
		struct kd_file more;

		memset(&more, 0, sizeof(more));
		more.fd = -1;
		more.inode = i;
		text = file_names_text(names, getpid(), &more);
		named += text && !strcmp(text, "fd -1");
		free(text);
	}
	ok(named == MANY - 1, "each of many has words");
	text = file_names_text(names, getpid(), &null);
	ok(text && !strcmp(text, wanted), "an early one among them");
	free(text);
	one_file(names, "when there are too many");
	file_names_free(names);
}

/* --- CPUs that come and go, by a list_fd that is like the kernel's --- */

static int list_fd;
static char list_path[32], changes[256];

static void put(const char *text)
{
	need(!ftruncate(list_fd, 0) &&
	     pwrite(list_fd, text, strlen(text), 0) == (ssize_t)strlen(text));
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

TEST(online)
{
	struct online_cpus cpus;

	list_fd = memfd_create("online", 0);
	snprintf(list_path, sizeof(list_path), "/proc/self/fd/%d", list_fd);
	put("0-3,8\n");
	online_cpus_open(&cpus, list_path);
	look(&cpus, "0-3,8\n", "");
	look(&cpus, "0-2,8\n", "-3 ");
	look(&cpus, "0-3,64-65,8191\n", "+3 -8 +64 +65 +8191 ");
	look(&cpus, "", "");
	look(&cpus, "none\n", "");
	online_cpus_close(&cpus);
	put("0\n");
	online_cpus_open(&cpus, list_path);
	look(&cpus, "0-1,8192-9000\n", "+1 ");
	online_cpus_close(&cpus);
	online_cpus_open(&cpus, "/nowhere/online");
	look(&cpus, "1\n", "");
	online_cpus_close(&cpus);
	put("nothing\n");
	online_cpus_open(&cpus, list_path);
	look(&cpus, "0\n", "");
	online_cpus_close(&cpus);
}

/* --- The count of function-call interrupts in files as /proc/interrupts is --- */

static void is_count(const char *what, const char *text, bool reported, uint64_t received,
		     uint32_t cpus)
{
	FILE *file = fmemopen((char *)text, strlen(text), "r");
	struct ipi_count count;

	need(file);
	ok(ipi_count_parse(file, &count) == reported, "%s: it %s", what,
	   reported ? "tells" : "does not tell");
	if (reported) {
		is_u64(count.received, received, "%s: of all CPUs together", what);
		is_u64(count.cpus, cpus, "%s: the CPUs", what);
	}
	fclose(file);
}

TEST(interrupts)
{
	is_count("x86",
		 "            CPU0       CPU1       CPU7\n"
		 "  0:          9          0          0   IO-APIC   2-edge      timer\n"
		 "RES:        100        200        300   Rescheduling interrupts\n"
		 "CAL:    8244140   13674271          5   Function call interrupts\n"
		 "TLB:     584350     733598          1   TLB shootdowns\n",
		 true, 8244140 + 13674271 + 5, 3);
	is_count("arm64",
		 "           CPU0       CPU1\n"
		 "IPI0:        10         11       Rescheduling interrupts\n"
		 "IPI1:        20   18446744       Function call interrupts\n",
		 true, 20 + 18446744, 2);
	is_count("a row that is cut off",
		 "           CPU0       CPU1\n"
		 "CAL:         20   Function call interrupts\n",
		 true, 20, 2);
	is_count("one without that row",
		 "           CPU0       CPU1\n"
		 "RES:        100        200   Rescheduling interrupts\n",
		 false, 0, 0);
	is_count("one without its header", "CAL:  20  30  Function call interrupts\n", false, 0, 0);
}

static void is_timer(const char *what, const char *text, uint32_t line)
{
	FILE *file = fmemopen((char *)text, strlen(text), "r");

	need(file);
	is_u64(timer_line_parse(file), line, "the timer's line: %s", what);
	fclose(file);
}

TEST(timer)
{
	is_timer("arm64",
		 "           CPU0       CPU1\n"
		 "  9:          0          0     GICv3  25 Level     vgic\n"
		 " 11:        763        805     GICv3  27 Level     arch_timer\n"
		 " 12:          0          0     GICv3  28 Level     another_arch_timer\n"
		 "IPI4:         0          0       Timer broadcast interrupts\n",
		 11);
	is_timer("x86",
		 "            CPU0       CPU1\n"
		 "  0:          9          0   IO-APIC   2-edge      timer\n"
		 "LOC:        100        200   Local timer interrupts\n",
		 0);
}

/* --- Perf events --- */

/* Values of include/uapi/linux/perf_event.h, as perf stat -v shows them. */
TEST(names)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
	} known[] = {
		{ "cycles", 0, 0 },
		{ "instructions", 0, 1 },
		{ "cache-references", 0, 2 },
		{ "cache-misses", 0, 3 },
		{ "branches", 0, 4 },
		{ "branch-misses", 0, 5 },
		{ "task-clock", 1, 1 },
		{ "page-faults", 1, 2 },
		{ "context-switches", 1, 3 },
		{ "cpu-migrations", 1, 4 },
		{ "minor-faults", 1, 5 },
		{ "major-faults", 1, 6 },
		{ "L1-dcache-loads", 3, 0 },
		{ "L1-dcache-load-misses", 3, 0x10000 },
		{ "L1-dcache-stores", 3, 0x100 },
		{ "L1-icache-load-misses", 3, 0x10001 },
		{ "LLC-loads", 3, 2 },
		{ "LLC-store-misses", 3, 0x10102 },
		{ "dTLB-load-misses", 3, 0x10003 },
		{ "iTLB-loads", 3, 4 },
		{ "branch-load-misses", 3, 0x10005 },
		{ "node-prefetches", 3, 0x206 },
		{ "r3c", 4, 0x3c },
		{ "rffffffffffffffff", 4, UINT64_MAX },
	};
	static const char *const unknown[] = {
		"",          "cycle",
		"Cycles",    "r",
		"r3g",       "r11112222333344445",
		"L1-dcache", "L1-dcache-load",
		"cycles ",   "a-name-that-is-longer-than-any-event"
	};
	struct counter_set set = { 0 };
	const struct counter_event *event = set.all;
	char wrong[COUNTER_NAME];

	for (size_t i = 0; i < COUNT(known); i++)
		ok(!counter_set_read(known[i].name, &set, wrong) && set.n == 1 &&
			   event->type == known[i].type && event->config == known[i].config &&
			   !strcmp(event->name, known[i].name),
		   "%s", known[i].name);
	for (size_t i = 0; i < COUNT(unknown); i++)
		is_i64(counter_set_read(unknown[i], &set, wrong), -EINVAL, "'%s' is none",
		       unknown[i]);
	for (size_t i = 0; counter_event_name(i); i++)
		ok(!counter_set_read(counter_event_name(i), &set, wrong) && set.n == 1, "%s is one",
		   counter_event_name(i));
}

TEST(lists)
{
	struct counter_set set = { .per_cpu = true };
	char wrong[COUNTER_NAME];

	is_i64(counter_set_read(COUNTERS_DEFAULT, &set, wrong), 0, "the default list");
	is_u64(set.n, 7, "has seven events");
	ok(set.per_cpu, "and leaves the rest as it is");
	is_i64(counter_set_read("cycles,foo,cs", &set, wrong), -EINVAL, "one is unknown");
	is_str(wrong, "foo", "which");
	is_i64(counter_set_read("cs,cycles,context-switches", &set, wrong), -EEXIST, "one twice");
	is_str(wrong, "context-switches", "by another name");
	is_i64(counter_set_read("r1,r2,r3,r4,r5,r6,r7,r8,r9,ra,rb,rc,rd,re,rf,r10,r11", &set,
				wrong),
	       -E2BIG, "too many");
	is_i64(counter_set_read("cycles,", &set, wrong), -EINVAL, "an empty one");
}

/* A machine: what it says of types of events, and which CPU is offline. */
struct machine {
	int error[PERF_TYPE_BREAKPOINT];
	int offline, without; /* CPUs; without: of another kind, which counts no cycles */
	int opened, closed;
	bool full; /* of descriptors */
	char put[256];
};

static int machine_open(void *context, struct perf_event_attr *attr, int cpu)
{
	struct machine *machine = context;

	if (cpu == machine->offline)
		return -ENODEV;
	if (machine->full && machine->opened == 3)
		return -EMFILE;
	if (machine->error[attr->type])
		return machine->error[attr->type];
	if (attr->type == PERF_TYPE_HARDWARE && cpu == machine->without)
		return -ENOENT;
	ok(attr->read_format == (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING) &&
		   !attr->inherit && !attr->disabled,
	   "it counts from now on");
	return 100 + machine->opened++;
}

static int machine_put(void *context, size_t event, int cpu, int fd)
{
	struct machine *machine = context;
	size_t used = strlen(machine->put);

	snprintf(machine->put + used, sizeof(machine->put) - used, "%zu@%d ", event, cpu);
	machine->closed += fd >= 100;
	return 0;
}

static int machine_try(struct machine *machine, const char *list, struct counter_set *set,
		       struct counter_set *missing)
{
	const struct counter_ops ops = { machine_open, machine_put, machine };
	char wrong[COUNTER_NAME];
	int error;

	need(!counter_set_read(list, set, wrong));
	error = counter_events_open(set, 3, &ops, missing);
	is_i64(machine->closed, machine->opened, "each descriptor is handed over");
	return error;
}

TEST(open)
{
	struct machine whole = { .offline = 1, .without = -1 };
	struct machine none = { .error = { [PERF_TYPE_HARDWARE] = -ENOENT,
					   [PERF_TYPE_RAW] = -EOPNOTSUPP,
					   [PERF_TYPE_HW_CACHE] = -EINVAL },
				.offline = -1,
				.without = -1 };
	struct machine hybrid = { .offline = -1, .without = 2 };
	struct machine refusing = { .error = { [PERF_TYPE_SOFTWARE] = -EACCES }, .without = -1 };
	struct machine full = { .offline = -1, .without = -1, .full = true };
	const struct counter_ops ops = { machine_open, machine_put, &whole };
	struct counter_set set, missing;

	is_i64(machine_try(&whole, "cycles,cs", &set, &missing), 0, "a machine with counters");
	is_str(whole.put, "0@0 0@2 1@0 1@2 ", "each event on each CPU that is online");
	is_u64(missing.n, 0, "none is missing");
	whole.offline = -1;
	is_i64(counter_events_open_cpu(&set, 1, &ops), 0, "a CPU comes online");
	is_str(whole.put, "0@0 0@2 1@0 1@2 0@1 1@1 ", "each event on that, too");
	whole.offline = 1;
	is_i64(counter_events_open_cpu(&set, 1, &ops), 0, "one that has gone again");
	is_i64(whole.closed, 6, "counts nothing");
	whole.error[PERF_TYPE_SOFTWARE] = -EACCES;
	is_i64(counter_events_open_cpu(&set, 2, &ops), -EACCES, "one that refuses");
	is_i64(machine_try(&none, "cycles,cs,r3c,LLC-loads,minor-faults", &set, &missing), 0,
	       "one without");
	is_str(none.put, "0@0 0@1 0@2 1@0 1@1 1@2 ", "counts the others, without gaps");
	is_u64(set.n, 2, "two are left");
	is_str(set.all[1].name, "minor-faults", "in their order");
	is_u64(missing.n, 3, "three are missing");
	is_str(missing.all[2].name, "LLC-loads", "by name");
	is_i64(machine_try(&hybrid, "cycles", &set, &missing), 0, "CPUs of two kinds");
	is_str(hybrid.put, "0@0 0@1 ", "those that have it");
	is_i64(machine_try(&refusing, "cs", &set, &missing), -EACCES, "one that refuses");
	is_i64(machine_try(&full, "cs,cycles", &set, &missing), -EMFILE, "no more descriptors");
}

TEST(scale)
{
	is_u64(counter_scale(&(struct kd_counted){ 100, 50, 50 }), 100, "counted all the time");
	is_u64(counter_scale(&(struct kd_counted){ 100, 50, 25 }), 200, "half of it");
	is_u64(counter_scale(&(struct kd_counted){ 10, 3, 1 }), 30, "a third");
	is_u64(counter_scale(&(struct kd_counted){ 7, 100, 0 }), 7, "never");
	is_u64(counter_scale(&(struct kd_counted){ UINT64_MAX, 2, 1 }), UINT64_MAX, "at most");
}

/* --- Sizes of stacks --- */

TEST(stacks)
{
	is_u64(KD_STACK_SIZE(4096), 16384, "the kernel's stacks with pages of 4 KB");
	is_u64(KD_STACK_SIZE(16384), 16384, "of 16 KB");
	is_u64(KD_STACK_SIZE(65536), 65536, "of 64 KB");
}

/* Idle threads have stacks, too, and are no threads of loadavg; those that have ended and are not
 * waited for are, and have none: it is more or less the quotient. */
TEST(stacks_of_this_kernel)
{
	unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE), kb = 0, threads = 0, each;
	char line[128];
	FILE *file = fopen("/proc/loadavg", "re");

	if (!file || fscanf(file, "%*s %*s %*s %*[0-9]/%lu", &threads) != 1)
		threads = 0;
	if (file)
		fclose(file);
	file = fopen("/proc/meminfo", "re");
	while (file && !kb && fgets(line, sizeof(line), file))
		(void)!sscanf(line, "KernelStack: %lu", &kb);
	if (file)
		fclose(file);
	each = threads ? kb * 1024 / threads : 0;
	ok(each > KD_STACK_SIZE(page) * 3 / 4 && each < KD_STACK_SIZE(page) * 3 / 2,
	   "this kernel's own are %lu bytes each", each);
}

/* --- Parts of a session: what is called, in which order --- */

#define FAILED 71

static char called[64] = ""; /* a letter for the hook, and one for the part */
static char fails[2];        /* in the same way; "": nothing */
static char *called_end;

struct histograms {
	int opened;
};

static void called_begin(void)
{
	called_end = called;
	*called = '\0';
}

static int part_called(char hook, char part)
{
	*called_end++ = hook;
	*called_end++ = part;
	*called_end = '\0';
	return *fails == hook && fails[1] == part ? FAILED : 0;
}

/* A part with these letters, and all hooks that are called without more than a session. */
#define PART_OF(name, letter)                                                                      \
	static exit_status name##_select(struct session *session)                                  \
	{                                                                                          \
		(void)session;                                                                     \
		return part_called('s', letter);                                                   \
	}                                                                                          \
	static exit_status name##_attach(struct session *session)                                  \
	{                                                                                          \
		(void)session;                                                                     \
		return part_called('a', letter);                                                   \
	}                                                                                          \
	static void name##_close(struct session *session)                                          \
	{                                                                                          \
		(void)session;                                                                     \
		part_called('c', letter);                                                          \
	}                                                                                          \
	static int name##_turn_cpu(struct session *session, int cpu, bool online)                  \
	{                                                                                          \
		(void)session;                                                                     \
		return part_called(cpu == 3 && online ? 't' : '?', letter);                        \
	}                                                                                          \
	static int name##_read(struct session *session, struct session_hash hash)                  \
	{                                                                                          \
		(void)session;                                                                     \
		(void)hash;                                                                        \
		return part_called('r', letter);                                                   \
	}                                                                                          \
	static void name##_look(struct session *session)                                           \
	{                                                                                          \
		(void)session;                                                                     \
		part_called('l', letter);                                                          \
	}                                                                                          \
	static void name##_free_slot(struct session *session, uint32_t slot)                       \
	{                                                                                          \
		(void)session;                                                                     \
		part_called(slot == 5 ? 'f' : '?', letter);                                        \
	}

PART_OF(first, '1')
PART_OF(second, '2')
PART_OF(third, '3')

#define HOOKS_OF(name)                                                                             \
	.select = name##_select, .attach = name##_attach, .close = name##_close,                   \
	.turn_cpu = name##_turn_cpu, .read = name##_read, .free_slot = name##_free_slot,           \
	.look = name##_look

/* One has a state, one has nothing but that. */
static const struct session_part first_part = { HOOKS_OF(first) };
static const struct session_part second_part = { SESSION_STATE(histograms), HOOKS_OF(second) };
static const struct session_part third_part = { HOOKS_OF(third) };
static const struct session_part empty_part;
static const struct session_part *const parts[] = { &first_part, &empty_part, &second_part,
						    &third_part, NULL };

/* Opens and closes a session of these parts, of which one hook fails. */
static void parts_are(const char *failing, const char *expected, exit_status status)
{
	struct session session = { .parts = parts };
	int found;

	fails[0] = failing[0];
	fails[1] = failing[0] ? failing[1] : '\0';
	called_begin();
	found = parts_select(&session) ?: parts_attach(&session);
	parts_close(&session);
	is_str(called, expected, "opened and closed where '%s' fails", failing);
	is_i64(found, status, "and the status");
	ok(!session.histograms && !session.n_begun, "and nothing is left");
	parts_close(&session);
	is_str(called, expected, "nor closed twice");
}

TEST(parts_unwind)
{
	parts_are("", "s1s2s3a1a2a3c3c2c1", 0);
	parts_are("s1", "s1c1", FAILED);
	parts_are("s2", "s1s2c2c1", FAILED);
	parts_are("s3", "s1s2s3c3c2c1", FAILED);
	parts_are("a1", "s1s2s3a1c3c2c1", FAILED);
	parts_are("a3", "s1s2s3a1a2a3c3c2c1", FAILED);
}

TEST(parts_walk)
{
	struct session session = { .parts = parts };

	fails[0] = '\0';
	called_begin();
	parts_close(&session);
	is_str(called, "", "none has begun: none is closed");
	parts_select(&session);
	ok(session.histograms && !session.histograms->opened, "a state begins as zeros");
	called_begin();
	is_i64(parts_read(&session, (struct session_hash){ 0 }), 0, "all are read");
	parts_look(&session);
	parts_free_slot(&session, 5);
	is_str(called, "r1r2r3l1l2l3f1f2f3", "in their order");
	memcpy(fails, "r2", 2);
	called_begin();
	is_i64(parts_read(&session, (struct session_hash){ 0 }), FAILED, "until one fails");
	is_str(called, "r1r2", "which ends that");
	memcpy(fails, "t2", 2);
	called_begin();
	is_i64(parts_turn_cpu(&session, 3, true), FAILED, "a CPU that one cannot follow");
	is_str(called, "t1t2t3", "is told to all");
	parts_close(&session);
}

static void third_omit(struct session *session)
{
	(void)session;
	part_called('o', '3');
}

/* A run that does not want what two of three parts look at has one of them. */
TEST(parts_wanted)
{
	static const struct session_part waits = { HOOKS_OF(first),
						   .scans = SCAN_WAITS | SCAN_RECORDING };
	static const struct session_part counters = { SESSION_STATE(histograms), HOOKS_OF(second),
						      .scans = SCAN_COUNTERS };
	static const struct session_part resources = { HOOKS_OF(third), .omit = third_omit,
						       .scans = SCAN_RESOURCES };
	static const struct session_part *const wanted[] = { &counters, &waits, &resources, NULL };
	const struct session_config config = { .scans = SCAN_RECORDING | SCAN_HISTOGRAMS };
	struct session session = { .parts = wanted, .config = &config };

	fails[0] = '\0';
	called_begin();
	is_i64(parts_select(&session) ?: parts_attach(&session), 0, "parts of a recording");
	ok(!session.histograms, "what is not wanted has no state");
	parts_read(&session, (struct session_hash){ 0 });
	parts_look(&session);
	parts_close(&session);
	is_str(called, "s1o3a1r1l1c1", "no other hook is called, but what leaves maps out");
}
