/* SPDX-License-Identifier: Apache-2.0 */
/* The exit statuses; most are those of <sysexits.h>. */
#ifndef EXIT_STATUS_H
#define EXIT_STATUS_H

#include <sysexits.h>

/* 0, or one of these. A function of this type has printed why it is not 0. Those that return
 * a negative errno are of type int; unless they say so, nothing has been printed. */
typedef int exit_status;

/* EX_USAGE 64        wrong command line
 * EX_DATAERR 65      the file of --replay is damaged; too few samples for a condition on changes
 * EX_NOINPUT 66      several processes could be meant; no file for --replay
 * EX_UNAVAILABLE 69  no such process, or the address of --listen cannot be had
 * EX_OSERR 71        the kernel refused what we need
 * EX_OSFILE 72       no BTF
 * EX_IOERR 74        the output could not be written
 * EX_NOPERM 77       not permitted */
#define EX_LOSSES 1   /* --strict, and something was lost */
#define EX_EXCEEDED 4 /* a condition of --fail-if */
/* Of a command, as env(1) and shells have them. */
#define EX_NOTRUN 126   /* it cannot be run */
#define EX_NOTFOUND 127 /* there is no such program */
/* And the number of a signal, as shells have it: it ended the command; or this program, before
 * there was anything to report; or SIGPIPE, which nobody sends: who reads standard output has gone.
 */
#define EX_SIGNALLED 128

#endif
