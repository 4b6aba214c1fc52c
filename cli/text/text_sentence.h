/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences about the rows of a verdict, and their parts. Each adds to a sentence. */
#ifndef TEXT_SENTENCE_H
#define TEXT_SENTENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/escape.h"
#include "cli/base/texts.h"
#include "cli/model/verdict.h"
#include "text_who.h"

#define SENTENCE_LEN 512

/* Adds as printf does. */
#define sentence_add(sentence, ...) text_append(sentence, SENTENCE_LEN, __VA_ARGS__)

/* Name of a wait channel, without the caller that tells it apart from others. Returns text. */
#define TEXT_WCHAN ESCAPE_SIZE(KD_FUNCTION_LEN)
const char *text_wchan(char text[static TEXT_WCHAN], const char *wchan);

/* "84 % (840 ms of 1.00 s" */
void sentence_share(char *sentence, const struct verdict *verdict, uint64_t part);

/* "waited for a futex", "waited in do_that" */
void sentence_wait(char *sentence, const struct wait_words *wait);

/* "64 % (637 ms of 1.00 s, longest 12.7 ms): main[4711] waited for CPU 0, on which ... ran.";
 * multiple: the target is of several processes. */
void sentence_of_row(char *sentence, const struct sample *sample, const struct verdict_row *row,
		     bool multiple);

/* "main[4711]". Returns who. */
const char *text_thread_who(char who[static WHO_LEN], const struct thread_row *thread);

/* True if a row of the verdict is of waits for the journal of a file system. */
bool text_is_journal(const struct verdict_row *row);

#endif
