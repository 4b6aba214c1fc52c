/* SPDX-License-Identifier: Apache-2.0 */
/* The program of one VERB. The Makefile makes a file of each, linked with nothing of the others:
 * tests look at the names, functions and probes of programs, and run copies under other names. */
#include "workload.h"

#define JOIN(a, b) a##b
#define VERB_OF(name) JOIN(name, _verb)

extern const struct verb VERB_OF(NAME);

int main(int argc, char **argv)
{
	const struct verb *verb = &VERB_OF(NAME);

	if (argc - 1 < verb->least || argc - 1 > verb->most) {
		fprintf(stderr, "usage: %s %s\n", argv[0], verb->usage);
		return 2;
	}
	exit(verb->run(argc, argv));
}
