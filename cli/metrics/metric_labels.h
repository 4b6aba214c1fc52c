/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of a series in both text formats: a="b",c="d". */
#ifndef METRIC_LABELS_H
#define METRIC_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#define METRIC_LABELS_LEN 4096

struct metric_labels {
	size_t length;
	bool with_tid; /* of a single thread */
	char text[METRIC_LABELS_LEN];
};

/* Adds a label with a constant value: letters, digits, blanks, brackets. */
void metric_labels_add(struct metric_labels *labels, const char *name, const char *value);

/* Adds a label with any bytes as value, up to length (512 at most) or a NUL. Backslash, quote
 * and line feed are escaped. Each byte that escape_text() would show as \r or \xNN becomes
 * U+FFFD: invalid UTF-8, which readers refuse, and bytes that could affect a terminal or a
 * reader's lines. mark: a constant suffix. */
void metric_labels_foreign(struct metric_labels *labels, const char *name, const char *value,
			   size_t length, const char *mark);

void metric_labels_number(struct metric_labels *labels, const char *name, unsigned long value);

#endif
