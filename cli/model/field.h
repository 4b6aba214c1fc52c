/* SPDX-License-Identifier: Apache-2.0 */
/* Members of structures, described once: by these rows threads are merged, and JSON is
 * written and read. */
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
	FIELD_NAME,    /* bytes up to a NUL or its size */
	FIELD_TEXT,    /* const char *; not written if it is NULL */
	FIELD_PHRASE,  /* the same; printable ASCII only */
	FIELD_OWN,     /* the same, in memory that is freed with the row; not "" */
	FIELD_OBJECT,  /* members of a structure, or of this one, that are together in JSON */
	FIELD_ROWS,    /* a pointer to structures, and their number, a size_t */
	/* These are more than one member in JSON. */
	FIELD_CALL,     /* the number of a system call, with its mode */
	FIELD_WHOLE,    /* a distribution, or none, of what is described in thread_row.h */
	FIELD_TIMES,    /* a distribution behind its struct kd_count */
	FIELD_CPUS,     /* the bitmap of CPUs */
	FIELD_OPEN,     /* what crosses the window's edges */
	FIELD_LOCK,     /* enum kd_lock */
	FIELD_SLEPT_IN, /* a system call as FIELD_CALL, in an object; missing if it is none */
	FIELD_WORD,     /* a 32-bit number that is one of so many words */
	FIELD_FORM,     /* as its form says; in tables of cli/json only */
	FIELD_KINDS,
};

enum field_merge {
	MERGE_KEEP, /* it is the first one's, or merged elsewhere */
	MERGE_SUM,  /* up to the largest number; not known if one of them is not */
	MERGE_MAX,
	MERGE_MIN, /* of those whose count is not 0 */
	MERGE_ANY, /* all bits that are set in one or the other */
};

enum field_flag {
	FIELD_REQUIRED = 1,
	FIELD_ONE = 2,    /* it is 1 if JSON does not have it */
	FIELD_IF_ANY = 4, /* not written while all bytes of it, or of its fields, are 0 */
	FIELD_FAR = 64,   /* FIELD_OBJECT: a pointer to it; NULL while all of it is 0 */
	FIELD_KEPT = 8,   /* FIELD_ROWS: memory of the reader, not of who fills the structure */
	/* Of rows in a list, see rows.h: */
	FIELD_KEY = 16,  /* rows with the same keys are one; keys come before figures */
	FIELD_EACH = 32, /* a key of which each value has a row of others of its own */
};

struct distribution;
struct json_form;
struct row_list;
struct field {
	const char *key;
	enum field_kind kind;
	enum field_merge merge;
	unsigned int flags;         /* enum field_flag */
	size_t at, size;            /* in the structure; FIELD_ROWS: of a row */
	size_t n;                   /* FIELD_ROWS: where their number is */
	size_t count;               /* MERGE_MIN: where it is */
	size_t known;               /* where a bool says whether it is known; 0: it always is */
	const struct field *fields; /* FIELD_OBJECT, FIELD_ROWS: their members */
	/* FIELD_WHOLE: enum open_kind; FIELD_WORD: how many; FIELD_OWN: bytes at most */
	unsigned int of;
	const char *const *words; /* FIELD_WORD */
	const struct json_form *form;
	const struct row_list
		*list;      /* FIELD_ROWS: that describes them, in place of fields and size */
	const char *label;  /* in metrics; NULL: it is none */
	unsigned int order; /* rows are sorted by 1 before 2; 0: not by this one */
};

/* Ends a table. */
#define FIELDS_END                                                                                 \
	{                                                                                          \
		.key = NULL                                                                        \
	}

/* Whether a member of so many bytes can be of a kind. */
#define FIELD_FITS(of, bytes)                                                                      \
	((of) == FIELD_BOOL ? (bytes) == sizeof(bool)                                              \
	 : (of) == FIELD_U32 || (of) == FIELD_I32 || (of) == FIELD_WORD                            \
		 ? (bytes) == sizeof(uint32_t)                                                     \
	 : (of) == FIELD_TEXT || (of) == FIELD_PHRASE || (of) == FIELD_OWN                         \
		 ? (bytes) == sizeof(char *)                                                       \
	 : (of) == FIELD_U64 || (of) == FIELD_I64 || (of) == FIELD_ADDRESS                         \
		 ? (bytes) == sizeof(uint64_t)                                                     \
		 : true)

/* A row for a member of a structure, with whatever else there is to say. It does not compile
 * if the member is no size for its kind. */
#define FIELD(text, of, type, member, ...)                                                         \
	{                                                                                          \
		.key = (text), .kind = (of),                                                       \
		.at = offsetof(type, member) +                                                     \
		      0 * sizeof(char[FIELD_FITS(of, sizeof(((type *)0)->member)) ? 1 : -1]),      \
		.size = sizeof(((type *)0)->member), __VA_ARGS__                                   \
	}

/* A figure, uint64_t; how: enum field_merge. */
#define FIELD_FIGURE(text, how, type, member, ...)                                                 \
	FIELD(text, FIELD_U64, type, member, .merge = (how), __VA_ARGS__)

#define FIELD_SUM(key, type, member) FIELD_FIGURE(key, MERGE_SUM, type, member)

/* Of what is counted; prefix: a structure in this one, with its dot, or nothing. */
#define FIELD_COUNT(type, prefix) FIELD_SUM("count", type, prefix count)
#define FIELD_TOTAL(type, prefix) FIELD_SUM("total_ns", type, prefix total)
#define FIELD_MIN(type, prefix)                                                                    \
	FIELD_FIGURE("min_ns", MERGE_MIN, type, prefix min, .count = offsetof(type, prefix count))
#define FIELD_MAX(type, prefix) FIELD_FIGURE("max_ns", MERGE_MAX, type, prefix max)
#define FIELDS_COUNTED(type, prefix)                                                               \
	FIELD_COUNT(type, prefix), FIELD_TOTAL(type, prefix), FIELD_MAX(type, prefix)

/* Rows, and the member that is their number: n_ and the same, or any other. */
#define FIELD_LIST_OF(text, type, member, number, ...)                                             \
	{                                                                                          \
		.key = (text), .kind = FIELD_ROWS, .at = offsetof(type, member),                   \
		.size = sizeof(*((type *)0)->member), .n = offsetof(type, number), __VA_ARGS__     \
	}
#define FIELD_LIST(text, type, member, ...)                                                        \
	FIELD_LIST_OF(text, type, member, n_##member, __VA_ARGS__)

/* Merges what a structure has into another one of its type; without FIELD_ROWS and
 * FIELD_OPEN, whose rows have to be found first. Returns 0 or -ENOMEM. */
int fields_merge(const struct field *fields, void *into, const void *from);

/* The order of a member in two structures, as strcmp(). Kinds that are numbers, bool or text in
 * the structure only. */
int field_compare(const struct field *field, const void *a, const void *b);

/* The structure of a member of FIELD_OBJECT in another one. NULL: it is far, and all 0. */
const void *field_object(const struct field *field, const void *structure);

/* The same to be changed: what is far is made. Returns NULL without memory. */
void *field_object_make(const struct field *field, void *structure);

/* Makes a member of FIELD_OWN of a text, which may end at a NUL before so many bytes. Returns 0 or
 * -ENOMEM. */
int field_own(const char **member, const char *text, size_t most);

/* Makes members of FIELD_OWN and distributions, which a row shares with the one that it is a copy
 * of, its own. Returns 0, or -ENOMEM: then it has some of them. */
int fields_detach(const struct field *fields, void *row);

/* Releases them. */
void fields_free(const struct field *fields, void *row);

/* The distribution that a member is, NULL if it is none. */
struct distribution *field_times(const struct field *field, void *structure);

#endif
