/* SPDX-License-Identifier: Apache-2.0 */
/* Words that several sections of the text report share. */
#ifndef TEXT_WORDS_H
#define TEXT_WORDS_H

#include <stdbool.h>

#include "cli/base/columns.h"
#include "cli/model/sample.h"

#define TEXT_INDENT "                            " /* 28: below <RESOURCE SPECIFIC> */
#define TEXT_NAME_WIDTH 20

/* A system call's name with its mode, in the buffer. */
#define TEXT_CALL 64
const char *text_call(const struct sample *sample, uint32_t call, char buffer[static TEXT_CALL]);

/* The same in a column of TEXT_NAME_WIDTH, where the name gives way to the mode, and the
 * number in one of 6. */
void text_call_columns(struct columns *columns, const struct sample *sample, uint32_t call);

/* A thread's name in a column of 16; if it has none, a stand-in for tid, 0 being
 * several threads. */
void text_thread_name(struct columns *columns, const struct sample *sample,
		      const char name[static KD_COMM_LEN], pid_t tid);

/* A bitmap of CPUs as "0-1,3", those that it cannot hold as "1024+", none as "-". What does
 * not fit in the buffer is "...". */
#define TEXT_CPUS (5 * KD_CPU_WORDS * 64 + 8) /* everything fits */
void text_cpus(char *text, size_t size, const uint64_t cpus[static KD_CPU_WORDS], bool beyond);

#endif
