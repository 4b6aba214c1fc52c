/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers: one message at a time, in a buffer of fixed size. Fields follow one another;
 * each is a tag and a value (protobuf.dev/programming-guides/encoding). */
#ifndef PROTO_H
#define PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
