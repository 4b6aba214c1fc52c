/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "options_read.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "cli/base/parse.h"

#define MILLIONTHS 1000000

#define DURATION_MAX (365 * 24 * 3600 * NSEC_PER_SEC)

exit_status options_see_help(void)
{
	log_hint(OPTIONS_SEE_HELP);
	return EX_USAGE;
}

exit_status options_refuse_value(const struct option_row *row, const char *text, const char *what,
				 const char *hint, ...)
{
	char line[512];
	va_list args;

	va_start(args, hint);
	vsnprintf(line, sizeof(line), hint, args);
	va_end(args);
	log_error("option --%s: '%s' %s", row->name, text, what);
	log_hint("%s", line);
	return EX_USAGE;
}

static exit_status refuse_twice(const struct option_row *row, const char *hint)
{
	log_error("option --%s is given twice", row->name);
	log_hint("%s", hint);
	return EX_USAGE;
}

static void *field_of(const struct option_row *row, struct options *options)
{
	return (char *)options + row->field;
}

/* Fields of numbers have 4 or 8 bytes, and room for the row's maximum. */
static int store(const struct option_row *row, uint64_t number, struct options *options)
{
	if (row->size == sizeof(uint64_t))
		*(uint64_t *)field_of(row, options) = number;
	else
		*(uint32_t *)field_of(row, options) = (uint32_t)number;
	return 0;
}

/* --- Kinds of values --- */

int read_flag(const struct option_row *row, const char *text, struct options *options)
{
	(void)text;
	*(bool *)field_of(row, options) = true;
	return 0;
}

int read_number(const struct option_row *row, const char *text, struct options *options)
{
	uint64_t number;
	int error = parse_u64(text, row->min, row->max, &number);

	if (!error)
		return store(row, number, options);
	return options_refuse_value(row, text,
				    error == -ERANGE ? "is out of range" : "is not a whole number",
				    "give a number from %llu to %llu", (unsigned long long)row->min,
				    (unsigned long long)row->max);
}

int read_percent(const struct option_row *row, const char *text, struct options *options)
{
	uint64_t share;
	int error = text[strspn(text, "0123456789.")]
			    ? -EINVAL
			    : parse_duration(text, MILLIONTHS / 100, MILLIONTHS, &share);

	if (!error)
		return store(row, share, options);
	return options_refuse_value(
		row, text, error == -ERANGE ? "is more than 100 percent" : "is not a percentage",
		"give a number from 0 to 100, such as 1 or 0.5");
}

int read_alpha(const struct option_row *row, const char *text, struct options *options)
{
	uint64_t share = 0;

	if (!text[strspn(text, "0123456789.")] &&
	    !parse_duration(text, MILLIONTHS, MILLIONTHS, &share) && share)
		return store(row, share, options);
	return options_refuse_value(row, text, "is not a weight",
				    "give a number more than 0, at most 1: 0.2");
}

/* Right after an option whose value is optional a number may be meant as the process. */
static exit_status refuse_bare(const struct option_row *row, const char *text)
{
	char process[64] = "";
	uint64_t pid;

	if (row->takes == TAKES_FOLLOWING && !parse_u64(text, 1, INT32_MAX, &pid))
		snprintf(process, sizeof(process), "; or the process with --pid %s", text);
	return options_refuse_value(row, text, "has no unit",
				    "give one: %sns, %sus, %sms, %ss or %smin%s", text, text, text,
				    text, text, process);
}

int read_duration(const struct option_row *row, const char *text, struct options *options)
{
	uint64_t ns = 0;
	int error = parse_duration(text, row->unit, DURATION_MAX, &ns);

	if (!error && ns >= row->min)
		return store(row, ns, options);
	if (!error)
		return options_refuse_value(row, text, "is too short", "give at least 1ns");
	if (error == -ERANGE)
		return options_refuse_value(row, text, "is too long",
					    "give at most 365 days: 525600min");
	if (error == -EDOM)
		return refuse_bare(row, text);
	return options_refuse_value(row, text, "is not a duration",
				    "give a number %s ns, us, ms, s or min: 0.5s, 250ms",
				    !row->unit       ? "with"
				    : row->unit == 1 ? "of nanoseconds, or one with"
						     : "of seconds, or one with");
}

struct unit {
	const char *suffix;
	unsigned int shift;
};

/* A number directly followed by one of these units. Returns 0, -EINVAL or -ERANGE. */
static int parse_amount(const char *text, const struct unit *units, uint64_t min, uint64_t max,
			uint64_t *amount)
{
	size_t length = strspn(text, "0123456789");
	char digits[24] = "";
	int error;

	while (units->suffix && strcmp(text + length, units->suffix))
		units++;
	if (!units->suffix)
		return -EINVAL;
	if (length >= sizeof(digits))
		return -ERANGE;
	memcpy(digits, text, length);
	error = parse_u64(digits, min, max >> units->shift, amount);
	if (!error)
		*amount <<= units->shift;
	return error;
}

int read_bytes(const struct option_row *row, const char *text, struct options *options)
{
	static const struct unit units[] = { { "", 0 },    { "K", 10 },   { "k", 10 },
					     { "KB", 10 }, { "KiB", 10 }, { NULL, 0 } };
	uint64_t bytes;
	int error = parse_amount(text, units, row->min, row->max, &bytes);

	if (!error)
		return store(row, bytes, options);
	return options_refuse_value(
		row, text, error == -ERANGE ? "is out of range" : "is not a number of bytes",
		"give a number from 0 to %llu, or one with K: 16K", (unsigned long long)row->max);
}

#define RECORD_LEAST (64ULL << 10)
#define RECORD_MOST (4ULL << 30)

exit_status read_size(const struct option_row *row, const char *text, struct options *options)
{
	static const struct unit units[] = {
		{ "", 0 }, { "K", 10 }, { "M", 20 }, { "G", 30 }, { NULL, 0 }
	};
	uint64_t bytes;

	if (!parse_amount(text, units, 1, UINT64_MAX, &bytes))
		return store(row, bytes, options);
	return options_refuse_value(
		row, text, "is not a size",
		"give a number of bytes, at least 1, or one with K, M or G: 100M");
}

exit_status read_memory(const struct option_row *row, const char *text, struct options *options)
{
	int status = read_size(row, text, options);

	if (!status &&
	    (options->record_memory < RECORD_LEAST || options->record_memory > RECORD_MOST))
		return options_refuse_value(row, text, "is too little, or too much",
					    "give a size from 64K to 4G, such as 32M");
	return status;
}

exit_status read_file(const struct option_row *row, const char *text, struct options *options)
{
	if (!*text) {
		log_error("option --%s: the file name is empty", row->name);
		return options_see_help();
	}
	*(const char **)field_of(row, options) = text;
	return 0;
}

exit_status read_glob(const struct option_row *row, const char *text, struct options *options)
{
	if (!*text)
		return options_refuse_value(row, text, "is no pattern",
					    "give a name, or a pattern of names: 'pmd*'");
	*(const char **)field_of(row, options) = text;
	return 0;
}

exit_status read_choice(const struct option_row *row, const char *text, struct options *options)
{
	char list[128];
	size_t length = 0;
	uint32_t i;

	for (i = 0; row->choices[i] && strcmp(row->choices[i], text); i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s",
					   i ? ", " : "", row->choices[i]);
	if (row->choices[i])
		return store(row, i, options);
	return options_refuse_value(row, text, "is none of the choices", "give one of %s", list);
}

/* --- The process --- */

/* Reads PIDs with commas between them. Returns 0 or a negative errno. */
static int pids_parse(const char *text, pid_t pids[PIDS_MAX])
{
	char number[24];
	uint64_t pid;
	size_t n = 0;
	int error = 0;

	for (const char *at = text; at && !error; n++) {
		size_t length = strcspn(at, ",");

		if (n == PIDS_MAX)
			return -E2BIG;
		snprintf(number, sizeof(number), "%.*s", (int)length, at);
		error = length < sizeof(number) ? parse_u64(number, 1, INT32_MAX, &pid) : -ERANGE;
		if (!error)
			pids[n] = (pid_t)pid;
		at = at[length] ? at + length + 1 : NULL;
	}
	if (!error && n < PIDS_MAX)
		pids[n] = 0;
	return error;
}

/* most: what to give if there are too many of them; form: what they look like. */
static exit_status ids_read(const struct option_row *row, const char *text, pid_t ids[PIDS_MAX],
			    const char *most, const char *form)
{
	switch (pids_parse(text, ids)) {
	case 0:
		return 0;
	case -E2BIG:
		return options_refuse_value(row, text, "has too many numbers",
					    "give at most %d, or %s", PIDS_MAX, most);
	case -ERANGE:
		return options_refuse_value(row, text, "is out of range",
					    "give a number from 1 to %d, as in: %s", INT32_MAX,
					    form);
	default:
		return options_refuse_value(
			row, text, "is not a whole number, or several with commas between them",
			"give a number from 1 to %d, as in: %s", INT32_MAX, form);
	}
}

int read_pids(const struct option_row *row, const char *text, struct options *options)
{
	return ids_read(row, text, field_of(row, options), "--cgroup or --comm NAME --all",
			"--pid 12 or --pid 12,34");
}

int read_tids(const struct option_row *row, const char *text, struct options *options)
{
	return ids_read(row, text, field_of(row, options), "--threads and a pattern of their names",
			"--tid 12 or --tid 12,34");
}

int read_text(const struct option_row *row, const char *text, struct options *options)
{
	if (!*text) {
		log_error("option --%s: the value is empty", row->name);
		return options_see_help();
	}
	*(const char **)field_of(row, options) = text;
	return 0;
}

static exit_status take_name(const char *text, const char **name)
{
	if (!*text) {
		log_error("the name of the process is empty");
		log_hint("give it as in /proc/PID/comm");
		return EX_USAGE;
	}
	if (strlen(text) >= KD_COMM_LEN) {
		log_error("'%s' is too long for the name of a process", text);
		log_hint("the kernel keeps %d bytes of it, as in /proc/PID/comm: give '%.*s'",
			 KD_COMM_LEN - 1, KD_COMM_LEN - 1, text);
		return EX_USAGE;
	}
	*name = text;
	return 0;
}

exit_status read_name(const struct option_row *row, const char *text, struct options *options)
{
	return take_name(text, field_of(row, options));
}

exit_status read_user(const struct option_row *row, const char *text, struct options *options)
{
	const struct passwd *user;
	uint64_t number;

	if (!parse_u64(text, 0, UINT32_MAX - 1, &number))
		return store(row, number, options);
	user = getpwnam(text);
	if (user)
		return store(row, user->pw_uid, options);
	return options_refuse_value(row, text, "is no user of this machine",
				    "give a name as `getent passwd` lists it, or a number");
}

exit_status options_read_process(const char *text, struct options *options)
{
	const char *other = options->command     ? "a command"
			    : options->pidfile   ? "--pidfile"
			    : options->cgroup    ? "--cgroup"
			    : options->container ? "--container"
						 : NULL;
	int error;

	if (other) {
		log_error("'%s' and %s are given, but only one target can be watched", text, other);
		log_hint("give one of them");
		return EX_USAGE;
	}
	if (*options->pids || options->comm) {
		log_error("the process is given twice: as '%s' and with --%s", text,
			  *options->pids ? "pid" : "comm");
		log_hint("give it once");
		return EX_USAGE;
	}
	if (options->list_probes && strchr(text, ':')) {
		log_error("'%s' is not a process", text);
		log_hint("to list what matches it, give --list-probes='%s'", text);
		return EX_USAGE;
	}
	if (!isdigit((unsigned char)*text) || text[strspn(text, "0123456789,")])
		return take_name(text, &options->comm);
	error = pids_parse(text, options->pids);
	if (!error)
		return 0;
	if (error == -ERANGE)
		log_error("'%s' is out of range for a PID", text);
	else
		log_error("'%s' is not a PID, or up to %d with commas between them", text,
			  PIDS_MAX);
	log_hint("give a number from 1 to %d; or a name of digits with --comm", INT32_MAX);
	return EX_USAGE;
}

/* --- Values of one option each --- */

exit_status read_trigger(const struct option_row *row, const char *text, struct options *options)
{
	const char **trigger = field_of(row, options);

	if (*trigger)
		return refuse_twice(
			row,
			"give one; a pattern such as up:handle_* stands for several functions");
	*trigger = text;
	return 0;
}

exit_status read_deltas(const struct option_row *row, const char *text, struct options *options)
{
	struct deltas_error error;

	if (!deltas_parse(field_of(row, options), text, DURATION_MAX, &error))
		return 0;
	if (!strpbrk(text, ",:"))
		return options_refuse_value(row, text,
					    strstr(error.why, "too long") ? "is too long"
									  : "is not a duration",
					    "give a number of nanoseconds, or one with ns, us, ms, "
					    "s or min: 50us, 1.5ms");
	return options_refuse_value(row, text, "cannot be read",
				    "at character %zu, '%s': %s; as in 1ms,pmd*:50us,main:5ms",
				    error.at + 1, text + error.at, error.why);
}

exit_status read_overhead(const struct option_row *row, const char *text, struct options *options)
{
	static const char suffix[] = ",stop";
	size_t length = strlen(text), end = sizeof(suffix) - 1;
	char *number;
	int status;

	options->overhead_stops = length >= end && !strcmp(text + length - end, suffix);
	number = strndup(text, options->overhead_stops ? length - end : length);
	if (!number)
		return log_no_memory();
	status = read_number(row, number, options);
	free(number);
	return status;
}

int read_wait(const struct option_row *row, const char *text, struct options *options)
{
	return text ? read_duration(row, text, options) : store(row, UINT64_MAX, options);
}

int read_at(const struct option_row *row, const char *text, struct options *options)
{
	static const char hint[] = "give 14:30, 14:30:05, 2026-11-21T14:30, +5s or /10s";
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	switch (schedule_parse(text, clock_ns(&now), field_of(row, options))) {
	case 0:
		return 0;
	case -ETIME:
		return options_refuse_value(row, text, "is over", "give a later time");
	case -EDOM:
		return refuse_bare(row, text + 1);
	case -ERANGE:
		return options_refuse_value(row, text, "is too short or too long",
					    "give a period of at least 1ms, at most 10 years");
	default:
		return options_refuse_value(row, text, "is not a time", "%s", hint);
	}
}

int read_length(const struct option_row *row, const char *text, struct options *options)
{
	options->sample_time_given = text != row->preset;
	return read_duration(row, text, options);
}

int read_machine(const struct option_row *row, const char *text, struct options *options)
{
	options->machine = true;
	options->machine_json = !strcmp(text, "json");
	if (options->machine_json || !strcmp(text, "text"))
		return 0;
	return options_refuse_value(row, text, "is no format of it", "give %s or %s",
				    row->choices[0], row->choices[1]);
}

int read_listing(const struct option_row *row, const char *text, struct options *options)
{
	(void)row;
	options->list_probes = true;
	options->list_glob = text;
	return 0;
}

int read_events(const struct option_row *row, const char *text, struct options *options)
{
	options->call_events = true;
	return read_duration(row, text, options);
}

static exit_status refuse_waits(const struct option_row *row, const char *text)
{
	char list[256] = "";
	const char *known;

	for (size_t i = 0; (known = wait_filter_word(i)); i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 known);
	return options_refuse_value(row, text,
				    "has a word that is neither a state nor a kind of waits",
				    "there are %s; '*' is all", list);
}

static exit_status refuse_event(const struct option_row *row, const char *name)
{
	struct names_closest closest;
	char list[256] = "";
	const char *known;

	names_closest_init(&closest, name);
	for (size_t i = 0; (known = counter_event_name(i)); i++)
		names_closest_offer(&closest, known);
	for (size_t i = 0; i < names_closest_count(&closest); i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
			 i ? ", " : "; similar names: ", names_closest_get(&closest, i));
	names_closest_clear(&closest);
	return options_refuse_value(row, name, "is no event",
				    "give names as in perf-list(1): cycles,L1-dcache-load-misses, "
				    "or default, or raw ones: r3c%s",
				    list);
}

exit_status read_waits(const struct option_row *row, const char *text, struct options *options)
{
	struct wait_filter *filter = field_of(row, options);
	const char *list = text + (*text == '!');
	char word[32];

	*filter = (struct wait_filter){ .text = text, .others = *text == '!' };
	options->waits_chosen = text != row->preset;
	for (;; list++) {
		size_t length = strcspn(list, ",");

		snprintf(word, sizeof(word), "%.*s", (int)(length < sizeof(word) ? length : 0),
			 list);
		if (!wait_filter_add(filter, word))
			return refuse_waits(row, text);
		list += length;
		if (!*list)
			return 0;
	}
}

exit_status read_calls(const struct option_row *row, const char *text, struct options *options)
{
	if (options->calls_chosen)
		return refuse_twice(row, "give one list: futex,recvmsg");
	options->calls_chosen = true;
	return syscall_set_read(row->name, text, &options->calls);
}

exit_status read_counters(const struct option_row *row, const char *text, struct options *options)
{
	char wrong[COUNTER_NAME];

	if (options->counters.n)
		return refuse_twice(row, "give one list: cycles,instructions");
	switch (counter_set_read(strcmp(text, "default") ? text : COUNTERS_DEFAULT,
				 &options->counters, wrong)) {
	case 0:
		return 0;
	case -E2BIG:
		return options_refuse_value(row, text, "has too many events", "give at most %d",
					    KD_COUNTERS);
	case -EEXIST:
		return options_refuse_value(row, wrong, "is there twice", "give it once");
	default:
		return refuse_event(row, wrong);
	}
}
