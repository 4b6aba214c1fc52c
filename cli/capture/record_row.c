// SPDX-License-Identifier: Apache-2.0
#include "record_row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/kernel_delay.h"
#include "cli/model/words.h"
#include "cli/stack/kernel_symbols.h"
#include "session_locks.h"
#include "session_programs.h"

/* Who ended a wait. Whoever was woken before it began did not become its end by that. */
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

/* When the system call was entered; 0: there is none, or that was before tracing began. */
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
	};
	if (row->earlier && row->waited > row->end - row->start)
		row->waited = row->end - row->start;
	memcpy(row->name, trace->comm, sizeof(row->name));
	blocker_fill(&row->blocker, &trace->blocker, row->pid);
	if (trace->type == KD_TRACE_WAIT)
		wakers_fill(row, trace, epoch);
}

int record_row_path(struct trace_row *row, const char *path, int64_t size)
{
	row->no_path = size < 0;
	row->path_cut = size > KD_PATH_BYTES;
	if (size <= 1) /* an empty one: the call is about its descriptor */
		return 0;
	row->path = strndup(path, KD_PATH_BYTES - 1);
	return row->path ? 0 : -ENOMEM;
}

void record_row_join(struct trace_row *row, const struct trace_row *call)
{
	if (!row->blocker.lock && row->kind == TRACE_CALL)
		row->blocker = call->blocker;
	else if (!row->blocker.lock) /* somebody else may have had it during this wait */
		row->blocker.lock = call->blocker.lock;
	if (row->path)
		return;
	row->path = call->path;
	row->path_cut = call->path_cut;
	row->no_path = call->no_path;
}

/* --- The kernel stacks of records --- */

static int own_code_found(void *symbols, uint64_t address, uint64_t size)
{
	return kernel_symbols_add_own(symbols, address, size);
}

int record_symbols_open(struct kernel_symbols **symbols, const struct programs *programs,
			size_t room)
{
	int error;

	if (*symbols)
		return 0;
	error = kernel_symbols_open(symbols, NULL, room);
	if (error && error != -ENOMEM)
		error = kernel_symbols_open(symbols, "/dev/null", room);
	return error ? error : programs_code(programs, own_code_found, *symbols);
}

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

/* --- Records of traces that user space could not keep, by the windows that would list them --- */

void trace_losses_add(struct trace_losses *losses, const struct session *session,
		      const struct kd_trace *trace)
{
	/* As trace_lost() of the programs does. */
	uint64_t since = trace->type == KD_TRACE_WAIT ? trace->end : trace->start;
	struct session_view view;

	for (uint32_t bank = 0; bank < KD_MAX_BANKS; bank++) {
		struct window_loss *loss = &losses->of[bank];

		if (!session_window_at(session, bank, &view) || !view.gen ||
		    trace->end <= view.start || since >= view.end)
			continue;
		if (loss->gen != view.gen)
			*loss = (struct window_loss){ .gen = view.gen };
		loss->n++;
	}
}

uint64_t trace_losses_of(const struct trace_losses *losses, const struct session_view *view)
{
	const struct window_loss *loss;

	if (view->bank >= KD_MAX_BANKS)
		return 0;
	loss = &losses->of[view->bank];
	return loss->gen == view->gen ? loss->n : 0;
}
