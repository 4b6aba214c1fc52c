/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the options about outputs, from text. All return 0; or, after printing
 * what is wrong with the value of this option and what to give, an exit status. */
#ifndef OPTIONS_OUTPUTS_H
#define OPTIONS_OUTPUTS_H

#include <stdint.h>

#include "options.h"

/* FORMAT[:FILE] or FILE, in addition to those before. */
int read_output(const char *option, const char *text, struct options *options);

/* Permissions of a file, octal. */
int read_mode(const char *option, const char *text, mode_t *mode);

/* A number of bytes of at least 1, or with K, M or G. */
int read_size(const char *option, const char *text, uint64_t *bytes);

/* [ADDRESS:]PORT. */
int read_listen(const char *option, const char *text, struct options *options);

/* A condition, which is not looked at, in addition to those before. */
int read_fail_if(const char *option, const char *text, struct options *options);

#endif
