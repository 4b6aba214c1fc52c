/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow. */
#ifndef ARRAY_H
#define ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_FIRST 32

/* Makes room for n elements of a size in what *array points to, of which there are *room;
 * at least twice as many as before. Returns 0, or -ENOMEM and leaves all as it was. */
static inline int array_reserve(void *array, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : ARRAY_FIRST;
	void *old, *grown;

	if (n <= *room)
		return 0;
	more = more < n ? n : more;
	memcpy(&old, array, sizeof(old));
	grown = reallocarray(old, more, size);
	if (!grown)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	*room = more;
	return 0;
}

/* How many of the first n indices pass a test, an expression of i, which all do up to some index
 * and none from there on. */
#define ARRAY_SPLIT(n, i, test)                                                                    \
	({                                                                                         \
		size_t first_##i = 0, end_##i = (n);                                               \
                                                                                                   \
		while (first_##i < end_##i) {                                                      \
			size_t i = first_##i + (end_##i - first_##i) / 2;                          \
                                                                                                   \
			if (test)                                                                  \
				first_##i = i + 1;                                                 \
			else                                                                       \
				end_##i = i;                                                       \
		}                                                                                  \
		first_##i;                                                                         \
	})

/* Room for another element behind n. */
#define ARRAY_GROW(array, n, room) array_reserve(&(array), (n) + 1, &(room), sizeof(*(array)))

#endif
