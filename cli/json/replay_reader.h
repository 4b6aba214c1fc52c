/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects with their types checked. The first fault is kept, with
 * the member's step; from then on what is read is worthless, and harmless. */
#ifndef REPLAY_READER_H
#define REPLAY_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define READER_DEPTH 8

struct reader {
	struct reader_step {
		const char *key; /* a constant */
		size_t index;    /* READER_MEMBER: it is no element */
	} path[READER_DEPTH];
	unsigned int depth;
	bool failed, no_memory;
	uint64_t memory, memory_max; /* what it has taken, and may take; memory_max 0: any */
	char error[320];
	void **owned;
	size_t n_owned, room;
};
#define READER_MEMBER SIZE_MAX

/* Keeps what is wrong with a member of the current object, in words such as "a string
 * is expected"; key NULL: with the object itself. */
__attribute__((format(printf, 3, 4))) void reader_fail(struct reader *reader, const char *key,
						       const char *fmt, ...);

/* To be called before so much is kept. It is a fault if that is more than there may be, and then
 * false is returned. */
bool reader_may_keep(struct reader *reader, size_t n, size_t size);

/* Zeroed memory that lives as long as the reader; NULL if there is none, or more than
 * may be kept, which is a fault, or if n is 0. */
void *reader_memory(struct reader *reader, size_t n, size_t size);

/* Zeroed memory that the caller is to free(); otherwise the same. */
void *reader_rows(struct reader *reader, size_t n, size_t size);

/* Keeps that there was no memory, which is a fault. */
void reader_no_memory(struct reader *reader);

/* Releases what the reader owns; safe on a zeroed one. */
void reader_clear(struct reader *reader);

/* In all that follow, object may be NULL, which has no members. Members that are null
 * are as good as missing. */

/* Whether there is a member of this name. */
bool reader_has(const json_t *object, const char *key);

/* It is a fault if the member is missing. */
void reader_require(struct reader *reader, const json_t *object, const char *key);

/* A number; 0 if it is missing. Larger than most is a fault. Numbers above INT64_MAX
 * are strings of digits. */
uint64_t reader_u64(struct reader *reader, const json_t *object, const char *key);
uint64_t reader_number(struct reader *reader, const json_t *object, const char *key, uint64_t most);
uint32_t reader_u32(struct reader *reader, const json_t *object, const char *key);
int64_t reader_i64(struct reader *reader, const json_t *object, const char *key);
int32_t reader_i32(struct reader *reader, const json_t *object, const char *key);

bool reader_bool(struct reader *reader, const json_t *object, const char *key);

/* A string of hexadecimal digits after 0x; 0 if it is missing. */
uint64_t reader_address(struct reader *reader, const json_t *object, const char *key);

/* Text, restored from "KEY_hex" if it was no valid UTF-8; NULL if it is missing. Lives
 * as long as the document and the reader. */
const char *reader_text(struct reader *reader, const json_t *object, const char *key);

/* Text of at most size bytes; without a NUL if it is that long. All zeros if it is
 * missing. */
void reader_name(struct reader *reader, const json_t *object, const char *key, char *name,
		 size_t size);

/* Text that reports print as it is: printable ASCII only. */
const char *reader_phrase(struct reader *reader, const json_t *object, const char *key);

/* Goes into the member, an object; NULL if it is missing. To be followed by
 * reader_leave() in any case. */
const json_t *reader_enter(struct reader *reader, const json_t *object, const char *key);

/* The array of this name, with its length; length 0 if it is missing. */
const json_t *reader_array(struct reader *reader, const json_t *object, const char *key, size_t *n);

/* Goes into an element of the array of this name, an object. As reader_enter(). */
const json_t *reader_element(struct reader *reader, const json_t *array, const char *key,
			     size_t index);

void reader_leave(struct reader *reader);

#endif
