// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "hazards.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/array.h"
#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "cli/base/proc_file.h"
#include "cli/base/syscall_set.h"
#include "probes/elf/objects.h"

/* --- Targets that seccomp confines --- */

bool process_is_confined(pid_t pid)
{
	struct proc_list threads;
	bool confined = false;

	proc_list_begin(&threads, "/proc/%d/task", (int)pid);
	while (!confined && proc_list_next(&threads))
		confined = proc_status_number(threads.number, "Seccomp:");
	proc_list_end(&threads);
	return confined;
}

/* Installs a filter that refuses this one call with EPERM. */
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

/* Makes the call in a child process, which may be killed. Returns its errno; 0 if it had none or
 * the child was killed. */
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

/* --- Whether probes are in the code that a process runs --- */

#define LOOKS_MAX 100000 /* in all processes; a look takes about 2 us */
#define LOOKS_AGAIN 10   /* where probes are missing, a ms apart */

/* Beginning of the kernel's breakpoint. */
#if defined(__x86_64__)
#define BREAKPOINT "\xcc"
#define BREAKPOINT_SIZE 1
#else
#define BREAKPOINT "\xa0\x00\x20\xd4" /* UPROBE_SWBP_INSN */
#define BREAKPOINT_SIZE 4
#endif
#define OPTIMIZED 0xe8 /* since 6.18, in place of a 5-byte nop: a call */

/* A mapping of one of the files. */
struct file_mapping {
	const struct site *site; /* the first one of the file */
	struct map map;          /* without its path */
};

struct file_mappings {
	const struct trigger_sites *given;
	struct file_mapping *all;
	size_t n, capacity;
};

/* Compares paths; then, for another mount namespace, inodes. */
static bool map_is_of(const struct map *map, const struct site *site)
{
	return !strcmp(map->path, site->object) ||
	       (map->key.inode == site->file.inode &&
		!strcmp(basename(map->path), basename(site->object)));
}

static int mapping_add(void *context, const struct map *map)
{
	struct file_mappings *mappings = context;
	const struct site *last = NULL;

	if (*map->path != '/')
		return 0;
	maps_cut_deleted((char *)map->path); /* in the line that was read */
	for (size_t i = 0; i < mappings->given->n_sets; i++)
		for (size_t j = 0; j < mappings->given->sets[i]->n; j++) {
			const struct site *site = &mappings->given->sets[i]->all[j];

			if (last && last->fd == site->fd)
				continue;
			last = site;
			if (!map_is_of(map, site))
				continue;
			if (ARRAY_ADD(mappings->all, mappings->n, mappings->capacity,
				      (struct file_mapping){ site, *map }))
				return -ENOMEM;
		}
	return 0;
}

/* True if there is a probe at an address, or the address may not be read. */
static bool is_probed(const struct remote *remote, const struct site *site, uint64_t at)
{
	uint8_t code[BREAKPOINT_SIZE];

	if (!remote_has_page(remote, at)) /* a probe makes the page private to the process */
		return false;
	return !remote_copy(remote, at, code, sizeof(code)) ||
	       !memcmp(code, BREAKPOINT, sizeof(code)) ||
	       (site->instruction == CLASS_NOP5 && code[0] == OPTIMIZED);
}

static void site_look(struct placed *placed, const struct file_mappings *mappings,
		      const struct remote *remote, const struct site *site)
{
	enum placed_why why = PLACED_UNMAPPED;
	bool has_file = false, found = false;

	for (size_t i = 0; i < mappings->n && !found; i++) {
		const struct map *map = &mappings->all[i].map;

		if (mappings->all[i].site->fd != site->fd)
			continue;
		has_file = true;
		if (!map->executable || site->offset < map->offset ||
		    site->offset - map->offset >= map->end - map->start)
			continue;
		found = is_probed(remote, site, map->start + (site->offset - map->offset));
		why = map->writable || map->shared ? PLACED_WRITABLE : PLACED_ELSEWHERE;
	}
	placed->looked += has_file;
	if (found || !has_file)
		return;
	if (!placed->missing++) {
		placed->first = site;
		placed->why = why;
	}
}

static int process_look(struct placed *placed, const struct trigger_sites *given, pid_t pid)
{
	struct file_mappings mappings = { .given = given };
	struct remote remote;
	int error;

	*placed = (struct placed){ .pid = pid };
	if (!remote_open(&remote, pid))
		return 0;
	error = remote.pagemap >= 0 ? maps_each(pid, mapping_add, &mappings) : 0;
	for (size_t i = 0; i < given->n_sets && !error && mappings.n; i++)
		for (size_t j = 0; j < given->sets[i]->n; j++)
			site_look(placed, &mappings, &remote, &given->sets[i]->all[j]);
	remote_close(&remote);
	free(mappings.all);
	return error == -ENOMEM ? error : 0;
}

int placed_look(struct placed *placed, const struct trigger_sites *given, pid_t pid)
{
	struct placed now = { .pid = pid };
	int error = placed->looked < LOOKS_MAX ? process_look(&now, given, pid) : 0;

	/* It may just execute another program, or the same one anew, again and again: then its
	 * mappings are of one, and its memory of the next. */
	for (int i = 0; i < LOOKS_AGAIN && !error && now.missing; i++) {
		clock_wait_until(clock_monotonic() + NSEC_PER_MSEC);
		error = process_look(&now, given, pid);
	}
	if (!placed->missing) {
		placed->first = now.first;
		placed->why = now.why;
		placed->pid = pid;
	}
	placed->looked += now.looked;
	placed->missing += now.missing;
	return error;
}

exit_status placed_tell(const struct placed *placed, const struct trigger *trigger)
{
	static const char *const reasons[] = {
		[PLACED_UNMAPPED] = "has that code in memory of its own, not of the file",
		[PLACED_WRITABLE] = "has that code mapped writable or shared",
		[PLACED_ELSEWHERE] = "runs another copy of the file than its path leads to now",
	};
	static const char *const hints[] = {
		[PLACED_UNMAPPED] = "start it without large pages for code (node: without "
				    "--use-largepages), or use a trigger in the kernel",
		[PLACED_WRITABLE] = "the kernel puts no probe there: use a trigger in the kernel",
		[PLACED_ELSEWHERE] = "an overlay file system (a container's) copies a file that is "
				     "written to: start the process again, and it runs that copy",
	};
	const struct site *site = placed->first;
	const char *why = reasons[placed->why], *name;

	if (!placed->missing)
		return 0;
	name = *site->name ? site->name : "the address";
	if (placed->missing < placed->looked) {
		log_warn("%s: %zu of %zu probes cannot be hit, such as that at %s of %s: process "
			 "%d %s",
			 trigger->text, placed->missing, placed->looked, name, site->object,
			 (int)placed->pid, why);
		return 0;
	}
	log_error("%s: the probe at %s of %s cannot be hit: process %d %s", trigger->text, name,
		  site->object, (int)placed->pid, why);
	log_hint("%s", hints[placed->why]);
	return EX_OSERR;
}
