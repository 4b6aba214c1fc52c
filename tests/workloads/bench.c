/* SPDX-License-Identifier: Apache-2.0 */
/* The loads that tests/bench measures with. */
#include "workload.h"

#include <limits.h>
#include <linux/futex.h>

/* --- bench_load: loads of a known kind on CPU ---
 *
 * One per line of stdin, each answered by "COUNT NS":
 *   getppid MS    system calls of the main thread
 *   pingpong MS   round trips of one byte between two threads on CPU
 *   apart MS      the same with the partner on OTHER
 *   futex MS      round trips between two threads on CPU that wait in futex
 *   probed MS     calls of probed_call()
 *   spin MS       user mode only; the count is 0
 * The first tenth of the time is not counted. */

enum { CHUNK = 100 };

static int to_partner[2], from_partner[2];

static void *partner(void *arg)
{
	char c;

	while (read(to_partner[0], &c, 1) == 1)
		pass_bytes(from_partner[1], 1);
	return arg;
}

static void chunk_getppid(void)
{
	getppids(CHUNK);
}

static void chunk_pingpong(void)
{
	for (int i = 0; i < CHUNK; i++) {
		pass_bytes(to_partner[1], 1);
		take_bytes(from_partner[0], 1);
	}
}

static int turn; /* of the main thread: 0 */

static void turn_pass(int from, int to)
{
	__atomic_store_n(&turn, to, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != from)
		syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, to, NULL, NULL, 0);
}

static void *futex_partner(void *arg)
{
	while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != 1)
		syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	for (;;)
		turn_pass(1, 0);
	return arg;
}

static void chunk_futex(void)
{
	for (int i = 0; i < CHUNK; i++)
		turn_pass(0, 1);
}

static void do_nothing(void *of)
{
	(void)of;
}

static void chunk_probed(void)
{
	for (int i = 0; i < CHUNK; i++)
		probed_call(do_nothing, NULL);
}

/* What a line of stdin names; NULL: user mode only. */
static void (*chunk_of(const char *kind))(void)
{
	if (!strcmp(kind, "getppid"))
		return chunk_getppid;
	if (!strcmp(kind, "probed"))
		return chunk_probed;
	if (!strcmp(kind, "futex"))
		return chunk_futex;
	return strcmp(kind, "spin") ? chunk_pingpong : NULL;
}

static long load_until(void (*chunk)(void), long long end)
{
	long count = 0;

	while (now_ns() < end) {
		if (chunk) {
			chunk();
			count += CHUNK;
		}
	}
	return count;
}

static void load(void (*chunk)(void), long ms)
{
	long long begin = now_ns() + ms * 100000LL;
	long count;

	load_until(chunk, begin);
	begin = now_ns();
	count = load_until(chunk, begin + ms * 900000LL);
	say("%ld %lld", count, now_ns() - begin);
}

static void partner_pin(pthread_t thread, long cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (pthread_setaffinity_np(thread, sizeof(set), &set))
		die("pthread_setaffinity_np");
}

VERB(bench_load, 2, 2, "CPU OTHER")
{
	pthread_t thread;
	long cpu, other, ms;
	char kind[16];

	pipe_make(to_partner);
	pipe_make(from_partner);
	cpu = number(argv[1]);
	other = number(argv[2]);
	pin(cpu);
	thread = thread_begin(partner, NULL);
	thread_begin(futex_partner, NULL);
	say_ready();
	for (;;) {
		const char *line = command();

		if (sscanf(line, "%15s %ld", kind, &ms) != 2)
			die(line);
		partner_pin(thread, strcmp(kind, "apart") ? cpu : other);
		load(chunk_of(kind), ms);
	}
}

/* --- bench_threads: so many threads, which at each "go" make 30 different system calls each ---
 *
 * It answers "done" when all have. */

/* With -1 and NULL for arguments they all end at once, and change nothing. */
static const long calls[] = {
	SYS_getpid,  SYS_getppid, SYS_gettid,  SYS_getuid,    SYS_geteuid,    SYS_getgid,
	SYS_getegid, SYS_getpgid, SYS_getsid,  SYS_read,      SYS_write,      SYS_close,
	SYS_fstat,   SYS_lseek,   SYS_pread64, SYS_pwrite64,  SYS_readv,      SYS_writev,
	SYS_dup,     SYS_fcntl,   SYS_flock,   SYS_fsync,     SYS_fdatasync,  SYS_ftruncate,
	SYS_fchdir,  SYS_fchmod,  SYS_ioctl,   SYS_fallocate, SYS_getdents64, SYS_shutdown,
};
_Static_assert(COUNT(calls) == 30, "as documented");

static atomic_uint round_now, working;

static void *make_calls(void *arg)
{
	for (unsigned int seen = 0;; seen++) {
		while (atomic_load(&round_now) == seen)
			syscall(SYS_futex, &round_now, FUTEX_WAIT_PRIVATE, seen, NULL);
		for (size_t i = 0; i < COUNT(calls); i++)
			syscall(calls[i], -1L, 0L, 0L, 0L);
		if (atomic_fetch_sub(&working, 1) == 1)
			say("done");
	}
	return arg;
}

VERB(bench_threads, 1, 1, "COUNT")
{
	long count = number(argv[1]);

	for (long i = 0; i < count; i++)
		small_thread_begin(make_calls, NULL);
	say_ready();
	for (;;) {
		wait_for("go");
		atomic_store(&working, (unsigned int)count);
		atomic_fetch_add(&round_now, 1);
		syscall(SYS_futex, &round_now, FUTEX_WAKE_PRIVATE, INT_MAX);
	}
	return 0;
}
