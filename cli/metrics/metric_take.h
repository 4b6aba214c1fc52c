/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of metrics_add(). */
#ifndef METRIC_TAKE_H
#define METRIC_TAKE_H

#include "metric_values.h"

/* Adds what is of threads. What fails is noted in metrics. */
void metric_take_threads(struct metrics *metrics, const struct sample *sample);

#endif
