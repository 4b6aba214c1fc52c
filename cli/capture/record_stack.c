// SPDX-License-Identifier: Apache-2.0
#include "record_stack.h"

#include <errno.h>
#include <string.h>

#include "bpf/kernel_delay.h"
#include "cli/stack/kernel_symbols.h"
#include "session_programs.h"

static int own_code_found(void *symbols, uint64_t address, uint64_t size)
{
	return kernel_symbols_add_own(symbols, address, size);
}

int record_symbols_open(struct kernel_symbols **symbols, const struct programs *programs,
			size_t room)
{
	int error;

	if (*symbols)
		return 0;
	error = kernel_symbols_open(symbols, NULL, room);
	if (error && error != -ENOMEM)
		error = kernel_symbols_open(symbols, "/dev/null", room);
	return error ? error : programs_code(programs, own_code_found, *symbols);
}

const struct stack *record_kernel_stack(struct kernel_symbols *symbols, const uint64_t *words,
					size_t n_words, const uint64_t *frames, size_t n)
{
	uint64_t ips[KD_SCHED_WORDS + KD_KERNEL_FRAMES];
	size_t n_sched;

	memcpy(ips, words, n_words * sizeof(*ips));
	n_sched = kernel_symbols_sched(symbols, ips, n_words);
	memcpy(ips + n_sched, frames, n * sizeof(*ips));
	return kernel_symbols_stack(symbols, ips, n_sched + n);
}
