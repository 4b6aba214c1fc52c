// SPDX-License-Identifier: Apache-2.0
#include "metric_labels.h"

#include <string.h>

#include "cli/base/escape.h"
#include "cli/base/parse.h"

#define VALUE_MOST 512 /* bytes of a foreign value */
#define REPLACEMENT "\xef\xbf\xbd"

/* Adds all of the text or nothing; leaves one byte for the quote. */
static bool text_add(struct metric_labels *labels, const char *text, size_t length)
{
	if (length >= sizeof(labels->text) - labels->length)
		return false;
	memcpy(labels->text + labels->length, text, length);
	labels->length += length;
	return true;
}

/* False if not even an empty value fits. */
static bool label_begin(struct metric_labels *labels, const char *name)
{
	size_t before = labels->length;

	if ((!before || text_add(labels, ",", 1)) && text_add(labels, name, strlen(name)) &&
	    text_add(labels, "=\"", 2))
		return true;
	labels->length = before;
	return false;
}

static void label_end(struct metric_labels *labels)
{
	labels->text[labels->length++] = '"';
}

void metric_labels_add(struct metric_labels *labels, const char *name, const char *value)
{
	if (!label_begin(labels, name))
		return;
	text_add(labels, value, strlen(value));
	label_end(labels);
}

/* Adds the first character or escape of an escaped text. Returns its length there. */
static size_t piece_add(struct metric_labels *labels, const char *escaped)
{
	if (*escaped == '"')
		return text_add(labels, "\\\"", 2) ? 1 : 0;
	if (*escaped != '\\') {
		size_t length = 1;

		while ((escaped[length] & 0xc0) == 0x80)
			length++;
		return text_add(labels, escaped, length) ? length : 0;
	}
	switch (escaped[1]) {
	case '\\':
	case 'n':
		return text_add(labels, escaped, 2) ? 2 : 0;
	case 't':
		return text_add(labels, "\t", 1) ? 2 : 0;
	}
	return text_add(labels, REPLACEMENT, strlen(REPLACEMENT)) ? escaped[1] == 'x' ? 4 : 2 : 0;
}

void metric_labels_foreign(struct metric_labels *labels, const char *name, const char *value,
			   size_t length, const char *mark)
{
	char escaped[ESCAPE_SIZE(VALUE_MOST)];
	const char *at = escaped;
	size_t piece;

	if (!label_begin(labels, name))
		return;
	escape_text(escaped, sizeof(escaped), value, length < VALUE_MOST ? length : VALUE_MOST);
	while (*at && (piece = piece_add(labels, at)))
		at += piece;
	text_add(labels, mark, strlen(mark));
	label_end(labels);
}

void metric_labels_number(struct metric_labels *labels, const char *name, unsigned long value)
{
	char text[NUMBER_LEN];

	number_plain(text, value);
	metric_labels_add(labels, name, text);
}
