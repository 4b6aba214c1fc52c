/* SPDX-License-Identifier: Apache-2.0 */
/* The exit statuses; all but one are those of <sysexits.h>. */
#ifndef EXIT_STATUS_H
#define EXIT_STATUS_H

#include <sysexits.h>

/* EX_USAGE 64        wrong command line
 * EX_NOINPUT 66      several processes could be meant
 * EX_UNAVAILABLE 69  no such process
 * EX_OSERR 71        the kernel refused what we need
 * EX_OSFILE 72       no BTF
 * EX_IOERR 74        the output could not be written
 * EX_NOPERM 77       not permitted */
#define EX_LOSSES 1 /* --strict, and something was lost */

#endif
