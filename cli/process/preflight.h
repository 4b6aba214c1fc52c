/* SPDX-License-Identifier: Apache-2.0 */
/* What can be known to fail before anything is loaded. */
#ifndef PREFLIGHT_H
#define PREFLIGHT_H

#include "cli/base/exit_status.h"

/* Checks privileges and the PID namespace. Returns 0, or after printing what is
 * missing EX_NOPERM. */
exit_status preflight_check(void);

#endif
