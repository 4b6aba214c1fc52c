/* SPDX-License-Identifier: Apache-2.0 */
#include "descriptor.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/base/columns.h"
#include "cli/base/escape.h"

const char *descriptor_text(const struct descriptor *is, char text[static DESCRIPTOR_TEXT_LEN])
{
	const char *protocol = is->protocol;
	int length = sizeof(is->protocol), path = sizeof(is->path), address = sizeof(is->local);
	int device = sizeof(is->device);
	int n = snprintf(text, DESCRIPTOR_TEXT_LEN, "%.*s%s%.*s", length, protocol,
			 protocol[0] && is->path[0] ? " " : "", path, is->path);

	if (is->local[0])
		n += snprintf(text + n, DESCRIPTOR_TEXT_LEN - (size_t)n, "%s%.*s", n ? " " : "",
			      address, is->local);
	if (is->peer[0])
		n += snprintf(text + n, DESCRIPTOR_TEXT_LEN - (size_t)n, "%s%.*s", n ? " to " : "",
			      address, is->peer);
	if (is->device[0])
		n += snprintf(text + n, DESCRIPTOR_TEXT_LEN - (size_t)n, "%son %.*s", n ? " " : "",
			      device, is->device);
	if (is->other_net)
		snprintf(text + n, DESCRIPTOR_TEXT_LEN - (size_t)n, " in net:[%" PRIu32 "]",
			 is->other_net);
	return text;
}

void descriptor_write(struct columns *columns, const struct descriptor *is)
{
	char text[DESCRIPTOR_TEXT_LEN], escaped[ESCAPE_SIZE(DESCRIPTOR_TEXT_LEN)];

	escape_text(escaped, sizeof(escaped), descriptor_text(is, text), sizeof(text));
	columns_add(columns, *escaped ? escaped : "-");
}
