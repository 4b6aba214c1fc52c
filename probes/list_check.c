// SPDX-License-Identifier: Apache-2.0
/* What triggers mean, for --check. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "instruction_class.h"
#include "list.h"
#include "list_out.h"
#include "list_values.h"

/* Why a hit costs what it does. */
static const char *cost_reason(const struct trigger *trigger, const struct site *site)
{
	if (!trigger_is_user(trigger))
		return "typical, not measured";
	if (site->on_return)
		return "return";
	return site->instruction == CLASS_OTHER ? "instruction single-stepped"
						: "instruction emulated";
}

static void site_print(struct list_out *out, const struct trigger *trigger, const struct site *site,
		       uint64_t cost)
{
	list_print(out, "  ");
	if (site->group) {
		list_print_text(out, site->group, 0);
		list_print(out, ":");
	}
	list_print_text(out, *site->name ? site->name : "(by address)", 0);
	if (trigger->offset)
		list_print(out, "+0x%" PRIx64, trigger->offset);
	if (site->danger)
		list_print(out, "%s0x%" PRIx64, site->into < 0 ? "-" : "+",
			   site->into < 0 ? -(uint64_t)site->into : (uint64_t)site->into);
	if (site->object) {
		list_print(out, "  at 0x%" PRIx64 " of ", site->offset);
		list_print_text(out, site->object, 0);
	}
	if (site->semaphore)
		list_print(out, ", semaphore at 0x%" PRIx64, site->semaphore);
	if (site->danger)
		list_print(out, ", a return instruction (%s)", site->danger);
	else if (site->on_return)
		list_print(out, ", by a return probe");
	list_print(out, "\n");
	list_print_values(out, trigger, site);
	list_print(out, "    about %" PRIu64 " ns per hit (%s)\n", cost,
		   cost_reason(trigger, site));
}

int triggers_check(FILE *file, const char *role, const struct trigger *trigger,
		   const struct sites *sites, bool target_only, const uint64_t *costs)
{
	struct list_out out = { .file = file };
	size_t n = sites_count(sites);

	list_print(&out, "%s ", role);
	list_print_text(&out, trigger->text, 0);
	list_print(&out, ": %s, %zu site%s, fires for %s%s\n", trigger_kind_name(trigger->kind), n,
		   n == 1 ? "" : "s",
		   target_only ? "the target only" : "any process, unless --trigger-target-only",
		   trigger_is_user(trigger) && trigger->everywhere
			   ? "; other processes that run this code pay as much"
			   : "");
	for (size_t i = 0; i < n && !out.error; i++)
		site_print(&out, trigger, sites_get(sites, i), costs[i]);
	if (!out.error && fflush(file))
		out.error = errno ? -errno : -EIO;
	return out.error;
}
