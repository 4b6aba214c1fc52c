// SPDX-License-Identifier: Apache-2.0
#include "json_names.h"

const char *const json_ledger_keys[LEDGER_STATES] = {
	[LEDGER_USER] = "user_ns",
	[LEDGER_KERNEL] = "kernel_ns",
	[LEDGER_HARDIRQ] = "hardirq_ns",
	[LEDGER_SOFTIRQ] = "softirq_ns",
	[LEDGER_READY_WOKEN] = "ready_woken_ns",
	[LEDGER_READY_PREEMPTED] = "ready_preempted_ns",
	[LEDGER_BLOCKED] = "blocked_ns",
	[LEDGER_BLOCKED_UNINT] = "blocked_uninterruptible_ns",
	[LEDGER_STOPPED] = "stopped_ns",
};

const char *const json_loss_keys[KD_LOSSES] = {
	[KD_LOSS_THREADS] = "threads",     [KD_LOSS_CALLS] = "syscalls",
	[KD_LOSS_IRQ_NAMES] = "irq_names", [KD_LOSS_UNTRACKED] = "untracked",
	[KD_LOSS_PAIRS] = "trigger_pairs", [KD_LOSS_EDGES] = "trigger_edges",
	[KD_LOSS_DURATIONS] = "durations",
};

const char *const json_trace_keys[TRACE_KINDS] = {
	[TRACE_CALL] = "syscalls",
	[TRACE_WAIT] = "waits",
	[TRACE_SAMPLE] = "samples",
};

const char *const json_outcome_keys[KD_OUTCOMES] = {
	[KD_HIT_USED] = "used",     [KD_HIT_SKIPPED] = "skipped",
	[KD_HIT_MISSED] = "missed", [KD_HIT_OVERLAPPED] = "overlapped",
	[KD_HIT_IDLE] = "idle",     [KD_HIT_UNMATCHED] = "unmatched",
};

const char *const json_role_keys[KD_ROLES] = {
	[KD_START] = "start",
	[KD_STOP] = "stop",
};

const char *const json_states[KD_STATES] = {
	[KD_USER] = "user",
	[KD_KERNEL] = "kernel",
	[KD_READY_WOKEN] = "ready_woken",
	[KD_READY_PREEMPTED] = "ready_preempted",
	[KD_BLOCKED] = "blocked",
	[KD_BLOCKED_UNINT] = "blocked_uninterruptible",
	[KD_STOPPED] = "stopped",
};
