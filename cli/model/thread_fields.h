/* SPDX-License-Identifier: Apache-2.0 */
/* Field tables for merging threads and for their JSON: see field.h. Defined in thread_row.c. */
#ifndef THREAD_FIELDS_H
#define THREAD_FIELDS_H

#include "field.h"

extern const struct field thread_fields[];  /* of struct thread_row */
extern const struct field culprit_fields[]; /* of struct culprit */
extern const struct field io_fields[];      /* of struct io_row[KD_IO_KINDS] */

#endif
