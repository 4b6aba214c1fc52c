// SPDX-License-Identifier: Apache-2.0
/* Uses libunwind's remote interface, and adds what it lacks. libunwind only gets validated call
 * frame information (cfi.h), one entry at a time; the resulting rows are cached here.
 *
 * unw_step() is not used. It guesses where there is no information. It caches return addresses
 * and interrupted ones together, although their rows differ after a call that does not return.
 * Its cache has 128 rules, and it masks signals around each lookup: cli/DETAILS.rst has the
 * costs. unw_reg_states_iterate() and unw_apply_reg_state() are made for an external cache. */
#include "unwind.h"

#include <errno.h>
#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "probes/elf/cfi.h"
#include "probes/elf/go_table.h"
#include "unwind_machine.h"

/* Rule to get from an address of code to its caller. */
struct rule {
	uint64_t address;
	uint64_t generation; /* of the unwinder; another one: empty */
	struct unwind_object object;
	bool mapped; /* code is mapped there */
	struct cfi_fde fde;
	enum unwind_stop stop; /* UNWIND_COMPLETE: has a row */
	/* Go function without an FDE or a row: its frame size. */
	bool is_go, go_outermost, go_switches, go_leaves, go_injected;
	uint32_t go_frame;
	/* Instruction before the next address, once examined. */
	bool looked, calls;
	uint64_t target; /* target of the call; 0: unknown */
};

/* Context of libunwind's callbacks: a stack being unwound or, without a copy, a rule being made. */
struct walk {
	struct unwinder *unwinder;
	const struct stack_copy *copy;
	struct digest *digest;   /* stack: what is read of it */
	const struct rule *rule; /* rule being made */
	bool has_row;            /* it was stored */
	uint64_t regs[KD_REGS];
	uint64_t missing; /* bitmap of unknown registers */
	unsigned int *steps;
	enum unwind_stop failure; /* why a read failed; UNWIND_COMPLETE: none did */
	bool elsewhere;           /* a signal handler ran on its own stack */
	bool exact;               /* the frame's instruction itself was interrupted */
	bool by_frame_pointers;   /* used for some of the frames */
	bool left_goroutine;      /* code on another stack does not wait for this one */
	bool through_made;        /* some frames are code outside readable files */
	uint64_t ip, sp;
	bool begun; /* the cursor is set up, and regs holds its initial registers */
	unw_cursor_t cursor;
};

#define WALK_ON UNWIND_STOPS /* continue */

/* Exported but not declared (as of 1.8); the Makefile checks that it exists. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *table,
				       unw_proc_info_t *info, int need_unwind_info, void *context);

#define MAX_STEPS 200000 /* words read per stack */
#define BYTES_PER_STEP 4 /* of validated instructions */
#define RULES 4096       /* cached addresses; a power of two */
#define MAX_ROW 4096     /* bytes; 1.6 has 176 on x86-64 and 1 KB on arm64 */

/* Where libunwind finds the table with the single entry: an address outside any process. */
#define TABLE_ADDRESS 8

struct unwinder {
	unwind_find *find;
	void *context;
	unw_addr_space_t space;
	struct rule *rules;
	uint8_t *rows; /* libunwind's rows of the rules */
	size_t row_size;
	uint64_t generation;
};

/* Reads a word of the stack and notes that it matters, or why it is missing. */
static bool walk_word(struct walk *walk, uint64_t address, uint64_t *word)
{
	switch (stack_copy_find(walk->copy, address, word)) {
	case STACK_COPY_THERE:
		digest_word(walk->digest, address);
		return true;
	case STACK_COPY_BEYOND:
		walk->failure = walk->elsewhere ? UNWIND_NOT_COPIED : UNWIND_TRUNCATED;
		break;
	default:
		walk->failure = UNWIND_NOT_COPIED;
	}
	digest_refuse(walk->digest); /* more may be readable another time */
	return false;
}

/* --- libunwind callbacks; -UNW_ENOINFO would make it guess --- */

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
		/* From the table; or indirect pointers to personality routines, whose values do
		 * not matter. */
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
	if (walk->digest)
		digest_register(walk->digest, (unsigned int)number);
	return 0;
}

static int float_access(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write,
			void *context)
{
	(void)space, (void)number, (void)value, (void)write, (void)context;
	return -UNW_EBADREG;
}

/* The entry was found and validated; libunwind gets it through a table with only this entry,
 * relative to the entry itself. */
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

/* Ignores code that registers itself at run time. */
static int dynamic_find(unw_addr_space_t space, unw_word_t *list, void *context)
{
	(void)space, (void)list, (void)context;
	return -UNW_ENOINFO;
}

/* --- Saved registers --- */

static uint8_t *rule_row(const struct unwinder *unwinder, const struct rule *rule)
{
	return unwinder->rows + (size_t)(rule - unwinder->rules) * unwinder->row_size;
}

/* Stores the row of the rule's address, and ends the search. */
static int row_keep(void *token, void *row, size_t size, unw_word_t start, unw_word_t end)
{
	struct walk *walk = token;
	struct unwinder *unwinder = walk->unwinder;

	if (walk->rule->address < start || walk->rule->address >= end)
		return 0;
	if (!unwinder->rows && size <= MAX_ROW) {
		unwinder->row_size = (size + 15) & ~(size_t)15;
		unwinder->rows = calloc(RULES, unwinder->row_size);
	}
	if (!unwinder->rows || size > unwinder->row_size)
		return -UNW_ENOMEM;
	memcpy(rule_row(unwinder, walk->rule), row, size);
	walk->has_row = true;
	return -UNW_ESTOPUNWIND;
}

/* Makes the row of a rule with libunwind. Returns UNWIND_COMPLETE, or what is wrong. */
static enum unwind_stop row_make(struct unwinder *unwinder, const struct rule *rule,
				 unsigned int *steps)
{
	struct walk walk = { .unwinder = unwinder, .rule = rule, .steps = steps };
	unw_cursor_t cursor;

	walk.regs[KD_REG_IP] = rule->address;
	if (unw_init_remote(&cursor, unwinder->space, &walk) == 0)
		unw_reg_states_iterate(&cursor, row_keep, &walk);
	if (walk.has_row)
		return UNWIND_COMPLETE;
	return walk.failure ? walk.failure : UNWIND_BAD_CFI;
}

/* Looks up a rule's address in Go's table, and counts the steps. Returns whether it is there. */
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

static bool code_read(const struct rule *rule, uint64_t address, uint8_t *code, size_t size)
{
	uint64_t offset;

	return rule->object.file &&
	       elf_file_offset(rule->object.file, address - rule->object.bias, PF_X, &offset) &&
	       !elf_file_read(rule->object.file, offset, code, size);
}

/* Whether signal handlers return to code that does not say so: on arm64 the vDSO describes at most
 * x29 and x30 there, not the instruction that was interrupted (arch/arm64/kernel/vdso/sigreturn.S).
 */
static bool rule_returns_from_signal(const struct rule *rule)
{
	static const uint8_t returns[] = SIGNAL_RETURNS;
	uint8_t code[sizeof(returns)];

	/* Handlers return to its first instruction, and the rule is that of the byte before. */
	return SIGNAL_REGISTERS && code_read(rule, rule->address + 1, code, sizeof(code)) &&
	       !memcmp(code, returns, sizeof(code));
}

/* Fills a rule. */
static enum unwind_stop rule_explore(struct unwinder *unwinder, struct rule *rule,
				     unsigned int *steps)
{
	const struct unwind_object *object = &rule->object;
	int err;

	rule->mapped = unwinder->find(unwinder->context, rule->address, &rule->object);
	if (!rule->mapped || object->anonymous)
		return UNWIND_NO_OBJECT;
	if (object->beyond)
		return UNWIND_BEYOND;
	if (object->go && rule_explore_go(rule, steps))
		return UNWIND_COMPLETE;
	err = object->cfi ? cfi_find(object->cfi, rule->address - object->bias, &rule->fde)
			  : -ENOENT;
	if ((err || rule->fde.end - rule->fde.start < RETURNS_FROM_SIGNAL) &&
	    rule_returns_from_signal(rule)) {
		rule->fde.signal = true;
		return UNWIND_COMPLETE;
	}
	if (err)
		return err == -ENOENT ? UNWIND_NO_CFI : UNWIND_BAD_CFI;
	/* The file is mapped elsewhere than it says; the dynamic linker might have relocated the
	 * address, but only in memory. */
	if (rule->fde.absolute && rule->object.bias)
		return UNWIND_BAD_CFI;
	*steps += (unsigned int)(rule->fde.size / BYTES_PER_STEP);
	return row_make(unwinder, rule, steps);
}

/* Rule of an address, valid until the next call. */
static struct rule *rule_find(struct unwinder *unwinder, uint64_t address, unsigned int *steps)
{
	struct rule *rule = &unwinder->rules[(address ^ address >> 12) % RULES];

	if (rule->generation == unwinder->generation && rule->address == address)
		return rule;
	*rule = (struct rule){ .address = address, .generation = unwinder->generation };
	rule->stop = rule_explore(unwinder, rule, steps);
	if (rule->stop == UNWIND_BUDGET)
		rule->generation = 0; /* depends on this stack's budget: do not cache */
	return rule;
}

/* Reads a register of the frame. Returns false if unknown. */
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

/* A presumed return address must follow a call, if the code is in a readable file. */

/* Bytes of a frameless function up to a system call: an upper bound. */
#define LEAF_SIZE 256

/* Checks that a call precedes an address; if the code is unreadable, it may. Signal handlers and
 * goroutines return to places without a call. */
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

/* Frame of a possible caller. */
struct caller {
	uint64_t ip, sp;
	uint64_t target; /* of the call there; 0: unknown */
};

/* True if code can return there. */
static bool caller_look(struct walk *walk, struct caller *caller)
{
	struct rule *rule = rule_find(walk->unwinder, caller->ip - 1, walk->steps);

	if (!rule->looked)
		rule_look(rule, caller->ip);
	caller->target = rule->target;
	return rule->calls;
}

/* Reads the return address at a stack address. */
static bool caller_read(struct walk *walk, uint64_t saved, struct caller *caller)
{
	uint64_t word;

	if (!walk_word(walk, saved, &word))
		return false;
	caller->sp = saved + sizeof(word);
	caller->ip = stack_copy_return(walk->copy, word & ADDRESS_MASK, caller->sp);
	return caller_look(walk, caller);
}

/* Copies all registers from libunwind. */
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

/* --- Code that has pushed nothing --- */

/* Caller of an interrupted function without a frame: its return address is on top. */
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

/* In a file with call frame information such code is hand-written, like system calls in clone3.
 * Elsewhere the call must target this function, which has no frame. */
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
 * 3.2.2; AAPCS64, 6.4.6) --- */

static bool frame_caller(struct walk *walk, uint64_t fp, uint64_t *callers_fp,
			 struct caller *caller)
{
	return fp >= walk->sp && !(fp % sizeof(fp)) && walk_word(walk, fp, callers_fp) &&
	       caller_read(walk, fp + sizeof(fp), caller);
}

/* Goes by frame pointer: other registers become unknown, and on arm64 sp is only a bound. */
static enum unwind_stop walk_to_frame(struct walk *walk, uint64_t callers_fp,
				      const struct caller *caller)
{
	walk->regs[REG_FRAME] = callers_fp;
	walk->missing = ~(1ULL << REG_FRAME | 1ULL << KD_REG_IP | 1ULL << KD_REG_SP);
	walk->by_frame_pointers = true;
	return walk_to(walk, caller);
}

/* Finds the caller by the interrupted instruction itself. */
static bool edge_caller(struct walk *walk, const struct rule *rule, uint64_t *callers_fp,
			struct caller *caller)
{
	uint8_t before[EDGE_SIZE], at[EDGE_SIZE];

	if (!code_read(rule, walk->ip - sizeof(before), before, sizeof(before)) ||
	    !code_read(rule, walk->ip, at, sizeof(at)))
		return false;
	switch (code_location(before, at)) {
	case CODE_AT_EDGE:
		return walk_register(walk, REG_FRAME, callers_fp) && leaf_caller(walk, caller);
	case CODE_PUSHED:
		return frame_caller(walk, walk->sp, callers_fp, caller);
	default:
		return false;
	}
}

/* Goes from a frame without call frame information, that of walk->rule, to its caller. Returns
 * WALK_ON; UNWIND_COMPLETE: no caller; or the reason of failure: stop, if for lack of that
 * information. */
static enum unwind_stop walk_plainly(struct walk *walk, enum unwind_stop stop)
{
	const struct rule rule = *walk->rule; /* its slot may be reused */
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
		if (!fp && !walk->exact) { /* outermost frame, by the same ABIs */
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

/* --- Go: its table has the stack size at each instruction --- */

/* Goes from a Go frame to its caller: the return address is above the frame, and the registers
 * there are unknown. Returns as walk_plainly(). */
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

/* --- Frames with call frame information, and full stacks --- */

/* Goes to the frame that a signal interrupted, by what the kernel pushed. */
static enum unwind_stop walk_to_interrupted(struct walk *walk)
{
	uint64_t regs[KD_REGS];

	for (unsigned int i = 0; i < KD_REGS; i++)
		if (!walk_word(walk, walk->sp + SIGNAL_REGISTERS + i * sizeof(*regs), &regs[i]))
			return walk->failure;
	memcpy(walk->regs, regs, sizeof(regs));
	walk->missing = 0;
	walk->begun = false;
	walk->ip = regs[KD_REG_IP];
	walk->sp = regs[KD_REG_SP];
	walk->exact = true;
	walk->elsewhere |= walk->sp - walk->copy->start >= KD_STACK_PAGES * KD_STACK_PAGE;
	return WALK_ON;
}

/* Goes from a frame to its caller. Returns UNWIND_COMPLETE without one. */
static enum unwind_stop walk_apply(struct walk *walk, const struct rule *rule)
{
	unw_word_t ip, sp;
	unw_save_loc_t from;
	int err;

	walk->failure = UNWIND_COMPLETE;
	if (SIGNAL_REGISTERS && rule->fde.signal)
		return walk_to_interrupted(walk);
	if (!walk->begun)
		unw_init_remote(&walk->cursor, walk->unwinder->space, walk);
	walk->begun = true;
	err = unw_apply_reg_state(&walk->cursor, rule_row(walk->unwinder, rule));
	if (err < 0 && walk->failure)
		return walk->failure;
	if (err < 0) /* the only bad frames libunwind detects are their own callers */
		return err == -UNW_EBADFRAME ? UNWIND_LOOP : UNWIND_BAD_CFI;
	if (unw_get_save_loc(&walk->cursor, REG_RETURN, &from) < 0 ||
	    unw_get_reg(&walk->cursor, UNW_REG_SP, &sp) < 0)
		return walk->failure ? walk->failure : UNWIND_BAD_CFI;
	if (from.type == UNW_SLT_NONE) /* undefined: DWARF marks the outermost frame so */
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
	if (rule->stop == UNWIND_NO_CFI || rule->stop == UNWIND_NO_OBJECT ||
	    rule->stop == UNWIND_BEYOND)
		return walk_plainly(walk, rule->stop);
	return rule->stop;
}

void unwind(struct unwinder *unwinder, const struct stack_copy *copy, struct unwound *unwound)
{
	unsigned int steps = 0;
	struct walk walk = {
		.unwinder = unwinder,
		.copy = copy,
		.digest = &unwound->digest,
		.steps = &steps,
		.exact = true,
		.missing = copy->missing,
	};

	digest_begin(walk.digest, copy);
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
	/* The budget or the code at these addresses may differ another time. */
	if (unwound->stop == UNWIND_BUDGET || walk.through_made)
		digest_refuse(walk.digest);
}

/* --- Unwinder --- */

struct unwinder *unwinder_new(unwind_find *find, void *context)
{
	/* resume and get_proc_name are for functions that are not used here. */
	unw_accessors_t accessors = {
		.find_proc_info = info_find,
		.put_unwind_info = info_put,
		.get_dyn_info_list_addr = dynamic_find,
		.access_mem = memory_access,
		.access_reg = register_access,
		.access_fpreg = float_access,
	};
	struct unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder)
		return NULL;
	unwinder->find = find;
	unwinder->context = context;
	unwinder->generation = 1;
	unwinder->rules = calloc(RULES, sizeof(*unwinder->rules));
	unwinder->space = unw_create_addr_space(&accessors, 0); /* 0: native byte order */
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
