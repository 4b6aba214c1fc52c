/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wait for locks that others have, and log who had them, doing what.
 *
 *   locks ROLE...        see parts[]
 *
 * In roles with "page" the lock is one of the kernel's: the first holder writes what lies in a page
 * whose content the second one brings 8 ms later, by userfaultfd.
 *
 * For each role there is a thread of that name, which takes the lock and waits, and "holder"s.
 *
 *   <- log      -> {"ROLE": {"tid": TID, "holders": [TID, ...], "address": the lock's futex,
 *               0: not told, "waits": [[before, after], ...], "others": [[the same of each
 *               other thread that waits], ...]}, ...}: CLOCK_MONOTONIC; the last
 *               MAX_WAITS, as the machine may take its time until the test asks
 */
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "late_page.h"

#define HOLD_MS 8
#define MAX_WAITS 4096
#define MAX_ROLES 12
#define MAX_JOINED 64
#define MAX_WAITERS 3
#define LEAST_NS 1000000 /* shorter waits are none */

struct log {
	struct worker *waiter;
	_Atomic(int) n;
	long long waits[MAX_WAITS][2]; /* before, after */
};

struct scene {
	unsigned int turns[2]; /* of each holder */
	const struct part *part;
	struct log logs[MAX_WAITERS];
	struct worker *holders[2];
	pthread_mutex_t mutex, *heap; /* NULL: the former */
	pthread_rwlock_t rwlock;
	pthread_cond_t condition;
	int pipe[2];
	int file;
	struct late_page late;
	_Atomic(int) n_joined, joined[MAX_JOINED];
};

struct part {
	const char *name;
	void (*prepare)(struct scene *scene);
	void (*take)(struct scene *scene);          /* by who waits */
	void (*hold)(struct scene *scene, int who); /* by each holder */
	int holders;
	int more; /* waiters than one */
};

static struct scene scenes[MAX_ROLES];
#define HOLD_NS (HOLD_MS * MS)

/* What each holder does between two turns. */
INLINE void rest(void)
{
	sleep_ns(3 * MS);
}

/* A call of pthread_..., which must be done. */
#define DO(call, ...)                                                                              \
	do {                                                                                       \
		errno = pthread_##call(__VA_ARGS__);                                               \
		if (errno)                                                                         \
			die("pthread_" #call);                                                     \
	} while (0)

static void plain_make(struct scene *scene)
{
	DO(mutex_init, &scene->mutex, NULL);
}

static void heap_make(struct scene *scene)
{
	scene->heap = malloc(sizeof(*scene->heap));
	if (!scene->heap)
		die("malloc");
	DO(mutex_init, scene->heap, NULL);
}

static void heap_take(struct scene *scene)
{
	DO(mutex_lock, scene->heap);
	DO(mutex_unlock, scene->heap);
}

static void mutex_make(struct scene *scene, int protocol, int robust)
{
	pthread_mutexattr_t attributes;

	DO(mutexattr_init, &attributes);
	DO(mutexattr_setprotocol, &attributes, protocol);
	DO(mutexattr_setrobust, &attributes, robust);
	DO(mutex_init, &scene->mutex, &attributes);
}

static void pi_make(struct scene *scene)
{
	mutex_make(scene, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
}

static void robust_make(struct scene *scene)
{
	mutex_make(scene, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
}

static void tube_make(struct scene *scene)
{
	plain_make(scene);
	pipe_make(scene->pipe);
}

static void rwlock_make(struct scene *scene)
{
	DO(rwlock_init, &scene->rwlock, NULL);
}

static void condition_make(struct scene *scene)
{
	plain_make(scene);
	DO(cond_init, &scene->condition, NULL);
}

static void mutex_take(struct scene *scene)
{
	DO(mutex_lock, &scene->mutex);
	DO(mutex_unlock, &scene->mutex);
}

/* The holder's turn: it sleeps in clock_nanosleep, or computes. */
INLINE void mutex_hold(struct scene *scene, bool computes)
{
	pthread_mutex_t *mutex = scene->heap ? scene->heap : &scene->mutex;

	DO(mutex_lock, mutex);
	if (computes)
		spin_ns(HOLD_NS);
	else
		sleep_ns(HOLD_NS);
	DO(mutex_unlock, mutex);
	rest();
}

static void asleep_hold(struct scene *scene, int who)
{
	(void)who;
	mutex_hold(scene, false);
}

static void busy_hold(struct scene *scene, int who)
{
	(void)who;
	mutex_hold(scene, true);
}

/* The first reads from a pipe what the second writes. */
static void reading_hold(struct scene *scene, int who)
{
	if (who) {
		sleep_ns(HOLD_NS + 3 * MS);
		pass_bytes(scene->pipe[1], 1);
		return;
	}
	DO(mutex_lock, &scene->mutex);
	take_bytes(scene->pipe[0], 1);
	DO(mutex_unlock, &scene->mutex);
	rest();
}

/* The first computes a little; on its CPU a thread of a real-time class does so, longer. */
static void preempted_hold(struct scene *scene, int who)
{
	static _Thread_local bool placed;

	if (!placed) {
		pin(0);
		if (who)
			be_fifo(10);
		placed = true;
	}
	if (who) {
		spin_ns(HOLD_NS);
		sleep_ns(MS);
		return;
	}
	mutex_hold(scene, true);
}

static void file_make(struct scene *scene)
{
	char path[] = "/var/tmp/kernel_delay-locks-XXXXXX";

	plain_make(scene);
	scene->file = mkstemp(path);
	if (scene->file < 0 || unlink(path))
		die("mkstemp");
}

/* It waits for a disk. */
static void syncing_hold(struct scene *scene, int who)
{
	char page[4096] = { (char)++scene->turns[who] };
	long long until = now_ns() + HOLD_MS * 1000000LL;

	DO(mutex_lock, &scene->mutex);
	while (now_ns() < until)
		if (pwrite(scene->file, page, sizeof(page), 0) != sizeof(page) ||
		    fsync(scene->file))
			die("fsync");
	DO(mutex_unlock, &scene->mutex);
	rest();
}

/* It has no priority, and computes on the last CPU; who waits for it, has one. */
static void starved_hold(struct scene *scene, int who)
{
	static _Thread_local bool placed;
	struct sched_param param = { 0 };
	cpu_set_t set;

	(void)who;
	if (!placed) {
		if (sched_setscheduler(0, SCHED_OTHER, &param) ||
		    sched_getaffinity(0, sizeof(set), &set))
			die("sched_setscheduler");
		for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && !placed; cpu--) {
			if (CPU_ISSET(cpu, &set))
				pin(cpu);
			placed = CPU_ISSET(cpu, &set);
		}
	}
	mutex_hold(scene, true);
}

/* Two have it in turn: the second waits for it as the other one has it. Now and then each
 * leaves it to the other one: in a steady rotation the waiter would find one of them only. */
static void two_hold(struct scene *scene, int who)
{
	DO(mutex_lock, &scene->mutex);
	sleep_ns(HOLD_NS);
	DO(mutex_unlock, &scene->mutex);
	/* At least a little, or it would have it again at once. */
	sleep_ns(++scene->turns[who] % 4 ? MS : 4 * HOLD_NS);
}

static void writer_hold(struct scene *scene, int who)
{
	(void)who;
	DO(rwlock_wrlock, &scene->rwlock);
	sleep_ns(HOLD_NS);
	DO(rwlock_unlock, &scene->rwlock);
	rest();
}

static void reader_take(struct scene *scene)
{
	DO(rwlock_rdlock, &scene->rwlock);
	DO(rwlock_unlock, &scene->rwlock);
}

static void condition_take(struct scene *scene)
{
	DO(mutex_lock, &scene->mutex);
	DO(cond_wait, &scene->condition, &scene->mutex);
	DO(mutex_unlock, &scene->mutex);
}

static void condition_signal(struct scene *scene, int who)
{
	(void)who;
	sleep_ns(HOLD_NS);
	DO(cond_signal, &scene->condition);
}

static void *joined_main(void *arg)
{
	struct scene *scene = arg;

	atomic_store(&scene->joined[scene->n_joined % MAX_JOINED], gettid());
	atomic_fetch_add(&scene->n_joined, 1);
	prctl(PR_SET_NAME, "holder");
	sleep_ns(600 * MS);
	return NULL;
}

static void join_take(struct scene *scene)
{
	pthread_t thread;

	DO(create, &thread, NULL, joined_main, scene);
	DO(join, thread, NULL);
}

/* Woken by nobody. */
static void timed_take(struct scene *scene)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += HOLD_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	DO(mutex_lock, &scene->mutex);
	pthread_cond_timedwait(&scene->condition, &scene->mutex, &until);
	DO(mutex_unlock, &scene->mutex);
}

static void page_make(struct scene *scene)
{
	if (!late_page_make(&scene->late))
		die("userfaultfd");
}

static void page_pipe_make(struct scene *scene)
{
	if (pipe2(scene->pipe, O_CLOEXEC | O_NONBLOCK))
		die("pipe2");
	page_make(scene);
}

/* The kernel has the pipe's mutex while it copies what is written. */
static void page_pipe_hold(struct scene *scene, int who)
{
	char bytes[PAGE];

	if (who) {
		late_page_bring(&scene->late, HOLD_MS);
		return;
	}
	late_page_drop(&scene->late);
	if (write(scene->pipe[1], scene->late.page, 1) != 1)
		die("write");
	while (read(scene->pipe[0], bytes, sizeof(bytes)) > 0)
		;
	rest();
}

static void page_pipe_take(struct scene *scene)
{
	char byte = 0;

	if (write(scene->pipe[1], &byte, 1) != 1 && errno != EAGAIN)
		die("write");
}

static void *page_bring_main(void *arg)
{
	for (;;)
		late_page_bring(arg, HOLD_MS);
	return NULL;
}

/* The same by another process. */
static void page_outside_make(struct scene *scene)
{
	pid_t parent = getpid(), child;
	pthread_t thread;

	if (pipe2(scene->pipe, O_CLOEXEC | O_NONBLOCK))
		die("pipe2");
	child = fork();
	if (child < 0)
		die("fork");
	if (child) {
		scene->joined[0] = child;
		return;
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(0);
	prctl(PR_SET_NAME, "outsider");
	page_make(scene);
	DO(create, &thread, NULL, page_bring_main, &scene->late);
	for (;;)
		page_pipe_hold(scene, 0);
}

static void page_file_make(struct scene *scene)
{
	file_make(scene);
	page_make(scene);
}

/* The kernel has the inode's lock while it copies. */
static void page_file_hold(struct scene *scene, int who)
{
	if (who) {
		late_page_bring(&scene->late, HOLD_MS);
		return;
	}
	late_page_drop(&scene->late);
	if (pwrite(scene->file, scene->late.page, 1, 0) != 1)
		die("pwrite");
	rest();
}

static void page_file_take(struct scene *scene)
{
	char byte = 0;

	if (pwrite(scene->file, &byte, 1, 1) != 1)
		die("pwrite");
}

static void page_directory_make(struct scene *scene)
{
	scene->file = open("/var/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (scene->file < 0)
		die("open");
	page_make(scene);
}

/* It has it for reading while it lists the directory. */
static void page_directory_hold(struct scene *scene, int who)
{
	if (who) {
		late_page_bring(&scene->late, HOLD_MS);
		return;
	}
	late_page_drop(&scene->late);
	if (lseek(scene->file, 0, SEEK_SET) ||
	    syscall(SYS_getdents64, scene->file, scene->late.page, PAGE) < 0)
		die("getdents64");
	rest();
}

/* Who removes a name needs it for writing, before it is known that there is none. */
static void page_directory_take(struct scene *scene)
{
	if (!unlinkat(scene->file, "kernel_delay-no-such-name", 0) || errno != ENOENT)
		die("unlinkat");
}

/* A socket in a network namespace of its own, whose loopback has an address. */
static void page_net_make(struct scene *scene)
{
	int before = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	if (before < 0 || unshare(CLONE_NEWNET))
		die("unshare");
	scene->file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (scene->file < 0 || ioctl(scene->file, SIOCSIFFLAGS, &loopback))
		die("lo");
	if (setns(before, CLONE_NEWNET) || close(before))
		die("setns");
	page_make(scene);
}

/* The kernel has rtnl_mutex, of which there is one for all namespaces, while it lists addresses. */
static void page_net_hold(struct scene *scene, int who)
{
	struct ifconf addresses = { .ifc_len = PAGE, .ifc_buf = scene->late.page };

	if (who) {
		late_page_bring(&scene->late, HOLD_MS);
		return;
	}
	late_page_drop(&scene->late);
	if (ioctl(scene->file, SIOCGIFCONF, &addresses) || !addresses.ifc_len)
		die("SIOCGIFCONF");
	rest();
}

static void page_net_take(struct scene *scene)
{
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	if (ioctl(scene->file, SIOCSIFFLAGS, &loopback))
		die("SIOCSIFFLAGS");
}

static const struct part parts[] = {
	{ "asleep", plain_make, mutex_take, asleep_hold, 1, 0 },
	{ "heap", heap_make, heap_take, asleep_hold, 1, 0 },
	{ "busy", plain_make, mutex_take, busy_hold, 1, 0 },
	{ "reading", tube_make, mutex_take, reading_hold, 2, 0 },
	{ "preempted", plain_make, mutex_take, preempted_hold, 2, 0 },
	{ "syncing", file_make, mutex_take, syncing_hold, 1, 0 },
	{ "starved", plain_make, mutex_take, starved_hold, 1, MAX_WAITERS - 1 },
	{ "page_pipe", page_pipe_make, page_pipe_take, page_pipe_hold, 2, 0 },
	{ "page_outside", page_outside_make, page_pipe_take, NULL, 0, 0 },
	{ "page_file", page_file_make, page_file_take, page_file_hold, 2, 0 },
	{ "page_directory", page_directory_make, page_directory_take, page_directory_hold, 2, 0 },
	{ "page_net", page_net_make, page_net_take, page_net_hold, 2, 0 },
	{ "pi", pi_make, mutex_take, asleep_hold, 1, 0 },
	{ "robust", robust_make, mutex_take, asleep_hold, 1, 0 },
	{ "rwlock", rwlock_make, reader_take, writer_hold, 1, 0 },
	{ "two", plain_make, mutex_take, two_hold, 2, 0 },
	{ "condition", condition_make, condition_take, condition_signal, 1, 0 },
	{ "join", NULL, join_take, NULL, 0, 0 },
	{ "timed", condition_make, timed_take, NULL, 0, 0 },
};

static void waiter(struct worker *worker)
{
	struct scene *scene = &scenes[worker->args[0]];
	struct log *log = &scene->logs[worker->args[1]];

	while (!stage_over(worker->stage)) {
		int at = log->n % MAX_WAITS;
		long long before = now_ns(), after;

		scene->part->take(scene);
		after = now_ns();
		if (after - before < LEAST_NS) {
			sleep_ns(MS);
			continue;
		}
		log->waits[at][0] = before;
		log->waits[at][1] = after;
		atomic_fetch_add(&log->n, 1);
	}
}

static void holder(struct worker *worker)
{
	struct scene *scene = &scenes[worker->args[0]];

	while (!stage_over(worker->stage))
		scene->part->hold(scene, (int)worker->args[1]);
}

static struct worker *worker_add(struct stage *stage, const struct scene *scene, const char *name,
				 void (*run)(struct worker *), int who)
{
	struct worker *worker = stage_add(stage, name, run);

	worker->throughout = true;
	worker->args[0] = scene - scenes;
	worker->args[1] = who;
	return worker;
}

static void scene_add(struct stage *stage, struct scene *scene, const char *name)
{
	for (size_t i = 0; i < COUNT(parts); i++)
		if (!strcmp(parts[i].name, name))
			scene->part = &parts[i];
	if (!scene->part)
		die(name);
	if (scene->part->prepare)
		scene->part->prepare(scene);
	for (int who = 0; who <= scene->part->more; who++)
		scene->logs[who].waiter = worker_add(stage, scene, scene->part->name, waiter, who);
	for (int who = 0; who < scene->part->holders; who++)
		scene->holders[who] = worker_add(stage, scene, "holder", holder, who);
}

static void waits_print(const struct log *log)
{
	ring_print(*log->waits, atomic_load(&log->n), MAX_WAITS, 2);
}

static void scene_print(const struct scene *scene)
{
	printf("\"%s\": {\"tid\": %d, \"holders\": [", scene->part->name,
	       scene->logs[0].waiter->tid);
	for (int who = 0; who < scene->part->holders; who++)
		printf("%s%d", comma(who), scene->holders[who]->tid);
	for (int i = 0; i < MAX_JOINED && scene->joined[i]; i++)
		printf("%s%d", comma(i), scene->joined[i]);
	printf("], \"address\": %llu, \"waits\": ",
	       (unsigned long long)(uintptr_t)(scene->part->take == mutex_take ? &scene->mutex
									       : NULL));
	waits_print(&scene->logs[0]);
	printf(", \"others\": [");
	for (int who = 1; who <= scene->part->more; who++) {
		printf("%s", comma(who > 1));
		waits_print(&scene->logs[who]);
	}
	printf("]}");
}

static void log_print(const struct stage *stage)
{
	(void)stage;
	putchar('{');
	for (int i = 0; i < MAX_ROLES && scenes[i].part; i++) {
		printf("%s", comma(i));
		scene_print(&scenes[i]);
	}
	say("}");
}

VERB(locks, 1, MAX_ROLES, "ROLE...")
{
	static struct stage stage = { .log = log_print };

	for (int i = 1; i < argc; i++)
		scene_add(&stage, &scenes[i - 1], argv[i]);
	stage_serve(&stage);
}

/* --- futexes: waits in vain for as many futexes, one after the other ---
 *
 *   futexes COUNT US CALL    US: how long; CALL: futex, wait, waitv, or int: futex() by int $0x80
 *
 * On "go": -> {"tid": TID, "address": of the first one, "count": of waits that ended by their
 * time-out, "slept": how often the thread slept, by the kernel's count, "ns": that all took};
 * count is 0 if the kernel has no such call. */

#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAIT 455
#define NR_FUTEX_BY_INT 240
#define FUTEX_32_PRIVATE (2 | 128) /* FUTEX2_SIZE_U32 | FUTEX2_PRIVATE */

struct futex_of_several {
	unsigned long long value, address;
	unsigned int flags, reserved;
};

/* Everything that a call by int $0x80 gets lies below 4 GB. */
struct low {
	int moment[2];
	unsigned int futexes[];
};

static long wait_by_int(struct low *low, unsigned int *futex)
{
#ifdef __x86_64__
	long result = NR_FUTEX_BY_INT;

	__asm__ volatile("int $0x80"
			 : "+a"(result)
			 : "b"(futex), "c"(128L), "d"(0L), "S"(low->moment)
			 : "memory", "r8", "r9", "r10", "r11");
	errno = (int)-result;
	return -1;
#else
	(void)low, (void)futex;
	errno = ENOSYS;
	return -1;
#endif
}

static long wait_one(const char *how, struct low *low, unsigned int *futex)
{
	struct timespec length = { 0, low->moment[1] }, until;
	struct futex_of_several several = { .address = (uintptr_t)futex,
					    .flags = FUTEX_32_PRIVATE };
	long long end = now_ns() + low->moment[1];

	until = (struct timespec){ (time_t)(end / 1000000000), end % 1000000000 };
	if (!strcmp(how, "int"))
		return wait_by_int(low, futex);
	if (!strcmp(how, "waitv"))
		return syscall(NR_FUTEX_WAITV, &several, 1, 0, &until, CLOCK_MONOTONIC);
	if (!strcmp(how, "wait"))
		return syscall(NR_FUTEX_WAIT, futex, 0UL, ~0U, FUTEX_32_PRIVATE, &until,
			       CLOCK_MONOTONIC);
	return syscall(SYS_futex, futex, 128 /* FUTEX_WAIT_PRIVATE */, 0, &length, NULL, 0);
}

static long sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

VERB(futexes, 3, 3, "COUNT US CALL")
{
	int count = (int)number(argv[1]), ended = 0;
	struct low *low = mmap(NULL, sizeof(*low) + (size_t)count * sizeof(*low->futexes),
			       PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1,
			       0);
	long long began, ns;
	long slept;

	if (low == MAP_FAILED)
		die("mmap");
	low->moment[1] = (int)number(argv[2]) * 1000;
	memset(low->futexes, 0, (size_t)count * sizeof(*low->futexes)); /* no page fault later */
	say_ready();
	wait_for("go");
	began = now_ns();
	slept = sleeps();
	for (int i = 0; i < count; i++)
		ended += wait_one(argv[3], low, &low->futexes[i]) && errno == ETIMEDOUT;
	slept = sleeps() - slept;
	ns = now_ns() - began;
	say("{\"tid\": %d, \"address\": %llu, \"count\": %d, \"slept\": %ld, \"ns\": %lld}",
	    gettid(), (unsigned long long)(uintptr_t)low->futexes, ended, slept, ns);
	wait_for("end");
	return 0;
}
