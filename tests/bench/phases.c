/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into kernel_delay, notes when it is in libbpf's main functions and in
 * bpf(2), at the price of two clock readings for each. At exit it writes to the
 * file named by $BENCH_PHASES a line for each: NAME DETAIL BEGIN END, in ns of
 * CLOCK_MONOTONIC; DETAIL is the program's name for BPF_PROG_LOAD, else "-". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#define NOTES 65536

struct bpf_link;
struct bpf_object_skeleton;
struct bpf_program;

static struct note {
	const char *name;
	char detail[BPF_OBJ_NAME_LEN];
	unsigned long long begin, end;
} notes[NOTES];
static atomic_uint n_notes;

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static void note(const char *name, const char *detail, unsigned long long begin)
{
	unsigned int location = atomic_fetch_add(&n_notes, 1); /* programs are loaded by threads */
	struct note *note = &notes[location];

	if (location >= NOTES)
		return;
	*note = (struct note){ .name = name, .begin = begin, .end = now() };
	snprintf(note->detail, sizeof(note->detail), "%s", *detail ? detail : "-");
}

/* The function that this library's one of the same name hides. */
#define HIDDEN(function) ((__typeof__(&(function)))dlsym(RTLD_NEXT, #function))

#define NOTED(type, function, parameters, arguments)                                               \
	type function parameters;                                                                  \
	type function parameters                                                                   \
	{                                                                                          \
		unsigned long long begin = now();                                                  \
		type result = HIDDEN(function) arguments;                                          \
                                                                                                   \
		note(#function, "", begin);                                                        \
		return result;                                                                     \
	}

NOTED(int, bpf_object__open_skeleton, (struct bpf_object_skeleton * skel, const void *options),
      (skel, options))
NOTED(int, bpf_object__load_skeleton, (struct bpf_object_skeleton * skel), (skel))
NOTED(struct bpf_link *, bpf_program__attach, (struct bpf_program * program), (program))
NOTED(struct bpf_link *, bpf_program__attach_iter,
      (struct bpf_program * program, const void *options), (program, options))

static const char *command_name(long command)
{
	switch (command) {
	case BPF_MAP_CREATE:
		return "BPF_MAP_CREATE";
	case BPF_PROG_LOAD:
		return "BPF_PROG_LOAD";
	case BPF_BTF_LOAD:
		return "BPF_BTF_LOAD";
	default:
		return "bpf";
	}
}

/* libbpf reaches bpf(2) by this function. */
long syscall(long number, ...)
{
	static long (*hidden)(long, ...);
	unsigned long long begin = now();
	const char *detail = "";
	long args[6], result;
	va_list list;

	if (!hidden)
		hidden = HIDDEN(syscall);
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	result = hidden(number, args[0], args[1], args[2], args[3], args[4], args[5]);
	if (number != SYS_bpf)
		return result;
	if (args[0] == BPF_PROG_LOAD)
		detail = ((const union bpf_attr *)args[1])->prog_name;
	note(command_name(args[0]), detail, begin);
	return result;
}

__attribute__((destructor)) static void notes_write(void)
{
	const char *path = getenv("BENCH_PHASES");
	FILE *file = path ? fopen(path, "we") : NULL;

	if (!file)
		return;
	for (unsigned int i = 0; i < n_notes && i < NOTES; i++)
		fprintf(file, "%s %s %llu %llu\n", notes[i].name, notes[i].detail, notes[i].begin,
			notes[i].end);
	fclose(file);
}
