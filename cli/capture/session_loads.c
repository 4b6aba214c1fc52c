// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_loads.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/log.h"

#define LICENSE "GPL" /* as in bpf/kernel_delay.bpf.c: libbpf has no function that tells it */
#define VERIFIER_LOG (1 << 20)

/* Each owns copies of what libbpf has: that may be gone when the object is loaded. (There is no
 * fd_array: no program calls functions of modules.) */
struct program_load {
	struct bpf_program *program;
	struct bpf_insn *instructions;
	size_t n;
	struct bpf_prog_load_opts options;
	void *functions, *lines;
	int fd; /* of the loaded program, or a negative errno */
};

static void load_free(struct program_load *load)
{
	if (!load)
		return;
	free(load->instructions);
	free(load->functions);
	free(load->lines);
	free(load);
}

static void *memory_copied(const void *data, size_t size)
{
	void *to = malloc(size ? size : 1);

	return to && size ? memcpy(to, data, size) : to;
}

static struct program_load *load_new(struct bpf_program *program,
				     const struct bpf_prog_load_opts *options)
{
	struct program_load *load = calloc(1, sizeof(*load));

	if (!load)
		return NULL;
	load->program = program;
	/* libbpf may be newer or older than its header that this was compiled with. */
	memcpy(&load->options, options,
	       options->sz < sizeof(load->options) ? options->sz : sizeof(load->options));
	load->options.sz = sizeof(load->options);
	load->n = bpf_program__insn_cnt(program);
	load->instructions = memory_copied(bpf_program__insns(program),
					   load->n * sizeof(struct bpf_insn));
	load->functions = memory_copied(options->func_info, (size_t)options->func_info_cnt *
								    options->func_info_rec_size);
	load->lines = memory_copied(options->line_info,
				    (size_t)options->line_info_cnt * options->line_info_rec_size);
	load->options.func_info = load->functions;
	load->options.line_info = load->lines;
	if (load->instructions && load->functions && load->lines)
		return load;
	load_free(load);
	return NULL;
}

static int load_try(const struct program_load *load, const struct bpf_prog_load_opts *options)
{
	return bpf_prog_load(bpf_program__type(load->program), bpf_program__name(load->program),
			     LICENSE, load->instructions, load->n, options);
}

/* Takes one after the other, until there are no more to come. */
static void *loader_run(void *context)
{
	struct program_loads *loads = context;
	struct program_load *load;

	pthread_mutex_lock(&loads->lock);
	for (;;) {
		while (loads->next == loads->n && !loads->complete)
			pthread_cond_wait(&loads->more, &loads->lock);
		if (loads->next == loads->n)
			break;
		load = loads->loads[loads->next++];
		pthread_mutex_unlock(&loads->lock);
		load->fd = load_try(load, &load->options);
		pthread_mutex_lock(&loads->lock);
	}
	pthread_mutex_unlock(&loads->lock);
	return NULL;
}

/* As many threads as there are other CPUs for them; what they do not get done is done in the end.
 * Signals are for the thread that waits for them. */
static void loaders_start(struct program_loads *loads)
{
	sigset_t all, before;
	cpu_set_t cpus;

	loads->begun = true;
	pthread_mutex_init(&loads->lock, NULL);
	pthread_cond_init(&loads->more, NULL);
	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		CPU_ZERO(&cpus);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (loads->n_loaders < PROGRAM_LOADERS_MAX &&
	       (int)loads->n_loaders + 1 < CPU_COUNT(&cpus) &&
	       !pthread_create(&loads->loaders[loads->n_loaders], NULL, loader_run, loads))
		loads->n_loaders++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void loads_add(struct program_loads *loads, struct program_load *load)
{
	if (!loads->begun)
		loaders_start(loads);
	pthread_mutex_lock(&loads->lock);
	loads->loads[loads->n++] = load;
	pthread_cond_signal(&loads->more);
	pthread_mutex_unlock(&loads->lock);
}

/* With the one who calls it as the last loader. */
static void loads_complete(struct program_loads *loads)
{
	pthread_mutex_lock(&loads->lock);
	loads->complete = true;
	pthread_cond_broadcast(&loads->more);
	pthread_mutex_unlock(&loads->lock);
	loader_run(loads);
	for (size_t i = 0; i < loads->n_loaders; i++)
		pthread_join(loads->loaders[i], NULL);
	pthread_cond_destroy(&loads->more);
	pthread_mutex_destroy(&loads->lock);
}

int program_load_begin(struct program_loads *loads, struct bpf_program *program,
		       struct bpf_prog_load_opts *options)
{
	struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K }, /* r0 = 0 */
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct program_load *load;
	int error;

	if (loads->n == PROGRAM_LOADS_MAX)
		return 0; /* libbpf's to load */
	load = load_new(program, options);
	error = load ? bpf_program__set_insns(program, nothing, 2) : -ENOMEM;
	if (error) {
		load_free(load);
		return error;
	}
	options->func_info_cnt = 0;
	options->line_info_cnt = 0;
	loads_add(loads, load);
	return 0;
}

/* Has the kernel say what is wrong with a program that it has refused. */
static void load_explain(const struct program_load *load)
{
	struct bpf_prog_load_opts options = load->options;
	char *log = log_is_debug() ? calloc(1, VERIFIER_LOG) : NULL;
	int fd;

	if (!log)
		return;
	options.log_level = 1;
	options.log_buf = log;
	options.log_size = VERIFIER_LOG;
	fd = load_try(load, &options);
	if (fd >= 0)
		close(fd);
	log_debug("%s: %s\n%.*s\n", bpf_program__name(load->program), strerror(-load->fd),
		  VERIFIER_LOG, log);
	free(log);
}

static int load_end(struct program_load *load)
{
	int place = bpf_program__fd(load->program), error = 0;

	if (load->fd < 0) {
		error = load->fd;
	} else {
		if (place >= 0 && dup3(load->fd, place, O_CLOEXEC) < 0)
			error = -errno;
		close(load->fd);
	}
	return error;
}

int program_loads_end(struct program_loads *loads)
{
	int error, first = 0;

	if (!loads->begun)
		return 0;
	loads_complete(loads);
	for (size_t i = 0; i < loads->n; i++) {
		error = load_end(loads->loads[i]);
		if (error && !first)
			load_explain(loads->loads[i]);
		first = first ? first : error;
		load_free(loads->loads[i]);
	}
	*loads = (struct program_loads){ 0 };
	return first;
}
