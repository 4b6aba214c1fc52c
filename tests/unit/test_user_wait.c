/* SPDX-License-Identifier: Apache-2.0 */
/* What programs call their waits: the table, the search in it and in stacks. */
#include <stdio.h>
#include <string.h>

#include "cli/model/user_wait.h"
#include "tap.h"

static const struct user_wait rows[] = {
#include "user_wait_table.inc"
};

/* --- The table --- */

static bool has_words(const char *words)
{
	size_t length = strlen(words);

	return length >= 3 && length <= 50 && words[length - 1] != '.' &&
	       strspn(words, " '(),.-_/ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			     "0123456789") == length;
}

TEST(table)
{
	unsigned int disorder = 0, wordless = 0, kinds = 0;

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct user_wait *row = &rows[i], *last = i ? row - 1 : NULL;
		int order = last ? strcmp(last->function, row->function) : -1;

		order = order ? order : strcmp("", row->kind == WCHAN_THROUGH ? "" : "of a kind");
		if (order >= 0)
			printf("# %s: twice, or not in order\n", row->function);
		disorder += order >= 0;
		if (!has_words(row->words))
			printf("# %s: \"%s\"\n", row->function, row->words);
		wordless += !has_words(row->words);
		kinds += row->kind == WCHAN_FUTEX || row->kind == WCHAN_POLL ||
			 row->kind == WCHAN_TIME || row->kind == WCHAN_THROUGH;
	}
	is_u64(disorder, 0, "rows are in order, and none is there twice");
	is_u64(wordless, 0, "words are short, plain, and go on in a sentence");
	is_u64(kinds, COUNT(rows), "kinds are those that the kernel cannot tell");
}

TEST(all_found)
{
	unsigned int missing = 0;

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct user_wait *found = user_wait_of(rows[i].function, rows[i].kind);

		if (found && !strcmp(found->function, rows[i].function) &&
		    found->kind == rows[i].kind)
			continue;
		missing++;
		printf("# %s\n", rows[i].function);
	}
	is_u64(missing, 0, "each row is found by its name and kind");
}

/* --- Names --- */

static void is_named(const char *name, const char *want)
{
	char got[80];

	snprintf(got, sizeof(got), "%.*s", (int)function_name_length(name), name);
	is_str(got, want, "name of %s", name);
}

TEST(names)
{
	is_named("take_gil", "take_gil");
	is_named("take_gil.constprop.0", "take_gil");
	is_named("take_gil.isra.0.cold", "take_gil");
	is_named("runtime.stopm", "runtime.stopm");
	is_named("ObjectMonitor::enter(JavaThread*)", "ObjectMonitor::enter");
	is_named("ObjectMonitor::enter(JavaThread*) [clone .part.0]", "ObjectMonitor::enter");
	is_named("Pool<Task*>::take(bool)", "Pool");
	is_named("sem_wait@@GLIBC_2.2.5", "sem_wait");
	is_u64(function_name_length(NULL), 0, "of nothing");
}

TEST(kinds)
{
	const struct user_wait *found = user_wait_of("sqlite3_step", WCHAN_TIME);

	ok(found && found->cause == WCHAN_LOCK, "sqlite3_step() sleeps for a time: a lock");
	ok(!user_wait_of("sqlite3_step", WCHAN_FUTEX), "but in a futex for what else it may be");
	ok(user_wait_of("take_gil", WCHAN_FUTEX), "rows of any kind are of this one, too");
	ok(!user_wait_of("take_gi", WCHAN_FUTEX) && !user_wait_of("take_gill", WCHAN_FUTEX),
	   "names are whole");
	ok(!user_wait_of("", WCHAN_FUTEX) && !user_wait_of(NULL, WCHAN_FUTEX), "no name, no row");
}

/* --- Stacks --- */

#define FOUND(kind, want, ...)                                                                     \
	do {                                                                                       \
		const char *const stack[] = { __VA_ARGS__ };                                       \
		const struct user_wait *found;                                                     \
		size_t at = COUNT(stack);                                                          \
                                                                                                   \
		found = user_wait_find(stack, COUNT(stack), kind, &at);                            \
		is_str(found ? found->function : "none", want, "of %s", stack[0]);                 \
		if (found)                                                                         \
			is_str(stack[at], want, "and where it is");                                \
	} while (0)

TEST(stacks)
{
	FOUND(WCHAN_POLL, "XactLockTableWait", "epoll_wait", NULL, "WaitEventSetWait", "WaitLatch",
	      "ProcSleep", NULL, "LockAcquireExtended", "XactLockTableWait", "heap_update",
	      "PostgresMain");
	FOUND(WCHAN_POLL, "secure_read", "epoll_wait", NULL, "WaitEventSetWait", "secure_read",
	      "PostgresMain");
	FOUND(WCHAN_FUTEX, "take_gil", "pthread_cond_timedwait", "take_gil", "PyEval_RestoreThread",
	      "_PyEval_EvalFrameDefault");
	FOUND(WCHAN_FUTEX, "PyThread_acquire_lock_timed", "sem_clockwait",
	      "PyThread_acquire_lock_timed", NULL, "_PyEval_EvalFrameDefault");
	FOUND(WCHAN_FUTEX, "pthread_cond_wait", "pthread_cond_wait", "work_wait", "worker");
	FOUND(WCHAN_FUTEX, "none", "my_futex", "work_wait", "worker");
	FOUND(WCHAN_TIME, "none", "clock_nanosleep", "pthread_once", "main");
}

/* A general function says more of what it calls itself than of what is called far below it. */
TEST(far_away)
{
	FOUND(WCHAN_FUTEX, "_PyEval_EvalFrameDefault", "pthread_cond_timedwait", NULL, NULL,
	      "_PyEval_EvalFrameDefault");
	FOUND(WCHAN_FUTEX, "pthread_cond_wait", "pthread_cond_wait", "pool_wait", "extension", NULL,
	      "cfunction_call", "PyObject_Vectorcall", "_PyEval_EvalFrameDefault");
	FOUND(WCHAN_FUTEX, "none", "syscall", "futex_wait", "park", "pool_wait", "extension",
	      "PyObject_Vectorcall", "_PyEval_EvalFrameDefault");
	FOUND(WCHAN_FUTEX, "pthread_cond_wait", "pthread_cond_wait", "a", "b", "c", "d", "e", "f",
	      "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "ObjectMonitor::enter");
	FOUND(WCHAN_TIME, "sqlite3_step", "clock_nanosleep", "a", "b", "c", "d", "e", "f", "g", "h",
	      "i", "j", "k", "l", "m", "n", "o", "p", "sqlite3_step");
}

/* --- Rows of sleeps --- */

static struct descriptor_row sleep_in(const char *wchan, const char *function)
{
	struct descriptor_row row = { .is.fd = -1, .call = 0 };

	snprintf(row.wchan, sizeof(row.wchan), "%s", wchan);
	snprintf(row.user_function, sizeof(row.user_function), "%s", function);
	return row;
}

TEST(sleeps)
{
	struct descriptor_row row = sleep_in("futex_do_wait", "take_gil");

	ok(user_wait_kind(&row) == WCHAN_FUTEX, "a futex");
	ok(user_wait_of_sleep(&row), "has a row");
	row = sleep_in("hrtimer_nanosleep", "sqlite3_step");
	ok(user_wait_kind(&row) == WCHAN_TIME && user_wait_of_sleep(&row), "a time");
	row = sleep_in("do_epoll_wait", "ProcSleep");
	ok(user_wait_kind(&row) == WCHAN_POLL && user_wait_of_sleep(&row), "a poll");
	row = sleep_in("sk_wait_data", "mysql_real_query");
	row.awaited = KD_AWAITED_SOCKET;
	ok(user_wait_kind(&row) == WCHAN_POLL && user_wait_of_sleep(&row), "a read from a socket");
	row = sleep_in("anon_pipe_write", "ProcSleep");
	ok(user_wait_kind(&row) == WCHAN_THROUGH && !user_wait_of_sleep(&row),
	   "of a pipe the kernel knows all");
	row = sleep_in("futex_do_wait", "");
	ok(!user_wait_of_sleep(&row), "no function, no row");
	row = sleep_in("futex_do_wait", "take_gil");
	row.shorter = 20000;
	ok(!user_wait_of_sleep(&row), "nor of short ones");
}
