/* SPDX-License-Identifier: Apache-2.0 */
/* Words shared by sections of the text report. */
#ifndef TEXT_WORDS_H
#define TEXT_WORDS_H

#include <stdbool.h>

#include "cli/base/columns.h"
#include "cli/model/sample.h"

#define TEXT_INDENT "                            " /* 28: below <RESOURCE SPECIFIC> */
#define TEXT_NAME_WIDTH 20

/* Name of a system call with its mode. Returns buffer. */
#define TEXT_CALL 64
const char *text_call(const struct sample *sample, uint32_t call, char buffer[static TEXT_CALL]);

/* Adds the call in a column of TEXT_NAME_WIDTH, cut to fit the mode, and its number in a column
 * of 6. */
void text_call_columns(struct columns *columns, const struct sample *sample, uint32_t call);

/* Adds a thread's name in a column of 16; without a name, a stand-in for tid. tid 0: several
 * threads. */
void text_thread_name(struct columns *columns, const struct sample *sample,
		      const char name[static KD_COMM_LEN], pid_t tid);

/* Formats a bitmap of CPUs: "0-1,3", "1024+" for those beyond it, "-" for none. What does not
 * fit becomes "...". */
#define TEXT_CPUS (5 * KD_CPU_WORDS * 64 + 8) /* everything fits */
void text_cpus(char *text, size_t size, const uint64_t cpus[static KD_CPU_WORDS], bool beyond);

#endif
