/* SPDX-License-Identifier: Apache-2.0 */
/* What a trigger's condition says, as in "up:f if arg0 == 3": the text alone. Where the values
 * are is condition.h's. */
#ifndef PREDICATE_H
#define PREDICATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PREDICATE_TERMS 8
#define PREDICATE_LOADS 4 /* of memory, for one value */
#define PREDICATE_ARGUMENTS 32
#define PREDICATE_NAME 64 /* bytes of the name of a register or field, with its NUL */

enum predicate_place { PREDICATE_ARG, PREDICATE_RET, PREDICATE_REG, PREDICATE_FIELD };

enum predicate_compare {
	PREDICATE_EQ,
	PREDICATE_NE,
	PREDICATE_LT,
	PREDICATE_LE,
	PREDICATE_GT,
	PREDICATE_GE,
};

struct predicate_number {
	uint64_t magnitude;
	bool negative;
};

/* A number of so many bytes. */
struct predicate_type {
	uint8_t size; /* 1, 2, 4, 8; 0: not given */
	bool is_signed;
};

struct predicate_value {
	enum predicate_place place;
	unsigned int argument;            /* from 0 on */
	char name[PREDICATE_NAME];        /* of the register, or a tracepoint's field */
	unsigned int loads;               /* how often memory is read to come to the value */
	int64_t offsets[PREDICATE_LOADS]; /* what is added to the address before each */
	struct predicate_type type;
	uint64_t mask; /* bits that count; 0: not given */
};

/* A comparison. */
struct predicate_term {
	struct predicate_value value;
	enum predicate_compare compare;
	struct predicate_number number;
	bool ends; /* the last of those that must all be true; what follows is an alternative */
	size_t value_at, number_at; /* in the text, bytes */
};

struct predicate {
	struct predicate_term terms[PREDICATE_TERMS];
	size_t n;
};

/* What is wrong with a text, and where. */
struct predicate_error {
	size_t at;       /* the byte of the text; its length: behind its end */
	const char *why; /* a string constant */
};

/* Reads a condition such as "arg0 == 3 && [arg1+8]:u32 > 5". Returns 0, or -EINVAL with *error
 * filled. */
int predicate_parse(struct predicate *predicate, const char *text, struct predicate_error *error);

/* Whether two of them say the same, wherever it is written. */
bool predicate_is(const struct predicate *a, const struct predicate *b);

/* The grammar, for error messages. */
extern const char *const predicate_grammar[];
extern const size_t predicate_grammar_len;

#endif
