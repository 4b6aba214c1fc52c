/* SPDX-License-Identifier: Apache-2.0 */
/* What exceeded a condition. */
#ifndef EXCESS_H
#define EXCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"

#define EXCESS_WORDS_LEN 160

/* The most extreme one of all that were looked at. */
struct excess {
	uint64_t times;         /* so often in all, of threads and samples; 0: never */
	uint64_t value, whole;  /* whole 0: value is a count or ns; else value of so many ns */
	uint64_t sample;        /* its number; 0: it is of the comparison */
	bool is_time;           /* value is ns */
	bool so_far;            /* value is that of something that was not over at the end */
	pid_t tid;              /* 0: of no single thread */
	uint32_t members;       /* more than 1: threads that were folded, of this name */
	char name[KD_COMM_LEN]; /* not escaped */
};

/* Writes "6,123,456 ns so far of thread 17 'name'". The name is not escaped. */
void excess_words(char words[EXCESS_WORDS_LEN], const struct excess *excess);

#endif
