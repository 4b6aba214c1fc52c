/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the text of a trigger. Looks nothing up. */
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
	TRIGGER_KINDS,
};
#define TRIGGER_WORDS 3

/* The trigger owns the strings. NULL: not given. */
struct trigger {
	enum trigger_kind kind;
	char *text;       /* as given */
	char *object;     /* user space: path or soname, NULL: the target's executable */
	char *group;      /* provider of a USDT probe, system of a tracepoint */
	char *name;       /* of the function, probe or event; NULL: by address */
	uint64_t offset;  /* bytes from the function's first; 0 with a pattern or a return */
	uint64_t address; /* as in the object's symbol table, if there is no name; else 0 */
	struct predicate *condition; /* that a hit must meet; NULL: none */
	size_t condition_at;         /* where it begins in the text; 0: none */
	bool unsafe;                 /* return probes even where they may kill; set by the caller */
	bool everywhere; /* every process that maps a file hits its probes; set by the caller */
	bool terse;      /* no hint about other places; set by the caller */
};

struct piece; /* of a trigger's text */

/* What is special about a kind: what follows asks for that, never for its number. */
extern const struct probe_kind {
	const char *words[TRIGGER_WORDS]; /* the long form, the short one, another one or NULL */
	int (*read)(struct trigger *trigger, struct piece probe, const char **why);
	uint64_t hit_ns; /* what a hit typically costs; user space measures, if it can */
	bool is_user;    /* looked up in the target's files, not in the kernel */
	bool is_static;  /* by a group and a name of its own there, else by function or address */
	bool is_return;  /* fires when its function returns */
} probe_kinds[TRIGGER_KINDS];

/* Parses a trigger such as "up:bridge_run" or "up:bridge_run if arg0 == 3". Returns 0 and fills
 * *trigger, which the caller clears; -ENOMEM; or -EINVAL, and *why is a string constant that
 * says what is wrong. For an error in the condition, trigger->condition_at is its byte in the
 * text; else 0. An object may contain any character, but " if " only if a condition follows. The
 * fields after it may not contain a colon, except for :: in a function's name. */
int trigger_parse(struct trigger *trigger, const char *text, const char **why);

/* Releases what the trigger owns and clears it; safe on a zeroed one. */
void trigger_clear(struct trigger *trigger);

static inline bool trigger_is_user(const struct trigger *trigger)
{
	return probe_kinds[trigger->kind].is_user;
}

static inline bool trigger_is_return(const struct trigger *trigger)
{
	return probe_kinds[trigger->kind].is_return;
}

/* True if the name, or a USDT probe's provider, is a pattern (names.h). */
bool trigger_is_glob(const struct trigger *trigger);

static inline bool trigger_is_tracepoint(const struct trigger *trigger)
{
	return !trigger_is_user(trigger) && trigger->group;
}

/* True if it is on tracepoints of single system calls. */
bool trigger_is_of_calls(const struct trigger *trigger);

/* True if it fires for the target only: in its files, and on system calls. Other kernel probes
 * fire for any process. */
bool trigger_is_of_target(const struct trigger *trigger);

/* Reads the kind at the beginning of a trigger's text. Returns the length of its word, which a
 * colon follows; 0 if there is no kind or no colon. */
size_t trigger_kind_read(enum trigger_kind *kind, const char *text);

/* Returns where the function begins in "up:OBJECT:ns::function" and the like. */
const char *trigger_function(const char *text);

/* Returns "uprobe", "usdt", ...: the long form in the grammar. */
static inline const char *trigger_kind_name(enum trigger_kind kind)
{
	return probe_kinds[kind].words[0];
}

/* The grammar, one form per line, for error messages and --help. */
extern const char *const trigger_grammar[];
extern const size_t trigger_grammar_len;

#endif
