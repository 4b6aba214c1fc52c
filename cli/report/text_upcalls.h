/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXT_UPCALLS_H
#define TEXT_UPCALLS_H

#include "../sample.h"
#include "columns.h"

/* The section on upcalls of openvswitch, as kernel_delay.py has it (its spelling
 * too); nothing if they were not counted. */
void text_upcalls(struct columns *columns, const struct sample *sample);

#endif
