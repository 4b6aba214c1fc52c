/* SPDX-License-Identifier: Apache-2.0 */
/* The privileged end: submits stacks in batches and checks all replies, since the other process
 * reads hostile files. */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

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

/* Goes on with another process, of another socket and shared memory, that knows nothing yet. What
 * was submitted is abandoned; stacks and counts stay. */
void client_renew(struct client *client, int socket, void *shared);

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

#endif
