/* SPDX-License-Identifier: Apache-2.0 */
/* The longest samples of many. */
#ifndef WORST_H
#define WORST_H

#include <stddef.h>
#include <stdint.h>

#include "sample.h"

struct worst {
	struct sample *samples; /* the longest first */
	size_t n, room;
};

/* Room for so many. Returns 0 or -ENOMEM. */
int worst_init(struct worst *worst, size_t room);

/* Takes the sample over if it is one of the longest; otherwise it is unchanged. */
void worst_offer(struct worst *worst, struct sample *sample);

/* What a sample must exceed to be taken, ns; 0 while there is room. */
uint64_t worst_bar(const struct worst *worst);

void worst_clear(struct worst *worst);

#endif
