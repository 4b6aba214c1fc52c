/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of threads, one row each. A counter in struct kd_record has a member of the same name
 * in struct thread_row. JSON, metrics, conditions, statistics and tables follow from these rows.
 * So do times derived from a thread's lists, which are also summed over processes and samples. */
#ifndef THREAD_COUNTERS_H
#define THREAD_COUNTERS_H

/* FAMILY(name, unit, labels, help, counters): a metric family. COUNTER(member, key, condition,
 * label): JSON key, name in conditions, and label within the family ("" if alone). TIME(member,
 * key, condition, label, sum): same in ns; sum is a function that computes it from a const
 * struct thread_row *. */
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

/* Iterates over all counters, all times, or both. */
#define EACH_THREAD_COUNTER(COUNTER)                                                               \
	THREAD_COUNTERS(THREAD_COUNTERS_OF, COUNTER, THREAD_COUNTERS_NONE)
#define EACH_THREAD_TIME(TIME) THREAD_COUNTERS(THREAD_COUNTERS_OF, THREAD_COUNTERS_NONE, TIME)
#define EACH_THREAD_FIGURE(FIGURE) THREAD_COUNTERS(THREAD_COUNTERS_OF, FIGURE, FIGURE)
#define THREAD_COUNTERS_OF(name, unit, labels, help, counters) counters
#define THREAD_COUNTERS_NONE(...)

#endif
