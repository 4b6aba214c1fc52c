/* SPDX-License-Identifier: Apache-2.0 */
/* Single-valued metrics of a run, in output order: FIGURE(id, type, when, name, unit, help,
 * value). A COUNTER sums over samples, a GAUGE has the last sample's value; trigger figures
 * cover the full run. when: ALWAYS, or IF_ANY (only if nonzero). value: an expression, in ns if
 * the unit is seconds. */
#ifndef RUN_FIGURES_H
#define RUN_FIGURES_H

#include "cli/base/clock.h"
#include "sample.h"
#include "trigger_stats.h"

/* Use const struct sample *sample. */
#define SAMPLE_FIGURES_WINDOW(FIGURE)                                                              \
	FIGURE(MEASURED, COUNTER, ALWAYS, "measured_seconds", "seconds",                           \
	       "Time inside the windows of samples.",                                              \
	       sample->end > sample->start ? sample->end - sample->start : 0)                      \
	FIGURE(DUMP, GAUGE, IF_ANY, "last_sample_timestamp_seconds", "seconds",                    \
	       "When the last sample was reported, in seconds since 1970.",                        \
	       clock_ns(&sample->wall_dump))                                                       \
	FIGURE(RESTARTS, COUNTER, IF_ANY, "target_restarts", "",                                   \
	       "Times that the process had ended, and its successor was followed.",                \
	       sample->restarts)

#define SAMPLE_FIGURES_CALLS(FIGURE)                                                               \
	FIGURE(CALL_ENTRY, GAUGE, IF_ANY, "syscall_entry_seconds", "seconds",                      \
	       "Time of each system call that counts as kernel and not as user: an estimate of "   \
	       "entering and leaving the kernel.",                                                 \
	       sample->entry.call_ns)

#define SAMPLE_FIGURES_IRQS(FIGURE)                                                                \
	FIGURE(IRQ_ENTRY, GAUGE, IF_ANY, "hardirq_entry_seconds", "seconds",                       \
	       "Time of each hard interrupt that counts as hardirq and not as what it "            \
	       "interrupted: an estimate of entering and leaving the kernel.",                     \
	       sample->entry.irq_ns)                                                               \
	FIGURE(FAULT_ENTRY, GAUGE, IF_ANY, "page_fault_entry_seconds", "seconds",                  \
	       "Time of each page fault that counts as page_fault and not as user: an estimate "   \
	       "of entering and leaving the kernel.",                                              \
	       sample->entry.fault_ns)

#define SAMPLE_FIGURES_TRACES(FIGURE)                                                              \
	FIGURE(CALL_THRESHOLD, GAUGE, IF_ANY, "slow_syscall_threshold_seconds", "seconds",         \
	       "Duration from which system calls count as slow.",                                  \
	       sample->traces.calls_wanted ? sample->traces.call_threshold : 0)                    \
	FIGURE(WAIT_THRESHOLD, GAUGE, IF_ANY, "wait_threshold_seconds", "seconds",                 \
	       "Duration from which waits count as long.",                                         \
	       sample->traces.waits_wanted ? sample->traces.wait_threshold : 0)                    \
	FIGURE(LEFT_OUT, COUNTER, IF_ANY, "left_out_waits", "",                                    \
	       "Long waits that filters left out.", sample->traces.left_out)                       \
	FIGURE(LEFT_OUT_NS, COUNTER, IF_ANY, "left_out_wait_seconds", "seconds",                   \
	       "Their durations.", sample->traces.left_out_ns)                                     \
	FIGURE(PROFILE_HZ, GAUGE, IF_ANY, "profile_frequency_hertz", "hertz",                      \
	       "Samples of running code per second and CPU.", sample->traces.profile_hz)

#define SAMPLE_FIGURES_LOSSES(FIGURE)                                                              \
	FIGURE(RESYNCED, COUNTER, ALWAYS, "unreported_switches", "",                               \
	       "Context switches that the kernel did not report.", sample->resynced)               \
	FIGURE(UNTIMED, COUNTER, ALWAYS, "page_faults_untimed_seconds", "seconds",                 \
	       "Time inside the windows in which page faults were too many to be timed.",          \
	       sample->page_faults_untimed)                                                        \
	FIGURE(LIMITED, COUNTER, ALWAYS, "limited_stacks", "",                                     \
	       "User stacks left out by the rate limit.", sample->traces.limited)                  \
	FIGURE(INCOMPLETE, COUNTER, ALWAYS, "incomplete_stacks", "",                               \
	       "User stacks that end too early.", sample->traces.incomplete)

#define SAMPLE_FIGURES_OWN(FIGURE)                                                                 \
	FIGURE(OWN_CPU, COUNTER, ALWAYS, "own_cpu_seconds", "seconds",                             \
	       "CPU time of this program itself, since it was attached.", sample->own.cpu_ns)      \
	FIGURE(OWN_WAKEUPS, COUNTER, ALWAYS, "own_wakeups", "",                                    \
	       "Times that a thread of this program itself was woken up.", sample->own.wakeups)

#define SAMPLE_FIGURES(FIGURE)                                                                     \
	SAMPLE_FIGURES_WINDOW(FIGURE)                                                              \
	SAMPLE_FIGURES_CALLS(FIGURE)                                                               \
	SAMPLE_FIGURES_IRQS(FIGURE)                                                                \
	SAMPLE_FIGURES_TRACES(FIGURE)                                                              \
	SAMPLE_FIGURES_LOSSES(FIGURE)                                                              \
	SAMPLE_FIGURES_OWN(FIGURE)

/* Use const struct trigger_stats *stats. */
#define TRIGGER_FIGURES(FIGURE)                                                                    \
	FIGURE(FOREIGN, COUNTER, ALWAYS, "trigger_foreign_hits", "",                               \
	       "Hits of triggers by other processes.", stats->tally.foreign)                       \
	FIGURE(OUTSIDE, COUNTER, IF_ANY, "trigger_outside_hits", "",                               \
	       "Hits of probes in files by processes outside the target, if that is several "      \
	       "processes: they do not count, but cost as much.",                                  \
	       stats->tally.outside)                                                               \
	FIGURE(NESTED, COUNTER, ALWAYS, "nested_windows", "",                                      \
	       "Windows not shorter than the trigger delta that began while no bank was free.",    \
	       stats->tally.nested)                                                                \
	FIGURE(ARMED, COUNTER, IF_ANY, "trigger_armed_seconds", "seconds",                         \
	       "Time from arming the triggers to the end of the run, the time for which the "      \
	       "probes were taken out included.",                                                  \
	       stats->to > stats->from ? stats->to - stats->from : 0)                              \
	FIGURE(PROBES_OFF, COUNTER, IF_ANY, "trigger_off_seconds", "seconds",                      \
	       "Time for which the probes were taken out to stay below --max-overhead.",           \
	       stats->duty.off)                                                                    \
	FIGURE(PROBES_PHASES, COUNTER, IF_ANY, "trigger_off_phases", "",                           \
	       "How often the probes were taken out to stay below --max-overhead.",                \
	       stats->duty.phases)                                                                 \
	FIGURE(PROBES_DROPPED, COUNTER, IF_ANY, "trigger_dropped_windows", "",                     \
	       "Windows that were open when the probes were taken out.", stats->duty.dropped)      \
	FIGURE(WORK_SEEN, COUNTER, IF_ANY, "trigger_seen_work_seconds", "seconds",                 \
	       "CPU time, without what the probes cost, of threads that hit them, while they "     \
	       "were in place.",                                                                   \
	       stats->duty.worked_on)                                                              \
	FIGURE(WORK_UNSEEN, COUNTER, IF_ANY, "trigger_unseen_work_seconds", "seconds",             \
	       "CPU time of threads that hit the probes, while they were taken out.",              \
	       stats->duty.worked_off)                                                             \
	FIGURE(PAYER_COST, GAUGE, IF_ANY, "trigger_worst_cost_seconds", "seconds",                 \
	       "Estimated time that the probes took from the thread that lost most to them.",      \
	       stats->payer.cost)                                                                  \
	FIGURE(PAYER_CPU, GAUGE, IF_ANY, "trigger_worst_cpu_seconds", "seconds",                   \
	       "CPU time of the thread that lost most to the probes.", stats->payer.cpu)

#endif
