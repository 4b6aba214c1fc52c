/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of protocol buffers, read field by field. Shares nothing with the writer. */
#ifndef TESTS_UNIT_PROTO_READ_H
#define TESTS_UNIT_PROTO_READ_H

#include <stdbool.h>
#include <stdint.h>

struct message {
	const uint8_t *at, *end;
	bool wrong;
};

static uint64_t read_varint(struct message *message)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64 && message->at < message->end; shift += 7) {
		uint8_t byte = *message->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	message->wrong = true;
	return 0;
}

/* The next field: its number, 0 behind the last; *value, or *inside. */
static uint32_t read_field(struct message *message, uint64_t *value, struct message *inside)
{
	uint64_t tag, length = 8;

	*inside = (struct message){ 0 };
	*value = 0;
	if (message->wrong || message->at >= message->end)
		return 0;
	tag = read_varint(message);
	if ((tag & 7) == 0) {
		*value = read_varint(message);
	} else {
		message->wrong |= (tag & 7) > 2;
		if ((tag & 7) == 2)
			length = read_varint(message);
		if (length > (uint64_t)(message->end - message->at)) {
			message->wrong = true;
			return 0;
		}
		*inside = (struct message){ message->at, message->at + length, false };
		message->at += length;
	}
	return (uint32_t)(tag >> 3);
}

#endif
