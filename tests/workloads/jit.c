/* SPDX-License-Identifier: Apache-2.0 */
/* Makes code at run time, as a just-in-time compiler does: functions with frame pointers, in
 * memory of no file, each of which calls the next one; the last calls slow(). A program of its
 * own: nothing else is between them and main().
 *
 *   -> ready PID SIZE ADDRESS...   its PID as it sees it, bytes of each function, and where they
 *                  are
 *   <- go MS       -> done: a thread has gone through all of them, to a nanosleep of MS ms
 *   <- map FILE    -> done: the file is mapped, as the writer of a jitdump does */
#include "workload.h"

#include <fcntl.h>
#include <stdint.h>

#define FUNCTIONS 4
#define ROOM 64 /* bytes for each */

/* void made(void **next): calls the first of them, and hands it the others. */
static const uint8_t made[] = {
#if defined(__x86_64__)
	0x55,                   /* push %rbp */
	0x48, 0x89, 0xe5,       /* mov %rsp, %rbp */
	0x48, 0x8b, 0x07,       /* mov (%rdi), %rax */
	0x48, 0x83, 0xc7, 0x08, /* add $8, %rdi */
	0xff, 0xd0,             /* call *%rax */
	0x5d,                   /* pop %rbp */
	0xc3,                   /* ret */
#else
	0xfd, 0x7b, 0xbf, 0xa9, /* stp x29, x30, [sp, #-16]! */
	0xfd, 0x03, 0x00, 0x91, /* mov x29, sp */
	0x01, 0x84, 0x40, 0xf8, /* ldr x1, [x0], #8 */
	0x20, 0x00, 0x3f, 0xd6, /* blr x1 */
	0xfd, 0x7b, 0xc1, 0xa8, /* ldp x29, x30, [sp], #16 */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
#endif
};

static long ms;

static void slow(void **next)
{
	struct timespec time = timespec_of(ms * MS);

	(void)next;
	nanosleep(&time, NULL);
}

static void map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		die(path);
	close(fd);
}

int main(void)
{
	char *code = mmap(NULL, FUNCTIONS * ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *next[FUNCTIONS + 1];

	if (code == MAP_FAILED)
		die("mmap");
	for (int i = 0; i < FUNCTIONS; i++) {
		next[i] = code + i * ROOM;
		memcpy(next[i], made, sizeof(made));
	}
	next[FUNCTIONS] = (void *)slow;
	__builtin___clear_cache(code, code + FUNCTIONS * ROOM);
	say("ready %d %zu %lu %lu %lu %lu", (int)getpid(), sizeof(made), (unsigned long)next[0],
	    (unsigned long)next[1], (unsigned long)next[2], (unsigned long)next[3]);
	for (;;) {
		const char *line = command();

		if (sscanf(line, "go %ld", &ms) == 1)
			((void (*)(void **))next[0])(next + 1);
		else if (!strncmp(line, "map ", 4))
			map_file(line + 4);
		else
			unknown(line);
		say("done");
	}
}
