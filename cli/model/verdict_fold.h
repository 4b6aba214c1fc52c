/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one row of many small culprits: by what they have in common, or of all others. */
#ifndef VERDICT_FOLD_H
#define VERDICT_FOLD_H

#include "verdict_row.h"

/* Adds waits at a descriptor to a row, which keeps the one with most of the time. */
void verdict_row_at(struct verdict_row *row, const struct descriptor *at, uint64_t ns);

/* The same of what the waits were for. */
void verdict_row_wait(struct verdict_row *row, const struct wait_words *wait, uint64_t ns);
void verdict_row_via(struct verdict_row *row, const struct chain_row *via, uint64_t ns);

/* The same for the kernel's lock waited for. */
void verdict_row_lock(struct verdict_row *row, const struct lock_row *lock, uint64_t ns);

/* Adds a row's figures to another one, which keeps what both culprits have in common. */
void verdict_row_add(struct verdict_row *into, const struct verdict_row *from);

/* True if a row is large enough to be blamed alone. */
bool verdict_row_is_large(const struct verdict_row *row, uint64_t busy);

struct folding {
	struct verdict_row *rows;
	size_t n;      /* falls */
	uint64_t busy; /* of all threads, ns */
};

/* Folds the rows of each cause, and ranks them. Sets the place of each row, by its number, among
 * those that are left. Returns 0 or -ENOMEM. */
int verdict_fold(struct folding *folding, size_t *places);

#endif
