/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays. */
#ifndef ARRAY_H
#define ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_FIRST 32

/* Makes space for n elements of a size in the array at *array, at least doubling *capacity. Returns
 * 0, or -ENOMEM with nothing changed. */
static inline int array_reserve(void *array, size_t n, size_t *capacity, size_t size)
{
	size_t more = *capacity ? 2 * *capacity : ARRAY_FIRST;
	void *old, *grown;

	if (n <= *capacity)
		return 0;
	more = more < n ? n : more;
	memcpy(&old, array, sizeof(old));
	grown = reallocarray(old, more, size);
	if (!grown)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	*capacity = more;
	return 0;
}

/* Number of leading indices among the first n that pass a test, an expression of i. No index
 * after them passes (binary search). */
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

/* Makes space for another element after n. */
#define ARRAY_GROW(array, n, capacity)                                                             \
	array_reserve(&(array), (n) + 1, &(capacity), sizeof(*(array)))

/* Adds an element to an array with spare memory. 0, or -ENOMEM with nothing changed. */
#define ARRAY_ADD(array, n, capacity, ...)                                                         \
	({                                                                                         \
		int error_of_add = ARRAY_GROW(array, n, capacity);                                 \
                                                                                                   \
		if (!error_of_add)                                                                 \
			(array)[(n)++] = __VA_ARGS__;                                              \
		error_of_add;                                                                      \
	})

/* Appends an element to an array without spare memory, which grows by one. Returns the copy, NULL
 * without memory. */
static inline void *array_append(void *array, size_t *n, const void *element, size_t size)
{
	char *all;

	memcpy(&all, array, sizeof(all));
	all = reallocarray(all, *n + 1, size);
	if (!all)
		return NULL;
	memcpy(array, &all, sizeof(all));
	return memcpy(all + (*n)++ * size, element, size);
}

#define ARRAY_APPEND(array, n, element) array_append(&(array), &(n), element, sizeof(*(array)))

/* qsort() of an array that may have no memory if it is empty. */
#define ARRAY_SORT(array, n, compare)                                                              \
	({                                                                                         \
		if (n)                                                                             \
			qsort(array, n, sizeof(*(array)), compare);                                \
	})

/* Removes elements equal to the one before them from a sorted array. Returns how many are left. */
static inline size_t array_unique(void *array, size_t n, size_t size,
				  int (*compare)(const void *, const void *))
{
	char *at = array;
	size_t left = 0;

	for (size_t i = 0; i < n; i++)
		if (!left || compare(at + (left - 1) * size, at + i * size))
			memmove(at + left++ * size, at + i * size, size);
	return left;
}

#define ARRAY_UNIQUE(array, n, compare) array_unique(array, n, sizeof(*(array)), compare)

#endif
