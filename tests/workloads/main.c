/* SPDX-License-Identifier: Apache-2.0 */
/* workload VERB ARGS...: the processes that tests look at. The Makefile gives it the name of each
 * verb, too, so that a process is named after what it does; a copy under any other name takes the
 * verb as its first argument. Without a verb it lists them. */
#include "workload.h"

/* What VERB() put there: the linker's names for both ends. */
extern const struct verb *const __start_verbs[], *const __stop_verbs[];

static const struct verb *verb_find(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (const struct verb *const *verb = __start_verbs; verb < __stop_verbs; verb++)
		if (!strcmp((*verb)->name, name))
			return *verb;
	return NULL;
}

int main(int argc, char **argv)
{
	const struct verb *verb = verb_find(argv[0]);

	if (!verb && argc > 1) {
		argc--;
		argv++;
		verb = verb_find(argv[0]);
	}
	if (verb && argc - 1 >= verb->least && argc - 1 <= verb->most)
		exit(verb->run(argc, argv));
	for (const struct verb *const *each = __start_verbs; each < __stop_verbs; each++)
		if (!verb || *each == verb)
			fprintf(stderr, "usage: %s %s\n", (*each)->name, (*each)->usage);
	return 2;
}
