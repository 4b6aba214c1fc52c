/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds the lock for which a thread sleeps in a futex, if no event saw it fall asleep. */
#ifndef FUTEX_LOOK_H
#define FUTEX_LOOK_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"

/* Reads it from the memory of a process, of which the thread is, as the BPF programs do for one
 * that falls asleep; but for pthread_join(), for which main threads wait that have nothing to do.
 * Fills in all but the slot and times of the holder. Takes some us. False: it is for no lock that
 * says who has it, or that one is gone; of a mutex of glibc, the holder may be gone, or the thread
 * itself. */
bool futex_look(struct kd_locked *locked, pid_t pid, pid_t tid);

#endif
