/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/parse.h"
#include "random.h"
#include "tap.h"

#define UNTOUCHED 424242
#define S 1000000000ULL
#define ROUNDS 200000U

static void test_u64(void)
{
	static const struct {
		const char *text;
		uint64_t min, max;
		int result;
		uint64_t value;
	} cases[] = {
		{ "0", 0, 9, 0, 0 },
		{ "9", 0, 9, 0, 9 },
		{ "10", 0, 9, -ERANGE, 0 },
		{ "0", 1, 9, -ERANGE, 0 },
		{ "1", 1, 1, 0, 1 },
		{ "007", 0, 9, 0, 7 },
		{ "000000000000000000000000000000000000000000001", 0, 9, 0, 1 },
		{ "18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX },
		{ "18446744073709551616", 0, UINT64_MAX, -ERANGE, 0 },
		{ "18446744073709551620", 0, UINT64_MAX, -ERANGE, 0 },
		{ "99999999999999999999999", 0, UINT64_MAX, -ERANGE, 0 },
		{ "18446744073709551617x", 0, UINT64_MAX, -EINVAL, 0 },
		{ "", 0, 9, -EINVAL, 0 },
		{ " 1", 0, 9, -EINVAL, 0 },
		{ "1 ", 0, 9, -EINVAL, 0 },
		{ "1\n", 0, 9, -EINVAL, 0 },
		{ "+1", 0, 9, -EINVAL, 0 },
		{ "-1", 0, UINT64_MAX, -EINVAL, 0 },
		{ "-0", 0, 9, -EINVAL, 0 },
		{ "12abc", 0, 99, -EINVAL, 0 },
		{ "abc", 0, 99, -EINVAL, 0 },
		{ "0x1f", 0, 99, -EINVAL, 0 },
		{ "1.0", 0, 99, -EINVAL, 0 },
		{ "1e3", 0, 9999, -EINVAL, 0 },
		{ "1,000", 0, 9999, -EINVAL, 0 },
		{ "1_000", 0, 9999, -EINVAL, 0 },
		{ "\xd9\xa1", 0, 9, -EINVAL, 0 }, /* a digit, but not of ours */
		{ "\xff", 0, 9, -EINVAL, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t value = UNTOUCHED;
		int result = parse_u64(cases[i].text, cases[i].min, cases[i].max, &value);

		is_i64(result, cases[i].result, "parse_u64 '%s': result", cases[i].text);
		is_u64(value, result ? UNTOUCHED : cases[i].value, "parse_u64 '%s': value",
		       cases[i].text);
	}
}

static const struct {
	const char *text;
	uint64_t bare_unit;
	int result;
	uint64_t ns;
} durations[] = {
	/* bare numbers, as Python's float() reads them */
	{ "0", S, 0, 0 },
	{ "1", S, 0, S },
	{ "1", 1, 0, 1 },
	{ "1", 1000, 0, 1000 },
	{ "0.5", S, 0, 500000000 },
	{ "0.1", S, 0, 100000000 },
	{ "0.3", S, 0, 300000000 },
	{ "1.1", S, 0, 1100000000 },
	{ ".5", S, 0, 500000000 },
	{ "5.", S, 0, 5 * S },
	{ "00.50", S, 0, 500000000 },
	{ "0.000000001", S, 0, 1 },
	{ "123456789.987654321", S, 0, 123456789987654321 },
	{ "1e-3", S, 0, 1000000 },
	{ "1E-3", S, 0, 1000000 },
	{ "1e3", S, 0, 1000 * S },
	{ "1e+3", S, 0, 1000 * S },
	{ "1.5e1", S, 0, 15 * S },
	{ ".5e1", S, 0, 5 * S },
	{ "5.e-1", S, 0, 500000000 },
	{ "12345e-5", S, 0, 123450000 },
	{ "1e0", S, 0, S },
	{ "1e-0", S, 0, S },
	{ "1e00000000000000000000003", S, 0, 1000 * S },
	{ "0e99999999999999999999", S, 0, 0 },
	{ "0.0e99999999999999999999", S, 0, 0 },
	{ "1e-99999999999999999999", S, 0, 0 },
	{ "0.00000000000000000000001e23", S, 0, S },
	{ "100000000000000000000000e-23", S, 0, S },
	/* suffixes */
	{ "7ns", S, 0, 7 },
	{ "7us", S, 0, 7000 },
	{ "7ms", S, 0, 7000000 },
	{ "7s", 1, 0, 7 * S },
	{ "7min", S, 0, 420 * S },
	{ "0.5us", S, 0, 500 },
	{ "1.5min", S, 0, 90 * S },
	{ ".5ms", S, 0, 500000 },
	{ "5.ms", S, 0, 5000000 },
	{ "1e3ms", S, 0, S },
	/* a unit is needed, but not by zero */
	{ "7ns", 0, 0, 7 },
	{ "0.5s", 0, 0, S / 2 },
	{ "0", 0, 0, 0 },
	{ "0.00", 0, 0, 0 },
	{ "0e5", 0, 0, 0 },
	{ "0s", 0, 0, 0 },
	{ "5", 0, -EDOM, 0 },
	{ "0.5", 0, -EDOM, 0 },
	{ "0.0000000000001", 0, -EDOM, 0 },
	{ "1e300", 0, -EDOM, 0 },
	{ "5h", 0, -EINVAL, 0 },
	{ "5e", 0, -EINVAL, 0 },
	{ "", 0, -EINVAL, 0 },
	/* what is below 1 ns is cut off, once */
	{ "0.9999999999", S, 0, 999999999 },
	{ "0.0000000009", S, 0, 0 },
	{ "1.9ns", S, 0, 1 },
	{ "0.9ns", S, 0, 0 },
	{ "0.3333333333333333", S, 0, 333333333 },
	{ "0.01666666666666666666666666666666666666666666667min", S, 0, S },
	{ "0.01666666666666666666666666666666666666666666666min", S, 0, S - 1 },
	/* limits */
	{ "18446744073709551615ns", S, 0, UINT64_MAX },
	{ "18446744073.709551615", S, 0, UINT64_MAX },
	{ "18446744073709551615.9ns", S, 0, UINT64_MAX },
	{ "18446744073709551616ns", S, -ERANGE, 0 },
	{ "18446744073.709551616", S, -ERANGE, 0 },
	{ "18446744073709551615s", S, -ERANGE, 0 },
	{ "99999999999999999999999999", S, -ERANGE, 0 },
	{ "1e300", S, -ERANGE, 0 },
	{ "1e99999999999999999999", S, -ERANGE, 0 },
	{ "0.1e99999999999999999999", S, -ERANGE, 0 },
	/* no durations */
	{ "", S, -EINVAL, 0 },
	{ ".", S, -EINVAL, 0 },
	{ "s", S, -EINVAL, 0 },
	{ ".s", S, -EINVAL, 0 },
	{ "ms", S, -EINVAL, 0 },
	{ "e3", S, -EINVAL, 0 },
	{ ".e3", S, -EINVAL, 0 },
	{ "1e", S, -EINVAL, 0 },
	{ "1e+", S, -EINVAL, 0 },
	{ "1e-", S, -EINVAL, 0 },
	{ "1e+-3", S, -EINVAL, 0 },
	{ "1e3.5", S, -EINVAL, 0 },
	{ "1.2.3", S, -EINVAL, 0 },
	{ "1..", S, -EINVAL, 0 },
	{ "1,5", S, -EINVAL, 0 },
	{ "1_000", S, -EINVAL, 0 },
	{ "-1", S, -EINVAL, 0 },
	{ "-0", S, -EINVAL, 0 },
	{ "+1", S, -EINVAL, 0 },
	{ " 1", S, -EINVAL, 0 },
	{ "1 ", S, -EINVAL, 0 },
	{ "1 s", S, -EINVAL, 0 },
	{ "1s ", S, -EINVAL, 0 },
	{ "1m", S, -EINVAL, 0 },
	{ "1h", S, -EINVAL, 0 },
	{ "1S", S, -EINVAL, 0 },
	{ "1MS", S, -EINVAL, 0 },
	{ "1mins", S, -EINVAL, 0 },
	{ "1sec", S, -EINVAL, 0 },
	{ "1msms", S, -EINVAL, 0 },
	{ "1ms5", S, -EINVAL, 0 },
	{ "1s500ms", S, -EINVAL, 0 },
	{ "inf", S, -EINVAL, 0 },
	{ "infinity", S, -EINVAL, 0 },
	{ "nan", S, -EINVAL, 0 },
	{ "NaN", S, -EINVAL, 0 },
	{ "0x10", S, -EINVAL, 0 },
	{ "0x1p3", S, -EINVAL, 0 },
	{ "99999999999999999999999999x", S, -EINVAL, 0 },
	{ "\xff", S, -EINVAL, 0 },
};

static void test_duration(void)
{
	uint64_t ns = UNTOUCHED;

	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		uint64_t value = UNTOUCHED;
		int result = parse_duration(durations[i].text, durations[i].bare_unit, UINT64_MAX,
					    &value);

		is_i64(result, durations[i].result, "parse_duration '%s': result",
		       durations[i].text);
		is_u64(value, result ? UNTOUCHED : durations[i].ns, "parse_duration '%s': value",
		       durations[i].text);
	}
	is_i64(parse_duration("2s", S, 2 * S, &ns), 0, "a duration may be the maximum");
	is_i64(parse_duration("2.000000001s", S, 2 * S, &ns), -ERANGE, "but not 1 ns more");
}

/* Every number of ns, written in any unit with all its digits, comes back. */
static void test_round_trip(void)
{
	static const struct {
		const char *suffix;
		uint64_t ns;
		int digits;
	} units[] = { { "", S, 9 }, { "s", S, 9 }, { "ms", 1000000, 6 }, { "us", 1000, 3 } };
	uint64_t wrong = 0;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint64_t number = random_next() >> (random_next() % 64), ns = 0;
		size_t unit = random_next() % (sizeof(units) / sizeof(units[0]));
		char text[64];

		snprintf(text, sizeof(text), "%" PRIu64 ".%0*" PRIu64 "%s", number / units[unit].ns,
			 units[unit].digits, number % units[unit].ns, units[unit].suffix);
		if (parse_duration(text, S, UINT64_MAX, &ns) || ns != number) {
			wrong++;
			tap_print_string("wrong", text);
		}
	}
	is_u64(wrong, 0, "%u random durations come back exactly", ROUNDS);
}

/* Random texts of the characters that matter, in memory of just their size so
 * that a sanitizer sees a read too far. */
static void test_mutations(void)
{
	static const char alphabet[] = "0123456789..eE+-nusmi x\xff";
	uint64_t wrong = 0, accepted = 0;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		size_t length = random_next() % 24;
		char *text = malloc(length + 1);
		uint64_t value = UNTOUCHED, max = random_next();
		int result;

		if (!text)
			abort();
		for (size_t i = 0; i < length; i++)
			text[i] = alphabet[random_next() % (sizeof(alphabet) - 1)];
		text[length] = '\0';

		result = parse_duration(text, S, max, &value);
		accepted += result == 0;
		if (result ? value != UNTOUCHED || (result != -EINVAL && result != -ERANGE)
			   : value > max)
			wrong++;
		value = UNTOUCHED;
		result = parse_u64(text, 0, max, &value);
		if (result ? value != UNTOUCHED : value > max || value != strtoull(text, NULL, 10))
			wrong++;
		free(text);
	}
	is_u64(wrong, 0, "%u random texts: error and no value, or a value in range", ROUNDS);
	ok(accepted > ROUNDS / 100, "some of the random texts are durations");
}

int main(void)
{
	test_u64();
	test_duration();
	test_round_trip();
	test_mutations();
	return done_testing();
}
