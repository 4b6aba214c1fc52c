/* SPDX-License-Identifier: Apache-2.0 */
/* The longest of many samples. */
#ifndef WORST_H
#define WORST_H

#include <stddef.h>
#include <stdint.h>

#include "sample.h"

struct worst {
	struct sample *samples; /* longest first */
	size_t n, capacity;
};

/* Allocates space for this many. Returns 0 or -ENOMEM. */
int worst_init(struct worst *worst, size_t capacity);

/* Takes over the sample if it is among the longest; else leaves it unchanged. */
void worst_offer(struct worst *worst, struct sample *sample);

/* Length a sample must exceed to be taken, ns; 0 while there is space. */
uint64_t worst_bar(const struct worst *worst);

void worst_clear(struct worst *worst);

#endif
