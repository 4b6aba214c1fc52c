// SPDX-License-Identifier: Apache-2.0
#include "csv_writer.h"

#include <string.h>

#include "cli/base/escape.h"

#define TEXT_MOST 512

static void field_begin(struct csv_writer *writer)
{
	columns_add(&writer->columns, writer->comma ? "," : "");
	writer->comma = true;
}

void csv_word(struct csv_writer *writer, const char *word)
{
	field_begin(writer);
	columns_add(&writer->columns, word);
}

void csv_u64(struct csv_writer *writer, uint64_t number)
{
	field_begin(writer);
	columns_count(&writer->columns, number, 0);
}

void csv_i64(struct csv_writer *writer, int64_t number)
{
	field_begin(writer);
	columns_add(&writer->columns, number < 0 ? "-" : "");
	columns_count(&writer->columns, number < 0 ? -(uint64_t)number : (uint64_t)number, 0);
}

void csv_bool(struct csv_writer *writer, bool truth)
{
	csv_word(writer, truth ? "true" : "false");
}

void csv_nothing(struct csv_writer *writer)
{
	csv_word(writer, "");
}

void csv_text(struct csv_writer *writer, const char *text, size_t length)
{
	/* Spreadsheets take it for a formula, which may start programs, unless it is marked as
	 * text. Tabs and the like are escaped. */
	const char *mark = length && *text && strchr("=+-@", *text) ? "'" : "";
	char escaped[ESCAPE_SIZE(TEXT_MOST)];

	field_begin(writer);
	escape_text(escaped, sizeof(escaped), text, length < TEXT_MOST ? length : TEXT_MOST);
	if (!strpbrk(escaped, ",\"")) {
		columns_add(&writer->columns, mark);
		columns_add(&writer->columns, escaped);
		return;
	}
	columns_add(&writer->columns, "\"");
	columns_add(&writer->columns, mark);
	for (const char *at = escaped; *at;) {
		size_t plain = strcspn(at, "\"");

		columns_bytes(&writer->columns, at, plain);
		at += plain;
		columns_add(&writer->columns, *at ? "\"\"" : "");
		at += *at == '"';
	}
	columns_add(&writer->columns, "\"");
}

void csv_line_end(struct csv_writer *writer)
{
	columns_add(&writer->columns, "\r\n");
	writer->comma = false;
}
