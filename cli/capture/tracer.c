// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/syscall_set.h"
#include "cli/capture/parts/tracing.h"
#include "cli/capture/parts/culprits.h"
#include "cli/capture/session/file_names.h"
#include "cli/capture/session/programs.h"
#include "cli/capture/session/rings.h"
#include "cli/capture/session/windows.h"
#include "cli/model/traces.h"
#include "cli/stack/kernel_symbols.h"
#include "cli/stack/stack_copy.h"
#include "cli/stack/stacks.h"
#include "collect_row.h"
#include "record_row.h"
#include "session.h"

/* Most records that wait for their window to be read. */
#define PENDING_MAX 500000
/* From this many on, drops records that no unread window needs. */
#define PENDING_MANY 20000

/* Reading the target's mappings takes at most 1/MAPS_SHARE of the time, unless a stack needs
 * them. */
#define MAPS_SHARE 10
#define MAPS_CHANGES 64 /* waiting for the next read */

/* Ends a walk that has read enough, in place of an errno. */
#define ENOUGH (-EXFULL)

/* A record that waits for its window to be read. */
struct pending {
	struct pending *next;
	struct trace_row row;
	uint32_t type;  /* enum kd_trace_type */
	uint64_t since; /* start of the call, or of the wait outside one, as in struct kd_trace */
	size_t n_sched, n_kernel;
	uint64_t kernel[]; /* words for kernel_symbols_sched(), then frames */
};

struct maps_change {
	pid_t pid;
	uint64_t t; /* CLOCK_MONOTONIC ns */
	struct kd_mapped mapped;
};

struct tracer {
	struct session *session;
	struct tracer_config config;
	struct pending *first, **last;
	size_t n;
	uint64_t window_lost;       /* of the window just read */
	uint64_t cached_incomplete; /* cached stacks, thus not copied, that are incomplete */
	struct stack_counts reported;
	uint64_t beyond_reported;
	uint64_t left;                            /* bytes that the current walk may still read */
	struct maps_change changes[MAPS_CHANGES]; /* new mappings not read yet, in order */
	size_t n_changes;
	uint64_t maps_due; /* earliest next read, CLOCK_MONOTONIC ns */
};

static void maps_read(struct tracer *tracer)
{
	uint64_t begun = clock_monotonic();

	/* The old mappings of an ended process stay. */
	for (size_t i = 0; i < tracer->n_changes; i++)
		stacks_mapped(tracer->config.stacks, tracer->changes[i].pid, tracer->changes[i].t,
			      &tracer->changes[i].mapped);
	tracer->n_changes = 0;
	tracer->maps_due = clock_monotonic();
	tracer->maps_due += (MAPS_SHARE - 1) * (tracer->maps_due - begun);
}

static void maps_read_due(struct tracer *tracer)
{
	if (tracer->n_changes && clock_monotonic() >= tracer->maps_due)
		maps_read(tracer);
}

/* Notes a new mapping, and reads mappings if due: a process can map code faster than these can be
 * read. */
static void maps_change(struct tracer *tracer, const struct kd_trace *trace, size_t size)
{
	const size_t head = offsetof(struct kd_trace, kernel);
	struct maps_change *change;

	if (!tracer->config.stacks || size < head + offsetof(struct kd_mapped, names))
		return;
	if (tracer->n_changes == MAPS_CHANGES)
		maps_read(tracer);
	change = &tracer->changes[tracer->n_changes++];
	memset(change, 0, sizeof(*change));
	change->pid = (pid_t)trace->tgid;
	change->t = trace->end + tracer->config.epoch;
	size -= head;
	memcpy(&change->mapped, (const uint8_t *)trace + head,
	       size < sizeof(change->mapped) ? size : sizeof(change->mapped));
	maps_read_due(tracer);
}

static void tracer_digested(void *context, const struct digest *digest, const struct stack *stack,
			    uint64_t mapped_at)
{
	struct tracer *tracer = context;

	tracing_cache_stack(session_tracing(tracer->session), &digest->shape, digest->hash,
			    (uintptr_t)stack, mapped_at);
}

static int own_code_found(void *symbols, uint64_t address, uint64_t size)
{
	return kernel_symbols_add_own(symbols, address, size);
}

struct tracer *tracer_new(struct session *session, const struct tracer_config *config)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));

	if (!tracer)
		return NULL;
	tracer->session = session;
	tracer->config = *config;
	tracer->last = &tracer->first;
	if (config->wanted->on && config->wanted->kernel_stacks &&
	    programs_code(session_programs(session), own_code_found, config->symbols)) {
		free(tracer);
		return NULL;
	}
	if (config->stacks)
		stacks_tell_digests(config->stacks, tracer_digested, tracer);
	return tracer;
}

/* Drops records that end before a time (CLOCK_MONOTONIC ns), and calls that were looked at in
 * progress. */
static void pending_drop(struct tracer *tracer, uint64_t before)
{
	struct pending **link = &tracer->first;

	while (*link) {
		struct pending *pending = *link;

		if (pending->row.end >= before && pending->type != KD_TRACE_OPEN) {
			link = &pending->next;
			continue;
		}
		*link = pending->next;
		trace_row_clear(&pending->row);
		free(pending);
		tracer->n--;
	}
	tracer->last = link;
}

void tracer_free(struct tracer *tracer)
{
	if (!tracer)
		return;
	if (tracer->config.stacks)
		stacks_flush(tracer->config.stacks);
	pending_drop(tracer, UINT64_MAX);
	free(tracer);
}

static void stack_submit(struct tracer *tracer, struct pending *pending,
			 const struct kd_trace *trace, const uint8_t *data, const uint8_t *returns)
{
	struct stack_copy copy = {
		.start = trace->stack_start,
		.data = data,
		.size = trace->size,
		.other_start = trace->other_start,
		.other_pages = trace->other_pages,
		.other_size = trace->other_size,
		.trampoline = trace->trampoline,
		.process = trace->tgid,
		/* Code outside a call is hardly ever at the same instruction again; and with
		 * return probes, real return addresses are not on the stack. */
		.mapped_at = trace->call == KD_CALL_NONE || trace->n_returns ? 0 : trace->mapped_at,
	};
	int error;

	memcpy(copy.regs, trace->regs, sizeof(copy.regs));
	memcpy(copy.pages, trace->pages, sizeof(copy.pages));
	copy.n_returns = trace->n_returns;
	memcpy(copy.returns, returns, copy.n_returns * sizeof(*copy.returns));
	if (tracer->n_changes)
		maps_read(tracer);
	error = stacks_submit(tracer->config.stacks, pending->row.end, &copy, &pending->row.user);
	if (error)
		pending->row.no_user = stacks_excuse(error);
}

/* Submits the stack of a call in progress, which the iterator could not copy. */
static void open_stack_submit(struct tracer *tracer, struct pending *pending,
			      const struct kd_trace *trace)
{
	struct kd_trace filled = *trace;
	uint8_t *data = open_call_copy((pid_t)trace->tgid, &filled,
				       tracer->config.wanted->user_bytes);

	if (!data)
		pending->row.no_user = "the process's memory could not be read";
	else if (!session_call_goes_on(tracer->session, trace->tid, trace->call, trace->since))
		pending->row.no_user = "the call ended while its stack was being read";
	else
		stack_submit(tracer, pending, &filled, data, (const uint8_t *)(trace + 1));
	free(data);
}

static void trace_user(struct tracer *tracer, struct pending *pending, const struct kd_trace *trace,
		       size_t size)
{
	const uint8_t *data = (const uint8_t *)(trace + 1);

	if (trace->flags & KD_TRACE_CACHED) {
		pending->row.user = (const struct stack *)(uintptr_t)trace->cached;
		tracer->cached_incomplete += pending->row.user->stop != NULL;
		return;
	}
	if (!(trace->flags & KD_TRACE_REGS) || !tracer->config.stacks || size < sizeof(*trace))
		return;
	if (trace->n_returns > KD_RETURNS ||
	    size - sizeof(*trace) < (size_t)trace->size + trace->other_size +
					    trace->n_returns * sizeof(struct kd_return))
		return;
	if (trace->type == KD_TRACE_OPEN)
		open_stack_submit(tracer, pending, trace);
	else
		stack_submit(tracer, pending, trace, data, data + trace->size + trace->other_size);
}

static size_t kernel_frames(const struct kd_trace *trace, size_t size)
{
	if (size < offsetof(struct kd_trace, regs) || trace->n_kernel > KD_KERNEL_FRAMES)
		return 0;
	return trace->n_kernel;
}

/* Adds the call's path and its descriptor's file. If it has both, the descriptor is the directory
 * in which a relative path begins. */
static int file_add(struct tracer *tracer, struct pending *pending, const struct kd_trace *trace)
{
	int error = record_row_path(&pending->row, trace->path, trace->path_size);
	struct file_names *names = session_file_names(tracer->session);
	char path[KD_PATH_BYTES + 1];
	int64_t size;

	if (trace->path_at && trace->type == KD_TRACE_OPEN) {
		size = open_call_path((pid_t)trace->tgid, trace->path_at, path);
		if (session_call_goes_on(tracer->session, trace->tid, trace->call, trace->since))
			error = record_row_path(&pending->row, path, size);
	}
	if (error || !trace->file.kind || (pending->row.path && *pending->row.path == '/'))
		return error;
	pending->row.at = file_names_text(names, (pid_t)trace->tgid, &trace->file);
	return pending->row.at ? 0 : -ENOMEM;
}

static int pending_add(struct tracer *tracer, const struct kd_trace *trace, size_t size)
{
	uint64_t epoch = tracer->config.epoch;
	struct pending *pending;
	size_t n = kernel_frames(trace, size), n_sched = n ? trace->n_sched : 0;

	if (tracer->n == PENDING_MAX) {
		record_row_lost(tracer->session, trace);
		return 0;
	}
	if (n_sched > KD_SCHED_WORDS)
		n_sched = 0;
	pending = calloc(1, sizeof(*pending) + (n_sched + n) * sizeof(*pending->kernel));
	if (!pending)
		return -ENOMEM;
	pending->type = trace->type;
	pending->n_kernel = n;
	pending->n_sched = n_sched;
	memcpy(pending->kernel, trace->sched, n_sched * sizeof(*pending->kernel));
	memcpy(pending->kernel + n_sched, trace->kernel, n * sizeof(*pending->kernel));
	pending->since = trace->since;
	record_row_fill(&pending->row, trace, epoch);
	record_row_behind(&pending->row, trace, session_culprits(tracer->session));
	*tracer->last = pending;
	tracer->last = &pending->next;
	tracer->n++;
	trace_user(tracer, pending, trace, size);
	return file_add(tracer, pending, trace);
}

static int trace_found(void *context, void *data, size_t size)
{
	struct tracer *tracer = context;
	const struct kd_trace *trace = data;
	int error = 0;

	if (trace->type == KD_TRACE_MAPS)
		maps_change(tracer, trace, size);
	else
		error = pending_add(tracer, trace, size);
	if (!error && tracer->left <= size)
		return ENOUGH;
	tracer->left -= size;
	return error;
}

/* Reads at most as much as the ring can hold: it may fill as fast as it is read. */
static int ring_read(struct tracer *tracer)
{
	int error;

	tracer->left = tracer->config.wanted->ring_bytes;
	error = session_ring_read(tracer->session, RING_TRACES, trace_found, tracer);
	if (tracer->config.stacks)
		maps_read_due(tracer);
	return error == ENOUGH ? 0 : error;
}

int tracer_drain(struct tracer *tracer)
{
	int error = ring_read(tracer);

	if (error || tracer->n < PENDING_MANY)
		return error;
	if (tracer->config.stacks)
		stacks_flush(tracer->config.stacks);
	pending_drop(tracer, session_windows_since(tracer->session, UINT64_MAX));
	return 0;
}

/* Orders by thread and start. Returns 0 for the same call, or the same wait in user mode. */
static int call_order(const void *a, const void *b)
{
	const struct pending *left = *(struct pending *const *)a;
	const struct pending *right = *(struct pending *const *)b;

	return ORDER(left->row.tid, right->row.tid) ?: ORDER(left->since, right->since);
}

/* Among records of a call, one with a user stack comes first. */
static int stack_order(const void *a, const void *b)
{
	struct pending *const *left = a, *const *right = b;

	return call_order(a, b) ?: !(*left)->row.user - !(*right)->row.user;
}

typedef bool pending_filter(const struct pending *pending, uint64_t end);

/* True if other records of the same call lack something that this one has: stacks or why there are
 * none, a path, or a lock. */
static bool has_stacks(const struct pending *pending, uint64_t end)
{
	(void)end;
	return pending->row.kind == TRACE_CALL &&
	       (pending->row.user || pending->row.limited || pending->row.no_user ||
		pending->row.path || pending->row.blocker.lock || pending->type == KD_TRACE_STACK);
}

static bool has_ended_since(const struct pending *pending, uint64_t end)
{
	return pending->type == KD_TRACE_CALL && pending->row.end > end;
}

/* Makes an index of the wanted records, by thread and time. */
static struct pending **index_make(const struct tracer *tracer, pending_filter *wanted,
				   uint64_t end, size_t *n)
{
	struct pending **index = calloc(tracer->n + 1, sizeof(struct pending *));

	*n = 0;
	if (!index)
		return NULL;
	for (struct pending *pending = tracer->first; pending; pending = pending->next)
		if (wanted(pending, end))
			index[(*n)++] = pending;
	qsort(index, *n, sizeof(struct pending *), stack_order);
	return index;
}

static struct pending *index_find(const struct pending *pending, struct pending *const *index,
				  size_t n)
{
	size_t first = ARRAY_SPLIT(n, i, call_order(&index[i], &pending) < 0);

	return first < n && !call_order(&index[first], &pending) ? index[first] : NULL;
}

/* Gives a wait the stack of its call, and a call that was cut short the stack copied while it went
 * on. */
static void stack_join(struct pending *pending, const struct pending *found, bool wanted)
{
	if (pending->row.user || pending->row.limited || pending->row.no_user || !wanted)
		return;
	if (found) {
		pending->row.user = found->row.user;
		pending->row.limited = found->row.limited;
		pending->row.no_user = found->row.no_user;
		pending->row.user_ip = found->row.user_ip;
		pending->row.user_sp = found->row.user_sp;
		pending->row.cut = found->row.cut;
	} else if (pending->row.kind == TRACE_WAIT && pending->row.call != KD_CALL_NONE) {
		pending->row.no_user = "its system call went on";
	}
}

/* Makes the kernel stack of a record, from its own frames or from another record of the same
 * call. */
static int kernel_stack(struct tracer *tracer, struct pending *pending, const struct pending *from)
{
	const uint64_t *frames = from->kernel + from->n_sched;
	struct kernel_symbols *symbols = tracer->config.symbols;
	size_t own = 0;
	int error;

	if (!from->n_kernel && (pending->row.waited || pending->row.kind == TRACE_WAIT))
		pending->row.no_kernel = "the kernel did not report the switch";
	if (!from->n_kernel || !tracer->config.wanted->kernel_stacks)
		return 0;
	error = kernel_symbols_read(symbols);
	if (error)
		return error;
	pending->row.waited = from->row.waited;
	/* A call that did not wait was in this program's own code. */
	if (pending->row.kind == TRACE_CALL && !pending->row.waited)
		own = kernel_symbols_tracing(symbols, frames, from->n_kernel);
	if (pending->row.kind == TRACE_SAMPLE)
		own = kernel_symbols_own(symbols, frames, from->n_kernel);
	pending->row.tracing = pending->row.kind == TRACE_SAMPLE && own;
	pending->row.kernel = record_kernel_stack(symbols, from->kernel, from->n_sched,
						  frames + own, from->n_kernel - own);
	return 0;
}

static void counts_tell(struct tracer *tracer, struct trace_list *list)
{
	const struct kernel_symbols *symbols = tracer->config.symbols;
	uint64_t kernel_beyond = kernel_symbols_beyond(symbols);
	struct stack_counts counts = { 0 };

	if (tracer->config.stacks) {
		counts = stacks_counts(tracer->config.stacks);
		list->failure = stacks_failure(tracer->config.stacks);
	}
	list->lost = tracer->window_lost + tracing_maps_lost(session_tracing(tracer->session));
	list->beyond = counts.beyond - tracer->reported.beyond + kernel_beyond -
		       tracer->beyond_reported;
	list->failed = counts.failed - tracer->reported.failed;
	list->incomplete = counts.incomplete - tracer->reported.incomplete +
			   tracer->cached_incomplete;
	list->kernel_hidden = tracer->config.wanted->on && kernel_symbols_hidden(symbols);
	tracer->reported = counts;
	tracer->beyond_reported = kernel_beyond;
	tracer->window_lost = tracer->cached_incomplete = 0;
}

static void wanted_note(const struct tracer *tracer, struct trace_list *list)
{
	const struct tracing_config *wanted = tracer->config.wanted;

	list->calls_wanted = wanted->call_ns != KD_UNWANTED;
	list->call_threshold = wanted->call_ns;
	list->calls_chosen = list->calls_wanted && wanted->calls_named;
	list->waits_wanted = wanted->wait_ns != KD_UNWANTED;
	list->wait_threshold = wanted->wait_ns;
	list->wait_filter = list->waits_wanted ? wanted->waits->text : NULL;
	list->wait_calls_chosen = list->waits_wanted && wanted->wait_calls;
	list->profile_hz = wanted->profile_hz;
	list->kernel_stacks_wanted = wanted->kernel_stacks;
	list->user_stacks_wanted = wanted->user_bytes > 0;
	list->stack_share = wanted->share;
}

enum belongs { OUTSIDE, INSIDE, UNFINISHED };

/* Returns where a record lies relative to a window. Calls that crossed its end may have ended
 * since. */
static enum belongs row_belongs(const struct tracer *tracer, const struct pending *pending,
				uint64_t start, uint64_t end)
{
	const struct trace_row *row = &pending->row;

	if (pending->type == KD_TRACE_STACK || row->end < start)
		return OUTSIDE;
	if (row->end <= end)
		return INSIDE;
	if (row->kind != TRACE_CALL || row->start >= end ||
	    end - row->start < tracer->config.wanted->call_ns)
		return OUTSIDE;
	return UNFINISHED;
}

/* The records of a window, as they become rows. */
struct rows {
	struct tracer *tracer;
	uint64_t start, end;
	struct pending **stacks, **ended; /* see index_make() */
	size_t n_stacks, n_ended;
	struct trace_list *list;
};

static bool is_listed(const struct tracing_config *wanted, const struct trace_row *row)
{
	return row->kind != TRACE_WAIT ||
	       (wait_filter_passes(wanted->waits, row) &&
		(!wanted->wait_calls || syscall_set_has(wanted->wait_calls, row->call)));
}

static int row_move(const struct rows *rows, struct pending *pending)
{
	enum belongs belongs = row_belongs(rows->tracer, pending, rows->start, rows->end);
	const struct pending *found;
	struct trace_row row;
	int error;

	/* A call that was recorded while it went on may also have a record of its end. */
	if (belongs == OUTSIDE ||
	    (pending->type == KD_TRACE_OPEN && index_find(pending, rows->ended, rows->n_ended)))
		return 0;
	if (!is_listed(rows->tracer->config.wanted, &pending->row)) {
		rows->list->left_out++;
		rows->list->left_out_ns += pending->row.end - pending->row.start;
		return 0;
	}
	found = index_find(pending, rows->stacks, rows->n_stacks);
	stack_join(pending, found, rows->tracer->config.stacks);
	error = kernel_stack(
		rows->tracer, pending,
		found && !pending->n_kernel && pending->type == KD_TRACE_CALL ? found : pending);
	row = pending->row;
	if (found)
		record_row_join(&row, &found->row);
	if (belongs == UNFINISHED) {
		row.end = 0;
		if (row.waited > rows->end - row.start)
			row.waited = rows->end - row.start;
	}
	rows->list->limited += row.limited;
	rows->list->own_samples += row.tracing;
	rows->list->unread += row.user && stack_is_beyond(row.user);
	return error ? error : traces_add(rows->list, &row);
}

static int rows_move(struct tracer *tracer, uint64_t start, uint64_t end, struct trace_list *list)
{
	struct rows rows = { .tracer = tracer, .start = start, .end = end, .list = list };
	int error;

	rows.stacks = index_make(tracer, has_stacks, end, &rows.n_stacks);
	rows.ended = index_make(tracer, has_ended_since, end, &rows.n_ended);
	error = rows.stacks && rows.ended ? 0 : -ENOMEM;
	for (struct pending *pending = tracer->first; pending && !error; pending = pending->next)
		error = row_move(&rows, pending);
	free(rows.stacks);
	free(rows.ended);
	return error;
}

int tracer_read(struct tracer *tracer, const struct session_view *view)
{
	int error;

	if (!tracer->config.wanted->on)
		return 0;
	/* Avoids tracer_drain(), which may drop what went on at the window's end. */
	error = ring_read(tracer) ?: tracing_visit(session_tracing(tracer->session)) ?: ring_read(tracer);
	tracer->window_lost = windows_traces_lost(session_windows(tracer->session), view->bank);
	return error;
}

int tracer_collect(struct tracer *tracer, uint64_t start, uint64_t end, struct trace_list *list)
{
	uint64_t begin;
	int error;

	if (!tracer->config.wanted->on)
		return 0;
	if (tracer->config.stacks)
		stacks_flush(tracer->config.stacks);
	wanted_note(tracer, list);
	error = rows_move(tracer, start, end, list);
	counts_tell(tracer, list);
	/* Keeps records for other open windows, which may have begun before this one's end. */
	begin = session_windows_since(tracer->session, UINT64_MAX);
	pending_drop(tracer, begin <= end ? begin : end + 1);
	return error;
}
