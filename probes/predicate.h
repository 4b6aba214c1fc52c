/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a trigger's condition, as in "up:f if arg0 == 3". condition.h finds where the
 * values are. */
#ifndef PREDICATE_H
#define PREDICATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PREDICATE_TERMS 8
#define PREDICATE_LOADS 4 /* memory reads for one value */
#define PREDICATE_ARGUMENTS 32
#define PREDICATE_NAME 64 /* bytes of a register's or field's name, with its NUL */

enum predicate_location { PREDICATE_ARG, PREDICATE_RET, PREDICATE_REG, PREDICATE_FIELD };

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

/* A number of this many bytes. */
struct predicate_type {
	uint8_t size; /* 1, 2, 4, 8; 0: not given */
	bool is_signed;
};

struct predicate_value {
	enum predicate_location location;
	unsigned int argument;            /* counted from 0 */
	char name[PREDICATE_NAME];        /* of the register, or of a tracepoint's field */
	unsigned int loads;               /* how often memory is read to get the value */
	int64_t offsets[PREDICATE_LOADS]; /* added to the address before each read */
	struct predicate_type type;
	uint64_t mask; /* bits that count; 0: not given */
};

/* A comparison. */
struct predicate_term {
	struct predicate_value value;
	enum predicate_compare compare;
	struct predicate_number number;
	bool ends; /* last of a group that must all be true; alternatives follow */
	/* Bytes into the text; what is before is compared as bytes. */
	size_t value_at, number_at;
};

struct predicate {
	struct predicate_term terms[PREDICATE_TERMS];
	size_t n;
};

/* What is wrong with a text, and where. */
struct predicate_error {
	size_t at;       /* byte of the text; its length: at its end */
	const char *why; /* a string constant */
};

/* Reads a condition such as "arg0 == 3 && [arg1+8]:u32 > 5". Returns 0, or -EINVAL with *error
 * filled. */
int predicate_parse(struct predicate *predicate, const char *text, struct predicate_error *error);

/* True if two predicates say the same, however they are written. */
bool predicate_is(const struct predicate *a, const struct predicate *b);

/* The grammar, for error messages. */
extern const char *const predicate_grammar[];
extern const size_t predicate_grammar_len;

#endif
