/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of options: numbers and times, windows by names of threads, sets of system calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bpf/kernel_delay.h"
#include "cli/base/clock.h"
#include "cli/base/parse.h"
#include "cli/base/syscall_set.h"
#include "cli/base/wall_clock.h"
#include "cli/model/trigger_stats.h"
#include "cli/output/terminal.h"
#include "captured.h"
#include "cases.h"
#include "random.h"
#include "tap.h"

/* --- Numbers --- */

#define UNTOUCHED 424242
#define S NSEC_PER_SEC
#define ROUNDS 50000U

/* A number, or the error in its place, with which it stays as it was. */
static const char *number_or(int error, const uint64_t *value)
{
	static char text[64];

	if (!error)
		snprintf(text, sizeof(text), "%" PRIu64, *value);
	else
		snprintf(text, sizeof(text), "%s%s", strerrorname_np(-error),
			 *value == UNTOUCHED ? "" : ", but it is changed");
	return text;
}

/* Of bounds and a text. */
static const char *whole(const char *input)
{
	uint64_t value = UNTOUCHED, min, max;
	char *end;

	min = strtoull(input, &end, 10);
	max = strtoull(end + 1, &end, 10);
	return number_or(parse_u64(end + 1, min, max, &value), &value);
}

static const char *duration_in(const char *input, uint64_t bare_unit)
{
	uint64_t ns = UNTOUCHED;

	return number_or(parse_duration(input, bare_unit, UINT64_MAX, &ns), &ns);
}

/* Without a unit they are seconds, as Python's float() reads them. */
static const char *duration(const char *input)
{
	return duration_in(input, S);
}

/* A unit is needed, but not by zero. */
static const char *duration_with_unit(const char *input)
{
	return duration_in(input, 0);
}

static const char numbers[] =
	"0 9 0 = 0|0 9 9 = 9|0 9 10 = ERANGE|1 9 0 = ERANGE|1 1 1 = 1|0 9 007 = 7"
	"|0 9 000000000000000000000000000000000000000000001 = 1"
	"|0 18446744073709551615 18446744073709551615 = 18446744073709551615"
	"|0 18446744073709551615 18446744073709551616 = ERANGE"
	"|0 18446744073709551615 18446744073709551620 = ERANGE"
	"|0 18446744073709551615 99999999999999999999999 = ERANGE";

static const char no_numbers[] =
	"0 9999 18446744073709551617x|0 9999 |0 9999  1|0 9999 1 |0 9999 1\n|0 9999 +1"
	"|0 9999 -1|0 9999 -0|0 9999 12abc|0 9999 abc|0 9999 0x1f|0 9999 1.0|0 9999 1e3"
	"|0 9999 1,000|0 9999 1_000|0 9999 \xd9\xa1|0 9999 \xff";

static const char durations[] =
	"0 = 0|1 = 1000000000|0.5 = 500000000|0.1 = 100000000|0.3 = 300000000"
	"|1.1 = 1100000000|.5 = 500000000|5. = 5000000000|00.50 = 500000000|0.000000001 = 1"
	"|123456789.987654321 = 123456789987654321|1e-3 = 1000000|1E-3 = 1000000"
	"|1e3 = 1000000000000|1e+3 = 1000000000000|1.5e1 = 15000000000|.5e1 = 5000000000"
	"|5.e-1 = 500000000|12345e-5 = 123450000|1e0 = 1000000000|1e-0 = 1000000000"
	"|1e00000000000000000000003 = 1000000000000|0e99999999999999999999 = 0"
	"|0.0e99999999999999999999 = 0|1e-99999999999999999999 = 0"
	"|0.00000000000000000000001e23 = 1000000000"
	"|100000000000000000000000e-23 = 1000000000|7ns = 7|7us = 7000|7ms = 7000000"
	"|7s = 7000000000|7min = 420000000000|0.5us = 500|1.5min = 90000000000"
	"|.5ms = 500000|5.ms = 5000000|1e3ms = 1000000000|0.9999999999 = 999999999"
	"|0.0000000009 = 0|1.9ns = 1|0.9ns = 0|0.3333333333333333 = 333333333"
	"|0.01666666666666666666666666666666666666666666667min = 1000000000"
	"|0.01666666666666666666666666666666666666666666666min = 999999999"
	"|18446744073709551615ns = 18446744073709551615"
	"|18446744073.709551615 = 18446744073709551615"
	"|18446744073709551615.9ns = 18446744073709551615";

static const char too_long[] =
	"18446744073709551616ns|18446744073.709551616|18446744073709551615s"
	"|99999999999999999999999999|1e300|1e99999999999999999999|0.1e99999999999999999999";

static const char no_durations[] =
	"|.|s|.s|ms|e3|.e3|1e|1e+|1e-|1e+-3|1e3.5|1.2.3|1..|1,5|1_000|-1|-0|+1| 1|1 |1 s"
	"|1s |1m|1h|1S|1MS|1mins|1sec|1msms|1ms5|1s500ms|inf|infinity|nan|NaN|0x10|0x1p3"
	"|99999999999999999999999999x|\xff";

static const char with_unit[] =
	"7ns = 7|0.5s = 500000000|0 = 0|0.00 = 0|0e5 = 0|0s = 0|5 = EDOM|0.5 = EDOM"
	"|0.0000000000001 = EDOM|1e300 = EDOM|5h = EINVAL|5e = EINVAL| = EINVAL";

TEST(parse)
{
	uint64_t ns = UNTOUCHED;

	cases_check(numbers, whole, "a whole number");
	cases_same(no_numbers, "EINVAL", whole, "no whole number");
	cases_check(durations, duration, "a duration");
	cases_same(too_long, "ERANGE", duration, "too long a duration");
	cases_same(no_durations, "EINVAL", duration, "no duration");
	cases_check(with_unit, duration_with_unit, "a duration that needs a unit");
	is_str(duration_in("1", 1), "1", "ns if there is no unit");
	is_str(duration_in("1", 1000), "1000", "us if there is no unit");
	is_str(duration_in("7s", 1), "7000000000", "but there is one");
	is_i64(parse_duration("2s", S, 2 * S, &ns), 0, "a duration may be the maximum");
	is_i64(parse_duration("2.000000001s", S, 2 * S, &ns), -ERANGE, "but not 1 ns more");
}

/* Every number of ns, written in any unit with all its digits, comes back. */
TEST(round_trip)
{
	static const struct {
		const char *suffix;
		uint64_t ns;
		int digits;
	} units[] = { { "", S, 9 }, { "s", S, 9 }, { "ms", 1000000, 6 }, { "us", 1000, 3 } };
	uint64_t wrong = 0;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint64_t number = random_next() >> (random_next() % 64), ns = 0;
		size_t unit = random_next() % COUNT(units);
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

/* Random texts of the characters that matter, in memory of just their size so that a sanitizer
 * sees a read too far. */
TEST(mutations)
{
	static const char alphabet[] = "0123456789..eE+-nusmi x\xff";
	uint64_t wrong = 0, accepted = 0;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		size_t length = random_next() % 24;
		char *text = malloc(length + 1);
		uint64_t value = UNTOUCHED, max = random_next();
		int result;

		need(text);
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

/* --- What people read --- */

static const char *length_checked(const char *text)
{
	return strlen(text) <= 8 ? text : "too long";
}

static const char *readable_time(const char *input)
{
	static char text[NUMBER_LEN];

	return length_checked(number_time(text, strtoull(input, NULL, 10)));
}

static const char *readable_share(const char *input)
{
	static char text[NUMBER_LEN];
	char *end;
	uint64_t part = strtoull(input, &end, 10);

	return length_checked(number_share(text, part, strtoull(end, NULL, 10)));
}

/* What is left of a long run, in ns. */
static const char *left(const char *input)
{
	static char text[PROGRESS_LENGTH];

	return progress_length(text, strtoull(input, NULL, 10));
}

static const char times[] =
	"0 = 0 ns|999 = 999 ns|1000 = 1.00 us|9994 = 9.99 us|9995 = 10.0 us|99949 = 99.9 us"
	"|99950 = 100 us|380000 = 380 us|999499 = 999 us|999500 = 1.00 ms"
	"|12700000 = 12.7 ms|1040000000 = 1.04 s|999999999 = 1.00 s|59999999999 = 60.0 s"
	"|99999499999999 = 99999 s|100000000000000 = 1.16 d|18446744073709551615 = 213504 d";

static const char shares[] =
	"0 0 = 0 %|1 0 = 0 %|0 7 = 0 %|4 10000 = <0.1 %|5 10000 = 0.1 %|994 10000 = 9.9 %"
	"|995 10000 = 10 %|9940 10000 = 99 %|9996 10000 = 100 %|3 2 = 150 %"
	"|18446744073709551615 1 = 999 %|18446744073709551615 18446744073709551615 = 100 %";

static const char lengths[] =
	"0 = 0 s|1 = 1 s|1000000000 = 1 s|1000000001 = 2 s|59000000000 = 59 s"
	"|60000000000 = 1 min|61000000000 = 1 min 1 s|500000000000 = 8 min 20 s"
	"|3600000000000 = 1 h|3659000000000 = 1 h|12060000000000 = 3 h 21 min"
	"|86399000000000 = 23 h 59 min|86400000000000 = 1 d|31536000000000000 = 365 d"
	"|18446744073709551615 = 213503 d 23 h";

/* --- Times of day: truths are from date(1) ---
 * date -d 'TZ="Europe/Berlin" 2026-11-23 14:30' +%s */

#define NOW (1795437000 * S) /* 2026-11-23 13:30:00 in Berlin, 12:30:00 UTC */

static const char *schedule(const char *input)
{
	static char text[64];
	struct schedule got = { UNTOUCHED, false };
	int error = schedule_parse(input, NOW, &got);

	snprintf(text, sizeof(text), "%s%s", got.periodic ? "every " : "",
		 number_or(error, &got.ns));
	return text;
}

/* Also with summer time, and a time that it skips. */
static const char schedules[] =
	"14:30 = 1795440600000000000|14:30:05 = 1795440605000000000"
	"|14:30:05.25 = 1795440605250000000|13:30 = 1795437000000000000"
	"|13:29 = 1795523340000000000|13:29:59.5 = 1795523399500000000"
	"|2026-11-23T14:30 = 1795440600000000000"
	"|2026-11-23 14:30:05.000000001 = 1795440605000000001"
	"|2026-11-23T13:30Z = 1795440600000000000"
	"|2026-11-23T14:30+01:00 = 1795440600000000000"
	"|2026-11-23T05:30:05-08:00 = 1795440605000000000"
	"|2027-07-01T12:00 = 1814436000000000000|2027-10-31T02:30Z = 1824949800000000000"
	"|+5s = 1795437005000000000|+0.5s = 1795437000500000000"
	"|+250ms = 1795437000250000000|/10s = every 10000000000|/1min = every 60000000000"
	"|/1ms = every 1000000|2026-11-23T13:29 = ETIME|2026-11-23T12:29:59.9Z = ETIME"
	"|1969-01-01T00:00 = ETIME|/999us = ERANGE|/0 = ERANGE|/5256001min = ERANGE"
	"|+5256001min = ERANGE|+5 = EDOM|/10 = EDOM";

static const char no_schedules[] =
	"2027-03-28T02:30|2027-02-29T02:30|2027-13-01T02:30|2027-01-01|2027-01-01T24:00"
	"|2027-01-01T12:00x|2027-01-01T12:00+1:00|2027-01-01T12:00+01:00:00"
	"|2027-01-01T12:00+25:00||/|+|+-5s|1|14|14:3|14:30:|14:30:5|14:30:05.|24:00|14:60"
	"| 14:30|14:30 |soon";

TEST(next)
{
	const struct schedule once = { .ns = 100 }, period = { 10, true };
	static const struct {
		bool periodic;
		uint64_t now, next;
	} cases[] = {
		{ false, 99, 100 }, { false, 100, 100 }, { false, 101, 0 }, { true, 0, 0 },
		{ true, 20, 20 },   { true, 21, 30 },    { true, 29, 30 },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		is_u64(schedule_next(cases[i].periodic ? &period : &once, cases[i].now),
		       cases[i].next, "next from %" PRIu64 " on", cases[i].now);
}

TEST(texts)
{
	cases_check(times, readable_time, "a time");
	cases_check(shares, readable_share, "a share");
	cases_check(lengths, left, "what is left");
	cases_check(schedules, schedule, "a time of day");
	cases_same(no_schedules, "EINVAL", schedule, "no time of day");
}

void tests_begin(void)
{
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
}

/* --- How long windows must be --- */

#define MAX 1000000000000ULL

/* "DELTAS NAME": that of the thread of this name, and the least. */
static const char *delta_of(const char *input)
{
	static char said[64];
	const char *name = strchr(input, ' ');
	struct deltas_error error;
	struct deltas deltas;
	char text[128];

	snprintf(text, sizeof(text), "%.*s", (int)(name - input), input);
	if (deltas_parse(&deltas, text, MAX, &error))
		return "refused";
	snprintf(said, sizeof(said), "%" PRIu64 ", least %" PRIu64, deltas_of(&deltas, name + 1),
		 deltas_least(&deltas));
	return said;
}

static const char valid[] =
	"0 a = 0, least 0|5 a = 5, least 5|1ms a = 1000000, least 1000000"
	"|1ms,pmd*:50us pmd-c02/id:9 = 50000, least 50000"
	"|1ms,pmd*:50us main = 1000000, least 50000"
	"|pmd*:50us,1ms main = 1000000, least 50000|pmd*:50us main = 0, least 0"
	"|pmd*:50us pmd = 50000, least 0|1,a:20ms a = 20000000, least 1"
	"|1,a*:2,ab*:3 abc = 2, least 1|9,kworker/0:1:7 kworker/0:1 = 7, least 7"
	"|9,[ab]?:7 bx = 7, least 7|9,[ab]?:7 cx = 9, least 7"
	"|1,a:2,b:3,c:4,d:5,e:6,f:7,g:8,h:9 h = 9, least 1"
	"|0.5us,a:1e-3s a = 1000000, least 500";

TEST(invalid)
{
	static const struct {
		const char *text;
		size_t at;
		const char *why; /* a part of it */
	} cases[] = {
		{ "", 0, "not a duration" },
		{ "x", 0, "not a duration" },
		{ "1x", 0, "not a duration" },
		{ "-1", 0, "not a duration" },
		{ "1001s", 0, "too long" },
		{ "1ms,", 4, "not a duration" },
		{ ",1ms", 0, "not a duration" },
		{ "1ms,2ms", 4, "two for all other" },
		{ "1ms,:2ms", 4, "is empty" },
		{ "1ms,a:", 6, "not a duration" },
		{ "1ms,a:x", 6, "not a duration" },
		{ "1ms,a:1001s", 6, "too long" },
		{ "a:1,a:b:,c:3", 8, "not a duration" },
		{ "a:1,a:2,a:3,a:4,a:5,a:6,a:7,a:8,a:9", 32, "more than eight" },
		{ "0000000000000000000000000000000000000000000000000000000000000001", 0,
		  "not a duration" },
		{ "0123456789012345678901234567890123456789012345678901234567890123:1", 0,
		  "pattern of names is too long" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct deltas_error error = { .why = "" };
		struct deltas deltas;

		ok(deltas_parse(&deltas, cases[i].text, MAX, &error) == -EINVAL &&
			   error.at == cases[i].at && strstr(error.why, cases[i].why),
		   "'%s' is refused, and where: %s", cases[i].text, error.why);
	}
}

TEST(valid)
{
	cases_check(valid, delta_of, "deltas");
}

/* --- System calls --- */

/* The newest number that lists of Linux 6.0 and later have. */
#define LIST_END 450

#if defined(__x86_64__)
#define GDB_FILE "/usr/share/gdb/syscalls/amd64-linux.xml"
#define GDB_COMPAT_FILE "/usr/share/gdb/syscalls/i386-linux.xml"
#define OLD_ABI false
#else
#define GDB_FILE "/usr/share/gdb/syscalls/aarch64-linux.xml"
#define GDB_COMPAT_FILE "/usr/share/gdb/syscalls/arm-linux.xml"
#define OLD_ABI true /* the list has its calls, too, all below 170; arm64 lacks them */
#endif

/* Compares one list, which is read to its end. Returns how many it has. */
static unsigned int compare(FILE *list, const char *format, bool name_first, const char *source,
			    enum syscall_mode mode)
{
	unsigned int lines = 0, wrong = 0, number;
	char line[256], name[64];

	while (fgets(line, sizeof(line), list)) {
		const char *ours;

		if (name_first ? sscanf(line, format, name, &number) != 2
			       : sscanf(line, format, &number, name) != 2)
			continue;
		lines++;
		ours = syscall_name(syscall_in_mode(mode, number));
		if (number > LIST_END || (ours && !strcmp(ours, name)))
			continue;
		if (OLD_ABI && mode == SYSCALL_COMPAT && !ours && number < 170)
			continue;
		printf("# %s: %u is %s, not %s\n", source, number, name, ours ? ours : "known");
		wrong++;
	}
	if (lines)
		ok(!wrong, "all %u names of %s", lines, source);
	return lines;
}

TEST(outside_lists)
{
	FILE *list = popen("ausyscall --dump 2>/dev/null", "r");
	unsigned int lines = 0;

	if (list) {
		lines += compare(list, "%u\t%63s", false, "ausyscall", SYSCALL_NATIVE);
		pclose(list);
	}
	list = fopen(GDB_FILE, "r");
	if (list) {
		lines += compare(list, " <syscall name=\"%63[^\"]\" number=\"%u\"", true, "gdb",
				 SYSCALL_NATIVE);
		fclose(list);
	}
	list = fopen(GDB_COMPAT_FILE, "r");
	if (list) {
		lines += compare(list, " <syscall name=\"%63[^\"]\" number=\"%u\"", true,
				 "gdb's of 32 bits", SYSCALL_COMPAT);
		fclose(list);
	}
#ifdef __x86_64__
	list = popen("ausyscall i386 --dump 2>/dev/null", "r");
	if (list) {
		lines += compare(list, "%u\t%63s", false, "ausyscall i386", SYSCALL_COMPAT);
		pclose(list);
	}
#endif
	if (!lines)
		skip("neither ausyscall nor gdb's list is installed", "names of others' lists");
}

TEST(both_ways)
{
	unsigned int known = 0, wrong = 0;

	for (uint32_t number = 0; number < 1024; number++) {
		const char *name = syscall_name(number);

		if (!name)
			continue;
		known++;
		wrong += syscall_number(name) != (int)number;
	}
	ok(known > 300, "%u system calls are known", known);
	is_u64(wrong, 0, "each name leads back to its number");
}

static const char *name_of(const char *number)
{
	const char *name = syscall_name((uint32_t)strtoul(number, NULL, 0));

	return name ? name : "none";
}

TEST(some)
{
	is_str(syscall_name(SYS_read), "read", "read by this architecture's number");
	is_str(syscall_name(SYS_ppoll), "ppoll", "ppoll by this architecture's number");
	is_i64(syscall_number("futex"), SYS_futex, "futex by name");
#ifdef SYS_poll
	is_i64(syscall_number("poll"), SYS_poll, "poll by name");
#else
	is_i64(syscall_number("poll"), -1, "no poll here");
#endif
	is_i64(syscall_number("no such call"), -1, "no number for an unknown name");
	is_i64(syscall_number(""), -1, "no number for an empty name");
	/* 424 is the first common number, 471 the newest. */
	cases_check("400 = none|0xffffffff = none|424 = pidfd_send_signal|451 = cachestat"
		    "|462 = mseal|471 = rseq_slice_yield",
		    name_of, "a number");
#ifdef __x86_64__
	cases_check("334 = rseq|335 = uretprobe|336 = uprobe", name_of, "x86-64");
	is_str(syscall_name(KD_CALL_COMPAT | 64), "getppid", "32-bit mode: getppid");
	is_str(syscall_name(KD_CALL_COMPAT | 471), "rseq_slice_yield", "32-bit mode: the newest");
	is_str(syscall_name(KD_CALL_COMPAT | 335), "rt_tgsigqueueinfo",
	       "32-bit mode: no uretprobe");
	is_str(syscall_name(KD_CALL_X32 | 7), "poll", "x32: poll");
	is_str(syscall_name(KD_CALL_X32 | 520), "execve", "x32: execve");
	is_i64(syscall_find(SYSCALL_COMPAT, "_newselect"), KD_CALL_COMPAT | 142,
	       "_newselect by name");
	is_i64(syscall_number("_newselect"), -1, "which there is no native one of");
	is_u64(syscall_mode(KD_CALL_X32 | 1), SYSCALL_X32, "a mode");
	is_u64(syscall_plain(KD_CALL_COMPAT | 64), 64, "a number without its mode");
	is_u64(syscall_mode(INT32_MAX), SYSCALL_NATIVE, "the largest number is in no other mode");
	is_u64(syscall_plain(INT32_MAX), INT32_MAX, "and a whole one");
#endif
}

/* --- Lists of them --- */

static unsigned int count(const struct syscall_set *set)
{
	unsigned int n = 0;

	for (size_t i = 0; i < KD_CLASSES; i++)
		n += set->has[SYSCALL_NATIVE][i];
	return n;
}

/* Of how many calls a list is, and which of some are among them. */
static const char *listed(const char *list)
{
	static const struct {
		int number;
		const char *name;
	} some[] = { { SYS_futex, "futex" },
		     { SYS_recvmsg, "recvmsg" },
		     { SYS_recvmmsg, "recvmmsg" },
		     { SYS_ppoll, "ppoll" },
		     { SYS_nanosleep, "nanosleep" },
		     { SYS_clock_nanosleep, "clock_nanosleep" },
		     { 510, "510" },
		     { 511, "511" } };
	static char said[256];
	struct syscall_set set;

	memset(&set, 0xa5, sizeof(set));
	if (syscall_set_read("x", list, &set))
		return "refused";
	snprintf(said, sizeof(said), "%u", count(&set));
	for (size_t i = 0; i < COUNT(some); i++)
		if (set.has[SYSCALL_NATIVE][some[i].number])
			snprintf(said + strlen(said), 32, " %s", some[i].name);
	return said;
}

TEST(lists)
{
	cases_check("futex = 1 futex|futex,recvmsg = 2 futex recvmsg"
		    "|recvmsg,futex,futex = 2 futex recvmsg|511 = 1 511|recvm?sg = 1 recvmmsg"
		    "|clock_nanosleep = 1 clock_nanosleep|!* = 0"
		    "|!ppoll = 511 futex recvmsg recvmmsg nanosleep clock_nanosleep 510 511"
		    "|!ppoll,futex = 510 recvmsg recvmmsg nanosleep clock_nanosleep 510 511"
		    "|!511,007 = 510 futex recvmsg recvmmsg ppoll nanosleep clock_nanosleep 510"
		    "|futex,* = 512 futex recvmsg recvmmsg ppoll nanosleep clock_nanosleep 510 511",
		    listed, "a list");
}

/* A pattern is exactly what it is without one, name by name. */
TEST(patterns)
{
	struct syscall_set set, names;

	is_i64(syscall_set_read("x", "epoll_*", &set), 0, "epoll_* is a list");
	ok(set.has[SYSCALL_NATIVE][SYS_epoll_pwait] && set.has[SYSCALL_NATIVE][SYS_epoll_ctl] &&
		   set.has[SYSCALL_NATIVE][SYS_epoll_create1] &&
		   !set.has[SYSCALL_NATIVE][SYS_ppoll],
	   "epoll_* is all that begins so");
	is_i64(syscall_set_read("x", "!epoll_*", &names), 0, "!epoll_* is a list");
	is_u64(count(&set) + count(&names), KD_CLASSES, "and its opposite has the others");
	is_i64(syscall_set_read("x", "[gs]etsockopt,mk*at", &set), 0, "several patterns");
	ok(set.has[SYSCALL_NATIVE][SYS_getsockopt] && set.has[SYSCALL_NATIVE][SYS_setsockopt] &&
		   set.has[SYSCALL_NATIVE][SYS_mkdirat] && set.has[SYSCALL_NATIVE][SYS_mknodat],
	   "are all that match");
	is_u64(count(&set), 4, "and no others");
}

/* arm64 has no poll: its C library calls ppoll. */
TEST(old_names)
{
	struct syscall_set set;

	is_i64(syscall_set_read("x", "poll,open", &set), 0, "poll and open are known everywhere");
#ifdef SYS_poll
	ok(set.has[SYSCALL_NATIVE][SYS_poll] && set.has[SYSCALL_NATIVE][SYS_open],
	   "they are those calls");
	is_u64(set.has[SYSCALL_NATIVE][SYS_ppoll], 0, "and no others");
#else
	ok(set.has[SYSCALL_NATIVE][SYS_ppoll] && set.has[SYSCALL_NATIVE][SYS_openat],
	   "they are the calls that are made instead");
	ok(!set.has[SYSCALL_COMPAT][336] && set.has[SYSCALL_COMPAT][168],
	   "but not in 32-bit mode, which has poll");
#endif
}

/* Names and numbers stand for calls of 32-bit mode, too. */
TEST(modes)
{
	struct syscall_set set;

	is_i64(syscall_set_read("x", "getppid,400", &set), 0, "names and numbers");
	ok(set.has[SYSCALL_COMPAT][400], "a number in both modes");
#ifdef __x86_64__
	ok(set.has[SYSCALL_NATIVE][110] && set.has[SYSCALL_COMPAT][64] &&
		   !set.has[SYSCALL_COMPAT][110] && !set.has[SYSCALL_NATIVE][64],
	   "getppid has a number in each");
	is_i64(syscall_set_read("x", "!_newselect,poll*", &set), 0,
	       "one that only 32-bit mode has");
	ok(!set.has[SYSCALL_COMPAT][142] && !set.has[SYSCALL_COMPAT][168] &&
		   !set.has[SYSCALL_NATIVE][7],
	   "is known");
	syscall_set_fill(&set);
	syscall_set_remove_polls(&set);
	ok(!set.has[SYSCALL_COMPAT][142] && !set.has[SYSCALL_COMPAT][168] &&
		   !set.has[SYSCALL_COMPAT][414] && !set.has[SYSCALL_COMPAT][413] &&
		   !set.has[SYSCALL_COMPAT][256],
	   "and what waits for descriptors there");
#endif
}

TEST(whole_sets)
{
	struct syscall_set set = { { { false } } };
	unsigned int polls = 3; /* that every machine has */

	ok(syscall_set_is_empty(&set), "an empty set");
	set.has[SYSCALL_NATIVE][KD_CLASSES - 1] = true;
	ok(!syscall_set_is_empty(&set), "one with the last number only");
	syscall_set_fill(&set);
	is_u64(count(&set), KD_CLASSES, "a full set");
	syscall_set_remove_polls(&set);
#ifdef SYS_poll
	ok(!set.has[SYSCALL_NATIVE][SYS_poll], "no poll");
	polls++;
#endif
#ifdef SYS_select
	ok(!set.has[SYSCALL_NATIVE][SYS_select], "no select");
	polls++;
#endif
#ifdef SYS_epoll_wait
	ok(!set.has[SYSCALL_NATIVE][SYS_epoll_wait], "no epoll_wait");
	polls++;
#endif
	ok(!set.has[SYSCALL_NATIVE][SYS_ppoll] && !set.has[SYSCALL_NATIVE][SYS_pselect6] &&
		   !set.has[SYSCALL_NATIVE][SYS_epoll_pwait],
	   "none of their variants");
	ok(!set.has[SYSCALL_NATIVE][441], "not epoll_pwait2");
	is_u64(count(&set), KD_CLASSES - polls - 1, "all others");
}

TEST(refused)
{
	static const struct {
		const char *lists, *says;
	} cases[] = {
		{ "|!|,|futex,|futex,,read", "a name is missing" },
		{ "!futex,!read", "no system call '!read'" },
		{ "futx|Futex", "similar names: futex" },
		{ "recvmsgs", "recvmsg" },
		{ "futex read", "no system call 'futex read'" },
		{ "nothing*", "no system call 'nothing*'" },
		{ "512|99999999999999999999", "out of range" },
		{ "-1", "no system call '-1'" },
		{ "a\x1b[2J", "\\x1b" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		  "aaaa",
		  "no system call" },
	};
	struct syscall_set set;
	char list[CASE_LEN];

	for (size_t i = 0; i < COUNT(cases); i++)
		for (const char *lists = cases[i].lists; case_next(&lists, list);) {
			const char *said;
			int status;

			capture_begin();
			status = syscall_set_read("syscall-filter", list, &set);
			said = capture_end();
			ok(status == 64 && strstr(said, cases[i].says) &&
				   strstr(said, "--syscall-filter") && !strchr(said, '\x1b'),
			   "'%s' is refused with 64, and why: %s", list, cases[i].says);
		}
}
