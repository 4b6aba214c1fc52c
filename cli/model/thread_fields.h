/* SPDX-License-Identifier: Apache-2.0 */
/* By these threads are merged, and JSON is written and read: see field.h. thread_row.c has them. */
#ifndef THREAD_FIELDS_H
#define THREAD_FIELDS_H

#include "field.h"

extern const struct field thread_fields[];  /* of struct thread_row */
extern const struct field culprit_fields[]; /* of struct culprit */
extern const struct field io_fields[];      /* of struct io_row[KD_IO_KINDS] */

#endif
