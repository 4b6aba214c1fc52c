// SPDX-License-Identifier: Apache-2.0
#include "syscall_set.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bpf/kernel_delay.h"
#include "exit_status.h"
#include "log.h"
#include "names.h"
#include "parse.h"

/* --- Their names --- */

static const struct {
	uint32_t call;
	const char *name;
} table[] = {
#include "syscall_table.inc" /* made by syscall_table.sh, sorted by call */
};

#define TABLE_LENGTH (sizeof(table) / sizeof(table[0]))

static const struct {
	const char *name;
	uint32_t bit;
} modes[SYSCALL_MODES] = {
	[SYSCALL_NATIVE] = { "", 0 },
	[SYSCALL_COMPAT] = { "32-bit", KD_CALL_COMPAT },
	[SYSCALL_X32] = { "x32", KD_CALL_X32 },
};

enum syscall_mode syscall_mode(uint32_t call)
{
	uint32_t bits = call & ~KD_CALL_NUMBER;

	return bits == KD_CALL_COMPAT ? SYSCALL_COMPAT
	       : bits == KD_CALL_X32  ? SYSCALL_X32
				      : SYSCALL_NATIVE;
}

uint32_t syscall_plain(uint32_t call)
{
	return syscall_mode(call) == SYSCALL_NATIVE ? call : call & KD_CALL_NUMBER;
}

uint32_t syscall_in_mode(enum syscall_mode mode, uint32_t number)
{
	return number | modes[mode].bit;
}

const char *syscall_mode_name(enum syscall_mode mode)
{
	return modes[mode].name;
}

const char *syscall_name(uint32_t call)
{
	size_t low = 0, high = TABLE_LENGTH;

	/* Most calls are where they would be if no number were missing. */
	if (call < TABLE_LENGTH && table[call].call == call)
		return table[call].name;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table[middle].call == call)
			return table[middle].name;
		if (table[middle].call < call)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

int64_t syscall_find(enum syscall_mode mode, const char *name)
{
	for (size_t i = 0; i < TABLE_LENGTH; i++)
		if (syscall_mode(table[i].call) == mode && !strcmp(table[i].name, name))
			return table[i].call;
	return -1;
}

int syscall_number(const char *name)
{
	return (int)syscall_find(SYSCALL_NATIVE, name);
}

/* --- Sets of system calls --- */

#define NAME_MAX_LEN 64 /* of a name or pattern; the kernel's have up to 27 bytes */

void syscall_set_fill(struct syscall_set *set)
{
	memset(set->has, true, sizeof(set->has));
}

/* Puts all calls of that name or pattern in or out. Returns whether there are any. */
static bool set_name(struct syscall_set *set, const char *name, bool has)
{
	bool found = false;

	for (unsigned int mode = 0; mode < KD_CLASS_MODES; mode++)
		for (uint32_t i = 0; i < KD_CLASSES; i++) {
			const char *known = syscall_name(syscall_in_mode(mode, i));

			if (!known || !names_match(name, known))
				continue;
			set->has[mode][i] = has;
			found = true;
		}
	return found;
}

void syscall_set_remove_polls(struct syscall_set *set)
{
	/* No machine, and no mode, has them all. */
	static const char *const polls[] = { "poll",        "ppoll",           "ppoll_time64",
					     "select",      "_newselect",      "pselect6",
					     "epoll_wait",  "pselect6_time64", "epoll_pwait",
					     "epoll_pwait2" };

	for (size_t i = 0; i < sizeof(polls) / sizeof(*polls); i++)
		set_name(set, polls[i], false);
}

bool syscall_set_has(const struct syscall_set *set, int32_t call)
{
	enum syscall_mode mode = call < 0 ? SYSCALL_MODES : syscall_mode((uint32_t)call);
	uint32_t number = call < 0 ? 0 : syscall_plain((uint32_t)call);

	return (unsigned int)mode < KD_CLASS_MODES && number < KD_CLASSES && set->has[mode][number];
}

bool syscall_set_is_empty(const struct syscall_set *set)
{
	return !memchr(set->has, true, sizeof(set->has));
}

void syscall_set_hint(const char *name, const char *otherwise)
{
	struct names_closest closest;

	names_closest_init(&closest, name);
	for (unsigned int mode = 0; mode < KD_CLASS_MODES; mode++)
		for (uint32_t i = 0; i < KD_CLASSES; i++) {
			const char *known = syscall_name(syscall_in_mode(mode, i));

			if (known)
				names_closest_offer(&closest, known);
		}
	names_closest_hint(&closest, "", otherwise);
	names_closest_clear(&closest);
}

static exit_status refuse_name(const char *option, const char *name)
{
	log_error("option --%s: there is no system call '%s'", option, name);
	syscall_set_hint(name, "give names as in syscalls(2), patterns, or numbers");
	return EX_USAGE;
}

/* Adds what a name, a pattern or a number stands for. */
static exit_status add_name(const char *option, const char *name, struct syscall_set *set)
{
	uint64_t number;

	if (name[strspn(name, "0123456789")] == '\0') {
		if (!parse_u64(name, 0, KD_CLASSES - 1, &number)) {
			for (unsigned int mode = 0; mode < KD_CLASS_MODES; mode++)
				set->has[mode][number] = true;
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
	return set_name(set, name, true) ? 0 : refuse_name(option, name);
}

exit_status syscall_set_read(const char *option, const char *list, struct syscall_set *set)
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
	for (size_t i = 0; others && i < KD_CLASS_MODES * KD_CLASSES; i++)
		set->has[i / KD_CLASSES][i % KD_CLASSES] ^= true;
	return 0;
}
