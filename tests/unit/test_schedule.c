// SPDX-License-Identifier: Apache-2.0
/* Truths are from date(1): date -d 'TZ="Europe/Berlin" 2026-11-23 14:30' +%s */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "cli/base/schedule.h"
#include "tap.h"

#define S 1000000000ULL
#define MS 1000000ULL
#define NOW (1795437000 * S) /* 2026-11-23 13:30:00 in Berlin, 12:30:00 UTC */

static void test_parse(void)
{
	static const struct {
		const char *text;
		int result;
		uint64_t ns;
		bool periodic;
	} cases[] = {
		{ "14:30", 0, 1795440600 * S, false },
		{ "14:30:05", 0, 1795440605 * S, false },
		{ "14:30:05.25", 0, 1795440605 * S + 250 * MS, false },
		{ "13:30", 0, NOW, false },
		{ "13:29", 0, (1795437000 - 60 + 86400) * S, false },
		{ "13:29:59.5", 0, (1795437000 + 86400) * S - 500 * MS, false },
		{ "2026-11-23T14:30", 0, 1795440600 * S, false },
		{ "2026-11-23 14:30:05.000000001", 0, 1795440605 * S + 1, false },
		{ "2026-11-23T13:30Z", 0, 1795440600 * S, false },
		{ "2026-11-23T14:30+01:00", 0, 1795440600 * S, false },
		{ "2026-11-23T05:30:05-08:00", 0, 1795440605 * S, false },
		{ "2027-07-01T12:00", 0, 1814436000 * S, false }, /* summer time */
		{ "2027-10-31T02:30Z", 0, 1824949800 * S, false },
		{ "2026-11-23T13:29", -ETIME, 0, false },
		{ "2026-11-23T12:29:59.9Z", -ETIME, 0, false },
		{ "1969-01-01T00:00", -ETIME, 0, false },
		{ "2027-03-28T02:30", -EINVAL, 0, false }, /* skipped by summer time */
		{ "2027-02-29T02:30", -EINVAL, 0, false },
		{ "2027-13-01T02:30", -EINVAL, 0, false },
		{ "2027-01-01", -EINVAL, 0, false },
		{ "2027-01-01T24:00", -EINVAL, 0, false },
		{ "2027-01-01T12:00x", -EINVAL, 0, false },
		{ "2027-01-01T12:00+1:00", -EINVAL, 0, false },
		{ "2027-01-01T12:00+01:00:00", -EINVAL, 0, false },
		{ "2027-01-01T12:00+25:00", -EINVAL, 0, false },
		{ "+5s", 0, NOW + 5 * S, false },
		{ "+0.5s", 0, NOW + 500 * MS, false },
		{ "+250ms", 0, NOW + 250 * MS, false },
		{ "/10s", 0, 10 * S, true },
		{ "/1min", 0, 60 * S, true },
		{ "/1ms", 0, MS, true },
		{ "/999us", -ERANGE, 0, false },
		{ "/0", -ERANGE, 0, false },
		{ "/5256001min", -ERANGE, 0, false },
		{ "+5256001min", -ERANGE, 0, false },
		{ "+5", -EDOM, 0, false },
		{ "/10", -EDOM, 0, false },
		{ "", -EINVAL, 0, false },
		{ "/", -EINVAL, 0, false },
		{ "+", -EINVAL, 0, false },
		{ "+-5s", -EINVAL, 0, false },
		{ "1", -EINVAL, 0, false },
		{ "14", -EINVAL, 0, false },
		{ "14:3", -EINVAL, 0, false },
		{ "14:30:", -EINVAL, 0, false },
		{ "14:30:5", -EINVAL, 0, false },
		{ "14:30:05.", -EINVAL, 0, false },
		{ "24:00", -EINVAL, 0, false },
		{ "14:60", -EINVAL, 0, false },
		{ " 14:30", -EINVAL, 0, false },
		{ "14:30 ", -EINVAL, 0, false },
		{ "soon", -EINVAL, 0, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct schedule got = { 0 };

		is_i64(schedule_parse(cases[i].text, NOW, &got), cases[i].result, "'%s'",
		       cases[i].text);
		ok(got.ns == cases[i].ns && got.periodic == cases[i].periodic,
		   "'%s' is %" PRIu64 " ns", cases[i].text, got.ns);
	}
}

static void test_next(void)
{
	const struct schedule once = { .ns = 100 }, period = { 10, true };

	is_u64(schedule_next(&once, 99), 100, "before it");
	is_u64(schedule_next(&once, 100), 100, "at it");
	is_u64(schedule_next(&once, 101), 0, "after it there is none");
	is_u64(schedule_next(&period, 0), 0, "0 is a multiple");
	is_u64(schedule_next(&period, 20), 20, "as is 20");
	is_u64(schedule_next(&period, 21), 30, "and the next after 21 is 30");
	is_u64(schedule_next(&period, 29), 30, "after 29 as well");
}

int main(void)
{
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	test_parse();
	test_next();
	return done_testing();
}
