/* SPDX-License-Identifier: Apache-2.0 */
/* Which form of metrics a client takes: what its Accept header says (RFC 9110, 12.5.1). */
#ifndef EXPORTER_ACCEPT_H
#define EXPORTER_ACCEPT_H

enum exporter_form {
	EXPORTER_PROMETHEUS, /* text 0.0.4 */
	EXPORTER_OPENMETRICS,
	EXPORTER_FORMS,
};

/* What is known of a client's wishes; zeros: nothing. */
struct exporter_accept {
	struct {
		unsigned int quality; /* thousandths */
		unsigned int rank;    /* of what said so: what is more specific counts */
	} forms[EXPORTER_FORMS];
};

/* Adds a header's value. What is no media range, or one of something else, is passed
 * over. */
void exporter_accept_add(struct exporter_accept *accept, const char *header);

/* What to answer with: OpenMetrics only to those who name it; 0.0.4 also to those who
 * take neither. */
enum exporter_form exporter_accept_form(const struct exporter_accept *accept);

#endif
