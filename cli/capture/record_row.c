// SPDX-License-Identifier: Apache-2.0
#include "record_row.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/kernel_delay.h"
#include "cli/base/arith.h"
#include "cli/base/proc_file.h"
#include "cli/capture/parts/culprits.h"
#include "cli/capture/parts/locks.h"
#include "cli/capture/session/windows.h"
#include "cli/model/words.h"
#include "cli/stack/kernel_symbols.h"
#include "collect_row.h"
#include "session.h"

/* --- Memory of a thread that is in a call now --- */

/* Like stack_copy() of bpf/stack.bpf.h, but swapped-out pages are read in. */
static uint32_t pages_copy(const struct remote *memory, uint64_t at, uint64_t end, __u64 *pages,
			   size_t n_pages, uint8_t *data, uint32_t limit, bool *cut)
{
	uint32_t size = 0, part = KD_STACK_PAGE - at % KD_STACK_PAGE;

	for (size_t i = 0; i < n_pages && at < end && !*cut; i++) {
		uint32_t left = limit - size, wanted = part < left ? part : left;

		if (remote_has_page(memory, at)) {
			*cut = wanted < part;
			if (wanted && remote_copy(memory, at, data + size, wanted)) {
				pages[i / 64] |= 1ULL << i % 64;
				size += wanted;
			}
		}
		at += part;
		part = KD_STACK_PAGE;
	}
	return size;
}

static void user_stack_copy(const struct remote *memory, struct kd_trace *trace, uint8_t *data,
			    uint32_t limit)
{
	bool cut = false;

	memset(trace->pages, 0, sizeof(trace->pages));
	trace->other_pages = 0;
	trace->other_size = 0;
	trace->size = pages_copy(memory, trace->stack_start, trace->stack_end, trace->pages,
				 KD_STACK_PAGES, data, limit, &cut);
	if (trace->other_start && !cut)
		trace->other_size = pages_copy(memory, trace->other_start,
					       trace->other_start + KD_OTHER_PAGES * KD_STACK_PAGE,
					       &trace->other_pages, KD_OTHER_PAGES,
					       data + trace->size, limit - trace->size, &cut);
	if (cut)
		trace->flags |= KD_TRACE_CUT;
}

uint8_t *open_call_copy(pid_t pid, struct kd_trace *trace, uint32_t limit)
{
	uint8_t *data = malloc(limit), *shrunk;
	struct remote memory;

	if (!data || !remote_open(&memory, pid)) {
		free(data);
		return NULL;
	}
	user_stack_copy(&memory, trace, data, limit);
	remote_close(&memory);
	if (!trace->size) {
		free(data);
		return NULL;
	}
	shrunk = realloc(data, trace->size + trace->other_size);
	return shrunk ? shrunk : data;
}

/* Copies by page: the path may end just before a missing page. */
int64_t open_call_path(pid_t pid, uint64_t address, char path[static KD_PATH_BYTES + 1])
{
	size_t size = 0, part;
	struct remote memory;
	char *end = NULL;

	if (!remote_open(&memory, pid))
		return -EFAULT;
	for (; size <= KD_PATH_BYTES && !end; size += part) {
		part = memory.page - (address + size) % memory.page;
		if (part > KD_PATH_BYTES + 1 - size)
			part = KD_PATH_BYTES + 1 - size;
		if (!remote_has_page(&memory, address + size) ||
		    !remote_copy(&memory, address + size, path + size, part))
			break;
		end = memchr(path + size, '\0', part);
	}
	remote_close(&memory);
	if (end)
		return end - path + 1;
	return size > KD_PATH_BYTES ? KD_PATH_BYTES + 1 : -EFAULT;
}

/* --- Rows --- */

/* Sets who ended a wait. A wakeup before the wait began did not end it. */
static void wakers_fill(struct trace_row *row, const struct kd_trace *trace, uint64_t epoch)
{
	for (size_t i = 0; i < KD_WAKERS; i++) {
		const struct kd_waker *by = &trace->wakers[i];
		struct waker *waker = &row->wakers[i];

		if (by->from == KD_FROM_UNKNOWN || by->from >= KD_FROM_CONTEXTS ||
		    (i && by->at < trace->start))
			return;
		*waker = (struct waker){ by->at + epoch, (pid_t)by->tid, by->from, "" };
		if (by->tid)
			memcpy(waker->name, by->comm, sizeof(waker->name));
		else
			strncpy(waker->name, from_keys[by->from], sizeof(waker->name) - 1);
	}
}

static void blocker_fill(struct blocker *blocker, const struct kd_blocker *from, pid_t pid)
{
	*blocker = (struct blocker){
		.lock = from->lock,
		.kind = from->lock_kind < KD_LOCK_KINDS ? from->lock_kind : KD_LOCK_NO_OWNER,
		.holder = (pid_t)from->holder,
		.holder_pid = (pid_t)from->holder_tgid,
		.request = from->request_ns,
	};
	memcpy(blocker->holder_name, from->holder_comm, sizeof(blocker->holder_name));
	memcpy(blocker->disk, from->disk, sizeof(blocker->disk));
	if (blocker->holder && !blocker->holder_name[0]) /* a thread that is not followed */
		locks_name_read(pid, blocker->holder, blocker->holder_name);
}

/* Returns when the system call was entered; 0: no call, or entered before tracing began. */
static uint64_t call_since(const struct kd_trace *trace, uint64_t epoch)
{
	bool in_call = trace->call != KD_CALL_NONE && trace->type != KD_TRACE_SAMPLE;

	return in_call && trace->since ? trace->since + epoch : 0;
}

void record_row_fill(struct trace_row *row, const struct kd_trace *trace, uint64_t epoch)
{
	static const enum trace_kind kinds[] = {
		[KD_TRACE_CALL] = TRACE_CALL,     [KD_TRACE_OPEN] = TRACE_CALL,
		[KD_TRACE_WAIT] = TRACE_WAIT,     [KD_TRACE_STACK] = TRACE_CALL,
		[KD_TRACE_SAMPLE] = TRACE_SAMPLE,
	};

	*row = (struct trace_row){
		.kind = kinds[trace->type],
		.pid = (pid_t)trace->tgid,
		.tid = (pid_t)trace->tid,
		.start = trace->start + epoch,
		.end = trace->end + epoch,
		.waited = trace->flags & KD_TRACE_WAITED ? trace->waited : 0,
		.since = call_since(trace, epoch),
		.cpu = trace->cpu,
		.call = trace->call,
		.result = trace->result,
		.state = trace->state,
		.awaited = trace->awaited < KD_AWAITED_KINDS ? trace->awaited : KD_AWAITED_OTHER,
		.user_ip = trace->user_ip,
		.user_sp = trace->user_sp,
		.limited = trace->flags & KD_TRACE_LIMITED,
		.cut = trace->flags & KD_TRACE_CUT,
		.earlier = trace->flags & KD_TRACE_EARLIER,
		.timed = trace->flags & KD_TRACE_TIMES,
	};
	if (row->timed) {
		row->ran = u64_min(trace->ran_ns, row->end - row->start);
		row->ready = u64_min(trace->ready_ns, row->end - row->start - row->ran);
	}
	if (row->earlier && row->waited > row->end - row->start)
		row->waited = row->end - row->start;
	memcpy(row->name, trace->comm, sizeof(row->name));
	blocker_fill(&row->blocker, &trace->blocker, row->pid);
	if (trace->type == KD_TRACE_WAIT || row->waited)
		wakers_fill(row, trace, epoch);
}

void record_row_behind(struct trace_row *row, const struct kd_trace *trace,
		       const struct culprits *culprits)
{
	struct culprit culprit;

	if (!row->timed || !trace->behind.ns ||
	    !culprits_task(culprits, trace->behind.who, &culprit))
		return;
	row->behind = (struct behind){
		.ns = u64_min(trace->behind.ns, row->ready),
		.tid = culprit.tid ? culprit.tid : culprit.pid,
		.others = trace->behind.others,
	};
	memcpy(row->behind.name, culprit.name, sizeof(row->behind.name));
}

int record_row_path(struct trace_row *row, const char *path, int64_t size)
{
	row->no_path = size < 0;
	row->path_cut = size > KD_PATH_BYTES;
	if (size <= 1) /* empty: the call refers to its descriptor */
		return 0;
	row->path = strndup(path, KD_PATH_BYTES - 1);
	return row->path ? 0 : -ENOMEM;
}

void record_row_join(struct trace_row *row, const struct trace_row *call)
{
	if (!row->blocker.lock && row->kind == TRACE_CALL)
		row->blocker = call->blocker;
	else if (!row->blocker.lock) /* another thread may have held it during this wait */
		row->blocker.lock = call->blocker.lock;
	if (row->path)
		return;
	row->path = call->path;
	row->path_cut = call->path_cut;
	row->no_path = call->no_path;
}

/* --- Kernel stacks of records --- */

const struct stack *record_kernel_stack(struct kernel_symbols *symbols, const uint64_t *words,
					size_t n_words, const uint64_t *frames, size_t n)
{
	uint64_t ips[KD_SCHED_WORDS + KD_KERNEL_FRAMES];
	size_t n_sched;

	memcpy(ips, words, n_words * sizeof(*ips));
	n_sched = kernel_symbols_sched(symbols, ips, n_words);
	memcpy(ips + n_sched, frames, n * sizeof(*ips));
	return kernel_symbols_stack(symbols, ips, n_sched + n);
}

void record_row_lost(struct session *session, const struct kd_trace *trace)
{
	/* As in trace_lost() of the BPF programs. */
	uint64_t since = trace->type == KD_TRACE_WAIT ? trace->end : trace->start;
	struct session_view view;

	for (uint32_t bank = 0; bank < KD_MAX_BANKS; bank++)
		if (session_window_at(session, bank, &view) && view.gen &&
		    trace->end > view.start && since < view.end)
			windows_trace_lost(session_windows(session), bank);
}
