/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/clock.h"
#include "cli/output/progress.h"
#include "tap.h"

int main(void)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0 s" },
		{ 1, "1 s" },
		{ NSEC_PER_SEC, "1 s" },
		{ NSEC_PER_SEC + 1, "2 s" },
		{ 59 * NSEC_PER_SEC, "59 s" },
		{ 60 * NSEC_PER_SEC, "1 min" },
		{ 61 * NSEC_PER_SEC, "1 min 1 s" },
		{ 500 * NSEC_PER_SEC, "8 min 20 s" },
		{ 3600 * NSEC_PER_SEC, "1 h" },
		{ 3659 * NSEC_PER_SEC, "1 h" },
		{ 12060 * NSEC_PER_SEC, "3 h 21 min" },
		{ 86399 * NSEC_PER_SEC, "23 h 59 min" },
		{ 86400 * NSEC_PER_SEC, "1 d" },
		{ 365 * 86400 * NSEC_PER_SEC, "365 d" },
		{ UINT64_MAX, "213503 d 23 h" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[PROGRESS_LENGTH];

		is_str(progress_length(text, cases[i].ns), cases[i].text, "%llu ns",
		       (unsigned long long)cases[i].ns);
	}
	return done_testing();
}
