/* SPDX-License-Identifier: Apache-2.0 */
/* What sleeps are for, by wait channel, and whose loss they are. */
#include <stdio.h>
#include <string.h>

#include "cli/model/asked.h"
#include "verdict_said.h"

/* Of a file, which is no futex; also where the thread waits for it throughout. */
TEST(file_lock)
{
	struct lock_row futex = { .holder = 7,
				  .holder_name = "holder",
				  .waits = times(9, 200 * MILLI, 40 * MILLI) };
	struct descriptor_row sleeps[] = { { .awaited = KD_AWAITED_LOCK,
					     .call = syscall_number("flock"),
					     .is = { .fd = 3, .inode = 4 },
					     .waits = times(9, 350 * MILLI, 90 * MILLI) },
					   { .awaited = KD_AWAITED_LOCK,
					     .call = syscall_number("futex"),
					     .is = { .fd = -1 },
					     .waits = futex.waits } };
	struct descriptor_row *file = sleeps;
	struct thread_row row = runner(1, "main");

	row.descriptors = sleeps, row.n_descriptors = 2;
	row.locks = &futex, row.n_locks = 1;
	spend(&row, LEDGER_BLOCKED, 550 * MILLI);
	row.ledger.awaited[KD_AWAITED_LOCK] = times(18, 550 * MILLI, 90 * MILLI);
	judge(&row, "lock 350/90 x9, lock 200/40 x9 holder[7], kept 550 of 1000",
	      "the file's, of nobody known");
	file->ended_by = 8;
	memcpy(file->ended_name, "updater", sizeof("updater"));
	judge(&row, "lock 350/90 x9 updater[8], lock 200/40 x9 holder[7], kept 550 of 1000",
	      "who gave it up had it");
	file->waits = times(1, 2 * SECOND, 2 * SECOND);
	file->ended_by = 0;
	row = runner(1, "main");
	row.run.count = 0;
	row.descriptors = sleeps, row.n_descriptors = 1;
	spend(&row, LEDGER_BLOCKED, SECOND);
	row.ledger.awaited[KD_AWAITED_LOCK] = times(1, SECOND, 2 * SECOND);
	judge(&row, "lock 1000/2000 x1, kept 1000 of 1000", "a file's, throughout");
}

/* A thread that slept from edge to edge in a wait channel, with a descriptor of a kind. */
static void sleeper_is(const char *wchan, enum kd_awaited awaited, const char *want,
		       const char *what)
{
	struct descriptor_row sleep = { .awaited = awaited,
					.call = KD_CALL_NONE,
					.is = { .fd = -1 },
					.waits = times(1, 2 * SECOND, 2 * SECOND) };
	struct thread_row row = runner(1, "main");

	snprintf(sleep.wchan, sizeof(sleep.wchan), "%s", wchan);
	row.run.count = 0;
	row.descriptors = &sleep, row.n_descriptors = 1;
	spend(&row, LEDGER_BLOCKED, SECOND);
	row.ledger.awaited[awaited] = times(1, SECOND, 2 * SECOND);
	judge(&row, want, what);
}

/* The function of the kernel says whether it was idle, not the call or the descriptor. */
TEST(wchan)
{
	const char *idle = "kept 0 of 0, work 1000";

	sleeper_is("anon_pipe_read", KD_AWAITED_PIPE, idle, "data that need not come");
	sleeper_is("anon_pipe_write", KD_AWAITED_PIPE, "peer 1000/2000 x1, kept 1000 of 1000",
		   "a pipe that is full");
	sleeper_is("n_tty_write", KD_AWAITED_TTY, "peer 1000/2000 x1, kept 1000 of 1000",
		   "a terminal that is full");
	sleeper_is("tun_do_read", KD_AWAITED_FILE, idle, "a reader of a device is not a disk's");
	sleeper_is("request_wait_answer", KD_AWAITED_FILE, "server 1000/2000 x1, kept 1000 of 1000",
		   "who serves the file system");
	sleeper_is("synchronize_rcu_normal", KD_AWAITED_OTHER,
		   "kernel_work 1000/2000 x1, kept 1000 of 1000", "the kernel's own work");
	sleeper_is("do_wait", KD_AWAITED_CHILD, "child 1000/2000 x1, kept 1000 of 1000",
		   "a child that does not end");
	sleeper_is("futex_do_wait", KD_AWAITED_LOCK, idle, "a thread of a pool");
	sleeper_is("handle_userfault", KD_AWAITED_PAGE, "server 1000/2000 x1, kept 1000 of 1000",
		   "who fills the memory");
	sleeper_is("filemap_fault", KD_AWAITED_PAGE, "page_fault 1000/2000 x1, kept 1000 of 1000",
		   "a page of a file");
	sleeper_is("no_such_function", KD_AWAITED_OTHER, idle, "an unknown one");
}

/* Waits in a futex that a time-out ended are idle, however many; the others may be losses, and say
 * where. */
TEST(futexes)
{
	struct descriptor_row sleep = { .awaited = KD_AWAITED_LOCK,
					.wchan = "futex_do_wait",
					.call = KD_CALL_NONE,
					.is = { .fd = -1 },
					.waits = times(90, 900 * MILLI, 10 * MILLI) };
	struct thread_row row = spent(LEDGER_BLOCKED, 900 * MILLI);

	row.descriptors = &sleep, row.n_descriptors = 1;
	row.ledger.awaited[KD_AWAITED_LOCK] = sleep.waits;
	judge(&row, "kept 0 of 100, work 900", "each by a time-out");
	sleep.ended_by = 8;
	judge(&row, "kept 900 of 1000, unexplained 900", "each by a thread");
	sleep.ended_by = 0;
	sleep.others = 60;
	judge(&row, "kept 900 of 1000, unexplained 900", "most by threads");
}

/* A lock that somebody has is no idle wait, also if nothing ended it. */
TEST(held)
{
	struct lock_row lock = { .kind = KD_LOCK_ROBUST,
				 .holder = 7,
				 .holder_name = "holder",
				 .waits = times(1, 2 * SECOND, 2 * SECOND) };
	struct descriptor_row sleep = { .awaited = KD_AWAITED_LOCK,
					.wchan = "futex_do_wait",
					.call = syscall_number("futex"),
					.is = { .fd = -1 },
					.waits = lock.waits,
					.in_progress = 1 };
	struct thread_row row = runner(1, "main");

	row.run.count = 0;
	row.descriptors = &sleep, row.n_descriptors = 1;
	row.locks = &lock, row.n_locks = 1;
	spend(&row, LEDGER_BLOCKED, SECOND);
	row.ledger.awaited[KD_AWAITED_LOCK] = times(1, SECOND, 2 * SECOND);
	judge(&row, "lock 1000/2000 x1 holder[7], kept 1000 of 1000", "its holder is known");
	lock.holder = 0;
	judge(&row, "kept 0 of 0, work 1000", "nobody is known to have it");
}

/* A semaphore is a lock for who gives it back, which is a call more for each wait. */
TEST(semaphores)
{
	struct call_row call = { .number = (uint32_t)syscall_number("semop"), .count = 180 };
	struct descriptor_row sleep = { .awaited = KD_AWAITED_LOCK,
					.wchan = "__do_semtimedop",
					.call = syscall_number("semop"),
					.is = { .fd = -1 },
					.waits = times(90, 900 * MILLI, 10 * MILLI),
					.ended_by = 8,
					.ended_name = "other" };
	struct thread_row row = spent(LEDGER_BLOCKED, 900 * MILLI);

	row.calls = &call, row.n_calls = 1;
	row.descriptors = &sleep, row.n_descriptors = 1;
	row.ledger.awaited[KD_AWAITED_LOCK] = sleep.waits;
	judge(&row, "lock 900/10 x90 other[8], kept 900 of 1000", "taken and given back");
	call.count = 90;
	judge(&row, "kept 0 of 100, work 900", "only taken");
}

/* In a call that waits for requests of any kind, what ended the sleep said of which. */
TEST(io_uring)
{
	struct descriptor_row sleep = { .awaited = KD_AWAITED_WORK,
					.wchan = "io_cqring_wait",
					.call = KD_CALL_NONE,
					.is = { .fd = -1 },
					.waits = times(90, 900 * MILLI, 10 * MILLI) };
	struct thread_row row = spent(LEDGER_BLOCKED, 900 * MILLI);

	row.descriptors = &sleep, row.n_descriptors = 1;
	row.ledger.awaited[KD_AWAITED_WORK] = sleep.waits;
	judge(&row, "kept 0 of 100, work 900", "of a socket");
	row.ledger.awaited[KD_AWAITED_WORK] = (struct kd_count){ 0 };
	row.ledger.awaited[KD_AWAITED_DISK] = sleep.waits;
	sleep.awaited = KD_AWAITED_DISK;
	sleep.requests = times(90, 800 * MILLI, 10 * MILLI);
	judge(&row, "disk 900/10 x90 requests 800/10 x90, kept 900 of 1000", "of a disk");
}

/* The same in a function of the program. */
static void program_is(const char *wchan, enum kd_awaited awaited, const char *function,
		       const char *want, const char *what)
{
	struct descriptor_row sleep = { .awaited = awaited,
					.call = KD_CALL_NONE,
					.is = { .fd = -1 },
					.waits = times(90, 900 * MILLI, 10 * MILLI),
					.ended_by = 8,
					.ended_name = "waker" };
	struct thread_row row = spent(LEDGER_BLOCKED, 900 * MILLI);

	snprintf(sleep.wchan, sizeof(sleep.wchan), "%s", wchan);
	snprintf(sleep.user_function, sizeof(sleep.user_function), "%s", function);
	row.descriptors = &sleep, row.n_descriptors = 1;
	row.ledger.awaited[awaited] = sleep.waits;
	judge(&row, want, what);
}

/* What the program calls it decides where the kernel cannot, and only there. */
TEST(functions)
{
	const char *idle = "kept 0 of 100, work 900";

	program_is("futex_do_wait", KD_AWAITED_LOCK, "take_gil",
		   "lock 900/10 x90 waker[8], kept 900 of 1000",
		   "a lock, until who had it woke it");
	program_is("futex_do_wait", KD_AWAITED_LOCK, "pthread_cond_wait", idle, "a condition");
	program_is("do_epoll_wait", KD_AWAITED_WORK, "XactLockTableWait",
		   "lock 900/10 x90 waker[8], kept 900 of 1000", "a lock in a poll");
	program_is("do_epoll_wait", KD_AWAITED_WORK, "secure_read", idle, "a client in a poll");
	program_is("do_epoll_wait", KD_AWAITED_WORK, "PQgetResult",
		   "peer 900/10 x90 waker[8], kept 900 of 1000", "an answer in a poll");
	program_is("hrtimer_nanosleep", KD_AWAITED_TIMER, "sqlite3_step",
		   "lock 900/10 x90 waker[8], kept 900 of 1000",
		   "a lock that is tried again and again");
	program_is("hrtimer_nanosleep", KD_AWAITED_TIMER, "take_a_nap", "kept 0 of 100, work 900",
		   "a sleep");
	program_is("futex_do_wait", KD_AWAITED_LOCK, "no_such_function",
		   "kept 900 of 1000, unexplained 900", "an unknown function");
	program_is("anon_pipe_write", KD_AWAITED_PIPE, "secure_read",
		   "peer 900/10 x90 waker[8], kept 900 of 1000",
		   "the kernel knows of a pipe that is full");
}

/* Who reads from a pipe and gets nothing any more is idle; who gets little at a time is not. */
TEST(pipe_that_lasts)
{
	struct descriptor_row sleep = { .awaited = KD_AWAITED_PIPE,
					.wchan = "anon_pipe_read",
					.call = KD_CALL_NONE,
					.is = { .fd = 0 },
					.waits = times(4, 900 * MILLI, 600 * MILLI) };
	struct thread_row row = spent(LEDGER_BLOCKED, 900 * MILLI);
	struct sample sample;
	uint64_t *open = &row.ledger.asleep[KD_AWAITED_PIPE].max;

	row.descriptors = &sleep, row.n_descriptors = 1;
	row.ledger.awaited[KD_AWAITED_PIPE] = sleep.waits;
	judge(&row, "peer 900/600 x4, kept 900 of 1000", "the longest has ended");
	*open = 600 * MILLI;
	judge(&row, "kept 0 of 100, work 900", "it goes on");
	sample = verdict_sample(&row, 1);
	sample.start_triggered = true;
	is_verdict(&sample, "peer 900/600 x4, kept 900 of 1000", "in a window of a trigger");
	*open = sleep.waits.max = 400 * MILLI;
	judge(&row, "peer 900/400 x4, kept 900 of 1000", "less than half");
	*open = sleep.waits.max = 600 * MILLI;
	sleep.awaited = KD_AWAITED_SOCKET;
	row.ledger.asleep[KD_AWAITED_SOCKET].max = *open;
	row.ledger.awaited[KD_AWAITED_SOCKET] = sleep.waits;
	row.ledger.awaited[KD_AWAITED_PIPE].total = 0;
	judge(&row, "peer 900/600 x4, kept 900 of 1000", "an answer may be due at a socket");
}

/* Who has the lock, if that is known, comes before who ended a wait; a mutex's holder before both.
 */
TEST(holders)
{
	struct lock_row mutex = { .holder = 7,
				  .holder_name = "holder",
				  .waits = times(90, 900 * MILLI, 10 * MILLI) };
	struct descriptor_row sleep = { .awaited = KD_AWAITED_LOCK,
					.wchan = "do_epoll_wait",
					.call = KD_CALL_NONE,
					.is = { .fd = -1 },
					.user_function = "XactLockTableWait",
					.waits = mutex.waits,
					.ended_by = 8,
					.ended_name = "waker",
					.awaited_pid = 9,
					.awaited_name = "session" };
	struct thread_row row = spent(LEDGER_BLOCKED, 900 * MILLI);

	row.descriptors = &sleep, row.n_descriptors = 1;
	row.ledger.awaited[KD_AWAITED_LOCK] = sleep.waits;
	judge(&row, "lock 900/10 x90 session[9], kept 900 of 1000", "who has it");
	snprintf(sleep.wchan, sizeof(sleep.wchan), "futex_do_wait");
	snprintf(sleep.user_function, sizeof(sleep.user_function), "pthread_mutex_lock");
	sleep.awaited_pid = 0;
	row.locks = &mutex, row.n_locks = 1;
	judge(&row, "lock 900/10 x90 holder[7], kept 900 of 1000", "a mutex says it itself");
}

/* Other threads fulfil conditions, if there is work; in other futexes they may hold a lock. */
TEST(conditions)
{
	struct descriptor_row sleep = { .awaited = KD_AWAITED_LOCK,
					.wchan = "futex_do_wait",
					.call = KD_CALL_NONE,
					.is = { .fd = -1 },
					.ended_by = 8,
					.waits = times(90, 900 * MILLI, 10 * MILLI) };
	struct lock_row locks[] = {
		{ .kind = KD_LOCK_CONDITION, .waits = times(60, 600 * MILLI, 10 * MILLI) },
		{ .kind = KD_LOCK_NO_OWNER, .waits = times(20, 200 * MILLI, 10 * MILLI) },
		{ .kind = KD_LOCK_OTHER, .shorter = 20000, .waits = times(10, 100 * MILLI, 1) },
	};
	struct thread_row row = spent(LEDGER_BLOCKED, 900 * MILLI);

	row.descriptors = &sleep, row.n_descriptors = 1;
	row.ledger.awaited[KD_AWAITED_LOCK] = sleep.waits;
	row.locks = locks, row.n_locks = 3;
	judge(&row, "kept 200 of 300, work 700, unexplained 200", "all but the lock");
	locks[2].shorter = 0;
	judge(&row, "kept 300 of 400, work 600, unexplained 300", "nor those without a row");
	row.locks = locks + 1, row.n_locks = 2;
	judge(&row, "kept 900 of 1000, unexplained 900", "no condition is known");
	row.locks = locks, row.n_locks = 1;
	judge(&row, "kept 0 of 100, work 900", "conditions only");
}

/* In a window that triggers made nothing of the thread that hit them is idle, and others are not in
 * the verdict. */
TEST(subject)
{
	struct descriptor_row sleep = { .awaited = KD_AWAITED_TIMER,
					.wchan = "hrtimer_nanosleep",
					.call = KD_CALL_NONE,
					.is = { .fd = -1 },
					.waits = times(3, 900 * MILLI, 300 * MILLI) };
	struct thread_row rows[] = { spent(LEDGER_BLOCKED, 900 * MILLI), runner(2, "poller") };
	struct sample sample = verdict_sample(rows, 2);

	rows[0].descriptors = &sleep, rows[0].n_descriptors = 1;
	rows[0].ledger.awaited[KD_AWAITED_TIMER] = sleep.waits;
	is_verdict(&sample, "kept 0 of 1100, work 900", "without triggers");
	sample.start_triggered = sample.stop_triggered = true;
	sample.started_on = sample.stopped_on = 1;
	is_verdict(&sample, "wait 900/300 x3, kept 900 of 1000", "of the thread that hit both");
	sleep.ended_by = 2;
	memcpy(sleep.ended_name, "poller", sizeof("poller"));
	is_verdict(&sample, "wait 900/300 x3 poller[2], kept 900 of 1000", "and who woke it");
	sample.started_on = 77;
	is_verdict(&sample, "kept 0 of 1100, work 900", "of a thread that is not the target's");
}

/* Whom a thread asked, and who did not answer; a child that it polls; and a client that takes its
 * time. */
TEST(asked)
{
	struct descriptor_row sleep = { .awaited = KD_AWAITED_WORK,
					.wchan = "do_epoll_wait",
					.call = KD_CALL_NONE,
					.is = { .fd = -1 },
					.waits = times(1, SECOND, SECOND) };
	struct thread_row row = spent(LEDGER_BLOCKED, SECOND);

	row.descriptors = &sleep, row.n_descriptors = 1;
	row.ledger.awaited[KD_AWAITED_WORK] = sleep.waits;
	judge(&row, "kept 0 of 0, work 1000", "events");
	sleep.unanswered = 900 * MILLI;
	judge(&row, "peer 1000/1000 x1, kept 1000 of 1000", "an answer");
	sleep.awaited_pid = 7;
	memcpy(sleep.awaited_name, "server", sizeof("server"));
	judge(&row, "peer 1000/1000 x1 server[7], kept 1000 of 1000", "of whom");
	sleep.unanswered = 0;
	judge(&row, "child 1000/1000 x1 server[7], kept 1000 of 1000", "of its child");
	sleep.awaited = KD_AWAITED_PIPE;
	row.ledger.awaited[KD_AWAITED_PIPE] = sleep.waits;
	row.ledger.awaited[KD_AWAITED_WORK].total = 0;
	snprintf(sleep.wchan, sizeof(sleep.wchan), "anon_pipe_read");
	judge(&row, "child 1000/1000 x1 server[7], kept 1000 of 1000",
	      "or of what that one writes");
	sleep = (struct descriptor_row){ .awaited = KD_AWAITED_LOCK,
					 .wchan = "fcntl_setlk",
					 .call = KD_CALL_NONE,
					 .is = { .fd = 3, .inode = 4 },
					 .waits = times(1, SECOND, SECOND) };
	row = spent(LEDGER_BLOCKED, SECOND);
	row.descriptors = &sleep, row.n_descriptors = 1;
	row.ledger.awaited[KD_AWAITED_LOCK] = sleep.waits;
	judge(&row, "lock 1000/1000 x1, kept 1000 of 1000", "a lock of a file");
	sleep.by_turns = true;
	judge(&row, "kept 0 of 0, work 1000", "by which servers take turns to wait for clients");
	sleep = (struct descriptor_row){ .awaited = KD_AWAITED_SOCKET,
					 .wchan = "sk_wait_data",
					 .call = KD_CALL_NONE,
					 .is = { .fd = 3, .inode = 4 },
					 .ended_by = 8,
					 .ended_name = "client",
					 .waits = times(9, 900 * MILLI, 100 * MILLI) };
	row = spent(LEDGER_BLOCKED, 900 * MILLI);
	row.descriptors = &sleep, row.n_descriptors = 1;
	row.ledger.awaited[KD_AWAITED_SOCKET] = sleep.waits;
	judge(&row, "peer 900/100 x9 client[8], kept 900 of 1000", "it was asked");
	sleep.accepted = true;
	judge(&row, "kept 0 of 100, work 900", "it made the connection");
	snprintf(sleep.wchan, sizeof(sleep.wchan), "sk_stream_wait_memory");
	judge(&row, "peer 900/100 x9 client[8], kept 900 of 1000", "it does not read");
	snprintf(sleep.wchan, sizeof(sleep.wchan), "sk_wait_data");
	sleep.kept_back = KEPT_OTHER;
	judge(&row, "kernel_work 900/100 x9, kept 900 of 1000", "data is kept back");
	sleep.kept_back = KEPT_OWN, sleep.accepted = false, sleep.unanswered = 100 * MILLI;
	judge(&row, "kernel_work 900/100 x9, kept 900 of 1000", "its own");
}

/* Sleeps in slow calls that the user named are no waiting for work. */
TEST(slow_calls)
{
	struct descriptor_row sleeps[2] = {
		{ .awaited = KD_AWAITED_WORK,
		  .wchan = "do_epoll_wait",
		  .call = 232,
		  .is = { .fd = -1 },
		  .waits = times(4, 400 * MILLI, 300 * MILLI) },
		{ .awaited = KD_AWAITED_WORK,
		  .wchan = "hrtimer_nanosleep",
		  .call = 230,
		  .is = { .fd = -1 },
		  .waits = times(1, 100 * MILLI, 100 * MILLI) },
	};
	struct trace_row call = { .kind = TRACE_CALL,
				  .tid = 1,
				  .call = 232,
				  .start = 100 * SECOND + 100 * MILLI,
				  .end = 100 * SECOND + 450 * MILLI,
				  .waited = 300 * MILLI };
	struct thread_row row = spent(LEDGER_BLOCKED, 500 * MILLI);
	struct sample sample = verdict_sample(&row, 1);

	row.descriptors = sleeps, row.n_descriptors = 2;
	row.ledger.awaited[KD_AWAITED_WORK] = times(5, 500 * MILLI, 300 * MILLI);
	sample.traces.rows = &call, sample.traces.n = 1;
	sample.traces.calls_wanted = true;
	is_verdict(&sample, "kept 0 of 500, work 500", "all calls are listed");
	sample.traces.calls_chosen = true;
	is_verdict(&sample, "wait 300/300 x4, kept 300 of 800, work 200", "it was named");
	call.timed = true, call.ran = 30 * MILLI, call.ready = 10 * MILLI;
	is_verdict(&sample, "wait 310/300 x4, kept 310 of 810, work 190", "all of its sleeps");
	call.end = 0;
	call.start = 100 * SECOND + 800 * MILLI, call.ran = call.ready = 0;
	is_verdict(&sample, "wait 200/300 x4, kept 200 of 700, work 300", "it goes on");
	call.tid = 2;
	is_verdict(&sample, "kept 0 of 500, work 500", "of another thread");
	call.tid = 1, call.call = 0;
	is_verdict(&sample, "kept 0 of 500, work 500", "another call");
}

static struct descriptor_row child(const char *name, struct kd_count waits)
{
	struct descriptor_row row = { .awaited = KD_AWAITED_CHILD,
				      .call = syscall_number("wait4"),
				      .is.fd = -1,
				      .waits = waits };

	memcpy(row.child, name, strlen(name));
	return row;
}

/* Children that were awaited one after the other are one by their program, also the last one, which
 * has not ended; so are those of a poll. */
TEST(children)
{
	struct thread_row row = runner(1, "main");
	struct descriptor_row sleeps[] = {
		child("gzip", times(4, 400 * MILLI, 100 * MILLI)),
		child("", times(1, 100 * MILLI, 100 * MILLI)),
		child("gzip", times(2, 200 * MILLI, 100 * MILLI)),
		child("tar", times(1, 100 * MILLI, 100 * MILLI)),
	};

	spend(&row, LEDGER_BLOCKED, 800 * MILLI);
	row.descriptors = sleeps, row.n_descriptors = 4;
	row.ledger.awaited[KD_AWAITED_CHILD] = times(6, 600 * MILLI, 100 * MILLI);
	row.ledger.awaited[KD_AWAITED_WORK] = times(2, 200 * MILLI, 100 * MILLI);
	sleeps[0].others = 3;
	sleeps[0].ended_by = sleeps[0].ended_pid = 10;
	sleeps[1].in_progress = 1;
	sleeps[1].awaited_pid = 11;
	memcpy(sleeps[1].awaited_name, "gzip", sizeof("gzip"));
	sleeps[2].awaited = KD_AWAITED_WORK;
	sleeps[2].for_child = true;
	sleeps[2].others = 1;
	sleeps[2].ended_by = sleeps[2].ended_pid = 12;
	sleeps[3].ended_by = sleeps[3].ended_pid = 13;
	memcpy(sleeps[3].ended_name, "tar", sizeof("tar"));
	judge(&row, "child 700/100 x7 gzip, child 100/100 x1 tar[13], kept 800 of 1000",
	      "those of a program");
	sleeps[2].for_child = false;
	judge(&row, "child 500/100 x5 gzip, child 100/100 x1 tar[13], kept 600 of 800, work 200",
	      "a poll of others is work");
}
