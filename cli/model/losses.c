/* SPDX-License-Identifier: Apache-2.0 */
#include "losses.h"

#include "cli/base/arith.h"

#define SAMPLE_ROW(reason, member, key, one, many, what)                                           \
	[reason] = { offsetof(struct sample, member), key, one, many, what },
#define KERNEL_ROW(reason, ...) SAMPLE_ROW(reason, losses[reason], __VA_ARGS__)

const struct loss losses[LOSSES] = { KD_LOSS_ROWS(KERNEL_ROW) SAMPLE_LOSSES(SAMPLE_ROW) };

uint64_t loss_count(const struct sample *sample, const struct loss *loss)
{
	return *(const uint64_t *)((const char *)sample + loss->at);
}

uint64_t *loss_counter(struct sample *sample, const struct loss *loss)
{
	return (uint64_t *)((char *)sample + loss->at);
}

uint64_t sample_lost(const struct sample *sample)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < LOSSES; i++)
		lost = u64_add(lost, loss_count(sample, &losses[i]));
	return lost;
}
