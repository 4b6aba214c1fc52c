// SPDX-License-Identifier: Apache-2.0
#include "parts.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/log.h"
#include "types.h"

/* Sets the session's pointer to a part's state. */
static void state_set(struct session *session, const struct session_part *part, void *state)
{
	memcpy((char *)session + part->state, &state, sizeof(state));
}

static void *state_get(const struct session *session, const struct session_part *part)
{
	void *state;

	memcpy(&state, (const char *)session + part->state, sizeof(state));
	return state;
}

static exit_status part_begin(struct session *session, const struct session_part *part)
{
	void *state;

	if (part->scans && !(part->scans & session->config->scans)) {
		if (part->omit)
			part->omit(session);
		return 0;
	}
	state = part->bytes ? calloc(1, part->bytes) : NULL;
	if (part->bytes && !state)
		return log_no_memory();
	if (part->bytes)
		state_set(session, part, state);
	session->begun[session->n_begun++] = part;
	return part->select ? part->select(session) : 0;
}

exit_status parts_select(struct session *session)
{
	int status = 0;

	for (const struct session_part *const *part = session->parts; *part && !status; part++)
		status = part_begin(session, *part);
	return status;
}

exit_status parts_attach(struct session *session)
{
	int status = 0;

	for (size_t i = 0; i < session->n_begun && !status; i++)
		if (session->begun[i]->attach)
			status = session->begun[i]->attach(session);
	return status;
}

int parts_read(struct session *session, struct session_hash hash)
{
	int error = 0;

	for (size_t i = 0; i < session->n_begun && !error; i++)
		if (session->begun[i]->read)
			error = session->begun[i]->read(session, hash);
	return error;
}

int parts_turn_cpu(struct session *session, int cpu, bool online)
{
	int error = 0;

	for (size_t i = 0; i < session->n_begun; i++)
		if (session->begun[i]->turn_cpu)
			error = session->begun[i]->turn_cpu(session, cpu, online) ?: error;
	return error;
}

void parts_open(struct session *session)
{
	for (size_t i = 0; i < session->n_begun; i++)
		if (session->begun[i]->open)
			session->begun[i]->open(session);
}

void parts_look(struct session *session)
{
	for (size_t i = 0; i < session->n_begun; i++)
		if (session->begun[i]->look)
			session->begun[i]->look(session);
}

void parts_free_slot(struct session *session, uint32_t slot)
{
	for (size_t i = 0; i < session->n_begun; i++)
		if (session->begun[i]->free_slot)
			session->begun[i]->free_slot(session, slot);
}

void parts_close(struct session *session)
{
	while (session->n_begun) {
		const struct session_part *part = session->begun[--session->n_begun];

		if (part->close)
			part->close(session);
		if (!part->bytes)
			continue;
		free(state_get(session, part));
		state_set(session, part, NULL);
	}
}
