// SPDX-License-Identifier: Apache-2.0
#include "text_sentences.h"

#include "text_parts.h"
#include "text_screen.h"

static struct text *begin(struct text *text, const struct sample *sample, FILE *out)
{
	text->sample = sample;
	columns_begin(&text->columns, out);
	return text;
}

int report_text_verdict(const struct sample *sample, const struct verdict *verdict, FILE *out)
{
	struct text text = { 0 };

	text_sentences(begin(&text, sample, out), verdict);
	return columns_end(&text.columns);
}

int report_text_advice(const struct sample *sample, const struct verdict *verdict, FILE *out)
{
	struct text text = { 0 };

	text_advice(begin(&text, sample, out), verdict);
	return columns_end(&text.columns);
}

int report_text_notes(const struct sample *sample, const struct verdict *verdict, FILE *out)
{
	struct text text = { 0 };

	(void)verdict;
	text_footer(begin(&text, sample, out));
	return columns_end(&text.columns);
}
