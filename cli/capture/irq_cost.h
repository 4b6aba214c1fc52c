/* SPDX-License-Identifier: Apache-2.0 */
/* What an interrupt takes from a thread beyond what the programs see of it, between its
 * tracepoints: entering and leaving the kernel and, in a virtual machine, the hypervisor's part,
 * which is not the same for all. Measured on interrupts of this thread, with a clock. Part of the
 * session. */
#ifndef IRQ_COST_H
#define IRQ_COST_H

#include <stdint.h>

struct kd_record;

/* Of timers, ns; 0: not known. record: this thread's, in which the programs count now. Takes up to
 * 1 ms. */
uint64_t irq_cost_timer(const struct kd_record *record);

/* The same of those that another CPU sends; a thread on one of the other CPUs that this process
 * may use does, if there is one. */
uint64_t irq_cost_ipi(const struct kd_record *record);

#endif
