/* SPDX-License-Identifier: Apache-2.0 */
/* bench_threads COUNT: so many threads, which at each "go" make 30 different
 * system calls each; answers "done" when all have. */
#include "workload.h"

#include <limits.h>
#include <linux/futex.h>

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

int main(int argc, char **argv)
{
	unsigned long count = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

	for (unsigned long i = 0; i < count; i++)
		small_thread_begin(make_calls, NULL);
	say_ready();
	for (;;) {
		wait_for("go");
		atomic_store(&working, (unsigned int)count);
		atomic_fetch_add(&round_now, 1);
		syscall(SYS_futex, &round_now, FUTEX_WAKE_PRIVATE, INT_MAX);
	}
}
