/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that people read. */
#include "cli/base/number.h"
#include "tap.h"

static void test_time(void)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {
		{ 0, "0 ns" },
		{ 999, "999 ns" },
		{ 1000, "1.00 us" },
		{ 9994, "9.99 us" },
		{ 9995, "10.0 us" },
		{ 99949, "99.9 us" },
		{ 99950, "100 us" },
		{ 380000, "380 us" },
		{ 999499, "999 us" },
		{ 999500, "1.00 ms" },
		{ 12700000, "12.7 ms" },
		{ 1040000000, "1.04 s" },
		{ 999999999, "1.00 s" },
		{ 59999999999, "60.0 s" },
		{ 99999499999999, "99999 s" },
		{ 100000000000000, "1.16 d" },
		{ UINT64_MAX, "213504 d" },
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		char text[NUMBER_LEN];
		size_t length = number_time(text, times[i].ns);

		is_str(text, times[i].text, "%llu ns", (unsigned long long)times[i].ns);
		ok(length == strlen(text) && length <= 8, "its length");
	}
}

static void test_share(void)
{
	static const struct {
		uint64_t part, whole;
		const char *text;
	} shares[] = {
		{ 0, 0, "0 %" },
		{ 1, 0, "0 %" },
		{ 0, 7, "0 %" },
		{ 4, 10000, "<0.1 %" },
		{ 5, 10000, "0.1 %" },
		{ 994, 10000, "9.9 %" },
		{ 995, 10000, "10 %" },
		{ 9940, 10000, "99 %" },
		{ 9996, 10000, "100 %" },
		{ 3, 2, "150 %" },
		{ UINT64_MAX, 1, "999 %" },
		{ UINT64_MAX, UINT64_MAX, "100 %" },
	};

	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		char text[NUMBER_LEN];
		size_t length = number_share(text, shares[i].part, shares[i].whole);

		is_str(text, shares[i].text, "%llu of %llu", (unsigned long long)shares[i].part,
		       (unsigned long long)shares[i].whole);
		ok(length == strlen(text) && length <= 8, "its length");
	}
}

int main(void)
{
	test_time();
	test_share();
	return done_testing();
}
