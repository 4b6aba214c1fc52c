/* SPDX-License-Identifier: Apache-2.0 */
#include "options_read.h"

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "exit_status.h"
#include "log.h"
#include "options_table.h"
#include "parse.h"

#define DURATION_MAX (365 * 24 * 3600 * NSEC_PER_SEC)

int options_see_help(void)
{
	log_hint("`" PROGRAM " --help` lists the options");
	return EX_USAGE;
}

int read_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
	int error = parse_u64(text, min, max, number);

	if (!error)
		return 0;
	log_error("option --%s: '%s' is %s", option, text,
		  error == -ERANGE ? "out of range" : "no whole number");
	log_hint("give a number from %llu to %llu", (unsigned long long)min,
		 (unsigned long long)max);
	return EX_USAGE;
}

int read_duration(const char *option, const char *text, uint64_t bare, uint64_t min, uint64_t *ns)
{
	uint64_t duration = 0;
	int error = parse_duration(text, bare, DURATION_MAX, &duration);

	if (!error && duration >= min) {
		*ns = duration;
		return 0;
	}
	if (error == -EINVAL) {
		log_error("option --%s: '%s' is no duration", option, text);
		log_hint("give a number of %s, or one with ns, us, ms, s or min: 0.5s, 250ms",
			 bare == 1 ? "nanoseconds" : "seconds");
	} else {
		log_error("option --%s: '%s' is too %s", option, text, error ? "long" : "short");
		log_hint(error ? "give at most 365 days: 525600min" : "give at least 1ns");
	}
	return EX_USAGE;
}

int read_name(const char *option, const char *text, const char **name)
{
	if (!*text) {
		log_error("option --%s: the name is empty", option);
		log_hint("give the name of a process, as in /proc/PID/comm");
		return EX_USAGE;
	}
	if (strlen(text) >= KD_COMM_LEN) {
		log_error("option --%s: '%s' is too long", option, text);
		log_hint("thread names have at most %d bytes: give the name as in /proc/PID/comm",
			 KD_COMM_LEN - 1);
		return EX_USAGE;
	}
	*name = text;
	return 0;
}

int read_trigger(const char *option, const char *text, const char **trigger)
{
	if (*trigger) {
		log_error("option --%s is given twice", option);
		log_hint("give one; a pattern such as up:handle_* stands for several functions");
		return EX_USAGE;
	}
	*trigger = text;
	return 0;
}

int read_file(const char *option, const char *text, const char **file)
{
	if (!*text) {
		log_error("option --%s: the file name is empty", option);
		return options_see_help();
	}
	*file = text;
	return 0;
}

int read_bytes(const char *option, const char *text, uint64_t max, uint64_t *bytes)
{
	static const struct {
		const char *suffix;
		uint64_t unit;
	} units[] = { { "", 1 }, { "K", 1024 }, { "k", 1024 }, { "KB", 1024 }, { "KiB", 1024 } };
	size_t length = strspn(text, "0123456789");
	char digits[24] = "";
	uint64_t unit = 0, number;
	int error = -EINVAL;

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(text + length, units[i].suffix))
			unit = units[i].unit;
	if (length >= sizeof(digits)) {
		error = -ERANGE;
	} else if (unit) {
		memcpy(digits, text, length);
		error = parse_u64(digits, 0, max / unit, &number);
	}
	if (!error) {
		*bytes = number * unit;
		return 0;
	}
	log_error("option --%s: '%s' is %s", option, text,
		  error == -ERANGE ? "out of range" : "no number of bytes");
	log_hint("give a number from 0 to %llu, or one with K: 16K", (unsigned long long)max);
	return EX_USAGE;
}

int read_calls(const char *option, const char *text, struct options *options)
{
	if (options->calls_chosen) {
		log_error("option --%s is given twice", option);
		log_hint("give one list: futex,recvmsg");
		return EX_USAGE;
	}
	options->calls_chosen = true;
	return syscall_set_read(option, text, &options->calls);
}
