// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "confined.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/syscall_set.h"

static bool thread_is_confined(pid_t pid, const char *tid)
{
	char path[64], line[256];
	int mode = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/status", (int)pid, tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			break;
	fclose(file);
	return mode != 0;
}

bool process_is_confined(pid_t pid)
{
	struct dirent *entry;
	bool confined = false;
	char path[32];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	while (threads && !confined && (entry = readdir(threads)))
		confined = *entry->d_name != '.' && thread_is_confined(pid, entry->d_name);
	if (threads)
		closedir(threads);
	return confined;
}

/* A filter that refuses this one call with EPERM. */
static int filter_install(long number)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

/* Makes the call in a process of its own, which may not survive it. Returns its
 * errno; 0 if it had none or the process was killed. */
static int call_try(long number, bool filtered)
{
	const struct rlimit none = { 0, 0 };
	int status = 0;
	pid_t child = fork();

	if (!child) {
		setrlimit(RLIMIT_CORE, &none);
		if (filtered && filter_install(number))
			_exit(0);
		_exit(syscall(number, 0, 0, 0, 0, 0, 0) < 0 ? errno : 0);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

bool call_is_filtered(long number)
{
	return call_try(number, false) != ENOSYS && call_try(number, true) == EPERM;
}

bool probes_endanger(pid_t pid)
{
	static const char *const calls[] = { "uretprobe", "uprobe" };
	bool danger = false;

	if (pid && !process_is_confined(pid))
		return false;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls) && !danger; i++) {
		int number = syscall_number(calls[i]);

		danger = number >= 0 && call_is_filtered(number);
	}
	return danger;
}
