// SPDX-License-Identifier: Apache-2.0
#include "object_choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "cli/base/names.h"
#include "cli/sandbox/helper.h"
#include "probes/elf/elf_file.h"

#define MAX_SONAME 256

/* How well a name fits; the best are meant. */
enum fit { FIT_NONE, FIT_PATTERN, FIT_UNVERSIONED, FIT_EXACT };

static enum fit name_fit(const char *wanted, const char *name)
{
	size_t length = strlen(wanted);

	if (strncmp(wanted, name, length) != 0)
		return names_match(wanted, name) ? FIT_PATTERN : FIT_NONE;
	if (!name[length])
		return FIT_EXACT;
	return name[length] == '.' && length > 3 && strstr(wanted, ".so") ? FIT_UNVERSIONED
									  : FIT_NONE;
}

static bool object_soname(const struct objects *objects, const struct object *object, char *soname,
			  size_t size)
{
	struct elf_file *file;
	bool found = false;
	int fd = objects_open(objects, object);

	if (fd < 0)
		return false;
	if (!elf_file_open(&file, fd)) {
		found = elf_file_soname(file, soname, size);
		elf_file_close(file);
	}
	helper_try_close(fd);
	close(fd);
	return found;
}

static enum fit object_fit(const struct objects *objects, const struct object *object,
			   const char *wanted)
{
	char soname[MAX_SONAME];
	enum fit fit, other;

	if (strchr(wanted, '/'))
		return strcmp(wanted, object->path) == 0 ||
				       objects_path_leads_to(objects, wanted, object)
			       ? FIT_EXACT
		       : names_match(wanted, object->path) ? FIT_PATTERN
							   : FIT_NONE;
	fit = name_fit(wanted, object_basename(object));
	if (fit == FIT_EXACT || !object_soname(objects, object, soname, sizeof(soname)))
		return fit;
	other = name_fit(wanted, soname);
	return other > fit ? other : fit;
}

static exit_status object_absent(const struct objects *objects, const struct trigger *trigger)
{
	struct names_closest closest;
	char maps[64];

	names_closest_init(&closest, trigger->object);
	for (size_t i = 0; i < objects_count(objects); i++)
		names_closest_offer(&closest, object_label(objects, objects_get(objects, i)));
	log_error("%s: process %d has no object %s mapped", trigger->text,
		  (int)objects_pid(objects), trigger->object);
	snprintf(maps, sizeof(maps), "those that it has are in /proc/%d/maps",
		 (int)objects_pid(objects));
	names_closest_hint(&closest, "", maps);
	names_closest_clear(&closest);
	return EX_CONFIG;
}

size_t objects_meant(const struct objects *objects, const char *wanted, bool *meant)
{
	enum fit best = FIT_PATTERN;
	size_t n = 0;

	for (size_t i = 0; i < objects_count(objects); i++) {
		const struct object *object = objects_get(objects, i);
		enum fit fit = wanted               ? object_fit(objects, object, wanted)
			       : object->executable ? FIT_EXACT
						    : FIT_NONE;

		meant[i] = fit >= best;
		if (fit > best) {
			memset(meant, 0, i * sizeof(*meant));
			n = 0;
			best = fit;
		}
		n += meant[i];
	}
	return n;
}

exit_status object_choose(const struct object **object, const struct objects *objects,
			  const struct trigger *trigger)
{
	struct choices choices = { .n = 0 };
	size_t count = objects_count(objects), n;
	bool *meant = calloc(count + 1, sizeof(*meant));

	*object = NULL;
	if (!meant)
		return log_no_memory();
	n = objects_meant(objects, trigger->object, meant);
	for (size_t i = 0; i < count; i++) {
		if (!meant[i])
			continue;
		*object = objects_get(objects, i);
		if (n > 1)
			choices_add(&choices, "%s", (*object)->path);
	}
	free(meant);
	if (n == 1)
		return 0;
	if (!n)
		return object_absent(objects, trigger);
	log_error("%s: %zu objects could be %s", trigger->text, n, trigger->object);
	choices_hint(&choices);
	return EX_CONFIG;
}

const char *object_label(const struct objects *objects, const struct object *object)
{
	for (size_t i = 0; i < objects_count(objects); i++) {
		const struct object *other = objects_get(objects, i);

		if (other != object && strcmp(object_basename(other), object_basename(object)) == 0)
			return object->path;
	}
	return object_basename(object);
}
