// SPDX-License-Identifier: Apache-2.0
#include "collect_awaited.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/proc_file.h"
#include "cli/base/syscall_set.h"
#include "cli/capture/session/slots.h"
#include "cli/model/user_wait.h"
#include "cli/model/wchan.h"
#include "cli/process/awaited_process.h"
#include "cli/process/lock_holder.h"
#include "cli/process/polled.h"

#define LOOKS_MOST 4 /* each of a few ms */

/* --- Sleeps while they last --- */

#define ASLEEP_LEAST_NS (100 * NSEC_PER_MSEC)
#define LOOK_MOST_NS (20 * NSEC_PER_MSEC) /* CPU time, for a window */
#define HELD_LOOKS 4
#define IDLE_NS (10 * NSEC_PER_SEC) /* a thread that was idle in a call is taken to be still */

static int32_t call_of(const struct kd_thread *thread)
{
	return thread->state == KD_UNSEEN ? thread->seed_call : thread->slept_in;
}

static const struct asked_sleep *sleep_find(const struct awaited_watch *watch, uint32_t tid,
					    uint64_t since)
{
	for (size_t i = 0; i < watch->n; i++)
		if (watch->all[i].tid == tid && watch->all[i].since == since)
			return &watch->all[i];
	return NULL;
}

/* True if the thread was idle in that call a short time ago. */
static bool is_idle(const struct awaited_watch *watch, uint32_t tid, int32_t call, uint64_t now)
{
	for (size_t i = 0; i < watch->n; i++)
		if (watch->all[i].tid == tid && watch->all[i].call == call &&
		    !watch->all[i].found && now < watch->all[i].looked + IDLE_NS)
			return true;
	return false;
}

static bool goes_on(const struct session_view *view, const struct asked_sleep *sleep)
{
	const uint32_t slot = view_slot(view, (pid_t)sleep->tid);

	return slot && view->threads[slot].since == sleep->since &&
	       thread_is_blocked(&view->threads[slot]);
}

/* Keeps what is still worth knowing in another window. */
static void watch_turn(struct awaited_watch *watch, const struct session_view *view, uint64_t now)
{
	size_t n = 0;

	for (size_t i = 0; i < watch->n; i++) {
		const struct asked_sleep sleep = watch->all[i];

		if (sleep.found ? goes_on(view, &sleep) : now < sleep.looked + IDLE_NS)
			watch->all[n++] = sleep;
	}
	watch->n = n;
	watch->spent = watch->held_looks = 0;
	watch->held_from = 0;
	watch->gen = view->gen;
}

static void sleep_look(struct awaited_watch *watch, const struct kd_thread *thread, uint64_t now)
{
	struct asked_sleep *sleep = &watch->all[watch->n++];
	const uint64_t begun = clock_read(CLOCK_THREAD_CPUTIME_ID);

	*sleep = (struct asked_sleep){
		.tid = thread->tid, .call = call_of(thread), .since = thread->since, .looked = now
	};
	sleep->found = asked_look(&sleep->asked, watch->sockets, (pid_t)thread->tgid,
				  (pid_t)thread->tid, (uint32_t)sleep->call);
	if (sleep->asked.child)
		awaited_describe(&sleep->child, sleep->asked.child);
	if (sleep->asked.sent_ago)
		sleep->sent = u64_sub(now, sleep->asked.sent_ago);
	/* It may have ended meanwhile, and another one begun. */
	sleep->found &= thread->since == sleep->since;
	watch->spent += clock_read(CLOCK_THREAD_CPUTIME_ID) - begun;
}

/* Who has a lock of a file is gone when a window of a trigger ends. Reading it takes a while, so it
 * is only done of a thread that hit it and sleeps for a time, as SQLite does. */
static void held_look(struct awaited_watch *watch, const struct session_view *view)
{
	const uint32_t slot = view->opened_by < 0 ? KD_SLOT_FREE : view_slot(view, view->opened_by);
	const struct kd_thread *thread = &view->threads[slot];

	if (!slot || view->end != KD_NEVER || watch->held_from || !thread_is_blocked(thread) ||
	    thread->awaited != KD_AWAITED_TIMER || watch->held_looks++ >= HELD_LOOKS)
		return;
	if (lock_holder_of_file(&watch->held_by, (pid_t)thread->tgid))
		watch->held_from = (pid_t)thread->tgid;
}

void awaited_look(struct awaited_watch *watch, const struct session_view *view)
{
	const uint64_t now = clock_monotonic();

	if (!view->gen)
		return;
	if (watch->gen != view->gen)
		watch_turn(watch, view, now);
	held_look(watch, view);
	if (!watch->sockets)
		return;
	for (uint32_t slot = 1; slot < view->slots && watch->n < ASKED_LOOKS; slot++) {
		const struct kd_thread *thread = &view->threads[slot];
		const int32_t call = call_of(thread);

		if (watch->spent >= LOOK_MOST_NS)
			break;
		if (thread->task && thread_is_blocked(thread) &&
		    thread->since + view->epoch + ASLEEP_LEAST_NS <= now && call >= 0 &&
		    polled_is((uint32_t)call) && !sleep_find(watch, thread->tid, thread->since) &&
		    !is_idle(watch, thread->tid, call, now))
			sleep_look(watch, thread, now);
	}
	sockets_forget(watch->sockets);
}

static void who_take(struct descriptor_row *sleep, const struct awaited_process *who)
{
	sleep->awaited_pid = who->pid;
	memcpy(sleep->awaited_name, who->name, sizeof(sleep->awaited_name));
	memcpy(sleep->awaited_state, who->state, sizeof(sleep->awaited_state));
}

/* The longest sleep of a row, or else another one of the thread in that call and window; NULL: none
 * was looked at, or it was idle. Sets how many of them were seen to be for the same. */
static const struct asked_sleep *alike(const struct awaited_watch *watch,
				       const struct session_view *view, uint32_t tid,
				       const struct descriptor_row *row, uint64_t *n)
{
	const struct asked_sleep *found = sleep_find(watch, tid,
						     u64_sub(row->waits.began, view->epoch));

	*n = 0;
	for (size_t i = 0; i < watch->n; i++) {
		const struct asked_sleep *sleep = &watch->all[i];

		if (sleep->tid != tid || sleep->call != row->call || !sleep->found ||
		    sleep->since >= view->end || (row->is.fd >= 0 && sleep->asked.fd != row->is.fd))
			continue;
		if (!found && sleep->since >= view->start)
			found = sleep;
		*n += found && sleep->asked.open == found->asked.open;
	}
	return found && found->found && found->call == row->call ? found : NULL;
}

/* Adds what was seen of a row's sleeps, if those are most of it. Returns NULL if that is nothing.
 */
static const struct asked_sleep *seen_take(const struct awaited_watch *watch,
					   const struct session_view *view, pid_t tid,
					   struct descriptor_row *row)
{
	uint64_t n, sent;
	const struct asked_sleep *sleep = alike(watch, view, (uint32_t)tid, row, &n);

	if (!sleep || u64_times(row->waits.max, n) < row->waits.total / 2)
		return NULL;
	if (sleep->asked.open) {
		sent = sleep->sent ? sleep->sent : sleep->since + view->epoch;
		row->unanswered = row->waits.max;
		if (row->in_progress && sleep->since + view->epoch == row->waits.began)
			row->unanswered = u64_sub(view->end + view->epoch, sent);
		row->asked_fd = sleep->asked.fd;
		memcpy(row->asked, sleep->asked.to, sizeof(row->asked));
	}
	return sleep;
}

#define CHILD_LOOKS 3

/* Sleeps that children ended, each too short to be looked at while it lasted, are for a child if
 * another one like them is. But if at most looks a child waits for clients or its parent, those
 * have little to do; and what several write then, as those of a pool, is no answer. */
static void children_look(struct sockets *sockets, pid_t pid, pid_t tid,
			  struct descriptor_row *sleep)
{
	const struct timespec pause = { .tv_nsec = 7 * NSEC_PER_MSEC };
	unsigned int serve = 0;
	struct asked asked;
	bool found = false;

	for (unsigned int i = 0; i < CHILD_LOOKS; i++) {
		if (i)
			nanosleep(&pause, NULL);
		serve += asked_child_serves(sockets, pid);
		found |= asked_look(&asked, sockets, pid, tid, (uint32_t)sleep->call) &&
			 asked.child;
	}
	sleep->for_child = found && serve <= CHILD_LOOKS / 2;
	sleep->accepted = sleep->awaited == KD_AWAITED_PIPE && descriptor_row_of_several(sleep) &&
			  serve > CHILD_LOOKS / 2;
}

/* Adds a child that has ended. */
static void child_take(struct descriptor_row *sleep, const struct awaited_process *child)
{
	struct awaited_process gone = *child;

	*gone.state = '\0';
	who_take(sleep, &gone);
}

/* A call that reads may also sleep for the disk, and for other things that nobody was asked for. */
static bool may_be_asked(const struct descriptor_row *sleep)
{
	return sleep->awaited != KD_AWAITED_DISK && sleep->awaited != KD_AWAITED_PAGE &&
	       sleep->awaited != KD_AWAITED_KERNEL_LOCK && sleep->awaited != KD_AWAITED_OTHER;
}

/* Adds whom a row's sleeps are for. */
static void asked_take(struct awaited_watch *watch, const struct session_view *view, pid_t pid,
		       pid_t tid, struct descriptor_row *sleep, unsigned int *looks)
{
	const struct asked_sleep *seen = may_be_asked(sleep) ? seen_take(watch, view, tid, sleep)
							     : NULL;
	const uint64_t window = view->end - view->start;
	struct awaited_process found;

	if (seen) {
		sleep->for_child = seen->asked.child;
		if ((*looks)++ < LOOKS_MOST && asked_who(&found, &seen->asked, pid))
			who_take(sleep, &found);
		else if (seen->child.pid)
			child_take(sleep, &seen->child);
	} else if (watch->sockets && view->opened_by < 0 && *sleep->child && sleep->call >= 0 &&
		   sleep->waits.total >= window / 20 && polled_is((uint32_t)sleep->call) &&
		   (*looks)++ < LOOKS_MOST) {
		children_look(watch->sockets, pid, tid, sleep);
	}
}

/* The last sleep of a thread that waits for its children, which goes on, may be too short. Another
 * descriptor may be somebody else's. */
static void for_child_spread(const struct thread_row *thread)
{
	for (size_t i = 0; i < thread->n_descriptors; i++) {
		struct descriptor_row *last = &thread->descriptors[i];

		for (size_t j = 0; last->in_progress && j < thread->n_descriptors; j++) {
			const struct descriptor_row *like = &thread->descriptors[j];

			if (last->for_child || !like->for_child || like->call != last->call ||
			    like->awaited != last->awaited || like->is.fd != last->is.fd)
				continue;
			last->for_child = true;
			memcpy(last->awaited_name, *like->child ? like->child : like->awaited_name,
			       sizeof(last->awaited_name));
		}
	}
}

/* --- Sleeps that go on --- */

typedef bool holder_find(struct awaited_process *found, pid_t pid);

/* Of sleeps that the program calls a lock, what finds who has it; NULL: nothing does. */
static holder_find *holder_finder(const struct descriptor_row *sleep)
{
	const struct user_wait *user = user_wait_of_sleep(sleep);

	if (!user || user->cause != WCHAN_LOCK)
		return NULL;
	switch (user->family) {
	case USER_SQLITE:
		return lock_holder_of_file;
	case USER_APT:
		return lock_holder_of_dpkg;
	case USER_POSTGRESQL:
		return strstr(user->function, "advisory") ? lock_holder_of_advisory
							  : lock_holder_of_session;
	default:
		return NULL;
	}
}

/* A command that the program waits for by other means than wait4(). */
static bool is_for_child(const struct descriptor_row *sleep)
{
	const struct user_wait *user = user_wait_of_sleep(sleep);

	return user && user->cause == WCHAN_CHILD;
}

/* Returns false if nobody is known to end such a sleep. */
static bool sleep_is_for(const struct descriptor_row *sleep, enum awaited_as *as)
{
	const struct wchan *wchan = wchan_of(sleep->wchan);
	const enum wchan_cause cause = wchan ? wchan->cause : WCHAN_THROUGH;

	if (sleep->awaited == KD_AWAITED_CHILD || is_for_child(sleep))
		*as = AWAITED_CHILD;
	else if (sleep->awaited == KD_AWAITED_LOCK && sleep->is.fd >= 0)
		*as = AWAITED_FILE_LOCK;
	else if (cause == WCHAN_LEASE)
		*as = AWAITED_LEASE;
	else if (cause == WCHAN_FUSE)
		*as = AWAITED_FUSE;
	else if (cause == WCHAN_PAGER)
		*as = AWAITED_PAGER;
	else if (cause == WCHAN_DAEMON && !strncmp(wchan->function, "fanotify_", 9))
		*as = AWAITED_SCANNER;
	else if (cause == WCHAN_DAEMON && !strncmp(wchan->function, "seccomp_", 8))
		*as = AWAITED_SUPERVISOR;
	else if (cause == WCHAN_PEER && !strcmp(wchan->function, "do_msgsnd"))
		*as = AWAITED_RECEIVER;
	else if (cause == WCHAN_PEER && sleep->awaited == KD_AWAITED_SOCKET)
		*as = AWAITED_PEER;
	else if (cause == WCHAN_PEER)
		*as = AWAITED_READER;
	else
		return false;
	return true;
}

/* The descriptor, or message queue, to which a thread writes; -1: none, or unknown. */
static int written_fd(const struct descriptor_row *sleep, pid_t tid)
{
	static const struct {
		const char *call;
		unsigned int argument;
	} others[] = { { "mq_timedsend", 0 }, { "msgsnd", 0 }, { "splice", 2 }, { "tee", 1 } };
	const char *name = sleep->call < 0 || syscall_mode((uint32_t)sleep->call)
				   ? NULL
				   : syscall_name((uint32_t)sleep->call);
	struct proc_call now;

	for (size_t i = 0; name && i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(name, others[i].call))
			return proc_call_read(&now, tid) && now.number == sleep->call
				       ? (int)now.arguments[others[i].argument]
				       : -1;
	return sleep->is.fd;
}

/* Who can end a sleep that goes on. Of a write, sets the descriptor. */
static bool ender_find(struct awaited_process *found, struct sockets *sockets, enum awaited_as as,
		       struct descriptor_row *sleep, pid_t pid, pid_t tid)
{
	const bool writes = as == AWAITED_READER || as == AWAITED_RECEIVER;
	const int fd = writes ? written_fd(sleep, tid) : sleep->is.fd;

	if (as == AWAITED_READER && fd != sleep->is.fd) {
		sleep->is = (struct descriptor){ .fd = fd };
		proc_fd_link(proc_thread(pid), fd, sleep->is.path, sizeof(sleep->is.path));
	}
	if (awaited_process_find(found, as, pid, fd))
		return true;
	if (as == AWAITED_FILE_LOCK)
		return lock_holder_at(found, pid, fd);
	return (as == AWAITED_READER || as == AWAITED_PEER) && sockets && sleep->call >= 0 &&
	       asked_peer(found, sockets, pid, tid, fd, (uint32_t)sleep->call);
}

/* Who holds the lock of a futex, as it is known. */
static bool owner_find(struct awaited_process *found, const struct thread_row *thread,
		       const struct descriptor_row *sleep)
{
	for (size_t i = 0; i < thread->n_locks; i++) {
		const struct lock_row *lock = &thread->locks[i];

		if (lock->holder && !kd_lock_is_kernel(lock->kind) &&
		    lock->waits.total >= sleep->waits.total / 2)
			return awaited_describe(found, lock->holder);
	}
	return false;
}

/* Returns whether it looked. Who tries again and again to get a lock has many sleeps; others have
 * to last, or the next one may be for somebody else. */
static bool holder_look(struct awaited_watch *watch, const struct thread_row *thread,
			struct descriptor_row *sleep, pid_t pid, uint64_t least)
{
	const bool is_child = sleep->awaited == KD_AWAITED_CHILD;
	const bool lasts = sleep->in_progress && (is_child || sleep->waits.max >= least);
	holder_find *find = holder_finder(sleep);
	struct awaited_process found;
	enum awaited_as as;
	bool is_found;

	if (sleep->awaited_pid || sleep->waits.total < (is_child ? least / 10 : least))
		return false;
	if (find && (lasts || user_wait_kind(sleep) == WCHAN_TIME))
		is_found = find(&found, pid);
	else if (lasts && sleep_is_for(sleep, &as))
		is_found = ender_find(&found, watch->sockets, as, sleep, pid, thread->tid);
	else if (lasts && sleep->awaited == KD_AWAITED_LOCK)
		is_found = owner_find(&found, thread, sleep);
	else
		return false;
	if (is_found)
		who_take(sleep, &found);
	return true;
}

/* --- Connections that clients made --- */

/* True if a thread received from a socket. */
static bool is_receiving(const struct descriptor_row *sleep)
{
	const struct wchan *wchan = wchan_of(sleep->wchan);

	return sleep->awaited == KD_AWAITED_SOCKET && sleep->is.fd >= 0 && sleep->is.inode &&
	       wchan && wchan->cause == WCHAN_IDLE;
}

/* Connections of TCP may be many, and gone by now. */
static bool is_accepted(struct awaited_watch *watch, pid_t pid, const struct descriptor_row *sleep,
			uint64_t window, unsigned int *looks)
{
	struct accepted *of = &watch->accepted[sleep->is.inode % ACCEPTED_KNOWN];
	const char *port = strrchr(sleep->is.local, ':');

	/* AF_NETLINK, AF_PACKET */
	if (!strcmp(sleep->is.protocol, "af 16") || !strcmp(sleep->is.protocol, "af 17"))
		return true;
	if (!strcmp(sleep->is.protocol, "tcp") && port)
		return sockets_listen(watch->sockets, pid,
				      (unsigned int)strtoul(port + 1, NULL, 10));
	if (sleep->waits.total < window / 20)
		return false;
	if (of->inode != sleep->is.inode) {
		if (*looks >= LOOKS_MOST)
			return false;
		(*looks)++;
		of->inode = sleep->is.inode;
		of->is = asked_is_accepted(watch->sockets, pid, sleep->is.fd);
	}
	return of->is;
}

/* --- Locks by which servers take turns to accept connections --- */

#define TURNS_LOOKS 3

/* True if a thread waited for the lock of a file for more than a moment. */
static bool may_take_turns(const struct descriptor_row *sleep, uint64_t window)
{
	return sleep->awaited == KD_AWAITED_LOCK && sleep->is.fd >= 0 && sleep->is.inode &&
	       sleep->waits.total >= window / 100;
}

/* Who has the lock may be about to give it to the next, or to take a request. */
static bool turns_look(struct sockets *sockets, pid_t pid, uint64_t inode, bool lasts)
{
	const struct timespec pause = { .tv_nsec = 7 * NSEC_PER_MSEC };
	bool found = false;

	for (unsigned int i = 0; i < TURNS_LOOKS && !found; i++) {
		const pid_t holder = lock_holder_only(inode);

		found = holder && asked_takes_turns(sockets, pid, holder);
		if (found || lasts)
			break;
		nanosleep(&pause, NULL);
	}
	return found;
}

/* All who wait for the same lock do so for the same reason. */
static void turns_set(struct sample *sample, uint64_t inode, uint64_t window)
{
	for (size_t i = 0; i < sample->n_threads; i++)
		for (size_t j = 0; j < sample->threads[i].n_descriptors; j++) {
			struct descriptor_row *sleep = &sample->threads[i].descriptors[j];

			sleep->by_turns |= may_take_turns(sleep, window) &&
					   sleep->is.inode == inode;
		}
}

static void turns_take(struct sockets *sockets, struct sample *sample, uint64_t window)
{
	unsigned int looks = 0;

	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *thread = &sample->threads[i];

		for (size_t j = 0; j < thread->n_descriptors && looks < LOOKS_MOST; j++) {
			const struct descriptor_row *sleep = &thread->descriptors[j];

			if (sleep->by_turns || !may_take_turns(sleep, window))
				continue;
			looks++;
			if (turns_look(sockets, thread_pid(sample, thread), sleep->is.inode,
				       sleep->in_progress && sleep->waits.count <= 1))
				turns_set(sample, sleep->is.inode, window);
		}
	}
}

/* --- Acknowledgements that are delayed --- */

#define DELAYED_LEAST_NS (5 * NSEC_PER_MSEC) /* beside shorter waits */
#define DELAYED_LOOKS 3
#define DELAYED_MOST_NS (500 * NSEC_PER_MSEC)

/* True if a good part of the window was waits of about that length, for a connection maybe. */
static bool may_be_delayed(const struct descriptor_row *sleep, uint64_t window)
{
	const uint64_t mean = sleep->waits.total / (sleep->waits.count ?: 1);

	return sleep->waits.count > 1 && sleep->waits.total >= window / 10 && !sleep->shorter &&
	       mean >= DELAYED_LEAST_NS && mean <= DELAYED_MOST_NS && sleep->call >= 0 &&
	       polled_is((uint32_t)sleep->call);
}

/* Between two such waits there is nothing to see. */
static enum kept_back kept_look(struct sockets *sockets, pid_t pid, pid_t tid, uint32_t call)
{
	const struct timespec pause = { .tv_nsec = 7 * NSEC_PER_MSEC };
	enum kept_back kept = asked_kept_back(sockets, pid, tid, call);

	for (unsigned int i = 1; i < DELAYED_LOOKS && !kept; i++) {
		nanosleep(&pause, NULL);
		kept = asked_kept_back(sockets, pid, tid, call);
	}
	return kept;
}

/* --- All --- */

void awaited_take(struct awaited_watch *watch, const struct session_view *view,
		  struct sample *sample)
{
	const uint64_t window = sample->end - sample->start;
	unsigned int looks = 0, connections = 0, delayed = 0;
	const uint64_t now = clock_monotonic();
	bool kept = false;

	if (watch->sockets)
		turns_take(watch->sockets, sample, window);
	for (size_t i = 0; i < sample->n_threads; i++) {
		const struct thread_row *thread = &sample->threads[i];
		const pid_t pid = thread_pid(sample, thread);

		for (size_t j = 0; j < thread->n_descriptors; j++) {
			struct descriptor_row *sleep = &thread->descriptors[j];

			asked_take(watch, view, pid, thread->tid, sleep, &looks);
			if (watch->held_from == pid && holder_finder(sleep) == lock_holder_of_file)
				who_take(sleep, &watch->held_by);
			if (watch->sockets && is_receiving(sleep))
				sleep->accepted = is_accepted(watch, pid, sleep, window,
							      &connections);
			if (watch->sockets && now >= watch->kept_due &&
			    may_be_delayed(sleep, window) && delayed++ < LOOKS_MOST)
				sleep->kept_back = kept_look(watch->sockets, pid, thread->tid,
							     (uint32_t)sleep->call);
			kept |= sleep->kept_back;
			if (looks < LOOKS_MOST)
				looks += holder_look(watch, thread, sleep, pid, window / 2);
		}
		for_child_spread(thread);
	}
	/* An idle thread may poll for such times, too. */
	if (delayed && !kept)
		watch->kept_due = now + IDLE_NS;
	if (watch->sockets)
		sockets_forget(watch->sockets);
}
