/* SPDX-License-Identifier: Apache-2.0 */
/* A process with several threads of which one replaces the program, or whose
 * leader ends before the others: execer thread|leader|leader-exit|urgent GETUIDS GETPPIDS [CPU]
 *
 * On "go" the thread makes GETUIDS getuid calls and executes this file again,
 * which makes GETPPIDS getppid calls on what is then the main thread, prints
 * its truths and waits for "end". With leader-exit the leader ends instead and
 * another thread makes the getppid calls.
 *
 * With CPU the exec takes long, as it has much memory to free and gets this CPU only when others
 * leave it. With urgent the thread has real-time priority: it goes on as soon as the leader tells
 * of its end, which is before the leader's last switch. */
#include "workload.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define MEMORY (128UL << 20)
#define LITTLE_PRIORITY 10

struct plan {
	char **argv;
	long getuids, getppids;
	long cpu; /* -1: any */
	bool urgent;
	int leader_may_end[2];
};

static void *stay_in_poll(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "bystander");
	poll(NULL, 0, -1);
	return NULL;
}

static void *burn(void *unused)
{
	static volatile unsigned long turns;

	(void)unused;
	prctl(PR_SET_NAME, "burner");
	/* Others need the CPU, too, if there is but one. Killed it needs some itself: preempted for
	 * the last time it is still there, though its process knows it no more. */
	setpriority(PRIO_PROCESS, gettid(), 5);
	for (;;)
		turns++;
	return NULL;
}

/* The program after the exec: argv is "after", getppids, CPU time at "go". */
static int after(char **argv)
{
	struct timespec pause = { .tv_nsec = 200000000 };
	long getppids = strtol(argv[2], NULL, 10);
	long long cpu;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpriority(PRIO_PROCESS, gettid(), 0);
	for (long i = 0; i < getppids; i++)
		syscall(SYS_getppid);
	nanosleep(&pause, NULL);
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - strtoll(argv[3], NULL, 10);
	say("{\"pid\": %d, \"tid\": %d, \"getppid\": %ld, \"cpu\": %lld, \"slept_ns\": 200000000}",
	    getpid(), gettid(), getppids, cpu);
	wait_for("end");
	return 0;
}

/* Takes long to be freed. */
static void memory_take(void)
{
	char *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	if (memory == MAP_FAILED || madvise(memory, MEMORY, MADV_NOHUGEPAGE))
		die("memory");
	for (size_t i = 0; i < MEMORY; i += 4096)
		memory[i] = 1;
}

static void *exec_on_go(void *arg)
{
	const struct plan *plan = arg;
	char getppids[24], cpu[24];
	char *argv[] = { plan->argv[0], "after", getppids, cpu, NULL };

	if (gettid() != getpid())
		prctl(PR_SET_NAME, "successor");
	pin(plan->cpu);
	if (plan->cpu >= 0 && !plan->urgent)
		memory_take();
	say("ready %d", gettid());
	wait_for("go");
	snprintf(cpu, sizeof(cpu), "%lld", clock_ns(CLOCK_THREAD_CPUTIME_ID));
	snprintf(getppids, sizeof(getppids), "%ld", plan->getppids);
	for (long i = 0; i < plan->getuids; i++)
		syscall(SYS_getuid);
	if (plan->urgent && sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ 1 }))
		die("sched_setscheduler");
	if (plan->cpu >= 0 && !plan->urgent)
		setpriority(PRIO_PROCESS, gettid(), LITTLE_PRIORITY);
	execv(plan->argv[0], argv); /* and not /proc/self/exe: that would name it "exe" */
	die("execv");
	return NULL;
}

static void *outlive_leader(void *arg)
{
	const struct plan *plan = arg;
	struct timespec pause = { .tv_nsec = 50000000 };

	prctl(PR_SET_NAME, "survivor");
	say("ready %d", gettid());
	wait_for("go");
	pass_bytes(plan->leader_may_end[1], 1);
	nanosleep(&pause, NULL);
	for (long i = 0; i < plan->getppids; i++)
		syscall(SYS_getppid);
	say("{\"pid\": %d, \"tid\": %d, \"getppid\": %ld}", getpid(), gettid(), plan->getppids);
	wait_for("end");
	_exit(0);
}

static void start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg))
		die("pthread_create");
}

int main(int argc, char **argv)
{
	static struct plan plan; /* outlives main() when the leader ends first */

	if (argc == 4 && !strcmp(argv[1], "after"))
		return after(argv);
	if (argc < 4 || argc > 5 || pipe(plan.leader_may_end))
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	plan.argv = argv;
	plan.getuids = strtol(argv[2], NULL, 10);
	plan.getppids = strtol(argv[3], NULL, 10);
	plan.cpu = argc == 5 ? strtol(argv[4], NULL, 10) : -1;
	start(stay_in_poll, NULL);
	start(stay_in_poll, NULL);
	start(burn, NULL);
	if (!strcmp(argv[1], "leader")) {
		exec_on_go(&plan);
	} else if (strcmp(argv[1], "leader-exit")) {
		plan.urgent = !strcmp(argv[1], "urgent");
		start(exec_on_go, &plan);
		poll(NULL, 0, -1);
	} else {
		start(outlive_leader, &plan);
		take_bytes(plan.leader_may_end[0], 1);
		pthread_exit(NULL);
	}
	return 2;
}
