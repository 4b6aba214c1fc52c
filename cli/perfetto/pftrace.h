/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of a trace as Perfetto reads them, and what events of tracks are made of. All packets
 * of a sample are a sequence of their own, which names what it has in each of them by numbers.
 * Times are CLOCK_MONOTONIC, ns. */
#ifndef PFTRACE_H
#define PFTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/model/sample.h"

/* --- Protocol buffers: one message at a time, in a buffer of fixed size --- */

/* Fields follow one another; each is a tag and a value (protobuf.dev/programming-guides/encoding).
 */

#define PROTO_ROOM (1 << 16) /* bytes of a message with all that is in it */
#define PROTO_DEPTH 8        /* of messages in messages */

/* Starts as zeroes. Once something had no room, full is set, and nothing more is written. */
struct proto {
	uint8_t bytes[PROTO_ROOM];
	size_t used;
	size_t starts[PROTO_DEPTH]; /* of the messages that are open, behind their length */
	unsigned int depth;
	bool full;
};

/* Begins anew. */
void proto_clear(struct proto *proto);

/* Fields of the types uint64, uint32, enum and bool. */
void proto_u64(struct proto *proto, uint32_t field, uint64_t value);
/* int64 and int32. */
void proto_i64(struct proto *proto, uint32_t field, int64_t value);
void proto_fixed64(struct proto *proto, uint32_t field, uint64_t value);
/* bytes, and strings, which have to be UTF-8. */
void proto_bytes(struct proto *proto, uint32_t field, const void *bytes, size_t length);

/* A message in the message: what is written between the two. */
void proto_begin(struct proto *proto, uint32_t field);
void proto_end(struct proto *proto);

/* --- Packets of a trace as Perfetto reads them, and what events of tracks are made of --- */

/* All packets of a sample are a sequence of their own, which names what it has in each of them by
 * numbers. Times are CLOCK_MONOTONIC, ns. */

/* What events are about: ROW(category, key). */
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

/* What events can have, as in JSON: ROW(note, key). A state's time is behind all of these. */
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
	ROW(NOTE_KEPT, "kept_ns")                                                                  \
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

/* Of a ledger's line. */
static inline unsigned int note_of_state(enum ledger_state state)
{
	return NOTES + (unsigned int)state;
}

/* Of an interruption's part. */
static inline unsigned int note_of_cause(enum interruption_cause cause)
{
	return NOTES + LEDGER_STATES + (unsigned int)cause;
}

struct pftrace {
	FILE *out; /* the caller's */
	const struct sample *sample;
	uint64_t from; /* what is shown begins here, and ends with the window */
	uint32_t sequence;
	int err; /* the first failure, a negative errno */
	struct proto proto;
};

/* A part of a thread's time. */
struct span {
	uint64_t start, end;
};

/* Begins the sequence of a sample, which shows its window: its clocks and names. Returns 0 or
 * -ENOMEM. */
int pftrace_begin(struct pftrace **trace, const struct sample *sample, FILE *out);

/* Leaves the part of a time that is shown. end 0: it has none. Returns false if there is no such
 * part. */
bool pftrace_clip(const struct pftrace *trace, struct span *span);

/* Flushes and releases it. Returns 0 or the first failure, a negative errno. */
int pftrace_end(struct pftrace *trace);

/* A packet: what is written to trace->proto between the two. */
void pftrace_packet_begin(struct pftrace *trace);
void pftrace_packet_end(struct pftrace *trace);

/* Bytes of a text at most, escaped. */
#define PFTRACE_TEXT 4096

/* A field with a text of any origin, which ends after so many bytes or at a NUL before that. */
void pftrace_text(struct pftrace *trace, uint32_t field, const char *text, size_t most);

/* --- Events: what is written between event_begin() and event_end() --- */

/* At a time, on a track; type is one of TYPE_. */
void event_begin(struct pftrace *trace, uint32_t type, uint64_t track, uint64_t at);
void event_end(struct pftrace *trace);

/* What it is called: any text; a word of ours, which needs no escapes; or a state, in few bytes. */
void event_name(struct pftrace *trace, const char *name, size_t most);
void event_name_word(struct pftrace *trace, const char *word);
void event_name_state(struct pftrace *trace, enum ledger_state state);
void event_category(struct pftrace *trace, enum category category);

/* What it has; note: enum note, or as the functions above say. */
void note_u64(struct pftrace *trace, unsigned int note, uint64_t value);
void note_i64(struct pftrace *trace, unsigned int note, int64_t value);
void note_bool(struct pftrace *trace, unsigned int note, bool value);
void note_address(struct pftrace *trace, unsigned int note, uint64_t value);
/* A word of ours that needs no escapes; nothing if it is empty. */
void note_word(struct pftrace *trace, unsigned int note, const char *word);
/* Any text, see pftrace_text(); nothing if it is NULL or empty. */
void note_text(struct pftrace *trace, unsigned int note, const char *text, size_t most);

/* The whole of an event that ends a slice. */
void slice_end(struct pftrace *trace, uint64_t track, uint64_t at);

#endif
