// SPDX-License-Identifier: Apache-2.0
/* Makes sound inputs for the fuzz targets whose inputs nobody can write by hand: seeds DIRECTORY.
 * They are in tests/fuzz/corpus, with what libFuzzer has made of them. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/stat.h>

#include "cli/json/json.h"
#include "cli/stack/protocol.h"
#include "probes/return_sites.h"
#include "tests/unit/elf_fuzz.h"
#include "tests/unit/judged.h"
#include "tests/unit/random_recording.h"
#include "tests/unit/random_sample.h"
#include "tests/unit/returns_code.h"
#include "tests/unit/tidy_recording.h"

#define ROOM (64 << 10)
#define DOCUMENTS 20
#define FRAMES_TEXT 0x350 /* where corpus/cfi/frames.so has its code */
#define LARGEST 5000      /* bytes of a document: most have more */

static const char *top;

/* An input while it is being made. */
struct seed {
	uint8_t bytes[ROOM];
	size_t size;
};

static void put(struct seed *seed, const void *bytes, size_t size)
{
	if (seed->size + size > ROOM)
		abort();
	memcpy(seed->bytes + seed->size, bytes, size);
	seed->size += size;
}

static void put_u8(struct seed *seed, uint8_t value)
{
	put(seed, &value, sizeof(value));
}

static void put_part(struct seed *seed, const void *bytes, size_t size)
{
	uint16_t length = (uint16_t)size;

	put(seed, &length, sizeof(length));
	put(seed, bytes, size);
}

static void save(const char *target, const char *name, const void *bytes, size_t size)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", top, target);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s", top, target, name);
	out = fopen(path, "we");
	if (!out || fwrite(bytes, 1, size, out) != size || fclose(out)) {
		perror(path);
		exit(EXIT_FAILURE);
	}
}

static void save_seed(const char *target, const char *name, struct seed *seed)
{
	save(target, name, seed->bytes, seed->size);
	seed->size = 0;
}

/* --- ELF files --- */

static void elf_save(void)
{
	static const char *const names[] = { "wide", "wide-packed", "narrow", "narrow-packed" };
	static struct image image;

	for (int i = 0; i < 4; i++) {
		seed_make(&image, i < 2, i % 2);
		save("elf", names[i], image.bytes, image.size);
	}
}

/* --- What a child says --- */

static void put_packet(struct seed *seed, const struct packet *packet)
{
	put_u8(seed, 0);
	put(seed, &packet->head, sizeof(packet->head));
	put_part(seed, packet->payload, packet->size);
}

static void put_done(struct seed *seed, unsigned int n)
{
	static struct packet packet;

	packet_begin(&packet, MESSAGE_DONE);
	while (n--)
		put_packet(seed, &packet);
}

static void put_stack(struct seed *seed, uint32_t id, int frames, enum unwind_stop stop)
{
	const struct frame frame = { .function = "poll",
				     .offset = 0x42,
				     .object = "/usr/lib/libc.so.6",
				     .build_id = "0123abcd",
				     .file = 1 };
	static struct packet packet;

	packet_begin(&packet, MESSAGE_FRAMES);
	while (frames--)
		packet_put_frame(&packet, &frame);
	put_packet(seed, &packet);
	packet_begin(&packet, MESSAGE_STACK);
	packet.head.number = id;
	packet.head.status = (int32_t)stop;
	put_packet(seed, &packet);
}

static void put_ids(struct seed *seed, const uint32_t ids[4])
{
	static struct packet packet;

	packet_begin(&packet, MESSAGE_IDS);
	packet.head.n = 4;
	packet.size = 4 * sizeof(*ids);
	memcpy(packet.payload, ids, packet.size);
	put_packet(seed, &packet);
}

static void client_save(void)
{
	static struct packet packet;
	static struct seed seed;
	struct digest digest = { .hash = 5, .shape = { .n = 2 } };

	put_done(&seed, 5);
	put_stack(&seed, 0, 3, UNWIND_COMPLETE);
	put_ids(&seed, (uint32_t[]){ 0, 0, 0, 0 });
	put_stack(&seed, 1, 5, UNWIND_NO_CFI);
	put_stack(&seed, 2, 1, UNWIND_COMPLETE);
	put_ids(&seed, (uint32_t[]){ 0, 1, 2, 1 });
	save_seed("client", "stacks", &seed);

	put_done(&seed, 5);
	packet_begin(&packet, MESSAGE_OPEN);
	packet_put_text(&packet, ".build-id/ab/cdef.debug");
	put_packet(&seed, &packet);
	packet_put_text(&packet, "/usr/lib/.debug/x.debug");
	put_packet(&seed, &packet);
	packet_put_text(&packet, "/usr/lib/debug/usr/lib/x.debug");
	put_packet(&seed, &packet);
	put_stack(&seed, 7, 2, UNWIND_COMPLETE);
	packet_begin(&packet, MESSAGE_DIGEST);
	packet_put_digest(&packet, &digest);
	packet.head.number = 1;
	put_packet(&seed, &packet);
	put_ids(&seed, (uint32_t[]){ 7, 7, 7, 7 });
	save_seed("client", "known", &seed);

	packet_begin(&packet, MESSAGE_DONE);
	packet.head.status = -1;
	packet_put_text(&packet, "the sandbox cannot be entered");
	put_packet(&seed, &packet);
	save_seed("client", "refused", &seed);
}

/* --- What a child is asked --- */

static void put_request(struct seed *seed, uint8_t file, struct message head, const char *text,
			const void *memory, size_t size)
{
	put_u8(seed, file);
	put(seed, &head, sizeof(head));
	put_part(seed, text, text ? strlen(text) + 1 : 0);
	put_part(seed, memory, size);
}

/* Copies of stacks whose addresses are in the code of object 0, from there on. */
static void put_copies(struct seed *seed, uint64_t code)
{
	static struct {
		struct shared_copy head;
		uint64_t words[16];
	} copies[2];

	for (unsigned int i = 0; i < 2; i++) {
		struct stack_copy *copy = &copies[i].head.copy;

		copies[i].head.t = 10;
		copy->regs[KD_REG_IP] = code + 8 * i;
		copy->regs[KD_REG_SP] = copy->start = 0x7fff0000;
		copy->pages[0] = 1;
		copy->size = sizeof(copies[i].words);
		copy->mapped_at = 3;
		for (unsigned int word = 0; word < 16; word++)
			copies[i].words[word] = code + 3 * word;
	}
	put_request(seed, 0, (struct message){ .type = MESSAGE_COPIES, .n = 2 }, NULL, copies,
		    sizeof(copies));
}

static void put_object(struct seed *seed, uint8_t file, const char *path)
{
	put_request(seed, file, (struct message){ .type = MESSAGE_OBJECT, .number = file - 1U },
		    path, NULL, 0);
}

static void put_mappings(struct seed *seed)
{
	const struct mapping mappings[] = { { 0x10000, 0x20000, 0, 0 },
					    { 0x30000, 0x40000, 0x1000, 1 } };

	put_request(seed, 0, (struct message){ .type = MESSAGE_MAPPINGS, .t = 5, .n = 2 }, NULL,
		    mappings, sizeof(mappings));
}

static void session_save(const char *name, const void *file, size_t size, uint64_t code)
{
	static struct image other;
	static struct seed seed;

	seed_make(&other, true, false);
	put_part(&seed, file, size);
	put_part(&seed, other.bytes, other.size);
	put_u8(&seed, 0xaa);
	put_object(&seed, 1, "/usr/bin/program");
	put_object(&seed, 2, "/usr/lib/libx.so");
	put_mappings(&seed);
	put_copies(&seed, 0x10000 + code);
	put_copies(&seed, 0x10000 + code);
	save_seed("server", name, &seed);
}

static void server_save(void)
{
	static struct image image;
	char path[4096];
	size_t size;
	FILE *in;

	for (int packed = 0; packed < 2; packed++) {
		seed_make(&image, true, packed);
		session_save(packed ? "packed" : "symbols", image.bytes, image.size, TEXT_OFFSET);
	}
	/* A file with call frame information, of a compiler. */
	snprintf(path, sizeof(path), "%s/cfi/frames.so", top);
	in = fopen(path, "re");
	size = in ? fread(image.bytes, 1, sizeof(image.bytes), in) : 0;
	if (in)
		fclose(in);
	if (size)
		session_save("frames", image.bytes, size, FRAMES_TEXT);
}

/* --- Stacks --- */

static void put_word(struct seed *seed, uint8_t kind, uint16_t value)
{
	put_u8(seed, kind);
	put(seed, &value, sizeof(value));
}

/* Each function keeps %rbp behind its return address, as compilers have it. */
static void unwind_save(void)
{
	static const uint8_t framed[] = { 0x41, 0x0e, 0x10, 0x86, 0x02, 0x43, 0x0d, 0x06 };
	static const uint8_t by_expression[] = { 0x0f, 2, 0x77, 0x08, 0x10, 6, 2, 0x77, 0x78 };
	static const uint8_t remembering[] = { 0x41, 0x0a, 0x0e, 0x18, 0x42, 0x0b, 0x83, 0x03 };
	static const uint8_t outermost[] = { 0x07, 0x10 };
	static struct seed seed;

	for (uint8_t flags = 0; flags < 16; flags += 5) {
		put_u8(&seed, flags);
		put_part(&seed, "", 0);
		put_part(&seed, framed, sizeof(framed));
		put_part(&seed, by_expression, sizeof(by_expression));
		put_part(&seed, remembering, sizeof(remembering));
		put_part(&seed, outermost, sizeof(outermost));
		put_u8(&seed, 0x80);
		put(&seed, (uint8_t[]){ 0, 2 }, 2);
		for (unsigned int i = 0; i < KD_REGS; i++)
			put_word(&seed, i == KD_REG_IP ? 2 : 1, 0x80);
		if (flags & 4)
			put(&seed, (uint8_t[12]){ 0 }, 12);
		for (uint16_t i = 0; i < 100; i++)
			put_word(&seed, i % 2 ? 2 : 1, (uint16_t)(i % 2 ? i : 0x100 + 8 * i));
		put_word(&seed, 2, TEXT_SIZE - 8);
		save_seed("unwind", (char[]){ 'a' + (char)(flags / 5), 0 }, &seed);
	}
}

static void returns_save(void)
{
	const struct {
		const char *name;
		struct code_chunk chunk;
	} functions[] = {
		{ "two", CODE(two_returns) },        { "table", CODE(with_table) },
		{ "cold", CODE(with_cold_cold) },    { "functions", CODE(table_of_functions) },
		{ "lock", CODE(over_lock) },         { "register", CODE(by_register) },
		{ "middle", CODE(into_the_middle) },
	};
	static struct seed seed;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		put_u8(&seed, i % 2 ? 2 : 0);
		put_part(&seed, functions[i].chunk.code, functions[i].chunk.size);
		put_part(&seed, with_cold_cold, (size_t)(with_cold_cold_end - with_cold_cold));
		put(&seed, (uint32_t[]){ 1, 2, 3, 4 }, 16);
		save_seed("returns", functions[i].name, &seed);
	}
}

/* --- Captures --- */

/* Returns whether it is small enough. */
static bool document_save(const char *kind, const struct sample *sample,
			  const struct trigger_stats *stats, int i)
{
	char *text, name[32];
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out ||
	    (sample ? report_json(judged(sample), NULL, out) : report_json_triggers(stats, out)) ||
	    fclose(out))
		abort();
	snprintf(name, sizeof(name), "%s-%d", kind, i);
	if (length <= LARGEST)
		save("replay", name, text, length);
	free(text);
	return length <= LARGEST;
}

static void replay_save(void)
{
	static struct trigger_stats stats;

	for (int i = 0; i < DOCUMENTS;) {
		struct sample sample = random_sample();

		i += document_save("sample", &sample, NULL, i);
		sample_clear(&sample);
	}
	for (int i = 0; i < 4;) {
		struct sample sample = { .number = 1, .start = 1000000, .end = 1001000 };

		sample.recording = random_recording(&sample);
		tidy_recording(sample.recording);
		i += document_save("recording", &sample, NULL, i);
		sample_clear(&sample);
	}
	for (int i = 0; i < 4; i++) {
		random_triggers(&stats);
		document_save("triggers", NULL, &stats, i);
		trigger_stats_clear(&stats);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return EXIT_FAILURE;
	}
	top = argv[1];
	mkdir(top, 0777);
	elf_save();
	client_save();
	server_save();
	unwind_save();
	returns_save();
	replay_save();
	return EXIT_SUCCESS;
}
