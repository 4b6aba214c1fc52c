// SPDX-License-Identifier: Apache-2.0
#include "predicate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

const char *const predicate_grammar[] = {
	"CONDITION: VALUE ==, !=, <, <=, > or >= NUMBER; several with && and ||, && before ||",
	"VALUE: arg0 (the first argument), arg1, ..., ret, %REGISTER, a tracepoint's FIELD, or",
	"       memory [VALUE+OFFSET], then :u8 to :u64 or :s8 to :s64 for its type, and & NUMBER",
	"       for bits of it",
	"Examples: 'ur:read if ret < 0', 'up:f if [arg1+8]:u32 == 3 && arg2 & 0x10'",
};
const size_t predicate_grammar_len = COUNT(predicate_grammar);

struct cursor {
	const char *text;
	size_t at;
	struct predicate_error *error;
};

static char here(const struct cursor *cursor)
{
	return cursor->text[cursor->at];
}

static int wrong_at(const struct cursor *cursor, size_t at, const char *why)
{
	*cursor->error = (struct predicate_error){ .at = at, .why = why };
	return -EINVAL;
}

static int wrong(const struct cursor *cursor, const char *why)
{
	return wrong_at(cursor, cursor->at, why);
}

static void blanks_skip(struct cursor *cursor)
{
	cursor->at += strspn(cursor->text + cursor->at, " \t");
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* Returns the length of the word that begins here. */
static size_t word_length(const struct cursor *cursor)
{
	return strspn(cursor->text + cursor->at, WORD);
}

/* Takes a symbol such as "&&" if it comes next. */
static bool symbol_take(struct cursor *cursor, const char *symbol)
{
	size_t length = strlen(symbol);

	if (strncmp(cursor->text + cursor->at, symbol, length) != 0)
		return false;
	cursor->at += length;
	return true;
}

/* Reads a number: decimal, or hexadecimal with 0x; no sign. */
static int magnitude_read(struct cursor *cursor, uint64_t *magnitude)
{
	const char *word = cursor->text + cursor->at;
	size_t length = word_length(cursor);
	bool is_hex = length >= 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
	size_t prefix = is_hex ? 2 : 0;
	char *end;

	if (length == prefix)
		return wrong(cursor, "a number is missing, decimal or with 0x");
	errno = 0;
	*magnitude = strtoull(word, &end, is_hex ? 16 : 10);
	if (errno)
		return wrong(cursor, "the number does not fit in 64 bits");
	if (end < word + prefix) /* at the x */
		end++;
	if (end < word + length)
		return wrong_at(cursor, (size_t)(end - cursor->text),
				"this is no digit of the number");
	cursor->at += length;
	return 0;
}

static int number_read(struct cursor *cursor, struct predicate_number *number)
{
	size_t start = cursor->at;
	int error;

	number->negative = symbol_take(cursor, "-");
	error = magnitude_read(cursor, &number->magnitude);
	if (error)
		return error;
	if (number->negative && number->magnitude > 1ULL << 63)
		return wrong_at(cursor, start, "the number does not fit in 64 bits");
	number->negative = number->negative && number->magnitude;
	return 0;
}

static int argument_read(struct cursor *cursor, struct predicate_value *value, size_t length)
{
	const char *digits = cursor->text + cursor->at + 3;
	unsigned int number = 0;

	for (size_t i = 0; i < length - 3; i++) {
		if (!is_digit(digits[i]))
			return wrong(cursor, "an argument is arg0, arg1 and so on");
		number = number * 10 + (unsigned int)(digits[i] - '0');
		if (number >= PREDICATE_ARGUMENTS)
			return wrong(cursor, "there are no arguments beyond arg31");
	}
	value->location = PREDICATE_ARG;
	value->argument = number;
	cursor->at += length;
	return 0;
}

static int name_read(struct cursor *cursor, struct predicate_value *value,
		     enum predicate_location location, const char *why)
{
	size_t length = word_length(cursor);

	if (!length || length >= sizeof(value->name))
		return wrong(cursor, why);
	value->location = location;
	memcpy(value->name, cursor->text + cursor->at, length);
	value->name[length] = '\0';
	cursor->at += length;
	return 0;
}

/* Reads an argument, the result, a register or a field. */
static int location_read(struct cursor *cursor, struct predicate_value *value)
{
	const char *word = cursor->text + cursor->at;
	size_t length = word_length(cursor);

	if (*word == '%') {
		cursor->at++;
		return name_read(cursor, value, PREDICATE_REG,
				 "the name of a register must follow %");
	}
	if (length > 3 && !memcmp(word, "arg", 3) && is_digit(word[3]))
		return argument_read(cursor, value, length);
	if (length == 3 && !memcmp(word, "ret", 3)) {
		value->location = PREDICATE_RET;
		cursor->at += length;
		return 0;
	}
	if (*word == '(')
		return wrong(cursor, "there are no parentheses: && goes before ||");
	if (is_digit(*word) || *word == '-')
		return wrong(cursor, "the value comes first, the number behind the comparison");
	return name_read(cursor, value, PREDICATE_FIELD,
			 length ? "the name is too long"
				: "a value is missing: arg0, ret, %REGISTER, FIELD or "
				  "[VALUE+OFFSET]");
}

/* Reads the offset between a value and its closing bracket. */
static int offset_read(struct cursor *cursor, int64_t *offset)
{
	size_t start;
	uint64_t magnitude;
	bool minus;
	int error;

	blanks_skip(cursor);
	start = cursor->at;
	minus = here(cursor) == '-';
	if (!minus && here(cursor) != '+')
		return 0;
	cursor->at++;
	blanks_skip(cursor);
	error = magnitude_read(cursor, &magnitude);
	if (error)
		return error;
	if (magnitude > INT64_MAX)
		return wrong_at(cursor, start, "the offset is too large");
	*offset = minus ? -(int64_t)magnitude : (int64_t)magnitude;
	blanks_skip(cursor);
	return 0;
}

/* "[[arg0+8]-16]": the innermost is read first. */
static int loads_read(struct cursor *cursor, struct predicate_value *value)
{
	unsigned int open = 0;
	int error;

	for (; here(cursor) == '['; open++) {
		if (open == PREDICATE_LOADS)
			return wrong(cursor, "there are more than four brackets");
		cursor->at++;
		blanks_skip(cursor);
	}
	error = location_read(cursor, value);
	while (!error && value->loads < open) {
		error = offset_read(cursor, &value->offsets[value->loads]);
		if (!error && here(cursor) != ']')
			error = wrong(cursor, "+OFFSET, -OFFSET or ] must follow");
		if (error)
			break;
		cursor->at++;
		value->loads++;
	}
	return error;
}

static int type_read(struct cursor *cursor, struct predicate_type *type)
{
	static const struct {
		const char *word;
		uint8_t size;
	} sizes[] = { { "8", 1 }, { "16", 2 }, { "32", 4 }, { "64", 8 } };
	const char *word;
	size_t length;

	if (!symbol_take(cursor, ":"))
		return 0;
	word = cursor->text + cursor->at;
	length = word_length(cursor);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		if (length != strlen(sizes[i].word) + 1 || (*word != 'u' && *word != 's') ||
		    memcmp(word + 1, sizes[i].word, length - 1) != 0)
			continue;
		*type = (struct predicate_type){ .size = sizes[i].size, .is_signed = *word == 's' };
		cursor->at += length;
		return 0;
	}
	return wrong(cursor, "a type is u8, u16, u32, u64, s8, s16, s32 or s64");
}

/* "& 0x10", but not "&&". */
static int mask_read(struct cursor *cursor, uint64_t *mask)
{
	size_t start;
	int error;

	blanks_skip(cursor);
	if (here(cursor) != '&' || cursor->text[cursor->at + 1] == '&')
		return 0;
	cursor->at++;
	blanks_skip(cursor);
	start = cursor->at;
	error = magnitude_read(cursor, mask);
	if (!error && !*mask)
		error = wrong_at(cursor, start, "0 leaves no bits of the value");
	return error;
}

/* Without a comparison, the value must not be 0. */
static int compare_read(struct cursor *cursor, struct predicate_term *term)
{
	static const struct {
		const char *symbol;
		enum predicate_compare compare;
	} compares[] = {
		/* Longer symbols come before their prefixes. */
		{ "==", PREDICATE_EQ }, { "!=", PREDICATE_NE }, { "<=", PREDICATE_LE },
		{ ">=", PREDICATE_GE }, { "<", PREDICATE_LT },  { ">", PREDICATE_GT },
	};

	blanks_skip(cursor);
	term->number_at = cursor->at;
	for (size_t i = 0; i < COUNT(compares); i++) {
		if (!symbol_take(cursor, compares[i].symbol))
			continue;
		term->compare = compares[i].compare;
		blanks_skip(cursor);
		term->number_at = cursor->at;
		return number_read(cursor, &term->number);
	}
	if (here(cursor) == '=')
		return wrong(cursor, "equal is ==");
	term->compare = PREDICATE_NE;
	term->number_at = term->value_at;
	return 0;
}

static int term_read(struct cursor *cursor, struct predicate_term *term)
{
	int error;

	memset(term, 0, sizeof(*term)); /* padding, too: see predicate_is() */
	blanks_skip(cursor);
	term->value_at = cursor->at;
	error = loads_read(cursor, &term->value);
	if (!error)
		error = type_read(cursor, &term->value.type);
	if (!error)
		error = mask_read(cursor, &term->value.mask);
	return error ? error : compare_read(cursor, term);
}

int predicate_parse(struct predicate *predicate, const char *text, struct predicate_error *error)
{
	struct cursor cursor = { .text = text, .error = error };

	predicate->n = 0;
	for (;;) {
		struct predicate_term *term = &predicate->terms[predicate->n];

		if (predicate->n == PREDICATE_TERMS)
			return wrong(&cursor, "there are more than eight comparisons");
		if (term_read(&cursor, term))
			return -EINVAL;
		predicate->n++;
		blanks_skip(&cursor);
		term->ends = true;
		if (!here(&cursor))
			return 0;
		term->ends = !symbol_take(&cursor, "&&");
		if (term->ends && !symbol_take(&cursor, "||"))
			return wrong(&cursor, "a comparison, && or || must follow");
	}
}

bool predicate_is(const struct predicate *a, const struct predicate *b)
{
	for (size_t i = 0; i < a->n && i < b->n; i++)
		if (memcmp(&a->terms[i], &b->terms[i], offsetof(struct predicate_term, value_at)) !=
		    0)
			return false;
	return a->n == b->n;
}
