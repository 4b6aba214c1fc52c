// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "psi.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"

/* Finds the total of a line that begins with a word. */
static bool total_read(const char *text, const char *word, uint64_t *ns)
{
	const size_t length = strlen(word);

	while (text && (strncmp(text, word, length) != 0 || text[length] != ' ')) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	if (!text ||
	    sscanf(text + length, " avg10=%*s avg60=%*s avg300=%*s total=%" SCNu64, ns) != 1)
		return false;
	*ns = u64_times(*ns, NSEC_PER_USEC);
	return true;
}

bool psi_parse(const char *text, struct pressure *pressure)
{
	*pressure = (struct pressure){ .known = false };
	pressure->known = total_read(text, "some", &pressure->some);
	if (pressure->known && !total_read(text, "full", &pressure->full))
		pressure->full = 0;
	return pressure->known;
}

/* suffix: of the names of files, which begin with the key. */
static void set_read(struct pressure_set *set, const char *directory, const char *suffix)
{
	char text[512];

	*set = (struct pressure_set){ .known = false };
	for (size_t i = 0; i < PRESSURES; i++) {
		FILE *file = group_file_open("%s/%s%s", directory, pressure_keys[i], suffix);
		size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

		text[length] = '\0';
		set->known |= psi_parse(text, &set->of[i]);
		if (file)
			fclose(file);
	}
}

static void reading_take(struct psi_watch *watch, const char *root)
{
	char directory[PATH_MAX];

	watch->last.at = clock_monotonic();
	snprintf(directory, sizeof(directory), "%s/proc/pressure", root);
	set_read(&watch->last.machine, directory, "");
	watch->last.group = (struct pressure_set){ .known = false };
	if (watch->has_group)
		set_read(&watch->last.group, watch->group.directory, ".pressure");
}

void psi_watch_begin(struct psi_watch *watch, const char *root, pid_t pid)
{
	/* That of the root would be the machine's. */
	if (pid != watch->pid)
		watch->has_group = group_levels_begin(&watch->group, root, pid, NULL) &&
				   group_levels_next(&watch->group);
	watch->pid = pid;
	reading_take(watch, root);
}

/* What both readings have; not more than the time between them, which another clock measures. */
static void set_subtract(struct pressure_set *set, const struct pressure_set *now,
			 const struct pressure_set *before, uint64_t ns)
{
	for (size_t i = 0; i < PRESSURES; i++) {
		const struct pressure *x = &now->of[i], *y = &before->of[i];

		if (!x->known || !y->known)
			continue;
		set->known = true;
		set->of[i] = (struct pressure){ .known = true,
						.some = u64_min(u64_sub(x->some, y->some), ns),
						.full = u64_min(u64_sub(x->full, y->full), ns) };
	}
}

void psi_watch_take(struct psi_watch *watch, const char *root, struct pressures *pressures)
{
	const struct psi_reading before = watch->last;

	*pressures = (struct pressures){ .ns = 0 };
	if (!before.at)
		return;
	reading_take(watch, root);
	pressures->ns = watch->last.at - before.at;
	set_subtract(&pressures->machine, &watch->last.machine, &before.machine, pressures->ns);
	set_subtract(&pressures->group, &watch->last.group, &before.group, pressures->ns);
	if (pressures->group.known)
		group_path_cut(pressures->path, sizeof(pressures->path), watch->group.path);
	else if (!pressures->machine.known)
		pressures->ns = 0;
}
