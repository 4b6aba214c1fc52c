/* SPDX-License-Identifier: Apache-2.0 */
#include "pressure.h"

#include "words.h"

const char *const pressure_keys[PRESSURES] = { PRESSURE_WORDS(WORD_KEY) };
const char *const pressure_titles[PRESSURES] = { PRESSURE_WORDS(WORD_TITLE) };

#define FIGURE_NAMES(kind, key, title) [2 * (kind)] = (key), [2 * (kind) + 1] = key "_full",
const char *const pressure_figures[PRESSURE_FIGURES] = { PRESSURE_WORDS(FIGURE_NAMES) };

bool pressure_figure(const struct pressure_set *set, size_t i, uint64_t *ns)
{
	const struct pressure *pressure = &set->of[i / 2];

	*ns = i % 2 ? pressure->full : pressure->some;
	return pressure->known;
}
