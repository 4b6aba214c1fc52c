/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of C++ and Rust by their names as they are written: ns::Foo<int>::bar. */
#ifndef WRITTEN_H
#define WRITTEN_H

#include <stdbool.h>
#include <stddef.h>

/* A name, or a pattern, that is looked for. The fields are its own business. */
struct written {
	const char *name;
	bool is_glob;
	size_t hint, hint_length; /* an identifier in it, which is in the symbol's name, too */
};

/* The name has to outlive *written. */
void written_init(struct written *written, const char *name);

enum written_fit { WRITTEN_NOT, WRITTEN_LOOSELY, WRITTEN_EXACTLY };

/* Whether it stands for the function with this symbol: as written, with its parameters or without
 * them; loosely, if it is without the generic arguments and traits that Rust writes. Blanks do not
 * matter, but in patterns. Of names that are not mangled none does. */
enum written_fit written_matches(const struct written *written, const char *symbol);

#endif
