/* SPDX-License-Identifier: Apache-2.0 */
/* Words that several sections of the text report share. */
#ifndef TEXT_WORDS_H
#define TEXT_WORDS_H

#include "../sample.h"
#include "columns.h"

#define TEXT_INDENT "                            " /* 28: below <RESOURCE SPECIFIC> */
#define TEXT_NAME_WIDTH 20

/* As [THREAD TIME] calls the state. */
const char *text_state(enum ledger_state state);

/* A system call's name, which may be in the buffer. */
const char *text_call(const struct sample *sample, uint32_t number, char buffer[static 32]);

/* Text from the target or the kernel of at most 47 bytes, at most so many columns of
 * it. Returns how many it took. */
size_t text_foreign(struct columns *columns, const char *text, size_t length, size_t width);

/* A thread's name in a column of 16; if it has none, a stand-in for tid, 0 being
 * several threads. */
void text_thread_name(struct columns *columns, const struct sample *sample,
		      const char name[static KD_COMM_LEN], pid_t tid);

#endif
