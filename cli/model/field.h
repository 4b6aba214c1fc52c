/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of struct members. These tables drive merging, and JSON output and input. */
#ifndef FIELD_H
#define FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind {
	FIELD_U64,
	FIELD_U32,
	FIELD_I32,
	FIELD_I64,
	FIELD_BOOL,
	FIELD_ADDRESS, /* uint64_t */
	FIELD_NAME,    /* bytes up to a NUL, or full size */
	FIELD_TEXT,    /* const char *; not written if NULL */
	FIELD_PHRASE,  /* like FIELD_TEXT, printable ASCII only */
	FIELD_OWN,     /* like FIELD_TEXT, allocated and freed with the row; not "" */
	FIELD_OBJECT,  /* a nested structure, or members of this one that JSON groups */
	FIELD_ROWS,    /* a pointer to structures, and a size_t with their number */
	/* Kinds with more than one member in JSON: */
	FIELD_CALL,     /* the number of a system call, with its mode */
	FIELD_COMPLETE, /* a distribution, or none, of a period in thread_row.h */
	FIELD_TIMES,    /* a distribution after its struct kd_count */
	FIELD_CPUS,     /* the bitmap of CPUs */
	FIELD_MOMENT, /* uint64_t: CLOCK_MONOTONIC, as a wall clock time; 0: unknown, not written */
	FIELD_OPEN,   /* items that cross the window's edges */
	FIELD_LOCK,   /* enum kd_lock */
	FIELD_SLEPT_IN, /* a system call like FIELD_CALL, in an object; missing if none */
	FIELD_WORD,     /* an index into a table of words, in 32 or 8 bits */
	FIELD_FORM,     /* custom, see its form; only in tables of cli/json */
	FIELD_KINDS,
};

enum field_merge {
	MERGE_KEEP, /* keeps the first value, or is merged elsewhere */
	MERGE_SUM,  /* saturates; unknown if either value is */
	MERGE_MAX,
	MERGE_OF_MAX, /* of the one with the larger figure, which is at `count` */
	MERGE_MIN,    /* over rows with a nonzero count */
	MERGE_ANY,    /* union of all set bits */
};

enum field_flag {
	FIELD_REQUIRED = 1,
	FIELD_ONE = 2,    /* defaults to 1 if missing in JSON */
	FIELD_IF_ANY = 4, /* not written while all bytes, or all its fields, are 0 */
	FIELD_FAR = 64,   /* FIELD_OBJECT: by pointer; NULL while all zero */
	FIELD_LENT = 8,   /* FIELD_ROWS: rows live in the JSON reader's memory */
	/* Rows of a list, see rows.h: */
	FIELD_KEY = 16,  /* rows with equal keys are merged; keys precede figures */
	FIELD_EACH = 32, /* a key whose values each have their own "others" row */
};

struct distribution;
struct json_form;
struct row_list;
struct field {
	const char *key;
	enum field_kind kind;
	enum field_merge merge;
	unsigned int flags;         /* enum field_flag */
	size_t at, size;            /* in the structure; FIELD_ROWS: size of a row */
	size_t n;                   /* FIELD_ROWS: offset of their number */
	size_t count;               /* MERGE_MIN, MERGE_OF_MAX: offset of the count, or maximum */
	size_t valid;               /* offset of the bool that says whether it is valid; 0:
				     * always valid */
	const struct field *fields; /* FIELD_OBJECT, FIELD_ROWS: their members */
	/* FIELD_COMPLETE: enum open_kind; FIELD_WORD: number of words; FIELD_OWN: most bytes */
	unsigned int of;
	const char *const *words; /* FIELD_WORD */
	const struct json_form *form;
	const struct row_list *list; /* FIELD_ROWS: used in place of fields and size */
	const char *label;           /* label in metrics; NULL: none */
	unsigned int order;          /* sort order of rows: 1 before 2; 0: not a sort key */
};

#define FIELDS_END                                                                                 \
	{                                                                                          \
		.key = NULL                                                                        \
	}

/* True if a member of this size fits the kind. */
#define FIELD_FITS(of, bytes)                                                                      \
	((of) == FIELD_BOOL   ? (bytes) == sizeof(bool)                                            \
	 : (of) == FIELD_WORD ? (bytes) == sizeof(uint32_t) || (bytes) == sizeof(uint8_t)          \
	 : (of) == FIELD_U32 || (of) == FIELD_I32 ? (bytes) == sizeof(uint32_t)                    \
	 : (of) == FIELD_TEXT || (of) == FIELD_PHRASE || (of) == FIELD_OWN                         \
		 ? (bytes) == sizeof(char *)                                                       \
	 : (of) == FIELD_U64 || (of) == FIELD_I64 || (of) == FIELD_ADDRESS || (of) == FIELD_MOMENT \
		 ? (bytes) == sizeof(uint64_t)                                                     \
		 : true)

/* Describes a member; further initializers may follow. Fails to compile if the size does not fit
 * the kind. */
#define FIELD(text, of, type, member, ...)                                                         \
	{                                                                                          \
		.key = (text), .kind = (of),                                                       \
		.at = offsetof(type, member) +                                                     \
		      0 * sizeof(char[FIELD_FITS(of, sizeof(((type *)0)->member)) ? 1 : -1]),      \
		.size = sizeof(((type *)0)->member), __VA_ARGS__                                   \
	}

/* A uint64_t figure; how: enum field_merge. */
#define FIELD_FIGURE(text, how, type, member, ...)                                                 \
	FIELD(text, FIELD_U64, type, member, .merge = (how), __VA_ARGS__)

#define FIELD_SUM(key, type, member, ...) FIELD_FIGURE(key, MERGE_SUM, type, member, __VA_ARGS__)

/* Members of a count; prefix: a nested structure with its dot, or nothing. */
#define FIELD_COUNT(type, prefix) FIELD_SUM("count", type, prefix count)
#define FIELD_TOTAL(type, prefix) FIELD_SUM("total_ns", type, prefix total)
#define FIELD_MIN(type, prefix)                                                                    \
	FIELD_FIGURE("min_ns", MERGE_MIN, type, prefix min, .count = offsetof(type, prefix count))
/* When the longest one began; behind its length. */
#define FIELD_BEGAN(text, type, longest, member)                                                   \
	FIELD(text, FIELD_MOMENT, type, member, .merge = MERGE_OF_MAX,                             \
	      .count = offsetof(type, longest), .flags = FIELD_IF_ANY)
#define FIELD_MAX(type, prefix)                                                                    \
	FIELD_FIGURE("max_ns", MERGE_MAX, type, prefix max),                                       \
		FIELD_BEGAN("max_at", type, prefix max, prefix began)
#define FIELDS_COUNTED(type, prefix)                                                               \
	FIELD_COUNT(type, prefix), FIELD_TOTAL(type, prefix), FIELD_MAX(type, prefix)
#define FIELDS_SPAN(type, prefix)                                                                  \
	FIELD_COUNT(type, prefix), FIELD_TOTAL(type, prefix), FIELD_MIN(type, prefix),             \
		FIELD_MAX(type, prefix)

/* Rows, and the member with their number: n_<member> by default. */
#define FIELD_LIST_OF(text, type, member, number, ...)                                             \
	{                                                                                          \
		.key = (text), .kind = FIELD_ROWS, .at = offsetof(type, member),                   \
		.size = sizeof(*((type *)0)->member), .n = offsetof(type, number), __VA_ARGS__     \
	}
#define FIELD_LIST(text, type, member, ...)                                                        \
	FIELD_LIST_OF(text, type, member, n_##member, __VA_ARGS__)

/* Merges a structure into another of its type. Skips FIELD_ROWS and FIELD_OPEN, whose rows need
 * a lookup first. Returns 0 or -ENOMEM. */
int fields_merge(const struct field *fields, void *into, const void *from);

/* Compares a member of two structures, like strcmp(). Only for numbers, bool, calls slept in, and
 * text stored in the structure. */
int field_compare(const struct field *field, const void *a, const void *b);

/* Nested structure of a FIELD_OBJECT. NULL: by pointer, and all zero. */
const void *field_object(const struct field *field, const void *structure);

/* Nested structure to write to; allocates it if it is by pointer. Returns NULL without memory. */
void *field_object_make(const struct field *field, void *structure);

/* Sets a FIELD_OWN member to a copy of text, of most bytes or up to a NUL. Returns 0 or -ENOMEM. */
int field_own(const char **member, const char *text, size_t most);

/* The distribution in a member, NULL if it has none. */
struct distribution *field_times(const struct field *field, void *structure);

/* --- Tables of threads --- */

/* For merging threads, and for their JSON. Defined in thread_row.c. */
extern const struct field thread_fields[];  /* of struct thread_row */
extern const struct field culprit_fields[]; /* of struct culprit */
extern const struct field io_fields[];      /* of struct io_row[KD_IO_KINDS] */

#endif
