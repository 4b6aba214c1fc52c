// SPDX-License-Identifier: Apache-2.0
/* libunwind's remote interface, and around it what it does not do: it is given call
 * frame information only after that was validated (cfi.h), one entry at a time, and
 * what it makes of an entry is kept here.
 *
 * unw_step() is not used: it guesses where there is no information, its cache is one
 * for return addresses and interrupted ones alike (the rows of which differ behind
 * a call that does not return), has 128 rules, and masks signals around each look:
 * cli/DETAILS.rst has what that costs.
 * unw_reg_states_iterate() and unw_apply_reg_state() are made for such a cache. */
#include "unwind.h"

#include <errno.h>
#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "probes/elf/cfi.h"
#include "probes/elf/go_table.h"
#include "machine_code.h"

#if defined(__x86_64__)
#define REG_RETURN UNW_X86_64_RIP
#define REG_FRAME UNW_X86_64_RBP
#define ADDRESS_MASK UINT64_MAX
#define LEAF_NEEDS_STACK true /* its return address is there */
#else
#define REG_RETURN UNW_AARCH64_X30
#define REG_FRAME UNW_AARCH64_X29
#define ADDRESS_MASK ((1ULL << 48) - 1) /* above are the bits of pointer authentication */
#define LEAF_NEEDS_STACK false
#endif

/* What is known of an address of code: how to get from there to the caller. */
struct rule {
	uint64_t address;
	uint64_t generation; /* of the unwinder; another one: nothing is known */
	struct unwind_object object;
	bool mapped; /* there is code */
	struct cfi_fde fde;
	enum unwind_stop stop; /* UNWIND_COMPLETE: there is a row */
	/* Of a function in Go, which has neither: how much it has on the stack. */
	bool is_go, go_outermost, go_switches, go_leaves, go_injected;
	uint32_t go_frame;
	/* Of the instruction before the next address, if it was looked at. */
	bool looked, calls;
	uint64_t target; /* where the call goes; 0: unknown */
};

/* The context of libunwind's call-backs: a stack being unwound or, without a copy, a
 * rule being looked up. */
struct walk {
	struct unwinder *unwinder;
	const struct stack_copy *copy;
	struct known *known;     /* of a stack: what is read of it */
	const struct rule *rule; /* whose information is being read */
	uint64_t regs[KD_REGS];
	uint64_t missing; /* bitmap of registers that are not known */
	unsigned int *steps;
	enum unwind_stop failure; /* why a read failed; UNWIND_COMPLETE: none did */
	bool elsewhere;           /* a signal's handler ran on a stack of its own */
	bool exact;               /* the frame's instruction itself was interrupted */
	bool by_frame_pointers;   /* some of the frames were found so */
	bool left_goroutine;      /* what is on another stack does not wait for this one */
	bool through_made;        /* some are code that is in no file that can be read */
	uint64_t ip, sp;
	bool begun; /* the cursor has the registers, and regs those that it began with */
	unw_cursor_t cursor;
};

#define WALK_ON UNWIND_STOPS /* it does not stop here */

/* Exported and not declared (as of 1.8); the Makefile looks whether it is there. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *table,
				       unw_proc_info_t *info, int need_unwind_info, void *context);

#define MAX_STEPS 200000 /* words that may be read for one stack */
#define BYTES_PER_STEP 4 /* of instructions validated */
#define RULES 4096       /* a power of two: addresses of code that are remembered */
#define MAX_ROW 4096     /* bytes; 1.6 has 176 on x86-64 and 1 KB on arm64 */

/* Where libunwind finds the table with the one entry it asked for: at an address that
 * no process has. */
#define TABLE_ADDRESS 8

struct unwinder {
	unwind_find *find;
	void *context;
	unw_addr_space_t space;
	struct rule *rules;
	uint8_t *rows; /* of the rules, libunwind's */
	size_t row_size;
	uint64_t generation;
};

/* Reads a word of the stack, and notes that it matters, or why it is not there. */
static bool walk_word(struct walk *walk, uint64_t address, uint64_t *word)
{
	switch (stack_copy_find(walk->copy, address, word)) {
	case STACK_COPY_THERE:
		known_word(walk->known, address);
		return true;
	case STACK_COPY_BEYOND:
		walk->failure = walk->elsewhere ? UNWIND_NOT_COPIED : UNWIND_TRUNCATED;
		break;
	default:
		walk->failure = UNWIND_NOT_COPIED;
	}
	known_refuse(walk->known); /* another time there may be more to read */
	return false;
}

/* --- What libunwind calls; -UNW_ENOINFO would make it guess --- */

static int memory_access(unw_addr_space_t space, unw_word_t address, unw_word_t *word, int write,
			 void *context)
{
	struct walk *walk = context;
	const struct rule *rule = walk->rule;

	(void)space;
	if (write)
		return -UNW_EREADONLYREG;
	if (++*walk->steps > MAX_STEPS) {
		walk->failure = UNWIND_BUDGET;
		return -UNW_EBADFRAME;
	}
	if (rule && rule->object.cfi &&
	    cfi_word(rule->object.cfi, address - rule->object.bias, word))
		return 0;
	if (!walk->copy) {
		/* Of the table; or indirect pointers to personality routines, whose
		 * values nobody needs. */
		static const int32_t entry[2] = { INT32_MIN, 0 };

		*word = 0;
		if (address == TABLE_ADDRESS)
			memcpy(word, entry, sizeof(entry));
		return 0;
	}
	return walk_word(walk, address, word) ? 0 : -UNW_EBADFRAME;
}

static int register_access(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value,
			   int write, void *context)
{
	struct walk *walk = context;

	(void)space;
	if (write || number < 0 || number >= KD_REGS)
		return -UNW_EBADREG;
	if (walk->missing >> number & 1) {
		walk->failure = UNWIND_NOT_COPIED;
		return -UNW_EBADREG;
	}
	*value = walk->regs[number];
	if (walk->known)
		known_register(walk->known, (unsigned int)number);
	return 0;
}

static int float_access(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write,
			void *context)
{
	(void)space, (void)number, (void)value, (void)write, (void)context;
	return -UNW_EBADREG;
}

/* The entry has been found and validated; libunwind gets it through a table that has
 * no other, relative to the entry itself. */
static int info_find(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
		     int need_unwind_info, void *context)
{
	const struct walk *walk = context;
	const struct rule *rule = walk->rule;
	unw_dyn_info_t table = {
		.start_ip = rule->object.bias + rule->fde.start,
		.end_ip = rule->object.bias + rule->fde.end,
		.format = UNW_INFO_FORMAT_REMOTE_TABLE,
		.u.rti = {
			.segbase = rule->object.bias + rule->fde.address,
			.table_len = 1, /* words */
			.table_data = TABLE_ADDRESS,
		},
	};
	int err;

	if (ip < table.start_ip || ip >= table.end_ip)
		return -UNW_EBADFRAME;
	err = UNW_OBJ(dwarf_search_unwind_table)(space, ip, &table, info, need_unwind_info,
						 context);
	return err == -UNW_ENOINFO ? -UNW_EBADFRAME : err;
}

static void info_put(unw_addr_space_t space, unw_proc_info_t *info, void *context)
{
	(void)space, (void)info, (void)context;
}

/* Of code that announces itself at run time, which is not looked for. */
static int dynamic_find(unw_addr_space_t space, unw_word_t *list, void *context)
{
	(void)space, (void)list, (void)context;
	return -UNW_ENOINFO;
}

static int resume_refuse(unw_addr_space_t space, unw_cursor_t *cursor, void *context)
{
	(void)space, (void)cursor, (void)context;
	return -UNW_EINVAL;
}

static int name_refuse(unw_addr_space_t space, unw_word_t ip, char *name, size_t size,
		       unw_word_t *offset, void *context)
{
	(void)space, (void)ip, (void)name, (void)size, (void)offset, (void)context;
	return -UNW_EINVAL;
}

/* --- Where registers were saved --- */

struct row_search {
	struct unwinder *unwinder;
	const struct rule *rule;
	bool found;
};

static uint8_t *rule_row(const struct unwinder *unwinder, const struct rule *rule)
{
	return unwinder->rows + (size_t)(rule - unwinder->rules) * unwinder->row_size;
}

/* Keeps the row of the rule's address, and ends the search. */
static int row_keep(void *token, void *row, size_t size, unw_word_t start, unw_word_t end)
{
	struct row_search *search = token;
	struct unwinder *unwinder = search->unwinder;

	if (search->rule->address < start || search->rule->address >= end)
		return 0;
	if (!unwinder->rows && size <= MAX_ROW) {
		unwinder->row_size = (size + 15) & ~(size_t)15;
		unwinder->rows = calloc(RULES, unwinder->row_size);
	}
	if (!unwinder->rows || size > unwinder->row_size)
		return -UNW_ENOMEM;
	memcpy(rule_row(unwinder, search->rule), row, size);
	search->found = true;
	return -UNW_ESTOPUNWIND;
}

/* Has libunwind make the row of a rule. Returns UNWIND_COMPLETE, or what is wrong. */
static enum unwind_stop row_make(struct unwinder *unwinder, const struct rule *rule,
				 unsigned int *steps)
{
	struct row_search search = { .unwinder = unwinder, .rule = rule };
	struct walk walk = { .unwinder = unwinder, .rule = rule, .steps = steps };
	unw_cursor_t cursor;

	walk.regs[KD_REG_IP] = rule->address;
	if (unw_init_remote(&cursor, unwinder->space, &walk) == 0)
		unw_reg_states_iterate(&cursor, row_keep, &search);
	if (search.found)
		return UNWIND_COMPLETE;
	return walk.failure ? walk.failure : UNWIND_BAD_CFI;
}

/* Finds out what Go's table says of a rule's address, and counts what that took. Returns whether it
 * is there. */
static bool rule_explore_go(struct rule *rule, unsigned int *steps)
{
	uint64_t address = rule->address - rule->object.bias;
	struct go_function function;
	uint32_t taken;
	int err;

	if (!LEAF_NEEDS_STACK || go_table_find(rule->object.go, address, &function))
		return false;
	err = go_table_frame(rule->object.go, &function, address, &rule->go_frame, &taken);
	*steps += taken;
	if (err)
		return false;
	rule->is_go = true;
	rule->go_outermost = function.outermost;
	rule->go_switches = function.switches;
	rule->go_leaves = function.leaves;
	rule->go_injected = function.injected;
	return true;
}

/* Finds out what is to be known of a rule. */
static enum unwind_stop rule_explore(struct unwinder *unwinder, struct rule *rule,
				     unsigned int *steps)
{
	const struct unwind_object *object = &rule->object;
	int err;

	rule->mapped = unwinder->find(unwinder->context, rule->address, &rule->object);
	if (!rule->mapped || object->anonymous)
		return UNWIND_NO_OBJECT;
	if (object->go && rule_explore_go(rule, steps))
		return UNWIND_COMPLETE;
	if (!object->cfi)
		return UNWIND_NO_CFI;
	err = cfi_find(object->cfi, rule->address - object->bias, &rule->fde);
	if (err)
		return err == -ENOENT ? UNWIND_NO_CFI : UNWIND_BAD_CFI;
	/* Of a file that is mapped elsewhere than it says; the dynamic linker might have
	 * corrected the address, in memory only. */
	if (rule->fde.absolute && rule->object.bias)
		return UNWIND_BAD_CFI;
	*steps += (unsigned int)(rule->fde.size / BYTES_PER_STEP);
	return row_make(unwinder, rule, steps);
}

/* The rule of an address, which stays until the next call. */
static struct rule *rule_find(struct unwinder *unwinder, uint64_t address, unsigned int *steps)
{
	struct rule *rule = &unwinder->rules[(address ^ address >> 12) % RULES];

	if (rule->generation == unwinder->generation && rule->address == address)
		return rule;
	*rule = (struct rule){ .address = address, .generation = unwinder->generation };
	rule->stop = rule_explore(unwinder, rule, steps);
	if (rule->stop == UNWIND_BUDGET)
		rule->generation = 0; /* this stack's budget: another may have more left */
	return rule;
}

/* Reads a register of the frame. Returns whether it is known. */
static bool walk_register(struct walk *walk, unsigned int number, uint64_t *value)
{
	unw_word_t word;

	if (walk->begun ? unw_get_reg(&walk->cursor, (unw_regnum_t)number, &word)
			: register_access(NULL, (unw_regnum_t)number, &word, 0, walk))
		return false;
	*value = word;
	return true;
}

/* --- Frames without call frame information --- */

/* What is taken for a return address must be one: behind a call, if the code is in a file that can
 * be read. */

/* Bytes of a function that has no frame, as it makes a system call: more than any has. */
#define LEAF_SIZE 256

static bool code_read(const struct rule *rule, uint64_t address, uint8_t *code, size_t size)
{
	uint64_t offset;

	return rule->object.file &&
	       elf_file_offset(rule->object.file, address - rule->object.bias, PF_X, &offset) &&
	       !elf_file_read(rule->object.file, offset, code, size);
}

/* Whether the instruction before an address is a call: what cannot be looked at may be one. The
 * handler of a signal returns to where nobody called it, and so does a goroutine. */
static void rule_look(struct rule *rule, uint64_t address)
{
	uint8_t code[CALL_SIZE];
	int64_t distance;

	rule->looked = true;
	rule->calls = (rule->mapped && !rule->object.file) || rule->fde.signal ||
		      rule->go_outermost;
	if (rule->object.file && code_read(rule, address - sizeof(code), code, sizeof(code))) {
		rule->calls |= code_ends_with_call(code);
		if (code_ends_with_call_to(code, &distance))
			rule->target = address + (uint64_t)distance;
	}
}

/* A frame that may be the caller's. */
struct caller {
	uint64_t ip, sp;
	uint64_t target; /* of the call there; 0: unknown */
};

/* Whether code can return there. */
static bool caller_look(struct walk *walk, struct caller *caller)
{
	struct rule *rule = rule_find(walk->unwinder, caller->ip - 1, walk->steps);

	if (!rule->looked)
		rule_look(rule, caller->ip);
	caller->target = rule->target;
	return rule->calls;
}

/* With what was saved at an address of the stack. */
static bool caller_read(struct walk *walk, uint64_t saved, struct caller *caller)
{
	uint64_t word;

	if (!walk_word(walk, saved, &word))
		return false;
	caller->sp = saved + sizeof(word);
	caller->ip = stack_copy_return(walk->copy, word & ADDRESS_MASK, caller->sp);
	return caller_look(walk, caller);
}

/* All registers, as libunwind has them. */
static void registers_take(struct walk *walk)
{
	uint64_t missing = 0, word;

	for (unsigned int i = 0; walk->begun && i < KD_REGS; i++) {
		if (i == KD_REG_IP || i == KD_REG_SP)
			continue;
		if (walk_register(walk, i, &word))
			walk->regs[i] = word;
		else
			missing |= 1ULL << i;
	}
	if (walk->begun)
		walk->missing = missing;
	walk->begun = false;
}

static enum unwind_stop walk_to(struct walk *walk, const struct caller *caller)
{
	walk->ip = walk->regs[KD_REG_IP] = caller->ip;
	walk->sp = walk->regs[KD_REG_SP] = caller->sp;
	walk->exact = false;
	walk->begun = false;
	return WALK_ON;
}

/* --- Code that has put nothing on the stack --- */

/* The caller, if the interrupted function has no frame: its return address is at the top. */
static bool leaf_caller(struct walk *walk, struct caller *caller)
{
#if defined(__x86_64__)
	return caller_read(walk, walk->sp, caller);
#else
	if (!walk_register(walk, REG_RETURN, &caller->ip))
		return false;
	caller->ip = stack_copy_return(walk->copy, caller->ip & ADDRESS_MASK, walk->sp);
	caller->sp = walk->sp;
	return caller_look(walk, caller);
#endif
}

/* In a file that has information such code is written by hand, as are system calls in functions
 * like clone3. Elsewhere the call must be one of this function, which makes no frame. */
static bool leaf_is_sure(const struct walk *walk, const struct rule *rule,
			 const struct caller *caller)
{
	uint8_t code[BEGIN_SIZE];

	if (rule->object.cfi)
		return true;
	return caller->target && walk->ip - caller->target < LEAF_SIZE &&
	       code_read(rule, caller->target, code, sizeof(code)) && !code_begins_frame(code);
}

/* --- Frame pointers: [fp] is the caller's, [fp + 8] the return address (System V ABI for AMD64,
 *     3.2.2; AAPCS64, 6.4.6) --- */

static bool frame_caller(struct walk *walk, uint64_t fp, uint64_t *callers_fp,
			 struct caller *caller)
{
	return fp >= walk->sp && !(fp % sizeof(fp)) && walk_word(walk, fp, callers_fp) &&
	       caller_read(walk, fp + sizeof(fp), caller);
}

/* No other register is known then; on arm64 the stack pointer is not more than a bound. */
static enum unwind_stop walk_to_frame(struct walk *walk, uint64_t callers_fp,
				      const struct caller *caller)
{
	walk->regs[REG_FRAME] = callers_fp;
	walk->missing = ~(1ULL << REG_FRAME | 1ULL << KD_REG_IP | 1ULL << KD_REG_SP);
	walk->by_frame_pointers = true;
	return walk_to(walk, caller);
}

/* What the interrupted instruction itself says of the frame. */
static bool edge_caller(struct walk *walk, const struct rule *rule, uint64_t *callers_fp,
			struct caller *caller)
{
	uint8_t before[EDGE_SIZE], at[EDGE_SIZE];

	if (!code_read(rule, walk->ip - sizeof(before), before, sizeof(before)) ||
	    !code_read(rule, walk->ip, at, sizeof(at)))
		return false;
	switch (code_place(before, at)) {
	case CODE_AT_EDGE:
		return walk_register(walk, REG_FRAME, callers_fp) && leaf_caller(walk, caller);
	case CODE_PUSHED:
		return frame_caller(walk, walk->sp, callers_fp, caller);
	default:
		return false;
	}
}

/* Goes from a frame of code without call frame information, that of walk->rule, to its caller.
 * Returns WALK_ON; UNWIND_COMPLETE if there is none; or why that cannot be done: stop, if it is for
 * want of such information. */
static enum unwind_stop walk_plainly(struct walk *walk, enum unwind_stop stop)
{
	const struct rule rule = *walk->rule; /* others may take its place */
	struct caller leaf, caller;
	uint64_t fp, callers_fp;
	bool is_leaf;

	if (!rule.mapped)
		return stop;
	walk->failure = UNWIND_COMPLETE;
	is_leaf = walk->exact && leaf_caller(walk, &leaf);
	if (is_leaf && leaf_is_sure(walk, &rule, &leaf)) {
		registers_take(walk);
		return walk_to(walk, &leaf);
	}
	if (walk->exact && edge_caller(walk, &rule, &callers_fp, &caller))
		return walk_to_frame(walk, callers_fp, &caller);
	if (walk_register(walk, REG_FRAME, &fp)) {
		if (!fp && !walk->exact) { /* the outermost, by the same ABIs */
			walk->by_frame_pointers = true;
			return UNWIND_COMPLETE;
		}
		if (frame_caller(walk, fp, &callers_fp, &caller))
			return walk_to_frame(walk, callers_fp, &caller);
	}
	if (!is_leaf || stop != UNWIND_NO_CFI)
		return walk->by_frame_pointers && walk->failure ? walk->failure : stop;
	registers_take(walk);
	return walk_to(walk, &leaf);
}

/* --- Go: its table says how much is on the stack at each instruction --- */

/* Goes from a frame of such code to its caller: a return address is above what is on the stack, and
 * nothing is known of the registers there. Returns as walk_plainly(). */
static enum unwind_stop walk_by_go(struct walk *walk)
{
	const struct rule *rule = walk->rule;
	bool injected = rule->go_injected;
	struct caller caller;

	walk->left_goroutine |= rule->go_leaves;
	if (rule->go_outermost || (rule->go_switches && walk->left_goroutine))
		return UNWIND_COMPLETE;
	if (rule->go_switches)
		return walk_plainly(walk, UNWIND_ELSEWHERE);
	walk->failure = UNWIND_COMPLETE;
	if (!caller_read(walk, walk->sp + rule->go_frame, &caller) && (!injected || walk->failure))
		return walk->failure ? walk->failure : UNWIND_LOOP;
	walk->missing = ~(1ULL << KD_REG_IP | 1ULL << KD_REG_SP);
	walk_to(walk, &caller);
	walk->exact = injected;
	return WALK_ON;
}

// SPDX
#include "unwind.h"

/* --- Frames with call frame information, and all of a stack --- */

/* Goes from a frame to its caller. Returns UNWIND_COMPLETE if there is none. */
static enum unwind_stop walk_apply(struct walk *walk, const struct rule *rule)
{
	unw_word_t ip, sp;
	unw_save_loc_t from;
	int err;

	walk->failure = UNWIND_COMPLETE;
	if (!walk->begun)
		unw_init_remote(&walk->cursor, walk->unwinder->space, walk);
	walk->begun = true;
	err = unw_apply_reg_state(&walk->cursor, rule_row(walk->unwinder, rule));
	if (err < 0 && walk->failure)
		return walk->failure;
	if (err < 0) /* of bad frames, libunwind refuses those that are their own callers */
		return err == -UNW_EBADFRAME ? UNWIND_LOOP : UNWIND_BAD_CFI;
	if (unw_get_save_loc(&walk->cursor, REG_RETURN, &from) < 0 ||
	    unw_get_reg(&walk->cursor, UNW_REG_SP, &sp) < 0)
		return walk->failure ? walk->failure : UNWIND_BAD_CFI;
	if (from.type == UNW_SLT_NONE) /* undefined: DWARF's mark of the outermost frame */
		return UNWIND_COMPLETE;
	if (unw_get_reg(&walk->cursor, REG_RETURN, &ip) < 0)
		return walk->failure ? walk->failure : UNWIND_BAD_CFI;
	ip = stack_copy_return(walk->copy, ip & ADDRESS_MASK, sp);
	if (!ip)
		return UNWIND_COMPLETE;
	if (rule->fde.signal) {
		if (sp - walk->copy->start >= KD_STACK_PAGES * KD_STACK_PAGE)
			walk->elsewhere = true;
	} else if (sp < walk->sp || (sp == walk->sp && (LEAF_NEEDS_STACK || !walk->exact))) {
		return UNWIND_LOOP;
	}
	walk->ip = ip;
	walk->sp = sp;
	walk->exact = rule->fde.signal;
	return WALK_ON;
}

/* Adds a frame and goes to the next. */
static enum unwind_stop walk_step(struct walk *walk, struct unwound *unwound)
{
	unsigned int i = unwound->n;
	const struct rule *rule;

	if (i == UNWIND_FRAMES)
		return UNWIND_TOO_DEEP;
	rule = rule_find(walk->unwinder, walk->exact ? walk->ip : walk->ip - 1, walk->steps);
	unwound->ip[i] = walk->ip;
	unwound->exact[i] = walk->exact || rule->fde.signal;
	walk->through_made |= rule->mapped && !rule->object.file;
	unwound->n++;
	if (*walk->steps > MAX_STEPS)
		return UNWIND_BUDGET;
	walk->rule = rule;
	if (!rule->stop)
		return rule->is_go ? walk_by_go(walk) : walk_apply(walk, rule);
	if (rule->stop == UNWIND_NO_CFI || rule->stop == UNWIND_NO_OBJECT)
		return walk_plainly(walk, rule->stop);
	return rule->stop;
}

void unwind(struct unwinder *unwinder, const struct stack_copy *copy, struct unwound *unwound)
{
	unsigned int steps = 0;
	struct walk walk = {
		.unwinder = unwinder,
		.copy = copy,
		.known = &unwound->known,
		.steps = &steps,
		.exact = true,
	};

	known_begin(walk.known, copy);
	memcpy(walk.regs, copy->regs, sizeof(walk.regs));
	walk.ip = copy->regs[KD_REG_IP];
	walk.sp = copy->regs[KD_REG_SP];
	if (stack_copy_is_returning(copy, walk.ip)) {
		walk.regs[KD_REG_IP] = walk.ip = copy->returns[0].address;
		walk.regs[KD_REG_SP] = walk.sp = stack_copy_behind(&copy->returns[0]);
		walk.exact = false;
	}
	unwound->n = 0;
	unwound->stop = WALK_ON;
	while (unwound->stop == WALK_ON)
		unwound->stop = walk_step(&walk, unwound);
	unwound->by_frame_pointers = walk.by_frame_pointers;
	unwound->through_made = walk.through_made;
	/* Another time there may be less left to do, or something else at these addresses. */
	if (unwound->stop == UNWIND_BUDGET || walk.through_made)
		known_refuse(walk.known);
}

/* --- The unwinder --- */

struct unwinder *unwinder_new(unwind_find *find, void *context)
{
	unw_accessors_t accessors = {
		.find_proc_info = info_find,
		.put_unwind_info = info_put,
		.get_dyn_info_list_addr = dynamic_find,
		.access_mem = memory_access,
		.access_reg = register_access,
		.access_fpreg = float_access,
		.resume = resume_refuse,
		.get_proc_name = name_refuse,
	};
	struct unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder)
		return NULL;
	unwinder->find = find;
	unwinder->context = context;
	unwinder->generation = 1;
	unwinder->rules = calloc(RULES, sizeof(*unwinder->rules));
	unwinder->space = unw_create_addr_space(&accessors, 0); /* 0: our byte order */
	if (!unwinder->rules || !unwinder->space) {
		unwinder_free(unwinder);
		return NULL;
	}
	unw_set_caching_policy(unwinder->space, UNW_CACHE_NONE);
	return unwinder;
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	if (unwinder->space)
		unw_destroy_addr_space(unwinder->space);
	free(unwinder->rules);
	free(unwinder->rows);
	free(unwinder);
}

void unwinder_flush(struct unwinder *unwinder)
{
	unwinder->generation++;
}
