/* SPDX-License-Identifier: Apache-2.0 */
/* Page faults that are timed. */
#ifndef PART_FAULTS_H
#define PART_FAULTS_H

#include <stdint.h>

struct session;

/* Returns how long page faults were counted but not timed between two times, ns of
 * CLOCK_MONOTONIC. */
uint64_t session_faults_untimed(const struct session *session, uint64_t start, uint64_t end);

/* Least time between two periods of timed page faults in a window. Each of them changes kernel code
 * twice, which other processes feel. */
#define FAULTS_PAUSE_NS (200 * NSEC_PER_MSEC)

/* Stops timing faults if that costs too much, see session_tick(). call_ns: cost of a system call in
 * the programs, a measure of the machine's speed. */
void faults_look(struct session *session, uint64_t call_ns);

/* Resumes timing if its cost is paid for, after a pause of at least this many ns. */
void faults_resume(struct session *session, uint64_t pause_ns);

#endif
