/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers, byte by byte: what protobuf.dev/programming-guides/encoding has as examples,
 * and what it says of numbers and lengths. */
#include "cli/perfetto/pftrace.h"

#include <stdlib.h>

#include "tap.h"

static struct proto proto;

/* What was written, as hexadecimal digits. */
static const char *written(void)
{
	static char text[2 * 512 + 1];

	if (proto.used > 512)
		abort();
	for (size_t i = 0; i < proto.used; i++)
		snprintf(text + 2 * i, 3, "%02x", proto.bytes[i]);
	text[2 * proto.used] = '\0';
	return text;
}

TEST(numbers)
{
	static const struct {
		uint64_t number;
		const char *bytes;
	} cases[] = {
		{ 0, "0800" },
		{ 1, "0801" },
		{ 127, "087f" },
		{ 128, "088001" },
		{ 150, "089601" },
		{ 16383, "08ff7f" },
		{ 16384, "08808001" },
		{ INT64_MAX, "08ffffffffffffffff7f" },
		{ UINT64_MAX, "08ffffffffffffffffff01" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		proto_clear(&proto);
		proto_u64(&proto, 1, cases[i].number);
		is_str(written(), cases[i].bytes, "%" PRIu64, cases[i].number);
	}
	proto_clear(&proto);
	proto_i64(&proto, 1, -2);
	is_str(written(), "08feffffffffffffffff01", "a negative number has ten bytes");
	proto_clear(&proto);
	proto_fixed64(&proto, 47, 0x0123456789abcdef);
	is_str(written(), "f902efcdab8967452301", "fixed, the lowest byte first");
	proto_clear(&proto);
	proto_u64(&proto, 16, 1);
	is_str(written(), "800101", "a field that needs two bytes");
}

TEST(messages)
{
	proto_clear(&proto);
	proto_bytes(&proto, 2, "testing", 7);
	is_str(written(), "120774657374696e67", "a string");
	proto_clear(&proto);
	proto_begin(&proto, 3);
	proto_u64(&proto, 1, 150);
	proto_end(&proto);
	is_str(written(), "1a03089601", "a message in a message");
	proto_clear(&proto);
	proto_begin(&proto, 1);
	proto_begin(&proto, 2);
	proto_end(&proto);
	proto_u64(&proto, 3, 4);
	proto_end(&proto);
	is_str(written(), "0a0412001804", "an empty one, and what follows it");
}

/* A length of two bytes moves what was written; of the message around it, too. */
TEST(lengths)
{
	static const char bytes[200];

	for (size_t length = 120; length <= sizeof(bytes); length++) {
		size_t inner = length + 2 + (length > 127), outer;
		size_t wide = inner > 127;
		const uint8_t *at = proto.bytes;

		proto_clear(&proto);
		proto_begin(&proto, 1);
		proto_begin(&proto, 2);
		proto_bytes(&proto, 3, bytes, length);
		proto_end(&proto);
		proto_u64(&proto, 4, 5);
		proto_end(&proto);
		outer = 1 + 1 + wide + inner + 2;
		ok(!proto.full && !proto.depth && proto.used == outer + 2 + (outer > 127),
		   "%zu bytes: as long as it has to be", length);
		at += 2 + (outer > 127);
		ok(at[0] == 0x12 && at[1] == (wide ? (inner & 0x7f) | 0x80 : inner) &&
			   at[2 + wide] == 0x1a && at[outer - 2] == 0x20 && at[outer - 1] == 5,
		   "%zu bytes: all is in its place", length);
	}
}

TEST(full)
{
	static const char bytes[PROTO_ROOM];

	proto_clear(&proto);
	proto_bytes(&proto, 1, bytes, PROTO_ROOM - 4);
	ok(!proto.full && proto.used == PROTO_ROOM, "as much as there is room for");
	proto_u64(&proto, 1, 1);
	ok(proto.full && proto.used == PROTO_ROOM, "no more");
	proto_clear(&proto);
	proto_bytes(&proto, 1, bytes, PROTO_ROOM);
	ok(proto.full && proto.used < 8, "nor what is too large by itself");
	proto_u64(&proto, 1, 1);
	ok(proto.full && proto.used < 8, "nothing after that");

	proto_clear(&proto);
	proto_begin(&proto, 1);
	proto_bytes(&proto, 1, bytes, PROTO_ROOM - 6);
	ok(!proto.full, "a message that fits but for its length");
	proto_end(&proto);
	ok(proto.full && proto.used <= PROTO_ROOM, "is told");

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
