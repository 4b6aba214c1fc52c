/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol between this process and the one that resolves stacks. One sends requests, the other
 * answers; before it answers, it may ask for files. Each end treats messages as hostile. Here are
 * the messages, and both ends. */
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

/* --- The privileged end --- */

/* Submits stacks in batches and checks all replies, since the other process reads hostile files. */

struct client;

/* Called for a debug file of an object. Returns a descriptor, which the client takes over;
 * -ENOENT or another -errno, which are equal to the other process; -EBADMSG: it may not ask
 * that, and the connection is dropped. */
typedef int client_open(void *context, uint32_t object, const char *path);

/* Socket and shared memory (PROTOCOL_SHARED bytes) are not owned. capacity: distinct stacks stored.
 * patience: time for an answer, in ns, besides the time for each stack. Returns NULL without
 * memory. */
struct client *client_new(int socket, void *shared, size_t capacity, uint64_t patience,
			  client_open *open, void *context);

/* Frees all stacks, too. NULL is allowed. */
void client_free(struct client *client);

/* Makes all waits end soon if this program should end: see signals_wait(). */
void client_heed(struct client *client, struct signals *signals);

/* Below, all return 0, or a negative errno if the other process is no longer usable. -EPIPE: it
 * has ended; -ETIMEDOUT: it takes too long; -EINTR: this program should end; -EBADMSG: it
 * violates the protocol; or what it reported. After that, only client_abandon() may be called. */

/* Waits until the other process reports that it is ready. If it is not, text gets the reason. */
int client_greeted(struct client *client, char text[PROTOCOL_PATH]);

/* Adds an object with the next number. The caller keeps the descriptor (-1: none). */
int client_object(struct client *client, uint32_t number, int fd, const char *path);

/* Sets all mappings of a space from t on; at most PROTOCOL_MAPPINGS. anew: the number was
 * unused, or belonged to another space. Also returns -E2BIG: they do not fit in the other
 * process, which goes on. */
int client_mappings(struct client *client, uint32_t space, bool anew, uint64_t t,
		    const struct mapping *mappings, size_t n);

/* A process of that space names its JIT code in a file, whose descriptor the caller keeps. */
int client_jit(struct client *client, uint32_t space, enum jit_file kind, int fd);

/* Registers a function that receives what stacks were unwound from, for copies with mapped_at. */
void client_tell_digests(struct client *client, stacks_digested *tell, void *context);

/* Submits a copy of a process in that space for resolution: *stack is set by the next
 * client_flush() at the latest. */
int client_submit(struct client *client, uint32_t space, uint64_t t, const struct stack_copy *copy,
		  const struct stack **stack);

/* Waits for all submitted stacks. */
int client_flush(struct client *client);

/* Gives up on submitted stacks, which count as failed. */
void client_abandon(struct client *client);

struct stack_counts client_counts(const struct client *client);

/* --- Deduplication of stacks --- */

struct stack_table;

/* capacity: most stacks; memory is limited as well. Returns NULL without memory. */
struct stack_table *stack_table_new(size_t capacity);

/* Frees all stacks, too. NULL is allowed. */
void stack_table_free(struct stack_table *table);

/* Returns the stored stack equal to this one, whose reason to stop is a constant. Copies all
 * texts of the frames. NULL if another one does not fit. */
const struct stack *stack_table_get(struct stack_table *table, const struct stack *like);

/* --- The unprivileged end --- */

/* Answers requests with resolver.h. */

struct server;

/* shared: PROTOCOL_SHARED bytes that the other process writes while this one waits; not owned,
 * nor is the socket. Returns NULL without memory. */
struct server *server_new(int socket, const void *shared);

/* NULL is allowed. */
void server_free(struct server *server);

/* Answers a request and takes over its file. Returns 0, or a negative errno if the connection is
 * no longer usable. */
int server_answer(struct server *server, struct packet *request);

/* Tells the other process whether it may send requests: status 0 or a negative errno, and a
 * text. Returns 0 or a negative errno. */
int server_greet(int socket, int status, const char *text);

/* Answers until the other process closes the connection: 0. Another -errno on failure. */
int server_run(struct server *server);

/* --- Stacks resolved before --- */

struct stack_cache;

/* IDs are 0 to capacity - 1. Returns NULL without memory. */
struct stack_cache *stack_cache_new(uint32_t capacity);

/* NULL is allowed. */
void stack_cache_free(struct stack_cache *cache);

/* Makes space for n more stacks, by dropping all if necessary. */
void stack_cache_reserve(struct stack_cache *cache, uint32_t n);

/* Finds the ID of a stack unwound with mappings of this version. Otherwise assigns the next one,
 * which needs space, and sets *added. Returns 0, -ENOSPC or -ENOMEM. */
int stack_cache_find(struct stack_cache *cache, uint64_t version, const struct unwound *unwound,
		     uint32_t *id, bool *added);

#endif
