/* SPDX-License-Identifier: Apache-2.0 */
/* The privileged end of protocol.h: hands stacks over in batches and checks all that
 * comes back, as the other process reads hostile files. */
#ifndef CLIENT_H
#define CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "cli/base/signals.h"
#include "protocol.h"
#include "stack_copy.h"

struct client;

/* What became of the stacks. */
struct client_counts {
	uint64_t resolved;   /* have got a stack */
	uint64_t incomplete; /* of those */
	uint64_t beyond;     /* have not, for want of room */
	uint64_t failed;     /* have not, as the other process did not answer properly */
};

/* Asked for a debug file of an object. Returns a descriptor, which becomes the
 * client's; -ENOENT, or another -errno that is the same to the other process, except
 * -EBADMSG: it may not ask that, and the connection is given up. */
typedef int client_open(void *context, uint32_t object, const char *path);

/* Socket and shared memory (PROTOCOL_SHARED bytes) are not owned. Room: how many
 * different stacks are kept. Patience: how long an answer may take, in ns, besides
 * the time for each stack. Returns NULL without memory. */
struct client *client_new(int socket, void *shared, size_t room, uint64_t patience,
			  client_open *open, void *context);

/* Frees all stacks, too. NULL is allowed. */
void client_free(struct client *client);

/* From now on nothing takes much longer if this program is to end: see signals_wait(). */
void client_heed(struct client *client, struct signals *signals);

/* All of these return 0 or, if the other process is of no use any more, a negative
 * errno: -EPIPE: it has ended; -ETIMEDOUT: it takes too long; -EINTR: this program is to
 * end; -EBADMSG: it says what it may not say; or what it has told itself. After that no other than
 * client_abandon() may be called. */

/* Waits for the other process to say that it is ready. If it says that it is not,
 * the reason goes into text. */
int client_greeted(struct client *client, char text[PROTOCOL_PATH]);

/* Makes an object known, with the next number. The descriptor (-1: none) remains
 * the caller's. */
int client_object(struct client *client, uint32_t number, int fd, const char *path);

/* These are all mappings of a space from t on; at most PROTOCOL_MAPPINGS. anew: the number was
 * another space's, or none's. Also -E2BIG: the other process has no room for them, and goes on. */
int client_mappings(struct client *client, uint32_t space, bool anew, uint64_t t,
		    const struct mapping *mappings, size_t n);

/* A process of that space names the code that it makes in a file, whose descriptor remains the
 * caller's. */
int client_jit(struct client *client, uint32_t space, enum jit_file kind, int fd);

/* Is told what the stack of a copy that has mapped_at was unwound from. */
typedef void client_known(void *context, const struct known *known, const struct stack *stack,
			  uint64_t mapped_at);
void client_tell_known(struct client *client, client_known *tell, void *context);

/* Has a copy of a process in that space resolved: *stack is set by the next client_flush() at the
 * latest. */
int client_submit(struct client *client, uint32_t space, uint64_t t, const struct stack_copy *copy,
		  const struct stack **stack);

/* Waits for all stacks that were submitted. */
int client_flush(struct client *client);

/* Those that were submitted get none, and are counted as failed. */
void client_abandon(struct client *client);

struct client_counts client_counts(const struct client *client);

/* --- Each stack once --- */

struct stack_table;

/* Room: how many stacks are kept; there is a limit to the memory as well. Returns
 * NULL without memory. */
struct stack_table *stack_table_new(size_t room);

/* Frees all stacks, too. NULL is allowed. */
void stack_table_free(struct stack_table *table);

/* The kept stack that is like this one, whose reason to stop is a constant. All texts of the frames
 * are copied. NULL if there is no room for another. */
const struct stack *stack_table_get(struct stack_table *table, const struct stack *like);

#endif
