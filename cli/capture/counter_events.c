// SPDX-License-Identifier: Apache-2.0
#include "counter_events.h"

#include <errno.h>

/* True if there is no such event, or no counters: the errno of perf_event_open(2) then depends
 * on the event and the machine. */
static bool is_missing(int error, uint32_t type)
{
	return error == -ENOENT || error == -EOPNOTSUPP || error == -ENXIO ||
	       (error == -EINVAL && type != PERF_TYPE_SOFTWARE);
}

/* Returns 1; 0 if the CPU lacks the event, being offline or of a kind without it; or a negative
 * errno. */
static int event_open_on(const struct counter_event *event, size_t index, int cpu,
			 const struct counter_ops *ops)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.size = sizeof(attr),
		.config = event->config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int fd = ops->open(ops->context, &attr, cpu), error;

	if (fd == -ENODEV || is_missing(fd, event->type))
		return 0;
	if (fd < 0)
		return fd;
	error = ops->put(ops->context, index, cpu, fd);
	return error ? error : 1;
}

/* Opens an event on all CPUs. Returns how many have it, or a negative errno. */
static int event_open(const struct counter_event *event, size_t index, int cpus,
		      const struct counter_ops *ops)
{
	int opened = 0;

	for (int cpu = 0; cpu < cpus; cpu++) {
		int found = event_open_on(event, index, cpu, ops);

		if (found < 0)
			return found;
		opened += found;
	}
	return opened;
}

int counter_events_open(struct counter_set *set, int cpus, const struct counter_ops *ops,
			struct counter_set *missing)
{
	size_t kept = 0;

	missing->n = 0;
	for (size_t i = 0; i < set->n; i++) {
		int opened = event_open(&set->all[i], kept, cpus, ops);

		if (opened < 0)
			return opened;
		if (opened)
			set->all[kept++] = set->all[i];
		else
			missing->all[missing->n++] = set->all[i];
	}
	set->n = kept;
	return 0;
}

int counter_events_open_cpu(const struct counter_set *set, int cpu, const struct counter_ops *ops)
{
	int found = 0;

	for (size_t i = 0; i < set->n && found >= 0; i++)
		found = event_open_on(&set->all[i], i, cpu, ops);
	return found < 0 ? found : 0;
}
