/* SPDX-License-Identifier: Apache-2.0 */
#include "proto.h"

#include <string.h>

#define VARINT_MOST 10 /* bytes of a number */

enum wire {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_LENGTH = 2, /* and so many bytes */
};

void proto_clear(struct proto *proto)
{
	proto->used = 0;
	proto->depth = 0;
	proto->full = false;
}

/* Seven bits in each byte, the lowest first; all but the last have the eighth. */
static size_t varint(uint8_t out[static VARINT_MOST], uint64_t value)
{
	size_t n = 0;

	for (; value > 0x7f; value >>= 7)
		out[n++] = (uint8_t)(value | 0x80);
	out[n++] = (uint8_t)value;
	return n;
}

static bool has_room(struct proto *proto, size_t length)
{
	if (length > sizeof(proto->bytes) - proto->used)
		proto->full = true;
	return !proto->full;
}

static void put(struct proto *proto, const void *bytes, size_t length)
{
	if (!has_room(proto, length))
		return;
	memcpy(proto->bytes + proto->used, bytes, length);
	proto->used += length;
}

static void put_varint(struct proto *proto, uint64_t value)
{
	uint8_t bytes[VARINT_MOST];
	size_t n = varint(bytes, value);

	if (!has_room(proto, n))
		return;
	for (size_t i = 0; i < n; i++) /* too few for a call of memcpy() */
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

/* Most messages are short: a byte is kept for the length, and what is longer is moved. */
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
	if (!has_room(proto, n - 1))
		return;
	if (n > 1)
		memmove(start - 1 + n, start, length);
	memcpy(start - 1, bytes, n);
	proto->used += n - 1;
}
