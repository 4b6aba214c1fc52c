/* SPDX-License-Identifier: Apache-2.0 */
/* One thread that makes some 300 different system calls with arguments that the
 * kernel refuses, and one call that does not exist. Its truth is the list of
 * [number, count]. */
#include "workload.h"

#define UNKNOWN_CALL 9999
#define UNKNOWN_COUNT 7

#ifdef __x86_64__
#define LAST_OLD 334 /* 335 and 336 belong to uprobes, up to 423 is a gap */
#define FIRST_NEW 424
#define LAST_NEW 449
/* Calls that end, copy, block, detach or signal whatever their arguments are. */
static const int skipped[] = {
	SYS_rt_sigreturn, SYS_pause,           SYS_clone,
	SYS_fork,         SYS_vfork,           SYS_exit,
	SYS_kill,         SYS_setsid,          SYS_vhangup,
	SYS_sync,         SYS_set_tid_address, SYS_restart_syscall,
	SYS_exit_group,   SYS_clone3,          SYS_close_range,
};
#else
#define LAST_OLD -1
#define FIRST_NEW 0
#define LAST_NEW -1
static const int skipped[] = { -1 };
#endif

static bool is_skipped(int number)
{
	for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++)
		if (skipped[i] == number)
			return true;
	return number > LAST_OLD && number < FIRST_NEW;
}

static void make_all(struct worker *worker)
{
	static char list[6000];
	size_t used = 0;

	for (int number = 0; number <= LAST_NEW; number++) {
		if (is_skipped(number))
			continue;
		for (int i = 0; i < 1 + number % 5; i++)
			syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);
		used += (size_t)snprintf(list + used, sizeof(list) - used, "[%d, %d], ", number,
					 1 + number % 5);
	}
	for (int i = 0; i < UNKNOWN_COUNT; i++)
		syscall(UNKNOWN_CALL, 0);
	worker_note(worker, "unknown", UNKNOWN_COUNT);
	list[used ? used - 2 : 0] = '\0';
	worker_note_text(worker, "calls", "[");
	strcat(worker->truths, list);
	strcat(worker->truths, "]");
}

int main(void)
{
	struct worker worker = { .role = "everycall", .run = make_all };
	struct stage stage = { .workers = &worker, .count = 1 };

	return stage_serve(&stage);
}
