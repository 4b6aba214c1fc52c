/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict as JSON: only written, since it follows from the rest of the sample. */
#ifndef JSON_VERDICT_H
#define JSON_VERDICT_H

#include "json_fields.h"

/* Of a struct sample. */
extern const struct json_form json_verdict_form;

#endif
