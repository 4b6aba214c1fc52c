/* SPDX-License-Identifier: Apache-2.0 */
/* What control groups took from threads that slept: limits and freezers. */
#include <stdio.h>
#include <string.h>

#include "verdict_said.h"

/* A thread that slept so often and so long, in this wait channel. */
static struct thread_row asleep(struct descriptor_row *sleep, enum ledger_state state)
{
	struct thread_row row = runner(1, "main");

	spend(&row, state, sleep->waits.total);
	row.descriptors = sleep, row.n_descriptors = 1;
	row.ledger.awaited[sleep->awaited] = sleep->waits;
	return row;
}

static void verdict_is(struct thread_row *row, const struct sample *of, const char *want,
		       const char *what)
{
	struct sample sample = *of;

	sample.threads = row, sample.n_threads = 1;
	is_verdict(&sample, want, what);
}

/* Threads that sleep when their group is frozen do not notice. */
TEST(frozen_asleep)
{
	struct descriptor_row naps = { .awaited = KD_AWAITED_TIMER,
				       .wchan = "hrtimer_nanosleep",
				       .call = KD_CALL_NONE,
				       .is = { .fd = -1 },
				       .waits = times(4, 900 * MILLI, 300 * MILLI) };
	struct thread_row row = asleep(&naps, LEDGER_BLOCKED);
	struct sample sample = verdict_sample(&row, 1);

	row.overslept.late = times(4, 600 * MILLI, 250 * MILLI);
	verdict_is(&row, &sample, "timer 600/250 x4, kept 600 of 700, work 300", "no freezer");
	sample.group_frozen_ns = 650 * MILLI;
	strcpy(sample.frozen_group, "/pods/app");
	verdict_is(&row, &sample, "frozen 600/0 x0 /pods/app, kept 600 of 700, work 300",
		   "sleeps that it prolonged");
	sample.group_frozen_ns = 500 * MILLI;
	verdict_is(&row, &sample,
		   "frozen 500/0 x0 /pods/app, timer 100/100 x4, kept 600 of 700, work 300",
		   "no longer than it was frozen");
	row.ledger.ns[LEDGER_FROZEN] = 100 * MILLI, row.ledger.ns[LEDGER_USER] = 0;
	verdict_is(&row, &sample,
		   "frozen 500/0 x0 /pods/app, timer 200/200 x4, kept 700 of 700, work 300",
		   "what it noticed is part of that");
}

/* A sleep that goes on in a group that is frozen still. */
TEST(frozen_still)
{
	struct descriptor_row poll = { .awaited = KD_AWAITED_WORK,
				       .wchan = "do_epoll_wait",
				       .call = KD_CALL_NONE,
				       .is = { .fd = -1 },
				       .in_progress = 1,
				       .waits = times(1, SECOND, 2 * SECOND) };
	struct thread_row row = asleep(&poll, LEDGER_BLOCKED);
	struct sample sample = verdict_sample(&row, 1);

	row.run.count = 0;
	row.ledger.asleep[KD_AWAITED_WORK] = (struct sleeping){ 1, 2 * SECOND };
	verdict_is(&row, &sample, "kept 0 of 0, work 1000", "it waits for work");
	sample.group_frozen_ns = sample.group_frozen_last_ns = 800 * MILLI;
	verdict_is(&row, &sample, "frozen 800/0 x0, kept 800 of 800, work 200",
		   "which it could not have done");
	spend(&row, LEDGER_BLOCKED, -100 * MILLI);
	row.ledger.awaited[KD_AWAITED_WORK] = times(1, 900 * MILLI, 2 * SECOND);
	row.run.count = 5;
	sample.group_frozen_last_ns = 300 * MILLI;
	verdict_is(&row, &sample, "frozen 300/0 x0, kept 300 of 400, work 600",
		   "the last sleep, since it was frozen");
	row.ledger.asleep[KD_AWAITED_WORK] = (struct sleeping){ 0, 0 };
	verdict_is(&row, &sample, "kept 0 of 100, work 900", "no sleep that goes on");
}

/* The limit of a group is named, if the disk was not busy with the requests. */
TEST(disk_limit)
{
	struct descriptor_row disk = { .awaited = KD_AWAITED_DISK,
				       .wchan = "__blkdev_direct_IO_simple",
				       .call = KD_CALL_NONE,
				       .is = { .fd = 3, .device = "vda" },
				       .waits = times(9, 900 * MILLI, 100 * MILLI) };
	struct thread_row row = asleep(&disk, LEDGER_BLOCKED_UNINT);
	struct sample sample = verdict_sample(&row, 1);

	verdict_is(&row, &sample, "disk 900/100 x9 vda, kept 900 of 1000", "no limit");
	sample.disk_limit =
		(struct disk_limit){ "/pods/app", "vda", DISK_LIMIT_READS, false, 20, 20 };
	verdict_is(&row, &sample, "disk_limit 900/100 x9 /pods/app, kept 900 of 1000",
		   "its group's");
	disk.requests = times(9, 500 * MILLI, 90 * MILLI);
	verdict_is(&row, &sample, "disk 900/100 x9 vda requests 500/90 x9, kept 900 of 1000",
		   "a disk that is slow");
	disk.queued = 300 * MILLI;
	verdict_is(&row, &sample,
		   "disk 900/100 x9 vda requests 500/90 x9 queued 300, kept 900 of 1000",
		   "and what it had to do before");
	disk.requests = times(0, 0, 0), disk.queued = 0;
	disk.awaited = KD_AWAITED_FILE;
	row.ledger.awaited[KD_AWAITED_FILE] = disk.waits;
	row.ledger.awaited[KD_AWAITED_DISK] = times(0, 0, 0);
	strcpy(disk.wchan, "jbd2_log_wait_commit");
	verdict_is(&row, &sample, "disk 900/100 x9 vda, kept 900 of 1000",
		   "the file system's journal is not in the group");
}

/* The limit of a group that makes its threads free memory, and read it again. */
TEST(memory_limit)
{
	struct descriptor_row sleep = { .awaited = KD_AWAITED_OTHER,
					.wchan = "reclaim_throttle",
					.call = KD_CALL_NONE,
					.is = { .fd = -1 },
					.ended_by = 40,
					.ended_name = "kswapd0",
					.waits = times(9, 500 * MILLI, 100 * MILLI) };
	struct thread_row row = asleep(&sleep, LEDGER_BLOCKED_UNINT);
	struct sample sample = verdict_sample(&row, 1);

	spend(&row, LEDGER_RECLAIM, 200 * MILLI);
	row.majors.times = times(9, 100 * MILLI, 20 * MILLI);
	spend(&row, LEDGER_FAULT, 100 * MILLI);
	verdict_is(&row, &sample,
		   "reclaim 500/100 x9 kswapd0[40], reclaim 200/0 x0, major_fault 100/20 x9, kept "
		   "800 of 1000",
		   "no group");
	sample.memory_limit = (struct memory_limit){ "/pods/app", "memory.max", false,
						     8388608,     8388608,      7 };
	verdict_is(&row, &sample,
		   "reclaim 700/100 x9 /pods/app, major_fault 100/20 x9 /pods/app, kept 800 of "
		   "1000",
		   "all of it is the group's");
}
