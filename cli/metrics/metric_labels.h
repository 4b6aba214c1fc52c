/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of a series as both text formats have them: a="b",c="d". */
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

/* Adds a label with a value that is a constant of ours: letters, digits, blanks,
 * brackets. */
void metric_labels_add(struct metric_labels *labels, const char *name, const char *value);

/* Adds a label with a value of any bytes, which ends after length of them (512 are
 * used) or at a NUL before that. Backslash, quote and line feed are escaped; what
 * escape_text() would show as \r or \xNN is U+FFFD, one for each byte: invalid UTF-8,
 * which readers refuse, and all that could change a terminal or a reader's lines.
 * mark: a constant that is added to the value. */
void metric_labels_foreign(struct metric_labels *labels, const char *name, const char *value,
			   size_t length, const char *mark);

/* Adds a label with a number. */
void metric_labels_number(struct metric_labels *labels, const char *name, unsigned long value);

#endif
