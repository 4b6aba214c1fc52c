/* SPDX-License-Identifier: Apache-2.0 */
/* A small producer of the Test Anything Protocol for the unit tests in C, with a main() that runs
 * each TEST(name) in the order of the file. */
#ifndef TESTS_UNIT_TAP_H
#define TESTS_UNIT_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"

/* A test program need not use every check. */
#define TAP_FUNCTION(format_at)                                                                    \
	__attribute__((unused, format(printf, format_at, format_at + 1))) static

static struct {
	unsigned int run;
	unsigned int failed;
} tap;

/* Prints one result line, with the reason if what it is about was skipped; '#' and newlines in the
 * name would change its meaning. */
__attribute__((format(printf, 3, 0))) static void tap_result(bool passed, const char *skipped,
							     const char *fmt, va_list args)
{
	char name[512];

	vsnprintf(name, sizeof(name), fmt, args);
	for (char *at = name; *at; at++) {
		if (*at == '#' || (unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	}
	tap.run++;
	tap.failed += !passed;
	printf("%sok %u - %s%s%s\n", passed ? "" : "not ", tap.run, name, skipped ? " # SKIP " : "",
	       skipped ? skipped : "");
}

/* Whether to print what a check compared: if it failed, or with `tests/run -v`. */
__attribute__((unused)) static bool tap_explains(bool passed)
{
	return !passed || getenv("TESTS_VERBOSE");
}

/* Prints a string of a diagnostic on one line, bytes outside ASCII as \xNN. */
__attribute__((unused)) static void tap_print_string(const char *label, const char *text)
{
	printf("# %s: ", label);
	if (!text) {
		printf("NULL\n");
		return;
	}
	putchar('"');
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < ' ' || byte > '~')
			printf("\\x%02x", byte);
		else
			putchar(byte);
	}
	printf("\"\n");
}

/* One test: passes if the condition holds. The name is printf-like. */
TAP_FUNCTION(2) void ok(bool condition, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tap_result(condition, NULL, fmt, args);
	va_end(args);
}

/* One test that cannot be here, and why. The name is printf-like. */
TAP_FUNCTION(2) void skip(const char *why, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tap_result(true, why, fmt, args);
	va_end(args);
}

/* One test: passes if two unsigned numbers are equal. */
TAP_FUNCTION(3) void is_u64(uint64_t got, uint64_t want, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tap_result(got == want, NULL, fmt, args);
	va_end(args);
	if (tap_explains(got == want))
		printf("#  got: %" PRIu64 "\n# want: %" PRIu64 "\n", got, want);
}

/* One test: passes if two signed numbers are equal. */
TAP_FUNCTION(3) void is_i64(int64_t got, int64_t want, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tap_result(got == want, NULL, fmt, args);
	va_end(args);
	if (tap_explains(got == want))
		printf("#  got: %" PRId64 "\n# want: %" PRId64 "\n", got, want);
}

/* One test: passes if two strings are equal (or both NULL). */
TAP_FUNCTION(3) void is_str(const char *got, const char *want, const char *fmt, ...)
{
	bool same = got && want ? strcmp(got, want) == 0 : got == want;
	va_list args;

	va_start(args, fmt);
	tap_result(same, NULL, fmt, args);
	va_end(args);
	if (tap_explains(same)) {
		tap_print_string(" got", got);
		tap_print_string("want", want);
	}
}

/* Prints the plan. Returns main()'s exit code: 1 if a test failed or none ran. */
__attribute__((unused)) static int done_testing(void)
{
	printf("1..%u\n", tap.run);
	if (tap.failed)
		printf("# %u of %u failed\n", tap.failed, tap.run);
	return tap.failed || !tap.run || fflush(stdout) ? 1 : 0;
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Each at the line where it begins. */
__attribute__((unused)) static void (*tap_tests[1000])(void);

#define TEST(name)                                                                                 \
	static void test_##name(void);                                                             \
	__attribute__((constructor)) static void tap_add_##name(void)                              \
	{                                                                                          \
		tap_tests[__LINE__] = test_##name;                                                 \
	}                                                                                          \
	static void test_##name(void)

/* What a file may define: what comes before and behind all of its tests. */
__attribute__((weak)) void tests_begin(void);
__attribute__((weak)) void tests_end(void);

#ifndef TAP_OWN_MAIN
int main(void)
{
	setenv("TZ", "UTC", 1); /* else local times differ */
	if (tests_begin)
		tests_begin();
	for (size_t i = 0; i < COUNT(tap_tests); i++)
		if (tap_tests[i])
			tap_tests[i]();
	if (tests_end)
		tests_end();
	return done_testing();
}
#endif

#ifndef TAP_ASAN_OPTIONS
#define TAP_ASAN_OPTIONS                                                                           \
	"quarantine_size_mb=16" /* of 256 the most is new pages, which take long                   \
				 */
#endif
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return TAP_ASAN_OPTIONS;
}

#endif /* TESTS_UNIT_TAP_H */
