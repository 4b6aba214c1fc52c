// SPDX-License-Identifier: Apache-2.0
/* --compare and --fail-if with any two captures: an input is the saved one and, behind a NUL,
 * the present one. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdio.h>

#include "cli/json/json.h"
#include "cli/json/replay.h"
#include "cli/output/baseline.h"
#include "cli/output/fail_if.h"
#include "cli/text/text.h"
#include "input.h"

#define MEMORY_MAX (1 << 26)

static FILE *nowhere;

static int sample_add(const struct sample *sample, void *context)
{
	return baseline_add(context, sample);
}

static void present_add(struct baseline *baseline, struct input text)
{
	const struct replay_handlers handlers = { .sample = sample_add,
						  .context = baseline,
						  .memory_max = MEMORY_MAX };
	struct replay_error error;
	FILE *in = text.left ? fmemopen((void *)text.at, text.left, "r") : fmemopen("\n", 1, "r");

	MUST(in);
	replay_stream(in, &handlers, &error);
	fclose(in);
}

static void conditions_check(const struct comparison *comparison)
{
	static const char *const conditions[] = { "changed>0", "changed.pct>=0.5" };
	const struct fail_recorded recorded = { .has = NEEDS_COMPARISON };
	struct fail_if *fail_if;

	for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++) {
		if (!fail_if_new(&fail_if, "--fail-if", &conditions[i], 1, &recorded)) {
			fail_if_compare(fail_if, comparison);
			fail_if_tell(fail_if);
		}
		fail_if_free(fail_if);
	}
}

static void comparison_render(const struct comparison *comparison)
{
	const struct report_options full = { .extent = REPORT_FULL }, few = { 0 };
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	json_t *read;

	MUST(out && !report_json_comparison(comparison, &full, out) && !fclose(out));
	read = json_loads(text, 0, NULL);
	MUST(read);
	json_decref(read);
	free(text);
	MUST(!report_text_comparison(comparison, &full, nowhere));
	MUST(!report_text_comparison(comparison, &few, nowhere));
	conditions_check(comparison);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	nowhere = fopen("/dev/null", "we");
	MUST(nowhere);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const uint8_t *end = size ? memchr(bytes, '\0', size) : NULL;
	struct input input = { bytes, size };
	struct input before = input_take(&input, end ? (size_t)(end - bytes) + 1 : size);
	const struct comparison *comparison;
	struct baseline *baseline;
	char path[64];
	int fd;

	before.left -= end != NULL;
	fd = input_file_of(before);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!(baseline_open(&baseline, path) ?: baseline_read(baseline, 0))) {
		present_add(baseline, input);
		if (!baseline_compare(baseline, &comparison))
			comparison_render(comparison);
	}
	baseline_free(baseline);
	close(fd);
	return 0;
}
