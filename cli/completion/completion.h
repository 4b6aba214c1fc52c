/* SPDX-License-Identifier: Apache-2.0 */
/* Completion of the command line for shells. */
#ifndef COMPLETION_H
#define COMPLETION_H

#include "cli/base/exit_status.h"

#define COMPLETION_OPTION "--complete" /* first argument, before the words; for scripts only */

/* Prints completions of the last word of a command line, one per line: 'w' and a word, or 'p'
 * and an incomplete one; a tab (the last one in the line); a description. A line 'f' has the
 * text before a file name; a tab; the suffix of such files. The words are those after argv[0].
 * Returns an exit status. */
exit_status completion_print(int argc, char **argv);

#endif
