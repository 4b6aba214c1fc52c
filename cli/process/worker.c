// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/proc_file.h"

#define PREFIX "kworker/"

/* "kworker/1:0H", "kworker/u4:2"; those of one work queue are called after it: "kworker/R-writeb".
 */
bool worker_is_name(const char *name)
{
	return !strncmp(name, PREFIX, strlen(PREFIX)) && strchr(name, ':');
}

/* "kworker/u4:2+flush-254:0" does it, "kworker/1:0H-kblockd" did it: wq_worker_comm(),
 * kernel/workqueue.c. */
bool worker_work(pid_t tid, char *work, size_t size)
{
	char comm[64] = "";
	const char *colon, *at;

	if (proc_comm_read(tid, comm, sizeof(comm)) <= 0 || !worker_is_name(comm))
		return false;
	colon = strchr(comm, ':');
	at = strpbrk(colon, "+-");
	if (!at || !at[1])
		return false;
	snprintf(work, size, "%s", at + 1);
	return true;
}
