/* SPDX-License-Identifier: Apache-2.0 */
#include "syscall_set.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../probes/names.h"
#include "exit_status.h"
#include "log.h"
#include "parse.h"
#include "syscall_names.h"

#define NAME_MAX_LEN 64 /* of a name or pattern; the kernel's have up to 27 bytes */

void syscall_set_fill(struct syscall_set *set)
{
	memset(set->has, true, sizeof(set->has));
}

void syscall_set_remove_polls(struct syscall_set *set)
{
	static const char *const polls[] = { "poll",       "ppoll",       "select",      "pselect6",
					     "epoll_wait", "epoll_pwait", "epoll_pwait2" };

	for (size_t i = 0; i < sizeof(polls) / sizeof(*polls); i++) {
		int number = syscall_number(polls[i]); /* no machine has them all */

		if (number >= 0 && number < KD_CLASSES)
			set->has[number] = false;
	}
}

bool syscall_set_is_empty(const struct syscall_set *set)
{
	return !memchr(set->has, true, sizeof(set->has));
}

static int refuse_name(const char *option, const char *name)
{
	struct names_closest closest;

	log_error("option --%s: there is no system call '%s'", option, name);
	names_closest_init(&closest, name);
	for (uint32_t number = 0; number < KD_CLASSES; number++)
		if (syscall_name(number))
			names_closest_offer(&closest, syscall_name(number));
	names_closest_hint(&closest, "", "give names as in syscalls(2), patterns, or numbers");
	names_closest_clear(&closest);
	return EX_USAGE;
}

/* Adds what a name, a pattern or a number stands for. */
static int add_name(const char *option, const char *name, struct syscall_set *set)
{
	bool found = false;
	uint64_t number;

	if (name[strspn(name, "0123456789")] == '\0') {
		if (!parse_u64(name, 0, KD_CLASSES - 1, &number)) {
			set->has[number] = true;
			return 0;
		}
		log_error("option --%s: '%s' is out of range", option, name);
		log_hint("numbers of system calls go from 0 to %d", KD_CLASSES - 1);
		return EX_USAGE;
	}
	if (!strcmp(name, "*")) { /* those without a name, too */
		syscall_set_fill(set);
		return 0;
	}
	for (uint32_t i = 0; i < KD_CLASSES; i++) {
		const char *known = syscall_name(i);

		if (!known || !names_match(name, known))
			continue;
		set->has[i] = true;
		found = true;
	}
	return found ? 0 : refuse_name(option, name);
}

int syscall_set_read(const char *option, const char *list, struct syscall_set *set)
{
	bool others = *list == '!';

	memset(set, 0, sizeof(*set));
	list += others;
	for (;;) {
		size_t length = strcspn(list, ",");
		char name[NAME_MAX_LEN];
		int status;

		if (!length) {
			log_error("option --%s: a name is missing", option);
			log_hint("give names separated by commas: futex,recvmsg; or all but some: "
				 "'!poll,futex'");
			return EX_USAGE;
		}
		if (length >= sizeof(name)) {
			log_error("option --%s: there is no system call '%.*s...'", option,
				  NAME_MAX_LEN, list);
			log_hint("separate names by commas");
			return EX_USAGE;
		}
		memcpy(name, list, length);
		name[length] = '\0';
		status = add_name(option, name, set);
		if (status)
			return status;
		list += length;
		if (!*list++)
			break;
	}
	for (size_t i = 0; others && i < KD_CLASSES; i++)
		set->has[i] = !set->has[i];
	return 0;
}
