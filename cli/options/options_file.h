/* SPDX-License-Identifier: Apache-2.0 */
/* Files that hold options, one per line: @FILE on the command line. */
#ifndef OPTIONS_FILE_H
#define OPTIONS_FILE_H

#include "cli/base/exit_status.h"
#include "options.h"
#include "options_argp.h"

#define OPTIONS_FILE_MAX 65536 /* bytes of a file */

/* Calls found() for the option, or the process, in each line of a file, as if it stood on the
 * command line. The words go to *texts: options may point to them. Returns 0; or after printing
 * what is wrong, and in which line, an exit status. */
exit_status options_file_walk(const char *path, struct option_texts *texts, options_found *found,
			      void *context);

/* Frees them. */
void option_texts_clear(struct option_texts *texts);

#endif
