/* SPDX-License-Identifier: Apache-2.0 */
/* Slow system calls, waits and running code. */
#ifndef TEXT_TRACES_H
#define TEXT_TRACES_H

#include "cli/model/report_options.h"

struct columns;
struct sample;

/* Writes the requested sections: slow system calls as in kernel_delay.py, with further columns
 * to the right, and waits and running code, merged by function or by line. */
void text_traces(struct columns *columns, const struct sample *sample,
		 const struct report_options *options);

#endif
