// SPDX-License-Identifier: Apache-2.0
/* Frames without call frame information. What is taken for a return address must be one: behind
 * a call, if the code is in a file that can be read. */
#include "probes/elf/go_table.h"
#include "machine_code.h"
#include "unwind_walk.h"

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

enum unwind_stop walk_plainly(struct walk *walk, enum unwind_stop stop)
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

bool rule_explore_go(struct rule *rule, unsigned int *steps)
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

/* What called it has registers of which nothing is known. */
enum unwind_stop walk_by_go(struct walk *walk)
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
