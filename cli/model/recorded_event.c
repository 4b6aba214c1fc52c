// SPDX-License-Identifier: Apache-2.0
#include "recorded_event.h"

#include <string.h>

#define DIGIT_BITS 11 /* a TID has 22: two passes */
#define DIGITS (1U << DIGIT_BITS)

/* Stable, from one array to the other. */
static void sort_by_digit(const struct recorded_event *from, struct recorded_event *to, size_t n,
			  unsigned int shift)
{
	size_t begins[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		begins[from[i].tid >> shift & (DIGITS - 1)]++;
	for (size_t digit = 0; digit < DIGITS; digit++) {
		size_t count = begins[digit];

		begins[digit] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[begins[from[i].tid >> shift & (DIGITS - 1)]++] = from[i];
}

/* How many events from the first on are in the order of time. */
static size_t run_length(const struct recorded_event *events, size_t n)
{
	size_t length = n > 0;

	while (length < n && events[length - 1].at <= events[length].at)
		length++;
	return length;
}

static void merge(const struct recorded_event *left, size_t n_left,
		  const struct recorded_event *right, size_t n_right, struct recorded_event *to)
{
	while (n_left && n_right) {
		if (left->at <= right->at) {
			*to++ = *left++;
			n_left--;
		} else {
			*to++ = *right++;
			n_right--;
		}
	}
	memcpy(to, n_left ? left : right, (n_left + n_right) * sizeof(*to));
}

/* Neighbouring runs are merged until there is one: as each CPU wrote in the order of time, there
 * are few. */
static void sort_by_time(struct recorded_event *events, struct recorded_event *spare, size_t n)
{
	while (run_length(events, n) < n) {
		size_t at = 0;

		while (at < n) {
			size_t left = run_length(events + at, n - at);
			size_t right = run_length(events + at + left, n - at - left);

			merge(events + at, left, events + at + left, right, spare + at);
			at += left + right;
		}
		memcpy(events, spare, n * sizeof(*events));
	}
}

void recorded_events_sort(struct recorded_event *events, struct recorded_event *spare, size_t n)
{
	sort_by_digit(events, spare, n, 0);
	sort_by_digit(spare, events, n, DIGIT_BITS);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && events[end].tid == events[first].tid;)
			end++;
		sort_by_time(events + first, spare, end - first);
	}
}
