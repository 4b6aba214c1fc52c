// SPDX-License-Identifier: Apache-2.0
/* Threads that wait for locks that others have, and log who had them, doing what.
 *
 *   locks ROLE...        see roles[]
 *
 * Of those with "page" the kernel has the lock: the first holder writes what lies in a page whose
 * content the second one brings 8 ms later, by userfaultfd.
 *
 * Of each role there is a thread of that name that takes the lock and waits, and "holder"s.
 *
 *   <- log      -> {"ROLE": {"tid": TID, "holders": [TID, ...], "address": the lock's futex,
 *               0: not told, "waits": [[before, after], ...], "others": [[the same of each
 *               other thread that waits], ...]}, ...}: CLOCK_MONOTONIC; the last
 *               MAX_WAITS, as the machine may take its time until the test asks
 */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>

#include "late_page.h"

#define HOLD_MS 8
#define PAUSE_MS 3
#define MAX_WAITS 4096
#define MAX_ROLES 12
#define MAX_JOINED 64
#define MAX_WAITERS 3
#define LEAST_NS 1000000 /* shorter waits are none */

struct log {
	struct worker *waiter;
	_Atomic(int) n;
	struct {
		long long before, after;
	} waits[MAX_WAITS];
};

struct scene {
	unsigned int turns[2]; /* of each holder */
	const struct role *role;
	struct log logs[MAX_WAITERS];
	struct worker *holders[2];
	pthread_mutex_t mutex, *heap;
	pthread_rwlock_t rwlock;
	pthread_cond_t condition;
	int pipe[2];
	int file;
	struct late_page late;
	_Atomic(int) n_joined, joined[MAX_JOINED];
};

struct role {
	const char *name;
	void (*prepare)(struct scene *scene);
	void (*take)(struct scene *scene);          /* by who waits */
	void (*hold)(struct scene *scene, int who); /* by each holder */
	int holders;
	int more; /* waiters than one */
};

static struct scene scenes[MAX_ROLES];
static struct worker workers[(MAX_WAITERS + 2) * MAX_ROLES];

static void sleep_ms(long ms)
{
	struct timespec time = { .tv_nsec = ms * 1000000 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static void spin_ms(long ms)
{
	long long until = clock_ns(CLOCK_MONOTONIC) + ms * 1000000;

	while (clock_ns(CLOCK_MONOTONIC) < until)
		;
}

static void check(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(error));
	exit(2);
}

static void plain_make(struct scene *scene)
{
	check(pthread_mutex_init(&scene->mutex, NULL), "pthread_mutex_init");
}

static void heap_make(struct scene *scene)
{
	scene->heap = malloc(sizeof(*scene->heap));
	if (!scene->heap)
		die("malloc");
	check(pthread_mutex_init(scene->heap, NULL), "pthread_mutex_init");
}

static void heap_take(struct scene *scene)
{
	check(pthread_mutex_lock(scene->heap), "pthread_mutex_lock");
	check(pthread_mutex_unlock(scene->heap), "pthread_mutex_unlock");
}

static void mutex_make(struct scene *scene, int protocol, int robust)
{
	pthread_mutexattr_t attributes;

	check(pthread_mutexattr_init(&attributes), "pthread_mutexattr_init");
	check(pthread_mutexattr_setprotocol(&attributes, protocol), "setprotocol");
	check(pthread_mutexattr_setrobust(&attributes, robust), "setrobust");
	check(pthread_mutex_init(&scene->mutex, &attributes), "pthread_mutex_init");
}

static void pi_make(struct scene *scene)
{
	mutex_make(scene, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
}

static void robust_make(struct scene *scene)
{
	mutex_make(scene, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
}

static void pipe_make(struct scene *scene)
{
	plain_make(scene);
	if (pipe(scene->pipe))
		die("pipe");
}

static void rwlock_make(struct scene *scene)
{
	check(pthread_rwlock_init(&scene->rwlock, NULL), "pthread_rwlock_init");
}

static void condition_make(struct scene *scene)
{
	plain_make(scene);
	check(pthread_cond_init(&scene->condition, NULL), "pthread_cond_init");
}

static void mutex_take(struct scene *scene)
{
	check(pthread_mutex_lock(&scene->mutex), "pthread_mutex_lock");
	check(pthread_mutex_unlock(&scene->mutex), "pthread_mutex_unlock");
}

/* The holder sleeps in clock_nanosleep. */
static void asleep_hold(struct scene *scene, int who)
{
	(void)who;
	check(pthread_mutex_lock(&scene->mutex), "pthread_mutex_lock");
	sleep_ms(HOLD_MS);
	check(pthread_mutex_unlock(&scene->mutex), "pthread_mutex_unlock");
	sleep_ms(PAUSE_MS);
}

static void heap_hold(struct scene *scene, int who)
{
	(void)who;
	check(pthread_mutex_lock(scene->heap), "pthread_mutex_lock");
	sleep_ms(HOLD_MS);
	check(pthread_mutex_unlock(scene->heap), "pthread_mutex_unlock");
	sleep_ms(PAUSE_MS);
}

/* It computes. */
static void busy_hold(struct scene *scene, int who)
{
	(void)who;
	check(pthread_mutex_lock(&scene->mutex), "pthread_mutex_lock");
	spin_ms(HOLD_MS);
	check(pthread_mutex_unlock(&scene->mutex), "pthread_mutex_unlock");
	sleep_ms(PAUSE_MS);
}

/* The first reads from a pipe what the second writes. */
static void reading_hold(struct scene *scene, int who)
{
	char byte;

	if (who) {
		sleep_ms(HOLD_MS + PAUSE_MS);
		pass_bytes(scene->pipe[1], 1);
		return;
	}
	check(pthread_mutex_lock(&scene->mutex), "pthread_mutex_lock");
	if (read(scene->pipe[0], &byte, 1) != 1)
		die("read");
	check(pthread_mutex_unlock(&scene->mutex), "pthread_mutex_unlock");
	sleep_ms(PAUSE_MS);
}

static void become_fifo(void)
{
	struct sched_param param = { .sched_priority = 10 };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		die("sched_setscheduler");
}

/* The first computes a little; on its CPU a thread of a real-time class does so, longer. */
static void preempted_hold(struct scene *scene, int who)
{
	static _Thread_local bool placed;

	if (!placed) {
		pin(0);
		if (who)
			become_fifo();
		placed = true;
	}
	if (who) {
		spin_ms(HOLD_MS);
		sleep_ms(1);
		return;
	}
	check(pthread_mutex_lock(&scene->mutex), "pthread_mutex_lock");
	spin_ms(HOLD_MS);
	check(pthread_mutex_unlock(&scene->mutex), "pthread_mutex_unlock");
	sleep_ms(PAUSE_MS);
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
	long long until = clock_ns(CLOCK_MONOTONIC) + HOLD_MS * 1000000LL;

	check(pthread_mutex_lock(&scene->mutex), "pthread_mutex_lock");
	while (clock_ns(CLOCK_MONOTONIC) < until)
		if (pwrite(scene->file, page, sizeof(page), 0) != sizeof(page) ||
		    fsync(scene->file))
			die("fsync");
	check(pthread_mutex_unlock(&scene->mutex), "pthread_mutex_unlock");
	sleep_ms(PAUSE_MS);
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
	check(pthread_mutex_lock(&scene->mutex), "pthread_mutex_lock");
	spin_ms(HOLD_MS);
	check(pthread_mutex_unlock(&scene->mutex), "pthread_mutex_unlock");
	sleep_ms(PAUSE_MS);
}

/* Two have it in turn: the second waits for it as the other one has it. Now and then each
 * leaves it to the other one: in a steady rotation the waiter would find one of them only. */
static void two_hold(struct scene *scene, int who)
{
	check(pthread_mutex_lock(&scene->mutex), "pthread_mutex_lock");
	sleep_ms(HOLD_MS);
	check(pthread_mutex_unlock(&scene->mutex), "pthread_mutex_unlock");
	/* At least a little, or it would have it again at once. */
	sleep_ms(++scene->turns[who] % 4 ? 1 : 4 * HOLD_MS);
}

static void writer_hold(struct scene *scene, int who)
{
	(void)who;
	check(pthread_rwlock_wrlock(&scene->rwlock), "pthread_rwlock_wrlock");
	sleep_ms(HOLD_MS);
	check(pthread_rwlock_unlock(&scene->rwlock), "pthread_rwlock_unlock");
	sleep_ms(PAUSE_MS);
}

static void reader_take(struct scene *scene)
{
	check(pthread_rwlock_rdlock(&scene->rwlock), "pthread_rwlock_rdlock");
	check(pthread_rwlock_unlock(&scene->rwlock), "pthread_rwlock_unlock");
}

static void condition_take(struct scene *scene)
{
	check(pthread_mutex_lock(&scene->mutex), "pthread_mutex_lock");
	check(pthread_cond_wait(&scene->condition, &scene->mutex), "pthread_cond_wait");
	check(pthread_mutex_unlock(&scene->mutex), "pthread_mutex_unlock");
}

static void condition_signal(struct scene *scene, int who)
{
	(void)who;
	sleep_ms(HOLD_MS);
	check(pthread_cond_signal(&scene->condition), "pthread_cond_signal");
}

static void *joined_main(void *arg)
{
	struct scene *scene = arg;

	atomic_store(&scene->joined[scene->n_joined % MAX_JOINED], gettid());
	atomic_fetch_add(&scene->n_joined, 1);
	prctl(PR_SET_NAME, "holder");
	sleep_ms(600);
	return NULL;
}

static void join_take(struct scene *scene)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, joined_main, scene), "pthread_create");
	check(pthread_join(thread, NULL), "pthread_join");
}

/* Woken by nobody. */
static void timed_take(struct scene *scene)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += HOLD_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	check(pthread_mutex_lock(&scene->mutex), "pthread_mutex_lock");
	pthread_cond_timedwait(&scene->condition, &scene->mutex, &until);
	check(pthread_mutex_unlock(&scene->mutex), "pthread_mutex_unlock");
}

static void page_pipe_make(struct scene *scene)
{
	if (pipe2(scene->pipe, O_CLOEXEC | O_NONBLOCK))
		die("pipe2");
	late_page_make(&scene->late);
}

/* The kernel has the pipe's mutex while it copies what is written. */
static void page_pipe_hold(struct scene *scene, int who)
{
	char bytes[LATE_PAGE];

	if (who) {
		late_page_bring(&scene->late, HOLD_MS);
		return;
	}
	late_page_drop(&scene->late);
	if (write(scene->pipe[1], scene->late.page, 1) != 1)
		die("write");
	while (read(scene->pipe[0], bytes, sizeof(bytes)) > 0)
		;
	sleep_ms(PAUSE_MS);
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
	late_page_make(&scene->late);
	check(pthread_create(&thread, NULL, page_bring_main, &scene->late), "pthread_create");
	for (;;)
		page_pipe_hold(scene, 0);
}

static void page_file_make(struct scene *scene)
{
	file_make(scene);
	late_page_make(&scene->late);
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
	sleep_ms(PAUSE_MS);
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
	late_page_make(&scene->late);
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
	    syscall(SYS_getdents64, scene->file, scene->late.page, LATE_PAGE) < 0)
		die("getdents64");
	sleep_ms(PAUSE_MS);
}

/* Who removes a name needs it for writing, before it is known that there is none. */
static void page_directory_take(struct scene *scene)
{
	if (!unlinkat(scene->file, "kernel_delay-no-such-name", 0) || errno != ENOENT)
		die("unlinkat");
}

static const struct role roles[] = {
	{ "asleep", plain_make, mutex_take, asleep_hold, 1, 0 },
	{ "heap", heap_make, heap_take, heap_hold, 1, 0 },
	{ "busy", plain_make, mutex_take, busy_hold, 1, 0 },
	{ "reading", pipe_make, mutex_take, reading_hold, 2, 0 },
	{ "preempted", plain_make, mutex_take, preempted_hold, 2, 0 },
	{ "syncing", file_make, mutex_take, syncing_hold, 1, 0 },
	{ "starved", plain_make, mutex_take, starved_hold, 1, MAX_WAITERS - 1 },
	{ "page_pipe", page_pipe_make, page_pipe_take, page_pipe_hold, 2, 0 },
	{ "page_outside", page_outside_make, page_pipe_take, NULL, 0, 0 },
	{ "page_file", page_file_make, page_file_take, page_file_hold, 2, 0 },
	{ "page_directory", page_directory_make, page_directory_take, page_directory_hold, 2, 0 },
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
		long long before = clock_ns(CLOCK_MONOTONIC), after;

		scene->role->take(scene);
		after = clock_ns(CLOCK_MONOTONIC);
		if (after - before < LEAST_NS) {
			sleep_ms(1);
			continue;
		}
		log->waits[at].before = before;
		log->waits[at].after = after;
		atomic_fetch_add(&log->n, 1);
	}
}

static void holder(struct worker *worker)
{
	struct scene *scene = &scenes[worker->args[0]];

	while (!stage_over(worker->stage))
		scene->role->hold(scene, (int)worker->args[1]);
}

static void scene_add(struct stage *stage, struct scene *scene, const char *name)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (!strcmp(roles[i].name, name))
			scene->role = &roles[i];
	if (!scene->role) {
		fprintf(stderr, "no role %s\n", name);
		exit(2);
	}
	if (scene->role->prepare)
		scene->role->prepare(scene);
	for (int who = 0; who <= scene->role->more; who++) {
		scene->logs[who].waiter = &workers[stage->count++];
		*scene->logs[who].waiter = (struct worker){ .role = scene->role->name,
							    .run = waiter,
							    .throughout = true,
							    .args = { scene - scenes, who } };
	}
	for (int who = 0; who < scene->role->holders; who++) {
		scene->holders[who] = &workers[stage->count++];
		*scene->holders[who] = (struct worker){ .role = "holder",
							.run = holder,
							.throughout = true,
							.args = { scene - scenes, who } };
	}
}

static void waits_print(const struct log *log)
{
	int n = atomic_load(&log->n);

	/* The oldest one may be being overwritten. */
	for (int k = n >= MAX_WAITS ? n - MAX_WAITS + 1 : 0, first = k; k < n; k++)
		printf("%s[%lld, %lld]", k > first ? ", " : "", log->waits[k % MAX_WAITS].before,
		       log->waits[k % MAX_WAITS].after);
}

static void log_print(const struct scene *scene)
{
	printf("\"%s\": {\"tid\": %d, \"holders\": [", scene->role->name,
	       scene->logs[0].waiter->tid);
	for (int who = 0; who < scene->role->holders; who++)
		printf("%s%d", who ? ", " : "", scene->holders[who]->tid);
	for (int i = 0; i < MAX_JOINED && scene->joined[i]; i++)
		printf("%s%d", i ? ", " : "", scene->joined[i]);
	printf("], \"address\": %llu, \"waits\": [",
	       (unsigned long long)(uintptr_t)(scene->role->take == mutex_take ? &scene->mutex
									       : NULL));
	waits_print(&scene->logs[0]);
	printf("], \"others\": [");
	for (int who = 1; who <= scene->role->more; who++) {
		printf("%s[", who > 1 ? ", " : "");
		waits_print(&scene->logs[who]);
		printf("]");
	}
	printf("]}");
}

int main(int argc, char **argv)
{
	struct stage stage = { .workers = workers };
	char line[64];
	int n = 0;

	for (int i = 1; i < argc && n < MAX_ROLES; i++)
		scene_add(&stage, &scenes[n++], argv[i]);
	stage_start(&stage);
	say("ready");
	for (;;) {
		read_line(line, sizeof(line));
		if (strcmp(line, "log"))
			break;
		putchar('{');
		for (int i = 0; i < n; i++) {
			printf("%s", i ? ", " : "");
			log_print(&scenes[i]);
		}
		say("}");
	}
	/* The threads end with the process. */
	fflush(stdout);
	_exit(0);
}
