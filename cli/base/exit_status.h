/* SPDX-License-Identifier: Apache-2.0 */
/* Exit statuses; most are from <sysexits.h>. */
#ifndef EXIT_STATUS_H
#define EXIT_STATUS_H

#include <sysexits.h>

/* 0, or one of these. A function of this type has already printed the reason. Functions that
 * return a negative errno have type int, and print nothing unless stated. */
typedef int exit_status;

/* EX_USAGE 64        wrong command line
 * EX_DATAERR 65      the file of --replay is damaged; too few samples for a condition
 * EX_NOINPUT 66      several processes match; no file for --replay
 * EX_UNAVAILABLE 69  no such process, or the address of --listen is unavailable
 * EX_OSERR 71        the kernel refused a necessary operation
 * EX_OSFILE 72       no BTF
 * EX_IOERR 74        the output could not be written
 * EX_NOPERM 77       not permitted */
#define EX_LOSSES 1   /* --strict, and data was lost */
#define EX_EXCEEDED 4 /* a condition of --fail-if */
/* Of a command, as in env(1) and shells. */
#define EX_NOTRUN 126   /* it cannot be run */
#define EX_NOTFOUND 127 /* there is no such program */
/* Plus a signal number, as in shells. The signal ended the command, or this program before there
 * was a report. SIGPIPE is never sent: it means that the reader of standard output is gone. */
#define EX_SIGNALLED 128

#endif
