/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol between this process and the one that resolves stacks. One sends requests, the other
 * answers; before it answers, it may ask for files. Each end treats messages as hostile. */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/signals.h"
#include "cli/sandbox/helper.h"
#include "resolver.h"
#include "stack_copy.h"
#include "unwind.h"

#define PROTOCOL_OBJECTS 4096     /* most objects in a run */
#define PROTOCOL_MAPPINGS 16384   /* per process, at a time */
#define PROTOCOL_SPACES 1024      /* address spaces at a time, numbered from 0 */
#define PROTOCOL_COPIES 512       /* per batch */
#define PROTOCOL_STACKS 16384     /* stack IDs, from 0 */
#define PROTOCOL_SHARED (4 << 20) /* bytes of shared memory */
#define PROTOCOL_FUNCTION 2048    /* bytes of a frame's texts, with their NUL */
#define PROTOCOL_PATH PACKET_TEXT_MOST
#define PROTOCOL_BUILD_ID 256

_Static_assert(sizeof(struct mapping) * PROTOCOL_MAPPINGS <= PROTOCOL_SHARED, "they fit");
_Static_assert(sizeof(struct frame) + PROTOCOL_FUNCTION + PROTOCOL_PATH + PROTOCOL_BUILD_ID <
		       PACKET_PAYLOAD,
	       "a frame fits");

enum message_type {
	/* To the child. */
	MESSAGE_OBJECT, /* number and path; may carry a file. Answer: DONE */
	/* n mappings in the shared memory, for space number, valid from t on; status 1: the
	 * number now means another space. Answer: DONE, with -E2BIG if they do not fit */
	MESSAGE_MAPPINGS,
	/* n copies in the shared memory. Answer: (FRAMES* STACK | DIGEST)* IDS */
	MESSAGE_COPIES,
	/* carries a file with names of JIT code, for space number; status: its enum jit_file.
	 * Answer: DONE */
	MESSAGE_JIT,
	MESSAGE_FILE, /* answers OPEN: carries a file, or none */
	/* From the child. */
	MESSAGE_DONE,   /* status: 0 or a negative errno */
	MESSAGE_OPEN,   /* path of a debug file for object number. Answer: FILE */
	MESSAGE_FRAMES, /* n more frames of the next stack */
	/* the stack is complete and gets the ID number; status: its enum unwind_stop; n 1: some
	 * of its frames were found by frame pointers */
	MESSAGE_STACK,
	MESSAGE_DIGEST, /* what the stack of copy number in the batch was unwound from */
	MESSAGE_IDS,    /* IDs of all stacks in the batch: n uint32_t */
};

/* A copy in the shared memory, followed by its data. Each begins at a multiple of 8. */
struct shared_copy {
	uint64_t t;
	uint64_t space; /* number */
	struct stack_copy
		copy; /* its data pointer is ignored; at most KD_STACK_MAX in both parts */
};

/* Appends a frame and counts it in n. Long texts are cut and end with "...". Returns false if
 * the packet is full. */
bool packet_put_frame(struct packet *packet, const struct frame *frame);

/* Sets the payload to what a stack was unwound from. */
void packet_put_digest(struct packet *packet, const struct digest *digest);

/* Reads that payload. Returns 0 or -EBADMSG. */
int packet_get_digest(const struct packet *packet, struct digest *digest);

/* Reads the frame at *at and advances *at; its texts point into the packet. Returns 1; 0 at the
 * end; -EBADMSG. */
int packet_get_frame(const struct packet *packet, size_t *at, struct frame *frame);

/* Reason why unwinding stopped, for people: "no unwind information", ...; NULL for
 * UNWIND_COMPLETE. */
const char *unwind_stop_text(enum unwind_stop stop);

#endif
