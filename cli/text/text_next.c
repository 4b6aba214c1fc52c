/* SPDX-License-Identifier: Apache-2.0 */
#include "text_next.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/names.h"

/* By the process's name, a pattern; %d: its PID. One row a program: lines have 72 columns. NULL: as
 * for any program. */
static const struct {
	const char *name, *waits, *computes;
} programs[] = {
	{ "postgres", "SELECT pid, pg_blocking_pids(pid), query FROM pg_stat_activity",
	  "SELECT pid, state, query FROM pg_stat_activity says what it runs" },
	{ "mariadbd", "SHOW ENGINE INNODB STATUS says which transactions wait",
	  "SHOW FULL PROCESSLIST says which queries it runs" },
	{ "mysqld", "SHOW ENGINE INNODB STATUS says which transactions wait",
	  "SHOW FULL PROCESSLIST says which queries it runs" },
	{ "java", "jstack %d shows where its threads wait, and who has the monitors",
	  "jstack %d, or --profile, shows what it computes" },
	{ "python*", "py-spy dump --pid %d shows where its threads wait",
	  "py-spy dump --pid %d, or --profile, shows what it computes" },
	{ "redis-server", "redis-cli LATENCY DOCTOR says what it waits for",
	  "redis-cli SLOWLOG GET says which commands take long" },
	{ "valkey-server", "valkey-cli LATENCY DOCTOR says what it waits for",
	  "valkey-cli SLOWLOG GET says which commands take long" },
	{ "ovs-vswitchd", "ovs-appctl coverage/show says what it does how often",
	  "ovs-appctl coverage/show, dpif-netdev/pmd-perf-show say what it does" },
};

/* Name of the target; "" if it is of several. */
static void name_of(char name[static KD_COMM_LEN + 1], const struct sample *sample)
{
	const char *first = sample->capture ? sample->capture->process : "";

	if (sample->n_processes)
		first = sample->processes[0].name;
	for (size_t i = 1; i < sample->n_processes; i++)
		if (strncmp(sample->processes[i].name, first, KD_COMM_LEN) != 0)
			first = "";
	snprintf(name, KD_COMM_LEN + 1, "%.*s", KD_COMM_LEN, first);
}

bool text_next(char *advice, size_t size, const struct sample *sample, bool waits)
{
	char name[KD_COMM_LEN + 1];

	name_of(name, sample);
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		const char *format = waits ? programs[i].waits : programs[i].computes;

		if (!names_match_comm(programs[i].name, name) || !format)
			continue;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(advice, size, format, (int)sample->pid);
#pragma GCC diagnostic pop
		return true;
	}
	return false;
}
