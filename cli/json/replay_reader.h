/* SPDX-License-Identifier: Apache-2.0 */
/* Typed access to members of JSON objects. The first fault is stored with the member's path;
 * after it, results are meaningless but safe. */
#ifndef REPLAY_READER_H
#define REPLAY_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define READER_DEPTH 8

struct sample;

struct reader {
	struct reader_step {
		const char *key; /* a constant */
		size_t index;    /* READER_MEMBER: not an element */
	} path[READER_DEPTH];
	unsigned int depth;
	bool failed, no_memory;
	uint64_t memory, memory_max; /* memory used, and its limit; memory_max 0: none */
	char error[320];
	void **owned;
	size_t n_owned, capacity;
	/* For json_fields.h: the sample that is read, or NULL. */
	const struct sample *sample;
};
#define READER_MEMBER SIZE_MAX

/* Records a fault in a member of the current object, such as "a string is expected"; key NULL:
 * in the object itself. */
__attribute__((format(printf, 3, 4))) void reader_fail(struct reader *reader, const char *key,
						       const char *fmt, ...);

/* Call before storing so much. Exceeding the limit is a fault; returns false then. */
bool reader_may_keep(struct reader *reader, size_t n, size_t size);

/* Zeroed memory with the reader's lifetime. NULL if there is none, if it exceeds the limit (a
 * fault), or if n is 0. */
void *reader_memory(struct reader *reader, size_t n, size_t size);

/* Zeroed memory that the caller frees; otherwise as reader_memory(). */
void *reader_rows(struct reader *reader, size_t n, size_t size);

/* Records that memory ran out, which is a fault. */
void reader_no_memory(struct reader *reader);

/* Frees what the reader owns; safe on a zeroed one. */
void reader_clear(struct reader *reader);

/* Below, object may be NULL, which has no members. A null member counts as missing. */

/* True if there is such a member. */
bool reader_has(const json_t *object, const char *key);

/* Records a fault if the member is missing. */
void reader_require(struct reader *reader, const json_t *object, const char *key);

/* A number; 0 if missing. Values above most are a fault. Numbers above INT64_MAX are strings of
 * digits. */
uint64_t reader_u64(struct reader *reader, const json_t *object, const char *key);
uint64_t reader_number(struct reader *reader, const json_t *object, const char *key, uint64_t most);
uint32_t reader_u32(struct reader *reader, const json_t *object, const char *key);
int64_t reader_i64(struct reader *reader, const json_t *object, const char *key);
int32_t reader_i32(struct reader *reader, const json_t *object, const char *key);

bool reader_bool(struct reader *reader, const json_t *object, const char *key);

/* A string of 0x and hexadecimal digits; 0 if missing. */
uint64_t reader_address(struct reader *reader, const json_t *object, const char *key);

/* Text, restored from "KEY_hex" if it was invalid UTF-8; NULL if missing. Valid as long as the
 * document and the reader. */
const char *reader_text(struct reader *reader, const json_t *object, const char *key);

/* A time in UTC as of RFC 3339; returns false, and leaves *when, if it is missing. */
bool reader_time(struct reader *reader, const json_t *object, const char *key,
		 struct timespec *when);

/* Text of at most size bytes, without a NUL at full length. All zeros if missing. */
void reader_name(struct reader *reader, const json_t *object, const char *key, char *name,
		 size_t size);

/* Text that reports print verbatim: printable ASCII only. */
const char *reader_phrase(struct reader *reader, const json_t *object, const char *key);

/* Enters a member that is an object; NULL if missing. Call reader_leave() in either case. */
const json_t *reader_enter(struct reader *reader, const json_t *object, const char *key);

/* Array with this name, and its length; 0 if missing. */
const json_t *reader_array(struct reader *reader, const json_t *object, const char *key, size_t *n);

/* Enters an element of the array that is an object. As reader_enter(). */
const json_t *reader_element(struct reader *reader, const json_t *array, const char *key,
			     size_t index);

void reader_leave(struct reader *reader);

#endif
