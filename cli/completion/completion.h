/* SPDX-License-Identifier: Apache-2.0 */
/* What can stand on the command line, for the shells' completion. */
#ifndef COMPLETION_H
#define COMPLETION_H

#include "cli/base/exit_status.h"

#define COMPLETION_OPTION "--complete" /* comes first, the words follow; for scripts only */

/* Prints what the last word of a command line can become, one a line: 'w' and the word,
 * or 'p' and a part of it, of which more has to be typed; a tab (the last one of the line); what it
 * is. A line 'f' has what precedes the name of a file; a tab; what such files end with. The words
 * are those behind argv[0]. Returns an exit status. */
exit_status completion_print(int argc, char **argv);

#endif
