/* SPDX-License-Identifier: Apache-2.0 */
/* What the text of a trigger means. Nothing is looked up here. */
#ifndef TRIGGER_H
#define TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predicate.h"

#define TRIGGER_MAX 4096 /* bytes of a trigger's text */

enum trigger_kind {
	TRIGGER_USDT,
	TRIGGER_TRACEPOINT,
	TRIGGER_KPROBE,
	TRIGGER_KRETPROBE,
	TRIGGER_UPROBE,
	TRIGGER_URETPROBE,
};

/* The strings belong to the trigger; NULL: not given. */
struct trigger {
	enum trigger_kind kind;
	char *text;       /* as it was given */
	char *object;     /* user space: path or soname, NULL: the target's executable */
	char *group;      /* provider of a USDT probe, system of a tracepoint */
	char *name;       /* of the function, probe or event; NULL: by address */
	uint64_t offset;  /* bytes after the function's first; 0 with a pattern or a return */
	uint64_t address; /* as in the object's symbol table, if there is no name; else 0 */
	struct predicate *condition; /* that a hit has to fulfil; NULL: none */
	size_t condition_at;         /* where in the text that begins; 0: there is none */
	bool unsafe;                 /* return probes also where they may kill; set by the caller */
	bool everywhere; /* its probes are hit by all who have a file mapped; set by the caller */
	bool terse;      /* where else it may be is not wanted as a hint; set by the caller */
};

/* Reads a trigger such as "up:bridge_run" or "up:bridge_run if arg0 == 3". Returns 0 and fills
 * *trigger, which the caller clears; -ENOMEM; or -EINVAL, and *why says what is wrong with it (a
 * string constant). If that is in its condition, trigger->condition_at is the byte of the text at
 * which it is; else 0. An object may hold any character, but " if " only before that of a
 * condition; the parts after it no colon, but two of them together in the name of a function. */
int trigger_parse(struct trigger *trigger, const char *text, const char **why);

/* Releases what the trigger owns and clears it; safe on a zeroed one. */
void trigger_clear(struct trigger *trigger);

/* True if the trigger is looked up in the target's files, not in the kernel. */
bool trigger_is_user(const struct trigger *trigger);

/* True if it fires when its function returns. */
bool trigger_is_return(const struct trigger *trigger);

/* True if the name, or the provider of a USDT probe, stands for all names that it
 * matches (names.h). */
bool trigger_is_glob(const struct trigger *trigger);

/* True if it fires for the target only: what is in its files, and system calls. Other
 * probes of the kernel fire for whoever comes along. */
bool trigger_is_of_target(const struct trigger *trigger);

/* Reads the kind that a trigger's text begins with. Returns the length of its word,
 * which a colon follows; 0 if there is none, or no colon. */
size_t trigger_kind_read(enum trigger_kind *kind, const char *text);

/* Where the function begins in "up:OBJECT:ns::function" and the like. */
const char *trigger_function(const char *text);

/* The word of a kind at an index, without its colon; a kind has several, the long form
 * first. NULL behind the last one. */
const char *trigger_kind_word(size_t index);

/* "uprobe", "usdt", ...: as the long form of the grammar has it. */
const char *trigger_kind_name(enum trigger_kind kind);

/* The grammar, one form a line, for error messages and --help. */
extern const char *const trigger_grammar[];
extern const size_t trigger_grammar_len;

#endif
