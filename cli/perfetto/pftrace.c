// SPDX-License-Identifier: Apache-2.0
#include "pftrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/escape.h"
#include "cli/model/words.h"
#include "perfetto_fields.h"

/* --- Protocol buffers: one message at a time, in a fixed buffer --- */

#define VARINT_MOST 10 /* bytes of a number */

enum wire {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_LENGTH = 2, /* followed by that many bytes */
};

void proto_clear(struct proto *proto)
{
	proto->used = 0;
	proto->depth = 0;
	proto->full = false;
}

/* Seven bits per byte, lowest first; all but the last byte have the eighth bit set. */
static size_t varint(uint8_t out[static VARINT_MOST], uint64_t value)
{
	size_t n = 0;

	for (; value > 0x7f; value >>= 7)
		out[n++] = (uint8_t)(value | 0x80);
	out[n++] = (uint8_t)value;
	return n;
}

static bool proto_fits(struct proto *proto, size_t length)
{
	if (length > sizeof(proto->bytes) - proto->used)
		proto->full = true;
	return !proto->full;
}

static void put(struct proto *proto, const void *bytes, size_t length)
{
	if (!proto_fits(proto, length))
		return;
	memcpy(proto->bytes + proto->used, bytes, length);
	proto->used += length;
}

static void put_varint(struct proto *proto, uint64_t value)
{
	uint8_t bytes[VARINT_MOST];
	size_t n = varint(bytes, value);

	if (!proto_fits(proto, n))
		return;
	for (size_t i = 0; i < n; i++) /* too few for memcpy() */
		proto->bytes[proto->used++] = bytes[i];
}

static void put_tag(struct proto *proto, uint32_t field, enum wire wire)
{
	put_varint(proto, (uint64_t)field << 3 | wire);
}

void proto_u64(struct proto *proto, uint32_t field, uint64_t value)
{
	put_tag(proto, field, WIRE_VARINT);
	put_varint(proto, value);
}

void proto_i64(struct proto *proto, uint32_t field, int64_t value)
{
	proto_u64(proto, field, (uint64_t)value);
}

void proto_fixed64(struct proto *proto, uint32_t field, uint64_t value)
{
	uint8_t bytes[8];

	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	put_tag(proto, field, WIRE_FIXED64);
	put(proto, bytes, sizeof(bytes));
}

void proto_bytes(struct proto *proto, uint32_t field, const void *bytes, size_t length)
{
	put_tag(proto, field, WIRE_LENGTH);
	put_varint(proto, length);
	put(proto, bytes, length);
}

/* Most messages are short: reserve one byte for the length, and move longer ones. */
void proto_begin(struct proto *proto, uint32_t field)
{
	put_tag(proto, field, WIRE_LENGTH);
	put(proto, "", 1);
	if (proto->depth == PROTO_DEPTH)
		proto->full = true;
	if (!proto->full)
		proto->starts[proto->depth++] = proto->used;
}

void proto_end(struct proto *proto)
{
	uint8_t bytes[VARINT_MOST], *start;
	size_t length, n;

	if (proto->full || !proto->depth)
		return;
	start = proto->bytes + proto->starts[--proto->depth];
	length = (size_t)(proto->bytes + proto->used - start);
	n = varint(bytes, length);
	if (!proto_fits(proto, n - 1))
		return;
	if (n > 1)
		memmove(start - 1 + n, start, length);
	memcpy(start - 1, bytes, n);
	proto->used += n - 1;
}

/* --- Packets of a Perfetto trace, and the parts of track events --- */

/* Numbers start at 1 in each table of names. */
#define IID(index) ((uint64_t)(index) + 1)

#define WORD(name, key) [name] = (key),
static const char *const categories[CATEGORIES] = { CATEGORY_WORDS(WORD) };
static const char *const notes[NOTES] = { NOTE_WORDS(WORD) };
#undef WORD

void pftrace_packet_begin(struct pftrace *trace)
{
	proto_clear(&trace->proto);
	proto_begin(&trace->proto, TRACE_PACKET);
}

/* The first packet clears earlier state; all packets refer to interned names. */
static void packet_finish(struct pftrace *trace, uint64_t flags)
{
	struct proto *proto = &trace->proto;

	proto_u64(proto, PACKET_SEQUENCE_ID, trace->sequence);
	proto_u64(proto, PACKET_SEQUENCE_FLAGS, flags);
	proto_end(proto);
	if (trace->err)
		return;
	if (proto->full || proto->depth)
		trace->err = -EMSGSIZE;
	else if (fwrite(proto->bytes, 1, proto->used, trace->out) != proto->used)
		trace->err = -(errno ?: EIO);
}

void pftrace_packet_end(struct pftrace *trace)
{
	packet_finish(trace, SEQUENCE_NEEDS_STATE);
}

void pftrace_text(struct pftrace *trace, uint32_t field, const char *text, size_t most)
{
	char escaped[PFTRACE_TEXT + 1];
	size_t length = escape_text(escaped, sizeof(escaped), text,
				    most < PFTRACE_TEXT ? most : PFTRACE_TEXT);

	proto_bytes(&trace->proto, field, escaped, length);
}

static void name_add(struct proto *proto, uint32_t field, uint64_t iid, const char *name,
		     const char *suffix)
{
	char text[64];
	int length = snprintf(text, sizeof(text), "%s%s", name, suffix);

	proto_begin(proto, field);
	proto_u64(proto, NAMED_IID, iid);
	proto_bytes(proto, NAMED_TEXT, text, (size_t)length);
	proto_end(proto);
}

static void names_add(struct proto *proto)
{
	proto_begin(proto, PACKET_INTERNED_DATA);
	for (size_t i = 0; i < CATEGORIES; i++)
		name_add(proto, INTERNED_EVENT_CATEGORIES, IID(i), categories[i], "");
	for (size_t i = 0; i < LEDGER_STATES; i++)
		name_add(proto, INTERNED_EVENT_NAMES, IID(i), ledger_words[i].title, "");
	for (size_t i = 0; i < NOTES; i++)
		name_add(proto, INTERNED_ANNOTATION_NAMES, IID(i), notes[i], "");
	for (unsigned int i = 0; i < LEDGER_STATES; i++)
		name_add(proto, INTERNED_ANNOTATION_NAMES, IID(note_of_state((enum ledger_state)i)),
			 ledger_words[i].key, "_ns");
	for (unsigned int i = 0; i < INTERRUPTION_CAUSES; i++)
		name_add(proto, INTERNED_ANNOTATION_NAMES,
			 IID(note_of_cause((enum interruption_cause)i)), interruption_keys[i],
			 "_ns");
	proto_end(proto);
}

static void clock_add(struct proto *proto, uint64_t id, uint64_t ns)
{
	proto_begin(proto, SNAPSHOT_CLOCKS);
	proto_u64(proto, CLOCK_ID, id);
	proto_u64(proto, CLOCK_TIMESTAMP, ns);
	proto_end(proto);
}

/* Writes the wall clock at the window's start; the trace itself uses CLOCK_MONOTONIC. */
static void clocks_write(struct pftrace *trace)
{
	const struct sample *sample = trace->sample;
	const struct timespec *wall = &sample->wall_start;
	struct proto *proto = &trace->proto;

	pftrace_packet_begin(trace);
	proto_begin(proto, PACKET_CLOCK_SNAPSHOT);
	clock_add(proto, BUILTIN_MONOTONIC, sample->start);
	if (wall->tv_sec > 0)
		clock_add(proto, BUILTIN_REALTIME,
			  (uint64_t)wall->tv_sec * 1000000000ULL + (uint64_t)wall->tv_nsec);
	proto_u64(proto, SNAPSHOT_PRIMARY_CLOCK, BUILTIN_MONOTONIC);
	proto_end(proto);
	pftrace_packet_end(trace);
}

int pftrace_begin(struct pftrace **out, const struct sample *sample, FILE *file)
{
	struct pftrace *trace = calloc(1, sizeof(*trace));
	struct proto *proto;

	*out = trace;
	if (!trace)
		return -ENOMEM;
	proto = &trace->proto;
	trace->out = file;
	trace->sample = sample;
	trace->from = sample->start;
	/* 0 is invalid. */
	trace->sequence = (uint32_t)sample->number ?: UINT32_MAX;
	pftrace_packet_begin(trace);
	proto_begin(proto, PACKET_DEFAULTS);
	proto_u64(proto, DEFAULTS_TIMESTAMP_CLOCK_ID, BUILTIN_MONOTONIC);
	proto_end(proto);
	names_add(proto);
	proto_u64(proto, PACKET_FIRST_ON_SEQUENCE, true);
	packet_finish(trace, SEQUENCE_STATE_CLEARED | SEQUENCE_NEEDS_STATE);
	clocks_write(trace);
	return 0;
}

bool pftrace_clip(const struct pftrace *trace, struct slice *slice)
{
	slice->start = u64_max(slice->start, trace->from);
	if (!slice->end || slice->end > trace->sample->end)
		slice->end = trace->sample->end;
	return slice->start <= slice->end;
}

int pftrace_end(struct pftrace *trace)
{
	int err = trace->err;

	if (fflush(trace->out) && !err)
		err = -errno;
	free(trace);
	return err;
}

static void event_begin(struct pftrace *trace, uint32_t type, uint64_t track, uint64_t at)
{
	struct proto *proto = &trace->proto;

	pftrace_packet_begin(trace);
	proto_u64(proto, PACKET_TIMESTAMP, at);
	proto_begin(proto, PACKET_TRACK_EVENT);
	proto_u64(proto, EVENT_TYPE, type);
	proto_u64(proto, EVENT_TRACK_UUID, track);
}

void slice_begin(struct pftrace *trace, enum category category, uint64_t track, uint64_t at)
{
	event_begin(trace, TYPE_SLICE_BEGIN, track, at);
	proto_u64(&trace->proto, EVENT_CATEGORY_IIDS, IID(category));
}

void instant_begin(struct pftrace *trace, enum category category, uint64_t track, uint64_t at)
{
	event_begin(trace, TYPE_INSTANT, track, at);
	proto_u64(&trace->proto, EVENT_CATEGORY_IIDS, IID(category));
}

void event_end(struct pftrace *trace)
{
	proto_end(&trace->proto);
	pftrace_packet_end(trace);
}

void event_name(struct pftrace *trace, const char *name, size_t most)
{
	pftrace_text(trace, EVENT_NAME, name, most);
}

void event_name_word(struct pftrace *trace, const char *word)
{
	proto_bytes(&trace->proto, EVENT_NAME, word, strlen(word));
}

void event_name_state(struct pftrace *trace, enum ledger_state state)
{
	proto_u64(&trace->proto, EVENT_NAME_IID, IID(state));
}

static void note_begin(struct pftrace *trace, unsigned int note)
{
	proto_begin(&trace->proto, EVENT_DEBUG_ANNOTATIONS);
	proto_u64(&trace->proto, ANNOTATION_NAME_IID, IID(note));
}

void note_u64(struct pftrace *trace, unsigned int note, uint64_t value)
{
	note_begin(trace, note);
	proto_u64(&trace->proto, ANNOTATION_UINT, value);
	proto_end(&trace->proto);
}

void note_i64(struct pftrace *trace, unsigned int note, int64_t value)
{
	note_begin(trace, note);
	proto_i64(&trace->proto, ANNOTATION_INT, value);
	proto_end(&trace->proto);
}

void note_bool(struct pftrace *trace, unsigned int note, bool value)
{
	note_begin(trace, note);
	proto_u64(&trace->proto, ANNOTATION_BOOL, value);
	proto_end(&trace->proto);
}

void note_address(struct pftrace *trace, unsigned int note, uint64_t value)
{
	note_begin(trace, note);
	proto_u64(&trace->proto, ANNOTATION_POINTER, value);
	proto_end(&trace->proto);
}

void note_word(struct pftrace *trace, unsigned int note, const char *word)
{
	if (!*word)
		return;
	note_begin(trace, note);
	proto_bytes(&trace->proto, ANNOTATION_STRING, word, strlen(word));
	proto_end(&trace->proto);
}

void note_text(struct pftrace *trace, unsigned int note, const char *text, size_t most)
{
	if (!text || !most || !*text)
		return;
	note_begin(trace, note);
	pftrace_text(trace, ANNOTATION_STRING, text, most);
	proto_end(&trace->proto);
}

void slice_end(struct pftrace *trace, uint64_t track, uint64_t at)
{
	event_begin(trace, TYPE_SLICE_END, track, at);
	event_end(trace);
}

void counter_point(struct pftrace *trace, uint64_t track, uint64_t at, uint64_t value)
{
	event_begin(trace, TYPE_COUNTER, track, at);
	proto_u64(&trace->proto, EVENT_COUNTER_VALUE, value);
	event_end(trace);
}
