/* SPDX-License-Identifier: Apache-2.0 */
/* Return addresses that the kernel has taken the place of. */
#include "cli/stack/stack_copy.h"
#include "tap.h"

#define TRAMPOLINE 0x7fffffffe000
#define STACK 0x7ffc00001000

static void test_returns(void)
{
	const struct stack_copy copy = {
		.trampoline = TRAMPOLINE,
		.n_returns = 2,
		.returns = { { .stack = STACK, .address = 0x401000 },
			     { .stack = STACK + 64, .address = 0x402000 } },
	};
	uint64_t inner = stack_copy_behind(&copy.returns[0]);
	uint64_t outer = stack_copy_behind(&copy.returns[1]);

	is_u64(stack_copy_return(&copy, TRAMPOLINE, inner), 0x401000, "the innermost function");
	is_u64(stack_copy_return(&copy, TRAMPOLINE, outer), 0x402000, "its caller");
	is_u64(stack_copy_return(&copy, TRAMPOLINE, outer + 8), TRAMPOLINE, "none at this place");
	is_u64(stack_copy_return(&copy, 0x403000, inner), 0x403000,
	       "a place in the stack that is in use again");
	ok(stack_copy_is_returning(&copy, TRAMPOLINE), "it is just returning");
	ok(!stack_copy_is_returning(&copy, TRAMPOLINE + 128),
	   "it is in an instruction that is stepped through");
	ok(!stack_copy_is_returning(&copy, 0x401000), "it is not");
}

static void test_none(void)
{
	const struct stack_copy none = { .trampoline = 0 }, empty = { .trampoline = TRAMPOLINE };

	is_u64(stack_copy_return(&none, 0, STACK), 0, "the outermost function");
	is_u64(stack_copy_return(&empty, TRAMPOLINE, STACK), TRAMPOLINE, "an empty list");
	ok(!stack_copy_is_returning(&none, 0) && !stack_copy_is_returning(&empty, TRAMPOLINE),
	   "nobody returns");
}

int main(void)
{
	test_returns();
	test_none();
	return done_testing();
}
