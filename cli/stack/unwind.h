/* SPDX-License-Identifier: Apache-2.0 */
/* From a stack's copy to the addresses of its frames, by the call frame
 * information of the objects that were mapped. All of it is hostile: it is
 * validated before libunwind sees it, and each stack has a budget. */
#ifndef UNWIND_H
#define UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "stack_copy.h"

#define UNWIND_FRAMES 192

/* Why a stack ends where it does. */
enum unwind_stop {
	UNWIND_COMPLETE,   /* at the outermost frame */
	UNWIND_NO_OBJECT,  /* the next address is in no file: code made at run time, or damage */
	UNWIND_NO_CFI,     /* the function has no call frame information */
	UNWIND_BAD_CFI,    /* it has some that is damaged, or of a kind that is not followed */
	UNWIND_NOT_COPIED, /* the stack goes on in memory that was not copied (a hole) */
	UNWIND_TRUNCATED,  /* the stack goes on behind the end of what was copied */
	UNWIND_LOOP,       /* frames that do not lead outwards */
	UNWIND_TOO_DEEP,   /* more than UNWIND_FRAMES */
	UNWIND_BUDGET,     /* it took too many steps */
	UNWIND_ELSEWHERE,  /* the function has left another stack for this one */
	UNWIND_STOPS,
};

struct unwound {
	uint64_t ip[UNWIND_FRAMES]; /* innermost first */
	/* Look up ip itself, not ip - 1: nothing was called there (the first frame,
	 * what a signal's handler returns to, and what the signal interrupted). */
	bool exact[UNWIND_FRAMES];
	unsigned int n;
	enum unwind_stop stop;
	bool by_frame_pointers; /* some of them: one that has none hides its caller */
	bool through_made;      /* some are code that was made at run time */
	struct known known;     /* what it was unwound from; see known_finish() */
};

/* What is to be known of mapped code for unwinding through it. What it points to stays until
 * unwinder_flush() or _free(). */
struct cfi;
struct elf_file;
struct go_table;
struct unwind_object {
	struct cfi *cfi;             /* NULL: it has none */
	struct go_table *go;         /* NULL: it is not of a program in Go */
	const struct elf_file *file; /* NULL: none that can be read */
	uint64_t bias;               /* address in memory - address in the file */
	bool anonymous;              /* of no file */
};

/* Finds the object whose code is at an address; *object is empty before. Returns false if no
 * code is mapped there. */
typedef bool unwind_find(void *context, uint64_t address, struct unwind_object *object);

struct unwinder;

/* Returns NULL without memory. */
struct unwinder *unwinder_new(unwind_find *find, void *context);

/* NULL is allowed. */
void unwinder_free(struct unwinder *unwinder);

/* Forgets what is remembered of code. To be called when find would answer otherwise
 * than before: mappings have changed, or the next stack is from another time. */
void unwinder_flush(struct unwinder *unwinder);

/* Unwinds one stack. It has at least one frame, the interrupted instruction. */
void unwind(struct unwinder *unwinder, const struct stack_copy *copy, struct unwound *unwound);

#endif
