/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of threads, a row each: what the kernel side counts in a member of struct kd_record is
 * in the member of that name of struct thread_row, and from there in JSON, metrics, conditions,
 * statistics over samples and tables. So are times that follow from rows of a thread; those are
 * summed up over processes and samples, too. */
#ifndef THREAD_COUNTERS_H
#define THREAD_COUNTERS_H

/* FAMILY(name, unit, labels, help, counters): a family of metrics, with its counters or times.
 * COUNTER(member, key, condition, label): the key in JSON; the name in conditions; what
 * tells it from others of its family, "" if there are none.
 * TIME(member, key, condition, label, sum): the same of ns; sum: the function that adds them up of
 * a const struct thread_row *. */
#define THREAD_COUNTERS(FAMILY, COUNTER, TIME)                                                     \
	FAMILY("context_switches", "", "thread,type",                                              \
	       "Switches away from threads: they had to wait, or were preempted.",                 \
	       COUNTER(voluntary, "voluntary_switches", "voluntary", "type=\"voluntary\"")         \
		       COUNTER(involuntary, "involuntary_switches", "involuntary",                 \
			       "type=\"involuntary\""))                                            \
	FAMILY("migrations", "", "thread", "Moves of threads to another CPU.",                     \
	       COUNTER(migrations, "migrations", "migrations", ""))                                \
	FAMILY("migrations_by", "", "thread,cause",                                                \
	       "Moves to another CPU by cause: decided at a wake-up, by the load balancer, "       \
	       "or because the thread was not allowed to run where it had been any more.",         \
	       COUNTER(wakeup_migrations, "wakeup_migrations", "wakeup_migrations",                \
		       "cause=\"wakeup\"") COUNTER(balance_migrations, "balance_migrations",       \
						   "balance_migrations", "cause=\"balance\"")      \
		       COUNTER(affinity_migrations, "affinity_migrations", "affinity_migrations",  \
			       "cause=\"affinity\"")                                               \
			       COUNTER(other_migrations, "other_migrations", "other_migrations",   \
				       "cause=\"other\""))                                         \
	FAMILY("page_faults", "", "thread,type",                                                   \
	       "Page faults of threads, also those inside system calls: minor ones, and major "    \
	       "ones, which read from a disk.",                                                    \
	       COUNTER(minor_faults, "minor_faults", "minor_faults", "type=\"minor\"")             \
		       COUNTER(major_faults, "major_faults", "major_faults", "type=\"major\""))    \
	FAMILY("cpu_taken_seconds", "seconds", "thread,by",                                        \
	       "Time that threads waited for a CPU while tasks had it: others, of other "          \
	       "processes or the kernel, or own_threads, of the target.",                          \
	       TIME(taken_by_others, "taken_by_others_ns", "taken_by_others", "by=\"others\"",     \
		    taken_by_others)                                                               \
		       TIME(taken_by_own_threads, "taken_by_own_threads_ns",                       \
			    "taken_by_own_threads", "by=\"own_threads\"", taken_by_own_threads))

/* Each counter, each time, or both, whatever their family. */
#define EACH_THREAD_COUNTER(COUNTER)                                                               \
	THREAD_COUNTERS(THREAD_COUNTERS_OF, COUNTER, THREAD_COUNTERS_NONE)
#define EACH_THREAD_TIME(TIME) THREAD_COUNTERS(THREAD_COUNTERS_OF, THREAD_COUNTERS_NONE, TIME)
#define EACH_THREAD_FIGURE(FIGURE) THREAD_COUNTERS(THREAD_COUNTERS_OF, FIGURE, FIGURE)
#define THREAD_COUNTERS_OF(name, unit, labels, help, counters) counters
#define THREAD_COUNTERS_NONE(...)

#endif
