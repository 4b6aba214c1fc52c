/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of a Perfetto trace, and the parts of track events. All packets of a sample form one
 * sequence, which interns its names. Times are CLOCK_MONOTONIC, ns. */
#ifndef PFTRACE_H
#define PFTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/model/sample.h"

/* --- Protocol buffers: one message at a time, in a fixed buffer --- */

/* Fields are sequences of tag and value (protobuf.dev/programming-guides/encoding). */

#define PROTO_SIZE (1 << 16) /* bytes of a message, nested ones included */
#define PROTO_DEPTH 8        /* of nested messages */

/* Starts zeroed. Once something does not fit, full is set, and nothing more is written. */
struct proto {
	uint8_t bytes[PROTO_SIZE];
	size_t used;
	size_t starts[PROTO_DEPTH]; /* contents of open messages, after their length */
	unsigned int depth;
	bool full;
};

void proto_clear(struct proto *proto);

/* Field of type uint64, uint32, enum or bool. */
void proto_u64(struct proto *proto, uint32_t field, uint64_t value);
/* Field of type int64 or int32. */
void proto_i64(struct proto *proto, uint32_t field, int64_t value);
void proto_fixed64(struct proto *proto, uint32_t field, uint64_t value);
/* Field of type bytes, or string, which must be UTF-8. */
void proto_bytes(struct proto *proto, uint32_t field, const void *bytes, size_t length);

/* Begin and end a nested message. */
void proto_begin(struct proto *proto, uint32_t field);
void proto_end(struct proto *proto);

/* --- Packets of a Perfetto trace, and the parts of track events --- */

/* Event categories: ROW(category, key). */
#define CATEGORY_WORDS(ROW)                                                                        \
	ROW(CATEGORY_WINDOW, "window")                                                             \
	ROW(CATEGORY_VERDICT, "verdict")                                                           \
	ROW(CATEGORY_CALL, "syscall")                                                              \
	ROW(CATEGORY_STATE, "state")                                                               \
	ROW(CATEGORY_LOCK, "lock")                                                                 \
	ROW(CATEGORY_WAKEUP, "wakeup")                                                             \
	ROW(CATEGORY_INTERRUPTION, "interruption")                                                 \
	ROW(CATEGORY_LEDGER, "ledger")                                                             \
	ROW(CATEGORY_RUN, "run")                                                                   \
	ROW(CATEGORY_IRQ, "irq")                                                                   \
	ROW(CATEGORY_HIT, "trigger")                                                               \
	ROW(CATEGORY_RECORDING, "recording")                                                       \
	ROW(CATEGORY_PATH, "critical_path")
#define CATEGORY_ENUM(category, key) category,
enum category { CATEGORY_WORDS(CATEGORY_ENUM) CATEGORIES };
#undef CATEGORY_ENUM

/* Annotations of events, as in JSON: ROW(note, key). Times by state follow after these. */
#define NOTE_WORDS(ROW)                                                                            \
	ROW(NOTE_START, "start_ns")                                                                \
	ROW(NOTE_DURATION, "duration_ns")                                                          \
	ROW(NOTE_UNFINISHED, "unfinished")                                                         \
	ROW(NOTE_EARLIER, "earlier")                                                               \
	ROW(NOTE_CPU, "cpu")                                                                       \
	ROW(NOTE_RESULT, "result")                                                                 \
	ROW(NOTE_WAITED, "waited_ns")                                                              \
	ROW(NOTE_WAITED_FOR, "waited_for")                                                         \
	ROW(NOTE_SYSCALL, "syscall")                                                               \
	ROW(NOTE_MODE, "mode")                                                                     \
	ROW(NOTE_AT, "at")                                                                         \
	ROW(NOTE_PATH, "path")                                                                     \
	ROW(NOTE_PATH_CUT, "path_cut")                                                             \
	ROW(NOTE_LOCK, "lock")                                                                     \
	ROW(NOTE_LOCK_KIND, "lock_kind")                                                           \
	ROW(NOTE_HOLDER_TID, "holder_tid")                                                         \
	ROW(NOTE_HOLDER_PID, "holder_pid")                                                         \
	ROW(NOTE_HOLDER_NAME, "holder_name")                                                       \
	ROW(NOTE_DISK, "disk")                                                                     \
	ROW(NOTE_REQUEST, "request_ns")                                                            \
	ROW(NOTE_ENDED_BY_TID, "ended_by_tid")                                                     \
	ROW(NOTE_ENDED_BY, "ended_by")                                                             \
	ROW(NOTE_CONTEXT, "context")                                                               \
	ROW(NOTE_STACK_STOP, "stack_stop")                                                         \
	ROW(NOTE_NO_USER_STACK, "no_user_stack")                                                   \
	ROW(NOTE_NO_KERNEL_STACK, "no_kernel_stack")                                               \
	ROW(NOTE_CAUSE, "cause")                                                                   \
	ROW(NOTE_BY, "by")                                                                         \
	ROW(NOTE_BY_TID, "by_tid")                                                                 \
	ROW(NOTE_NUMBER, "number")                                                                 \
	ROW(NOTE_START_TRIGGER, "start_trigger")                                                   \
	ROW(NOTE_STOP_TRIGGER, "stop_trigger")                                                     \
	ROW(NOTE_START_TID, "start_tid")                                                           \
	ROW(NOTE_STOP_TID, "stop_tid")                                                             \
	ROW(NOTE_VERSION, "version")                                                               \
	ROW(NOTE_HOST, "host")                                                                     \
	ROW(NOTE_KERNEL, "kernel")                                                                 \
	ROW(NOTE_LOST, "lost")                                                                     \
	ROW(NOTE_TRACES_LOST, "traces_lost")                                                       \
	ROW(NOTE_WAITS_LEFT_OUT, "waits_left_out")                                                 \
	ROW(NOTE_BUSY, "busy_ns")                                                                  \
	ROW(NOTE_DELAY, "kept_ns")                                                                 \
	ROW(NOTE_UNEXPLAINED, "unexplained_ns")                                                    \
	ROW(NOTE_LIFE, "life_ns")                                                                  \
	ROW(NOTE_READY_BY, "ready_by")                                                             \
	ROW(NOTE_NS, "ns")                                                                         \
	ROW(NOTE_COUNT, "count")                                                                   \
	ROW(NOTE_LONGEST, "longest_ns")                                                            \
	ROW(NOTE_THREADS, "threads")                                                               \
	ROW(NOTE_CALLS_FROM, "syscall_threshold_ns")                                               \
	ROW(NOTE_WAITS_FROM, "wait_threshold_ns")                                                  \
	ROW(NOTE_TID, "tid")                                                                       \
	ROW(NOTE_PID, "pid")                                                                       \
	ROW(NOTE_LEGS, "legs")                                                                     \
	ROW(NOTE_REASON, "reason")                                                                 \
	ROW(NOTE_HIT, "hit")                                                                       \
	ROW(NOTE_RECORDED, "recorded_ns")                                                          \
	ROW(NOTE_RECORDED_ASKED, "recorded_asked_ns")                                              \
	ROW(NOTE_RECORDED_EVENTS, "recorded_events")                                               \
	ROW(NOTE_RECORDED_LOST, "recorded_lost")                                                   \
	ROW(NOTE_RECORDED_MEMORY, "recorded_memory_bytes")                                         \
	ROW(NOTE_RECORD_ON, "record_on")                                                           \
	ROW(NOTE_RECORD_ON_VALUE, "record_on_value")
#define NOTE_ENUM(note, key) note,
enum note { NOTE_WORDS(NOTE_ENUM) NOTES };
#undef NOTE_ENUM

/* Annotation of a ledger state. */
static inline unsigned int note_of_state(enum ledger_state state)
{
	return NOTES + (unsigned int)state;
}

/* Annotation of an interruption's cause. */
static inline unsigned int note_of_cause(enum interruption_cause cause)
{
	return NOTES + LEDGER_STATES + (unsigned int)cause;
}

/* Stacks written so far, each once, and so are their frames and files: tsearch(3) trees. */
struct callstacks {
	void *pairs, *locations, *files;
	uint64_t n_pairs, n_locations, n_files;
};

struct pftrace {
	FILE *out; /* owned by the caller */
	const struct sample *sample;
	uint64_t from; /* start of what is shown; the window's end is its end */
	uint32_t sequence;
	int err; /* first failure, a negative errno */
	struct callstacks callstacks;
	struct proto proto;
};

/* A period as it is shown. */
struct slice {
	uint64_t start, end;
};

/* Begins the sequence of a sample with its clocks and names. Returns 0 or -ENOMEM. */
int pftrace_begin(struct pftrace **trace, const struct sample *sample, FILE *out);

/* Clips a period to what is shown. end 0: open. Returns false if nothing is left. */
bool pftrace_clip(const struct pftrace *trace, struct slice *slice);

/* Flushes and frees the trace. Returns 0 or the first failure, a negative errno. */
int pftrace_end(struct pftrace *trace);

/* Begin and end a packet in trace->proto. */
void pftrace_packet_begin(struct pftrace *trace);
void pftrace_packet_end(struct pftrace *trace);

/* Most bytes of an escaped text. */
#define PFTRACE_TEXT 4096

/* Writes a field with foreign text, up to most bytes or a NUL. */
void pftrace_text(struct pftrace *trace, uint32_t field, const char *text, size_t most);

/* --- Events: between the beginning of one and event_end() --- */

/* Begin an event at a time on a track. */
void slice_begin(struct pftrace *trace, enum category category, uint64_t track, uint64_t at);
void instant_begin(struct pftrace *trace, enum category category, uint64_t track, uint64_t at);
void event_end(struct pftrace *trace);

/* Name of the event: any text; a constant without need for escapes; or a state, in few bytes. */
void event_name(struct pftrace *trace, const char *name, size_t most);
void event_name_word(struct pftrace *trace, const char *word);
void event_name_state(struct pftrace *trace, enum ledger_state state);

/* Annotations; note: enum note, or from the functions above. */
void note_u64(struct pftrace *trace, unsigned int note, uint64_t value);
void note_i64(struct pftrace *trace, unsigned int note, int64_t value);
void note_bool(struct pftrace *trace, unsigned int note, bool value);
void note_address(struct pftrace *trace, unsigned int note, uint64_t value);
/* A constant without need for escapes; nothing if empty. */
void note_word(struct pftrace *trace, unsigned int note, const char *word);
/* Any text, see pftrace_text(); nothing if NULL or empty. */
void note_text(struct pftrace *trace, unsigned int note, const char *text, size_t most);

/* Writes the event that ends a slice. */
void slice_end(struct pftrace *trace, uint64_t track, uint64_t at);

/* Writes a counter's value from a time on. */
void counter_point(struct pftrace *trace, uint64_t track, uint64_t at, uint64_t value);

#endif
