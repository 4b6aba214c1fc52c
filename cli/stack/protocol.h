/* SPDX-License-Identifier: Apache-2.0 */
/* What this process and the one that resolves stacks say to each other. One asks, the other
 * answers; while it works on the answer, it may ask for files. Each end takes the other's messages
 * for hostile. */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/sandbox/helper.h"
#include "resolver.h"
#include "stack_copy.h"

#define PROTOCOL_OBJECTS 4096     /* known at most, over the run */
#define PROTOCOL_MAPPINGS 16384   /* of a process, at one time */
#define PROTOCOL_SPACES 1024      /* address spaces at one time, numbered from 0 on */
#define PROTOCOL_COPIES 512       /* in a batch */
#define PROTOCOL_STACKS 16384     /* IDs of stacks, from 0 on */
#define PROTOCOL_SHARED (4 << 20) /* bytes of shared memory */
#define PROTOCOL_FUNCTION 2048    /* bytes of the texts of a frame, with their NUL */
#define PROTOCOL_PATH PACKET_TEXT_MOST
#define PROTOCOL_BUILD_ID 256

_Static_assert(sizeof(struct mapping) * PROTOCOL_MAPPINGS <= PROTOCOL_SHARED, "they fit");
_Static_assert(sizeof(struct resolved_frame) + PROTOCOL_FUNCTION + PROTOCOL_PATH +
			       PROTOCOL_BUILD_ID <
		       PACKET_PAYLOAD,
	       "a frame fits");

enum message_type {
	/* To the child. */
	MESSAGE_OBJECT, /* number and path; may bring a file. Answer: DONE */
	/* n of them are in the shared memory, of the space number, valid from t on; status 1: it is
	 * another space than the one with this number before. Answer: DONE, with -E2BIG if there is
	 * no room for them */
	MESSAGE_MAPPINGS,
	/* n of them are in the shared memory. Answer: (FRAMES* STACK | KNOWN)* IDS */
	MESSAGE_COPIES,
	/* Brings a file with the names of code that is made at run time, of the space number;
	 * status: its enum jit_file. Answer: DONE */
	MESSAGE_JIT,
	MESSAGE_FILE, /* answers OPEN: brings a file, or none */
	/* From the child. */
	MESSAGE_DONE,   /* status: 0 or a negative errno */
	MESSAGE_OPEN,   /* path of a debug file for object number. Answer: FILE */
	MESSAGE_FRAMES, /* n further frames of the next stack */
	/* the stack is complete; from now on it is meant by the ID number; status: its enum
	 * unwind_stop; n 1: some of its frames were found by frame pointers */
	MESSAGE_STACK,
	MESSAGE_KNOWN, /* what the stack of copy number of the batch was unwound from */
	MESSAGE_IDS,   /* the IDs of all stacks of the batch: n uint32_t */
};

/* A copy in the shared memory, followed by its bytes of data. Each begins at a
 * multiple of 8. */
struct shared_copy {
	uint64_t t;
	uint64_t space; /* its number */
	struct stack_copy
		copy; /* whose data is not looked at; KD_STACK_MAX of both parts at most */
};

/* Appends a frame and counts it in n. Texts that are too long are cut and end with
 * "...". Returns false if the packet is full. */
bool packet_put_frame(struct packet *packet, const struct resolved_frame *frame);

/* Sets the payload to what a stack was unwound from. */
void packet_put_known(struct packet *packet, const struct known *known);

/* Takes that from a packet. Returns 0 or -EBADMSG. */
int packet_get_known(const struct packet *packet, struct known *known);

/* Takes the frame at *at, and moves *at to the next; its texts point into the
 * packet. Returns 1; 0 at the end; -EBADMSG. */
int packet_get_frame(const struct packet *packet, size_t *at, struct frame *frame);

/* Why a stack was not unwound to its end, for people: "no unwind information", ...; NULL for
 * UNWIND_COMPLETE. */
const char *unwind_stop_text(enum unwind_stop stop);

#endif
