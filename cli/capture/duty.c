// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "duty.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/exit_status.h"
#include "cli/base/log.h"
#include "session_triggers.h"
#include "session_windows.h"

/* Each turn costs the target something, too: its code is written, and the CPUs that
 * run it are interrupted. */
#define ON_MIN_NS (100 * NSEC_PER_MSEC)
#define OFF_MIN_NS (500 * NSEC_PER_MSEC)
/* A thread that gets no CPU earns nothing; nor does it lose anything. */
#define OFF_MAX_NS (30 * NSEC_PER_SEC)
/* A window that is open for that long is waited for, as long as this costs nothing: it
 * may be the stall that all this is for. */
#define WINDOW_LONG_NS (2 * NSEC_PER_MSEC)
#define WINDOW_MAX_NS (10 * NSEC_PER_SEC)

enum duty_state {
	DUTY_ON,
	DUTY_CLOSING, /* hits do not count any more, but the probes may still be there */
	DUTY_OFF,
};

struct duty {
	struct session *session;
	struct overhead *overhead;
	enum duty_state state;
	uint64_t since;      /* hits count, or have not counted */
	uint64_t off_before; /* ns in phases that are over */
	uint64_t phases, dropped;
	uint64_t awaited; /* generation of the window for which the probes stay; 0: none */
};

struct duty *duty_new(struct session *session, struct overhead *overhead)
{
	struct duty *duty = calloc(1, sizeof(*duty));

	if (!duty)
		return NULL;
	duty->session = session;
	duty->overhead = overhead;
	duty->since = clock_monotonic();
	return duty;
}

void duty_free(struct duty *duty)
{
	free(duty);
}

static exit_status turn_off(struct duty *duty)
{
	uint64_t now = clock_monotonic();
	int error = triggers_detach_begin(session_triggers(duty->session));

	if (error) {
		log_error("cannot start a thread: %s", strerror(-error));
		return EX_OSERR;
	}
	overhead_switch(duty->overhead, false);
	duty->since = now;
	duty->phases++;
	duty->state = DUTY_CLOSING;
	triggers_remeasure(session_triggers(duty->session));
	return 0;
}

static exit_status turn_on(struct duty *duty)
{
	int status = triggers_attach_again(session_triggers(duty->session));

	overhead_switch(duty->overhead, true);
	duty->off_before += clock_monotonic() - duty->since;
	duty->since = clock_monotonic();
	duty->state = DUTY_ON;
	return status;
}

static void windows_drop(struct duty *duty)
{
	struct session_view view = session_view(duty->session);

	while (session_window_close(duty->session) && view.gen) {
		windows_release(session_windows(duty->session), view.bank);
		duty->dropped++;
		view = session_view(duty->session);
	}
}

/* True if the probes stay for the sake of the window that is open. */
static bool window_is_awaited(struct duty *duty)
{
	struct session_view view = session_view(duty->session);
	uint64_t lasted = view.gen ? clock_monotonic() - view.epoch - view.start : 0;
	bool first = view.gen != duty->awaited;

	duty->awaited = 0;
	if (lasted < WINDOW_LONG_NS || lasted > WINDOW_MAX_NS)
		return false;
	if (!first && overhead_is_growing(duty->overhead))
		return false;
	duty->awaited = view.gen;
	return true;
}

static bool is_due_off(struct duty *duty, bool looked, uint64_t lasted)
{
	return looked && lasted >= ON_MIN_NS && overhead_is_overdrawn(duty->overhead) &&
	       !window_is_awaited(duty);
}

exit_status duty_tick(struct duty *duty, bool looked, bool drop)
{
	uint64_t lasted = clock_monotonic() - duty->since;

	switch (duty->state) {
	case DUTY_ON:
		return is_due_off(duty, looked, lasted) ? turn_off(duty) : 0;
	case DUTY_CLOSING:
		if (!session_detach_end(duty->session))
			return 0;
		if (drop)
			windows_drop(duty);
		duty->state = DUTY_OFF;
		return 0;
	case DUTY_OFF:
		if (lasted < OFF_MIN_NS ||
		    (overhead_is_overdrawn(duty->overhead) && lasted < OFF_MAX_NS))
			return 0;
		overhead_forgive(duty->overhead);
		return turn_on(duty);
	}
	return 0;
}

bool duty_is_on(const struct duty *duty)
{
	return duty->state == DUTY_ON;
}

void duty_tell(const struct duty *duty, struct trigger_stats *stats)
{
	stats->duty.off = duty->off_before;
	if (duty->state != DUTY_ON)
		stats->duty.off += clock_monotonic() - duty->since;
	stats->duty.phases = duty->phases;
	stats->duty.dropped = duty->dropped;
}
