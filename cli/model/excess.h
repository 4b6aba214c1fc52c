/* SPDX-License-Identifier: Apache-2.0 */
/* Values that exceeded a condition. */
#ifndef EXCESS_H
#define EXCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/kernel_delay.h"

#define EXCESS_WORDS_LEN 160

/* The most extreme value of all that were checked. */
struct excess {
	uint64_t times;         /* how often, over threads and samples; 0: never */
	uint64_t value, whole;  /* whole 0: value is a count or ns; else value out of whole ns */
	uint64_t sample;        /* sample number; 0: from the comparison */
	bool is_time;           /* value is in ns */
	bool so_far;            /* value was still open at the end */
	pid_t tid;              /* 0: no single thread */
	uint32_t members;       /* if above 1: folded threads with this name */
	char name[KD_COMM_LEN]; /* not escaped */
};

/* Writes "6,123,456 ns so far of thread 17 'name'". The name is not escaped. */
void excess_words(char words[EXCESS_WORDS_LEN], const struct excess *excess);

#endif
