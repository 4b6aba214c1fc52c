/* SPDX-License-Identifier: Apache-2.0 */
/* From a stack's copy to the addresses of its frames, by the call frame information of mapped
 * objects. That information is hostile: it is validated before libunwind sees it, and each stack
 * has a budget. */
#ifndef UNWIND_H
#define UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "stack_copy.h"

#define UNWIND_FRAMES 192

/* Why a stack ends. */
enum unwind_stop {
	UNWIND_COMPLETE,   /* at the outermost frame */
	UNWIND_NO_OBJECT,  /* the next address is in no file: JIT code, or corruption */
	UNWIND_NO_CFI,     /* the function has no call frame information */
	UNWIND_BAD_CFI,    /* that information is damaged or unsupported */
	UNWIND_NOT_COPIED, /* the stack continues in memory that was not copied (a hole) */
	UNWIND_TRUNCATED,  /* the stack continues beyond the copy */
	UNWIND_LOOP,       /* frames do not lead outwards */
	UNWIND_TOO_DEEP,   /* more than UNWIND_FRAMES */
	UNWIND_BUDGET,     /* too many steps */
	UNWIND_ELSEWHERE,  /* the function switched from another stack to this one */
	UNWIND_BEYOND,     /* the next address is in a file that is not read: there are too many */
	UNWIND_STOPS,
};

struct unwound {
	uint64_t ip[UNWIND_FRAMES]; /* innermost first */
	/* Look up ip itself, not ip - 1, because it follows no call: the first frame, what a
	 * signal handler returns to, and what the signal interrupted. */
	bool exact[UNWIND_FRAMES];
	unsigned int n;
	enum unwind_stop stop;
	bool by_frame_pointers; /* used for some frames: a function without one hides its caller */
	bool through_made;      /* some frames are JIT code */
	struct digest digest;   /* see digest_finish() */
};

/* Data for unwinding through mapped code. Pointers stay valid until unwinder_flush() or _free(). */
struct cfi;
struct elf_file;
struct go_table;
struct unwind_object {
	struct cfi *cfi;             /* NULL: none */
	struct go_table *go;         /* NULL: not a Go program */
	const struct elf_file *file; /* NULL: not readable */
	uint64_t bias;               /* address in memory - address in the file */
	bool anonymous;              /* not in a file */
	bool beyond;                 /* in a file that is not read */
};

/* Finds the object with code at an address; *object starts empty. Returns false if no code is
 * mapped there. */
typedef bool unwind_find(void *context, uint64_t address, struct unwind_object *object);

struct unwinder;

/* Returns NULL without memory. */
struct unwinder *unwinder_new(unwind_find *find, void *context);

/* NULL is allowed. */
void unwinder_free(struct unwinder *unwinder);

/* Drops all cached rules. Call when find would answer differently: mappings have changed, or the
 * next stack is from another time. */
void unwinder_flush(struct unwinder *unwinder);

/* Unwinds a stack. It has at least one frame, the interrupted instruction. */
void unwind(struct unwinder *unwinder, const struct stack_copy *copy, struct unwound *unwound);

/* --- Code at the edge of a function --- */

/* What machine code tells about its stack frame. */

#if defined(__x86_64__)
#define CALL_SIZE 7 /* most bytes of a call */
#else
#define CALL_SIZE 4
#endif

/* True if these CALL_SIZE bytes end with a call. */
bool code_ends_with_call(const uint8_t *code);

/* True if they end with a direct call; *distance: from its end to the target. */
bool code_ends_with_call_to(const uint8_t *code, int64_t *distance);

#define EDGE_SIZE 4
#define BEGIN_SIZE 8

/* True if a function with these first BEGIN_SIZE bytes pushes something. */
bool code_begins_frame(const uint8_t *code);

/* What a function has pushed so far. */
enum code_location {
	CODE_UNKNOWN,
	CODE_AT_EDGE, /* nothing: it was just called, or is about to return */
	CODE_PUSHED,  /* only its caller's frame pointer */
};

/* Decides by the EDGE_SIZE bytes before and after an instruction. CODE_UNKNOWN on machines whose
 * calls push nothing. */
enum code_location code_location(const uint8_t *before, const uint8_t *at);

#endif
