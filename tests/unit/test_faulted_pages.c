/* SPDX-License-Identifier: Apache-2.0 */
/* What page faults were for, by the mappings of this process and by those it forks. */
#define _GNU_SOURCE
#include "cli/process/faulted_pages.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"
#include "tap.h"

#define PAGE 4096
#define PROTECTED (KD_FAULTED_PRESENT | KD_FAULTED_WRITE)

static uint64_t pages[KD_FAULTED_KINDS][KD_FAULTED];

static struct faulted_thread find(void)
{
	struct faulted_thread found = { .tid = getpid() };

	faulted_pages_find(&found, getpid(), pages);
	return found;
}

/* A mapping of four pages; fd -1: anonymous memory. */
static uint64_t mapped(int fd, int how)
{
	void *at = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, how | (fd < 0 ? MAP_ANONYMOUS : 0),
			fd, 0);

	need(at != MAP_FAILED);
	return (uint64_t)(uintptr_t)at;
}

TEST(mappings)
{
	char path[] = "/tmp/kdtest-mapped-XXXXXX";
	int fd = mkstemp(path);
	uint64_t memory, private, shared;

	need(fd >= 0 && !ftruncate(fd, 4 * PAGE));
	memory = mapped(-1, MAP_PRIVATE);
	private = mapped(fd, MAP_PRIVATE);
	shared = mapped(fd, MAP_SHARED);
	is_u64(find().minor.kind, FAULTED_UNKNOWN, "without pages");
	pages[KD_FAULTED_MINOR][0] = memory;
	pages[KD_FAULTED_MINOR][5] = memory + 3 * PAGE + KD_FAULTED_WRITE;
	is_u64(find().minor.kind, FAULTED_NEW, "new memory");
	pages[KD_FAULTED_MINOR][0] = mapped(-1, MAP_SHARED);
	is_u64(find().minor.kind, FAULTED_NEW, "also if it is shared");
	pages[KD_FAULTED_MINOR][1] = private;
	pages[KD_FAULTED_MINOR][2] = private + PAGE;
	is_u64(find().minor.kind, FAULTED_UNKNOWN, "half of this, half of that");
	pages[KD_FAULTED_MINOR][3] = shared;
	is_u64(find().minor.kind, FAULTED_FILE, "most are of a file");
	is_str(find().minor.path, path, "which is named");
	for (int i = 0; i < KD_FAULTED; i++)
		pages[KD_FAULTED_MINOR][i] = shared + PROTECTED;
	is_u64(find().minor.kind, FAULTED_CLEAN, "a page that was written back");
	for (int i = 0; i < KD_FAULTED; i++)
		pages[KD_FAULTED_MINOR][i] = private + PROTECTED;
	is_u64(find().minor.kind, FAULTED_COPY, "a page of its own from now on");
	pages[KD_FAULTED_MAJOR][0] = memory;
	is_u64(find().major.kind, FAULTED_UNKNOWN, "nothing of this process is in swap");
	pages[KD_FAULTED_MAJOR][0] = shared;
	is_u64(find().major.kind, FAULTED_FILE, "a file that has to be read");
	pages[KD_FAULTED_MAJOR][0] = 1 << 20;
	is_u64(find().major.kind, FAULTED_UNKNOWN, "no longer mapped");
	unlink(path);
	close(fd);
}

/* A child that waits for a signal, after it has executed another program if there is one. */
static pid_t forked(const char *program)
{
	pid_t child = fork();

	if (child)
		return child;
	if (program)
		execlp(program, program, "1000", NULL);
	pause();
	_exit(1);
}

static void ended(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

TEST(forks)
{
	uint64_t memory = mapped(-1, MAP_PRIVATE);
	pid_t copy, other;

	for (int i = 0; i < KD_FAULTED; i++)
		pages[KD_FAULTED_MINOR][i] = memory + PROTECTED;
	other = forked("sleep");
	for (int i = 0; i < 100 && find().shared_pid == other; i++)
		usleep(10000);
	is_i64(find().shared_pid, 0, "a child with another program has none of them");
	copy = forked(NULL);
	is_i64(find().shared_pid, copy, "a child that has all of them");
	is_str(find().shared_name, "test_faulted_pa", "by its name");
	for (int i = 0; i < KD_FAULTED; i++)
		pages[KD_FAULTED_MINOR][i] = memory;
	is_i64(find().shared_pid, 0, "which has nothing to do with new memory");
	ended(copy);
	ended(other);
}
