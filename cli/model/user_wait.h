/* SPDX-License-Identifier: Apache-2.0 */
/* What programs call their waits: functions in which threads sleep, and what they wait for there.
 * The table is user_waits.in. */
#ifndef USER_WAIT_H
#define USER_WAIT_H

#include <stdbool.h>
#include <stddef.h>

#include "thread_row.h"
#include "wchan.h"

/* To whom the function belongs, by which the report advises: ROW(family). */
#define USER_FAMILIES(ROW)                                                                         \
	ROW(USER_THREADS)                                                                          \
	ROW(USER_DNS)                                                                              \
	ROW(USER_HTTP)                                                                             \
	ROW(USER_LIBPQ)                                                                            \
	ROW(USER_CLIENT)                                                                           \
	ROW(USER_SQLITE)                                                                           \
	ROW(USER_POSTGRESQL)                                                                       \
	ROW(USER_WAL)                                                                              \
	ROW(USER_STANDBY)                                                                          \
	ROW(USER_MYSQL)                                                                            \
	ROW(USER_JAVA)                                                                             \
	ROW(USER_GO)                                                                               \
	ROW(USER_PYTHON)                                                                           \
	ROW(USER_RUBY)                                                                             \
	ROW(USER_APT)                                                                              \
	ROW(USER_NODE)

#define USER_FAMILY(family) family,
enum user_family { USER_FAMILIES(USER_FAMILY) USER_FAMILY_COUNT };
#undef USER_FAMILY

struct user_wait {
	const char *function;
	enum wchan_cause kind; /* as the kernel knows the sleep; WCHAN_THROUGH: any */
	enum wchan_cause cause;
	bool general; /* counts only if no caller of it has a row */
	enum user_family family;
	const char *words; /* end the sentence "waited for ..." */
};

/* The row of a function, as a stack has its name, for a sleep that the kernel knows as such; NULL:
 * it has none, or is NULL. */
const struct user_wait *user_wait_of(const char *function, enum wchan_cause kind);

/* The row of a stack, of which these are n functions, innermost first; NULL where they have no
 * name. That is the innermost row, unless it is general: then a few frames further out another
 * general one says more, and somewhat further any other. General ones far from the innermost frame
 * count as none: they call too many others. Sets *at to its index; without a row, NULL is returned.
 */
const struct user_wait *user_wait_find(const char *const *functions, size_t n,
				       enum wchan_cause kind, size_t *at);

/* As the kernel knows the sleeps of a row: WCHAN_FUTEX, WCHAN_POLL (also of reads from a pipe or
 * socket) or WCHAN_TIME. WCHAN_THROUGH: it
 * says enough, or nothing. */
enum wchan_cause user_wait_kind(const struct descriptor_row *row);

/* The row of the function in which these sleeps were; NULL: none. */
const struct user_wait *user_wait_of_sleep(const struct descriptor_row *row);

#endif
