/* SPDX-License-Identifier: Apache-2.0 */
/* What can be known to fail before anything is loaded. */
#ifndef PREFLIGHT_H
#define PREFLIGHT_H

/* Checks privileges and the PID namespace. Returns 0, or after printing what is
 * missing EX_NOPERM. */
int preflight_check(void);

#endif
