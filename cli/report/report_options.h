/* SPDX-License-Identifier: Apache-2.0 */
/* How much detail the reports for machines have. */
#ifndef REPORT_OPTIONS_H
#define REPORT_OPTIONS_H

#include <stdbool.h>

struct report_options {
	bool per_thread;           /* metrics: a series per thread, with its TID; else per name */
	bool fold_names;           /* metrics: "revalidator55" is "revalidator" */
	unsigned int max_syscalls; /* metrics: of a thread, the others in one row; 0: no limit */
	bool timestamps;           /* metrics: samples have the window's end as their time */
};

#endif
