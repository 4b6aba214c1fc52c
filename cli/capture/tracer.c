// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../clock.h"
#include "../stack/kernel_symbols.h"
#include "../stack/stacks.h"
#include "open_call.h"

/* More records than this are not kept until their window is read. */
#define PENDING_MAX 500000
/* From so many on, those of windows that were not kept are looked for. */
#define PENDING_MANY 20000

/* Reading the target's mappings takes at most one part in so many of the time, unless
 * a stack needs them. */
#define MAPS_SHARE 10
#define MAPS_CHANGES 64 /* that wait for it */

/* In place of an errno: the walk has read enough. */
#define ENOUGH (-EXFULL)

/* A record that waits for its window to be read. */
struct pending {
	struct pending *next;
	struct trace_row row;
	uint32_t type; /* enum kd_trace_type */
	size_t n_kernel;
	uint64_t kernel[];
};

struct maps_change {
	uint64_t t; /* CLOCK_MONOTONIC ns */
	struct kd_mapped mapped;
};

struct tracer {
	struct session *session;
	struct tracer_config config;
	struct kernel_symbols *symbols;
	struct pending *first, **last;
	size_t n;
	uint64_t lost;
	struct stacks_counts told;
	uint64_t beyond_told;
	uint64_t left; /* bytes that the walk in progress may still read */
	/* What the target has mapped, in order, as far as nobody has looked at it yet, */
	struct maps_change changes[MAPS_CHANGES];
	size_t n_changes;
	uint64_t maps_due; /* and when that may be next (CLOCK_MONOTONIC ns) */
};

/* Looks at what was mapped. */
static void maps_read(struct tracer *tracer)
{
	uint64_t begun = clock_monotonic();

	/* A process that has gone keeps what is known of it. */
	for (size_t i = 0; i < tracer->n_changes; i++)
		stacks_mapped(tracer->config.stacks, tracer->changes[i].t,
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

/* A process can map code faster than its mappings can be read. */
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
	change->t = trace->end + tracer->config.epoch;
	size -= head;
	memcpy(&change->mapped, (const uint8_t *)trace + head,
	       size < sizeof(change->mapped) ? size : sizeof(change->mapped));
	maps_read_due(tracer);
}

struct tracer *tracer_new(struct session *session, const struct tracer_config *config)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));

	if (!tracer)
		return NULL;
	tracer->session = session;
	tracer->config = *config;
	tracer->last = &tracer->first;
	/* What was mapped after the stacks were opened and before the programs were
	 * attached, nobody has told. */
	if (config->stacks)
		stacks_refresh(config->stacks, 0);
	return tracer;
}

/* Takes those out that end before a time (CLOCK_MONOTONIC ns), and calls that went on
 * when they were looked at. */
static void pending_drop(struct tracer *tracer, uint64_t before)
{
	struct pending **place = &tracer->first;

	while (*place) {
		struct pending *pending = *place;

		if (pending->row.end >= before && pending->type != KD_TRACE_OPEN) {
			place = &pending->next;
			continue;
		}
		*place = pending->next;
		free(pending);
		tracer->n--;
	}
	tracer->last = place;
}

void tracer_free(struct tracer *tracer)
{
	if (!tracer)
		return;
	if (tracer->config.stacks)
		stacks_flush(tracer->config.stacks);
	pending_drop(tracer, UINT64_MAX);
	kernel_symbols_close(tracer->symbols);
	free(tracer);
}

static void row_fill(struct trace_row *row, const struct kd_trace *trace, uint64_t epoch)
{
	static const enum trace_kind kinds[] = {
		[KD_TRACE_CALL] = TRACE_CALL,     [KD_TRACE_OPEN] = TRACE_CALL,
		[KD_TRACE_WAIT] = TRACE_WAIT,     [KD_TRACE_STACK] = TRACE_CALL,
		[KD_TRACE_SAMPLE] = TRACE_SAMPLE,
	};

	*row = (struct trace_row){
		.kind = kinds[trace->type],
		.tid = (pid_t)trace->tid,
		.start = trace->start + epoch,
		.end = trace->end + epoch,
		.waited = trace->flags & KD_TRACE_WAITED ? trace->waited : 0,
		.since = trace->since,
		.cpu = trace->cpu,
		.call = trace->call,
		.result = trace->result,
		.state = trace->state,
		.ended_by = (pid_t)trace->ended_by,
		.user_ip = trace->user_ip,
		.limited = trace->flags & KD_TRACE_LIMITED,
		.cut = trace->flags & KD_TRACE_CUT,
		.earlier = trace->flags & KD_TRACE_EARLIER,
	};
	if (row->earlier && row->waited > row->end - row->start)
		row->waited = row->end - row->start;
	memcpy(row->name, trace->comm, sizeof(row->name));
	if (trace->type == KD_TRACE_WAIT)
		memcpy(row->ended_by_name, trace->ended_by_comm, sizeof(row->ended_by_name));
}

static int stack_submit(struct tracer *tracer, struct pending *pending,
			const struct kd_trace *trace, const uint8_t *data)
{
	struct stack_copy copy = {
		.start = trace->stack_start,
		.data = data,
		.size = trace->size,
		.other_start = trace->other_start,
		.other_pages = trace->other_pages,
		.other_size = trace->other_size,
	};

	memcpy(copy.regs, trace->regs, sizeof(copy.regs));
	memcpy(copy.pages, trace->pages, sizeof(copy.pages));
	if (tracer->n_changes)
		maps_read(tracer);
	return stacks_submit(tracer->config.stacks, pending->row.end, &copy, &pending->row.user);
}

/* The stack of a call in progress, which the iterator could not copy. */
static int open_stack_submit(struct tracer *tracer, struct pending *pending,
			     const struct kd_trace *trace)
{
	struct kd_trace whole = *trace;
	uint8_t *data = open_call_copy(tracer->config.pid, &whole,
				       tracer->config.wanted->user_bytes);
	int error = 0;

	if (!data)
		pending->row.no_user = "the process's memory could not be read";
	else if (!session_call_goes_on(tracer->session, trace->tid, trace->call, trace->since))
		pending->row.no_user = "the call ended while its stack was being read";
	else
		error = stack_submit(tracer, pending, &whole, data);
	free(data);
	return error;
}

static int trace_user(struct tracer *tracer, struct pending *pending, const struct kd_trace *trace,
		      size_t size)
{
	if (!(trace->flags & KD_TRACE_REGS) || !tracer->config.stacks || size < sizeof(*trace))
		return 0;
	if (trace->type == KD_TRACE_OPEN)
		return open_stack_submit(tracer, pending, trace);
	if (size - sizeof(*trace) < (size_t)trace->size + trace->other_size)
		return 0;
	return stack_submit(tracer, pending, trace, (const uint8_t *)(trace + 1));
}

static size_t kernel_frames(const struct kd_trace *trace, size_t size)
{
	if (size < offsetof(struct kd_trace, regs) || trace->n_kernel > KD_KERNEL_FRAMES)
		return 0;
	return trace->n_kernel;
}

static int pending_add(struct tracer *tracer, const struct kd_trace *trace, size_t size)
{
	uint64_t epoch = tracer->config.epoch;
	struct pending *pending;
	size_t n = kernel_frames(trace, size);

	if (tracer->n == PENDING_MAX) {
		tracer->lost++;
		return 0;
	}
	pending = calloc(1, sizeof(*pending) + n * sizeof(*pending->kernel));
	if (!pending)
		return -ENOMEM;
	pending->type = trace->type;
	pending->n_kernel = n;
	memcpy(pending->kernel, trace->kernel, n * sizeof(*pending->kernel));
	row_fill(&pending->row, trace, epoch);
	*tracer->last = pending;
	tracer->last = &pending->next;
	tracer->n++;
	return trace_user(tracer, pending, trace, size);
}

static int trace_found(void *context, const struct kd_trace *trace, size_t size)
{
	struct tracer *tracer = context;
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

/* Reads what was in the ring when this was called: as much as it can hold. It may be
 * filled as fast as it is read. */
static int ring_read(struct tracer *tracer)
{
	int error;

	tracer->left = tracer->config.wanted->ring_bytes;
	error = session_traces(tracer->session, trace_found, tracer);
	if (tracer->config.stacks)
		maps_read_due(tracer);
	return error == ENOUGH ? 0 : error;
}

/* The time (CLOCK_MONOTONIC ns) from which on there are windows that are not read yet;
 * UINT64_MAX: there is none. One that is open may be closed meanwhile, so that comes
 * last. */
static uint64_t windows_begin(const struct session *session)
{
	struct session_view open = session_view(session), closed;

	if (session_window_next(session, &closed))
		return closed.start + closed.epoch;
	return open.gen ? open.start + open.epoch : UINT64_MAX;
}

int tracer_drain(struct tracer *tracer)
{
	int error = ring_read(tracer);

	if (error || tracer->n < PENDING_MANY)
		return error;
	if (tracer->config.stacks)
		stacks_flush(tracer->config.stacks);
	pending_drop(tracer, windows_begin(tracer->session));
	return 0;
}

static int stack_order(const void *a, const void *b)
{
	const struct pending *left = *(struct pending *const *)a;
	const struct pending *right = *(struct pending *const *)b;

	if (left->row.tid != right->row.tid)
		return left->row.tid < right->row.tid ? -1 : 1;
	return (left->row.since > right->row.since) - (left->row.since < right->row.since);
}

typedef bool pending_filter(const struct pending *pending, uint64_t end);

/* What has the stacks of a call, or of a wait in user mode. */
static bool has_stacks(const struct pending *pending, uint64_t end)
{
	(void)end;
	return pending->row.kind == TRACE_CALL &&
	       (pending->row.user || pending->row.limited || pending->type == KD_TRACE_STACK);
}

static bool has_ended_since(const struct pending *pending, uint64_t end)
{
	return pending->type == KD_TRACE_CALL && pending->row.end > end;
}

/* The records that are wanted, to be looked up by thread and time. */
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
	struct pending *const *found = bsearch(&pending, index, n, sizeof(*index), stack_order);

	return found ? *found : NULL;
}

/* Waits get the stack of their call, and a call that was cut short the one it had
 * when it could still go on. */
static void stack_join(struct pending *pending, const struct pending *found, bool wanted)
{
	if (pending->row.user || pending->row.limited || pending->row.no_user || !wanted)
		return;
	if (found) {
		pending->row.user = found->row.user;
		pending->row.limited = found->row.limited;
		pending->row.cut = found->row.cut;
	} else if (pending->row.kind == TRACE_WAIT && pending->row.call != KD_CALL_NONE) {
		pending->row.no_user = "its system call went on";
	}
}

/* Reading the symbols takes a while: not before there is a stack. Where they cannot be
 * read at all, they are as good as hidden. */
static int symbols_open(struct tracer *tracer)
{
	int error = 0;

	if (!tracer->symbols)
		error = kernel_symbols_open(&tracer->symbols, NULL, tracer->config.room);
	if (error && error != -ENOMEM)
		error = kernel_symbols_open(&tracer->symbols, "/dev/null", tracer->config.room);
	return error;
}

/* From: the record itself, or another of the same call. */
static int kernel_stack(struct tracer *tracer, struct pending *pending, const struct pending *from)
{
	size_t own = 0;
	int error;

	if (!from->n_kernel && (pending->row.waited || pending->row.kind == TRACE_WAIT))
		pending->row.no_kernel = "the kernel did not report the switch";
	if (!from->n_kernel || !tracer->config.wanted->kernel_stacks)
		return 0;
	error = symbols_open(tracer);
	if (error)
		return error;
	pending->row.waited = from->row.waited;
	/* Where it did not wait it was in our own program. */
	if (pending->row.kind == TRACE_CALL && !pending->row.waited)
		own = kernel_symbols_tracing(tracer->symbols, from->kernel, from->n_kernel);
	pending->row.kernel = kernel_symbols_stack(tracer->symbols, from->kernel + own,
						   from->n_kernel - own);
	return 0;
}

static void counts_tell(struct tracer *tracer, struct trace_list *list)
{
	uint64_t kernel_beyond = tracer->symbols ? kernel_symbols_beyond(tracer->symbols) : 0;
	struct stacks_counts counts = { 0 };

	if (tracer->config.stacks) {
		counts = stacks_counts(tracer->config.stacks);
		list->failure = stacks_failure(tracer->config.stacks);
	}
	list->lost = session_traces_lost(tracer->session) + tracer->lost;
	list->beyond = counts.beyond - tracer->told.beyond + kernel_beyond - tracer->beyond_told;
	list->failed = counts.failed - tracer->told.failed;
	list->incomplete = counts.incomplete - tracer->told.incomplete;
	list->kernel_hidden = tracer->symbols && kernel_symbols_hidden(tracer->symbols);
	tracer->told = counts;
	tracer->beyond_told = kernel_beyond;
	tracer->lost = 0;
}

static void asked_tell(const struct tracer *tracer, struct trace_list *list)
{
	const struct session_tracing *wanted = tracer->config.wanted;

	list->calls_asked = wanted->call_ns != UINT64_MAX;
	list->call_threshold = wanted->call_ns;
	list->waits_asked = wanted->wait_ns != UINT64_MAX;
	list->wait_threshold = wanted->wait_ns;
	list->profile_hz = wanted->profile_hz;
	list->kernel_stacks_asked = wanted->kernel_stacks;
	list->user_stacks_asked = wanted->user_bytes > 0;
	list->stack_rate = wanted->rate;
}

enum belongs { OUTSIDE, INSIDE, UNFINISHED };

/* Where a record belongs, as seen from a window. Calls that crossed its end may have
 * ended since. */
static enum belongs place_of(const struct tracer *tracer, const struct pending *pending,
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

/* What a record of a window becomes a row with. */
struct rows {
	struct tracer *tracer;
	uint64_t start, end;
	struct pending **stacks, **ended; /* see index_make() */
	size_t n_stacks, n_ended;
	struct trace_list *list;
};

static int row_move(const struct rows *rows, struct pending *pending)
{
	enum belongs place = place_of(rows->tracer, pending, rows->start, rows->end);
	const struct pending *found;
	struct trace_row row;
	int error;

	/* A call that was looked at while it went on may have told its end, too. */
	if (place == OUTSIDE ||
	    (pending->type == KD_TRACE_OPEN && index_find(pending, rows->ended, rows->n_ended)))
		return 0;
	found = index_find(pending, rows->stacks, rows->n_stacks);
	stack_join(pending, found, rows->tracer->config.stacks);
	if (pending->n_kernel || pending->type != KD_TRACE_CALL || !found)
		found = pending;
	error = kernel_stack(rows->tracer, pending, found);
	row = pending->row;
	if (place == UNFINISHED) {
		row.end = 0;
		if (row.waited > rows->end - row.start)
			row.waited = rows->end - row.start;
	}
	rows->list->limited += row.limited;
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

int tracer_collect(struct tracer *tracer, uint64_t start, uint64_t end, struct trace_list *list)
{
	int error;

	if (!tracer->config.wanted->on)
		return 0;
	/* The window is no longer the session's: tracer_drain() would drop its records. */
	error = ring_read(tracer) ?: session_visit_calls(tracer->session) ?: ring_read(tracer);
	if (error)
		return error;
	if (tracer->config.stacks)
		stacks_flush(tracer->config.stacks);
	asked_tell(tracer, list);
	error = rows_move(tracer, start, end, list);
	counts_tell(tracer, list);
	pending_drop(tracer, end + 1);
	return error;
}
