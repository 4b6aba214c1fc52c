/* SPDX-License-Identifier: Apache-2.0 */
/* C++ and Rust names as they were written. */
#ifndef DEMANGLE_H_
#define DEMANGLE_H_

/* Longer results are cut off and end in "...". */
#define DEMANGLED_MAX 4095

/* Returns the text, which the caller frees; NULL if the name is not mangled, if it
 * is too long or nested too deep for libiberty (about 1,000 bytes; this bounds its
 * stack), or without memory: then the name itself is to be shown. */
char *demangle(const char *name);

/* The same without parameters, and what a function returns. */
char *demangle_name(const char *name);

#endif
