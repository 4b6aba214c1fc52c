/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines: of samples that no machine has, which are well formed whatever is in them (what they
 * say is compared with JSON by tests/integration/perfetto.t); and of a small recording, which is
 * written down event by event as it is read back. */
#include <errno.h>
#include <inttypes.h>

#include "cli/base/array.h"
#include "cli/perfetto/perfetto.h"
#include "cli/perfetto/perfetto_fields.h"
#include "cli/perfetto/pftrace.h"
#include "golden.h"
#include "judged.h"
#include "proto_read.h"
#include "random_recording.h"
#include "random_sample.h"
#include "sanitized.h"
#include "tap.h"
#include "traces_sample.h"

#define ROUNDS 300
/* Each makes four events: a million of them. */
#define MANY (SANITIZED ? 20000U : 250000U)

/* What is found in a trace. */
struct found {
	uint64_t packets, begins, ends, instants, samples, tracks;
	bool wrong;
};

static void read_event(struct message event, struct found *found)
{
	struct message inside;
	uint64_t value;
	uint32_t field;

	while ((field = read_field(&event, &value, &inside))) {
		if (field != EVENT_TYPE)
			continue;
		found->begins += value == TYPE_SLICE_BEGIN;
		found->ends += value == TYPE_SLICE_END;
		found->instants += value == TYPE_INSTANT;
	}
	found->wrong |= event.wrong;
}

static void read_packet(struct message packet, struct found *found)
{
	struct message inside;
	uint64_t value;
	uint32_t field;
	bool sequence = false;

	while ((field = read_field(&packet, &value, &inside))) {
		sequence |= field == PACKET_SEQUENCE_ID && value && value <= UINT32_MAX;
		if (field == PACKET_TRACK_EVENT)
			read_event(inside, found);
		found->samples += field == PACKET_PERF_SAMPLE;
		found->tracks += field == PACKET_TRACK_DESCRIPTOR;
	}
	found->packets++;
	found->wrong |= packet.wrong || !sequence;
}

static struct found perfetto(const struct sample *sample)
{
	FILE *out = tmpfile();
	struct found found = { 0 };
	struct message trace = { 0 }, inside;
	uint64_t value;
	uint32_t field;
	size_t length;
	char *text;

	need(out);
	found.wrong = report_perfetto(judged(sample), &(struct report_options){ 0 }, out) != 0;
	text = golden_read(out, &length);
	fclose(out);
	trace.at = (const uint8_t *)text;
	trace.end = trace.at + length;
	while ((field = read_field(&trace, &value, &inside))) {
		found.wrong |= field != TRACE_PACKET;
		read_packet(inside, &found);
	}
	found.wrong |= trace.wrong || found.begins != found.ends;
	free(text);
	return found;
}

TEST(empty)
{
	struct sample sample = traces_begin();
	struct found found = perfetto(&sample);

	ok(!found.wrong, "an empty sample");
	is_u64(found.begins, 1, "has its window");
	is_u64(found.tracks, 3, "and tracks of nobody");
	sample_clear(&sample);
}

TEST(hostile)
{
	struct sample sample = traces_begin();
	struct trace_row row = trace(TRACE_WAIT, 1, "\x1b[2J\n\xff", "futex");
	struct found found;

	row.state = KD_BLOCKED;
	row.user = &user_hostile;
	row.kernel = &kernel_module;
	row.blocker = (struct blocker){ .lock = 1, .kind = KD_LOCK_MUTEX, .holder = 5 };
	memset(row.blocker.holder_name, '\x9b', sizeof(row.blocker.holder_name));
	row.wakers[0] = (struct waker){ .at = row.end, .tid = 7, .from = KD_FROM_TASK };
	memset(row.wakers[0].name, '\n', sizeof(row.wakers[0].name));
	trace_add(&sample, row);
	row.user = &user_cut;
	trace_add(&sample, row);
	row.kind = TRACE_SAMPLE;
	trace_add(&sample, row);
	found = perfetto(&sample);
	ok(!found.wrong, "hostile names");
	is_u64(found.begins, 5, "the window, two waits and their locks");
	is_u64(found.instants, 2, "both ends of one wake-up, which two rows have");
	is_u64(found.samples, 1, "a sample");
	sample_clear(&sample);
}

/* Outside of the window, or the wrong way round. */
TEST(times)
{
	struct sample sample = traces_begin();
	struct trace_row row = trace(TRACE_CALL, 1, "t", "futex");
	struct found found;

	row.start = sample.end + 1, row.end = sample.end + 2;
	trace_add(&sample, row);
	row.start = sample.start - 9, row.end = sample.start - 5;
	trace_add(&sample, row);
	row.start = sample.end - 1, row.end = sample.start + 1;
	trace_add(&sample, row);
	found = perfetto(&sample);
	ok(!found.wrong, "times that no call has");
	is_u64(found.begins, 1, "make no slice");
	row.start = 0, row.end = 0;
	trace_add(&sample, row);
	row.start = 0, row.end = UINT64_MAX;
	trace_add(&sample, row);
	found = perfetto(&sample);
	is_u64(found.begins, 3, "what is longer than the window is cut");
	sample_clear(&sample);
}

/* Threads, stacks and wake-ups are found among many. */
TEST(many)
{
	struct sample sample = traces_begin();
	struct found found;

	for (unsigned int i = 0; i < MANY; i++) {
		struct trace_row row = trace(TRACE_WAIT, 1 + (pid_t)(i % 97), "worker", "futex");

		row.state = i % 3 ? KD_BLOCKED : KD_READY_WOKEN;
		row.start = sample.start + i * 1000;
		row.end = row.start + 900;
		row.user = i % 5 ? &user_main : &user_cpp;
		row.kernel = i % 7 ? &kernel_futex : NULL;
		row.wakers[0] = (struct waker){ .at = row.end,
						.tid = 1 + (pid_t)(i % 50 * 2),
						.from = KD_FROM_TASK,
						.name = "waker" };
		trace_add(&sample, row);
	}
	found = perfetto(&sample);
	ok(!found.wrong, "many rows");
	is_u64(found.begins, MANY + 1, "a slice for each");
	is_u64(found.instants, 2 * MANY, "and an arrow");
	/* Three of nobody; a process; of each thread five; one waker, 99, is of nobody. */
	is_u64(found.tracks, 3 + 1 + 97 * 5 + 1, "each track once");
	sample_clear(&sample);
}

TEST(random)
{
	unsigned int wrong = 0;
	uint64_t begins = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct sample sample = random_sample();
		struct found found = perfetto(&sample);

		wrong += found.wrong;
		begins += found.begins;
		sample_clear(&sample);
	}
	is_u64(wrong, 0, "any numbers and names make a well-formed trace");
	ok(begins > ROUNDS, "with slices");
}

/* Rows of recordings, too. */
TEST(recordings)
{
	unsigned int wrong = 0;
	uint64_t begins = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct sample sample = random_sample();
		struct found found;

		sample.recording = random_recording(&sample);
		found = perfetto(&sample);
		wrong += found.wrong;
		begins += found.begins;
		sample_clear(&sample);
	}
	is_u64(wrong, 0, "any recording makes a well-formed trace");
	ok(begins > 10 * ROUNDS, "with slices");
}

/* --- A recording --- */

#define NAMES 512
#define TRACKS 128
#define TEXT 200

/* What a sequence names by numbers, and its tracks. */
struct names {
	char events[NAMES][TEXT], notes[NAMES][TEXT];
	struct {
		uint64_t uuid;
		char name[TEXT];
	} tracks[TRACKS];
	size_t n_tracks;
};

static void text_of(char text[static TEXT], const struct message *message)
{
	snprintf(text, TEXT, "%.*s", (int)(message->end - message->at), (const char *)message->at);
}

static const char *track_name(const struct names *names, uint64_t uuid)
{
	for (size_t i = 0; i < names->n_tracks; i++)
		if (names->tracks[i].uuid == uuid)
			return names->tracks[i].name;
	return "?";
}

static void names_read(struct names *names, struct message data)
{
	struct message entry, inside;
	uint64_t value, iid = 0;
	uint32_t list, field;

	while ((list = read_field(&data, &value, &entry))) {
		char text[TEXT] = "";

		while ((field = read_field(&entry, &value, &inside)))
			if (field == NAMED_IID)
				iid = value < NAMES ? value : 0;
			else if (field == NAMED_TEXT)
				text_of(text, &inside);
		if (list == INTERNED_EVENT_NAMES)
			memcpy(names->events[iid], text, TEXT);
		if (list == INTERNED_ANNOTATION_NAMES)
			memcpy(names->notes[iid], text, TEXT);
	}
}

/* By its own name, or that of its thread or process, behind that of the one it is below. */
static void track_read(struct names *names, struct message track)
{
	char own[TEXT / 4] = "", text[TEXT];
	const char *parent = "";
	uint64_t value, uuid = 0;
	struct message inside, part;
	uint32_t field;

	while ((field = read_field(&track, &value, &inside))) {
		if (field == TRACK_UUID)
			uuid = value;
		if (field == TRACK_PARENT_UUID)
			parent = track_name(names, value);
		if (field == TRACK_NAME) {
			text_of(text, &inside);
			snprintf(own, sizeof(own), "%.40s", text);
		}
		while (field == TRACK_THREAD_DESCRIPTOR && read_field(&inside, &value, &part))
			if (!part.at)
				snprintf(own, sizeof(own), "thread %" PRIu64, value);
		while (field == TRACK_PROCESS_DESCRIPTOR && read_field(&inside, &value, &part))
			if (!part.at)
				snprintf(own, sizeof(own), "process %" PRIu64, value);
	}
	need(names->n_tracks != TRACKS);
	names->tracks[names->n_tracks].uuid = uuid;
	snprintf(names->tracks[names->n_tracks++].name, TEXT, "%.120s/%s", parent, own);
}

static void note_write(const struct names *names, struct message note, FILE *out)
{
	struct message inside;
	char text[TEXT];
	uint64_t value;
	uint32_t field;

	while ((field = read_field(&note, &value, &inside))) {
		text_of(text, &inside);
		if (field == ANNOTATION_NAME_IID)
			fprintf(out, ", %s", names->notes[value % NAMES]);
		else if (inside.at)
			fprintf(out, " %s", text);
		else
			fprintf(out, " %" PRId64, (int64_t)value);
	}
}

static void event_write(const struct names *names, struct message event, uint64_t at, FILE *out)
{
	static const char *const types[] = { "?", "begin", "end", "at", "count" };
	const struct message whole = event;
	uint64_t value, type = 0, track = 0, flow = 0;
	struct message inside;
	char name[TEXT] = "";
	uint32_t field;

	while ((field = read_field(&event, &value, &inside))) {
		if (field == EVENT_TYPE)
			type = value;
		if (field == EVENT_TRACK_UUID)
			track = value;
		if (field == EVENT_NAME_IID)
			snprintf(name, sizeof(name), "%s", names->events[value % NAMES]);
		if (field == EVENT_NAME)
			text_of(name, &inside);
		if (field == EVENT_FLOW_IDS || field == EVENT_TERMINATING_FLOW_IDS)
			flow = inside.at[0];
	}
	fprintf(out, "%s %s %" PRIu64 "%s%s", track_name(names, track), types[type % 5], at,
		*name ? " " : "", name);
	event = whole;
	while ((field = read_field(&event, &value, &inside)))
		if (field == EVENT_DEBUG_ANNOTATIONS)
			note_write(names, inside, out);
	if (flow)
		fprintf(out, ", arrow %" PRIu64, flow);
	fputc('\n', out);
}

static void packet_write(struct names *names, struct message packet, uint64_t zero, FILE *out)
{
	uint64_t value, at = 0;
	struct message inside;
	uint32_t field;

	while ((field = read_field(&packet, &value, &inside))) {
		if (field == PACKET_TIMESTAMP)
			at = value;
		if (field == PACKET_INTERNED_DATA)
			names_read(names, inside);
		if (field == PACKET_TRACK_DESCRIPTOR)
			track_read(names, inside);
		if (field == PACKET_TRACK_EVENT)
			event_write(names, inside, at - zero, out);
	}
}

/* A line for each event, with times from zero on. */
static FILE *shown(const struct sample *sample, const struct report_options *options, uint64_t zero)
{
	struct names *names = calloc(1, sizeof(*names));
	FILE *trace = tmpfile(), *out = tmpfile();
	struct message message = { 0 }, inside;
	uint64_t value;
	size_t length;
	char *bytes;

	need(names && trace && out && !report_perfetto(judged(sample), options, trace));
	bytes = golden_read(trace, &length);
	fclose(trace);
	message.at = (const uint8_t *)bytes;
	message.end = message.at + length;
	while (read_field(&message, &value, &inside))
		packet_write(names, inside, zero, out);
	free(bytes);
	free(names);
	return out;
}

#define ADD(recording, list, ...)                                                                  \
	do {                                                                                       \
		if (ARRAY_GROW((recording)->list, (recording)->n_##list,                           \
			       (recording)->capacity_##list))                                      \
			abort();                                                                   \
		(recording)->list[(recording)->n_##list++] = (__VA_ARGS__);                        \
	} while (0)

/* ms before the window's start is 0. */
#define MS(sample, n) ((sample)->start - SECOND + (n)*1000000ULL)

static void threads_add(struct recording *recording)
{
	ADD(recording, threads,
	    (struct recorded_thread){ .tid = 30, .name = "kworker/0:1", .of_kernel = true });
	ADD(recording, threads,
	    (struct recorded_thread){ .tid = 812, .pid = 811, .name = "b\x1b[2Jckup" });
	ADD(recording, threads,
	    (struct recorded_thread){
		    .tid = 9719, .pid = 9719, .name = "server", .of_target = true });
	ADD(recording, threads,
	    (struct recorded_thread){
		    .tid = 9720, .pid = 9719, .name = "worker", .of_target = true });
	ADD(recording, culprits,
	    (struct recorded_culprit){
		    .key = 5000, .is = { .pid = 700, .name = "cron", .kind = CULPRIT_TASK } });
}

static void states_add(struct recording *recording, const struct sample *sample)
{
	const struct span state = { .cpu = 1, .call = KD_CALL_NONE, .of_target = true };
	const struct {
		pid_t tid, waker;
		unsigned int start, end; /* ms */
		enum kd_state state;
		enum kd_awaited awaited;
		enum kd_from from;
		pid_t holder;
		const char *call;
	} rows[] = {
		{ 30, 0, 100, 300, KD_KERNEL, 0, 0, 0, NULL },
		{ 812, 0, 0, 200, KD_UNSEEN, 0, 0, 0, NULL },
		{ 812, 9719, 200, 600, KD_BLOCKED, KD_AWAITED_PIPE, KD_FROM_TASK, 0, "read" },
		{ 9719, 30, 0, 300, KD_BLOCKED_UNINT, KD_AWAITED_DISK, KD_FROM_TASK, 0, "fsync" },
		{ 9719, 0, 300, 400, KD_READY_WOKEN, 0, 0, 0, NULL },
		{ 9719, 0, 400, 650, KD_USER, 0, 0, 0, NULL },
		{ 9719, 0, 650, 700, KD_KERNEL, 0, 0, 0, "futex" },
		{ 9719, 0, 700, 3000, KD_BLOCKED, KD_AWAITED_LOCK, 0, 9720, "futex" },
		{ 9720, 9719, 0, 1200, KD_BLOCKED, KD_AWAITED_LOCK, KD_FROM_TASK, 9719, "futex" },
		{ 9720, 0, 1200, 2500, KD_USER, 0, 0, 0, NULL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct span row = state;

		row.tid = rows[i].tid, row.waker = rows[i].waker, row.holder = rows[i].holder;
		row.start = MS(sample, rows[i].start), row.end = MS(sample, rows[i].end);
		row.state = (uint8_t)rows[i].state, row.awaited = (uint8_t)rows[i].awaited;
		row.from = (uint8_t)rows[i].from;
		row.goes_on = rows[i].end > 2000;
		row.of_target = row.tid > 1000;
		if (rows[i].call)
			row.call = syscall_number(rows[i].call);
		need(!spans_add(&recording->spans[SPAN_STATES], &row));
	}
}

static void others_add(struct recording *recording, const struct sample *sample)
{
	const struct {
		enum span_list list;
		unsigned int start, end; /* ms */
		struct span span;
	} rows[] = {
		{ SPAN_RUNS, 0, 250, { .cpu = 1, .key = 5000, .tid = 700 } },
		{ SPAN_RUNS, 350, 420, { .cpu = 1, .key = KD_WHO_IDLE } },
		{ SPAN_IRQS,
		  420,
		  430,
		  { .cpu = 1,
		    .tid = 9719,
		    .hard = true,
		    .name = "local timer",
		    .state = KD_USER } },
		{ SPAN_IRQS, 420, 440, { .cpu = 1, .tid = 9719, .name = "NET_RX" } },
		{ SPAN_CALLS,
		  400,
		  400,
		  { .tid = 9719, .call = syscall_number("fsync"), .value = -5, .early = true } },
		{ SPAN_CALLS,
		  640,
		  640,
		  { .tid = 9719, .call = syscall_number("futex"), .goes_on = true } },
		{ SPAN_CALLS,
		  1200,
		  1200,
		  { .tid = 9720, .call = syscall_number("futex"), .early = true } },
		{ SPAN_STOLEN, 400, 650, { .tid = 9719, .value = 1000000 } },
		{ SPAN_HITS, 1000, 1000, { .tid = 9719, .role = KD_START } },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct span span = rows[i].span;

		span.start = MS(sample, rows[i].start), span.end = MS(sample, rows[i].end);
		need(!spans_add(&recording->spans[rows[i].list], &span));
	}
}

static struct sample recorded_sample(void)
{
	struct sample sample = traces_begin();
	struct recording *recording = calloc(1, sizeof(*recording));
	struct trace_row row;

	need(recording);
	sample.recording = recording;
	recording->from = MS(&sample, 50);
	recording->to = sample.end;
	recording->wanted = SECOND;
	recording->events = 40;
	recording->memory = 1 << 20;
	threads_add(recording);
	states_add(recording, &sample);
	others_add(recording, &sample);
	/* It says more of a state, and of a call; and one that nobody recorded. */
	row = trace(TRACE_WAIT, 9720, "worker", "futex");
	row.state = KD_BLOCKED, row.awaited = KD_AWAITED_LOCK;
	row.start = MS(&sample, 0), row.end = MS(&sample, 1200);
	row.blocker = (struct blocker){ .lock = 0x1234, .kind = KD_LOCK_MUTEX, .holder = 9719 };
	strcpy(row.blocker.holder_name, "server");
	row.wakers[0] = (struct waker){ row.end, 9719, KD_FROM_TASK, "server" };
	trace_add(&sample, row);
	row.kind = TRACE_CALL;
	trace_add(&sample, row);
	row.kind = TRACE_WAIT;
	row.start = MS(&sample, 1300), row.end = MS(&sample, 1310);
	row.blocker.lock = 0;
	trace_add(&sample, row);
	return sample;
}

TEST(recorded)
{
	struct sample sample = recorded_sample();
	struct report_options options = { 0 };

	golden_compare(shown(&sample, &options, MS(&sample, 0)), "perfetto_recorded");
	sample.recording->lost = 3;
	options.shown_from = MS(&sample, 0);
	options.shown_until = MS(&sample, 900);
	golden_compare(shown(&sample, &options, MS(&sample, 0)), "perfetto_recorded_again");
	sample_clear(&sample);
}

/* --- Messages: what there is no room for --- */

static struct proto proto;

TEST(full)
{
	static const char bytes[PROTO_SIZE];

	proto_clear(&proto);
	proto_bytes(&proto, 1, bytes, PROTO_SIZE - 4);
	ok(!proto.full && proto.used == PROTO_SIZE, "as much as there is room for");
	proto_u64(&proto, 1, 1);
	ok(proto.full && proto.used == PROTO_SIZE, "no more");
	proto_clear(&proto);
	proto_bytes(&proto, 1, bytes, PROTO_SIZE);
	ok(proto.full && proto.used < 8, "nor what is too large by itself");
	proto_u64(&proto, 1, 1);
	ok(proto.full && proto.used < 8, "nothing after that");

	proto_clear(&proto);
	proto_begin(&proto, 1);
	proto_bytes(&proto, 1, bytes, PROTO_SIZE - 6);
	ok(!proto.full, "a message that fits but for its length");
	proto_end(&proto);
	ok(proto.full && proto.used <= PROTO_SIZE, "is told");

	proto_clear(&proto);
	for (unsigned int i = 0; i < PROTO_DEPTH; i++)
		proto_begin(&proto, 1);
	ok(!proto.full, "messages in messages");
	proto_begin(&proto, 1);
	ok(proto.full, "up to a depth");
	proto_clear(&proto);
	proto_end(&proto);
	ok(!proto.used && !proto.depth, "an end without a beginning is nothing");
}
