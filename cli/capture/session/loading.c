// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "loading.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/kernel_delay.h"

#define WORKERS_MAX 2 /* the largest program takes a third of the time of all */
#define LARGE 1000    /* instructions: about 1 ms. Handing a program over takes a tenth of that */
#define JOBS_MAX 16

struct job {
	struct bpf_program *program;
	struct bpf_insn *code;
	size_t n; /* instructions */
	struct bpf_prog_load_opts *options;
	bool is_taken;
	int fd; /* of the loaded program, or a negative errno */
};

struct loading {
	pthread_mutex_t lock; /* of what follows, but for jobs that are taken */
	pthread_cond_t changed;
	struct job jobs[JOBS_MAX];
	size_t n_jobs;
	bool is_complete; /* no more will come */
	pthread_t workers[WORKERS_MAX];
	size_t n_workers;
};

/* Returns the largest job that nobody has taken; NULL: none. */
static struct job *job_take(struct loading *loading)
{
	struct job *largest = NULL;

	for (size_t i = 0; i < loading->n_jobs; i++) {
		struct job *job = &loading->jobs[i];

		if (!job->is_taken && (!largest || job->n > largest->n))
			largest = job;
	}
	if (largest)
		largest->is_taken = true;
	return largest;
}

static void job_load(struct job *job)
{
	job->fd = bpf_prog_load(bpf_program__type(job->program), bpf_program__name(job->program),
				KD_LICENSE, job->code, job->n, job->options);
	if (job->fd < 0)
		job->fd = -errno;
}

/* Loads programs until all have been taken, and no more will come. */
static void *jobs_load(void *argument)
{
	struct loading *loading = argument;

	pthread_mutex_lock(&loading->lock);
	for (;;) {
		struct job *job = job_take(loading);

		if (job) {
			pthread_mutex_unlock(&loading->lock);
			job_load(job);
			pthread_mutex_lock(&loading->lock);
		} else if (loading->is_complete) {
			break;
		} else {
			pthread_cond_wait(&loading->changed, &loading->lock);
		}
	}
	pthread_mutex_unlock(&loading->lock);
	return NULL;
}

static size_t cpus_allowed(void)
{
	cpu_set_t allowed;

	/* With more CPUs than the set can hold, there are enough. */
	return sched_getaffinity(0, sizeof(allowed), &allowed) ? CPU_SETSIZE
							       : (size_t)CPU_COUNT(&allowed);
}

struct loading *loading_open(void)
{
	size_t others = cpus_allowed() - 1;
	struct loading *loading = others ? calloc(1, sizeof(*loading)) : NULL;

	if (!loading)
		return NULL;
	pthread_mutex_init(&loading->lock, NULL);
	pthread_cond_init(&loading->changed, NULL);
	while (loading->n_workers < WORKERS_MAX && loading->n_workers < others &&
	       !pthread_create(&loading->workers[loading->n_workers], NULL, jobs_load, loading))
		loading->n_workers++;
	if (loading->n_workers)
		return loading;
	loading_close(loading, 0);
	return NULL;
}

/* Copies what the program needs. libbpf's options may be longer than those of our header. */
static bool job_fill(struct job *job, struct bpf_program *program,
		     const struct bpf_prog_load_opts *options)
{
	*job = (struct job){ .program = program, .n = bpf_program__insn_cnt(program), .fd = -EIO };
	job->code = malloc(job->n * sizeof(*job->code));
	job->options = malloc(options->sz);
	if (!job->code || !job->options)
		return false;
	memcpy(job->code, bpf_program__insns(program), job->n * sizeof(*job->code));
	memcpy(job->options, options, options->sz);
	return true;
}

static void job_free(struct job *job)
{
	free(job->code);
	free(job->options);
}

void loading_defer(struct loading *loading, struct bpf_program *program,
		   struct bpf_prog_load_opts *options)
{
	/* return 0 */
	struct bpf_insn empty[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
				    { .code = BPF_JMP | BPF_EXIT } };
	struct job job;

	if (bpf_program__insn_cnt(program) < LARGE || loading->n_jobs == JOBS_MAX)
		return;
	if (!job_fill(&job, program, options) ||
	    bpf_program__set_insns(program, empty, sizeof(empty) / sizeof(*empty))) {
		job_free(&job);
		return;
	}
	options->func_info_cnt = 0;
	options->line_info_cnt = 0;
	pthread_mutex_lock(&loading->lock);
	loading->jobs[loading->n_jobs++] = job;
	pthread_cond_signal(&loading->changed);
	pthread_mutex_unlock(&loading->lock);
}

/* Lets the empty program's descriptor be that of the loaded one. Returns 0 or a negative errno. */
static int job_place(const struct job *job)
{
	if (job->fd < 0)
		return job->fd;
	return dup3(job->fd, bpf_program__fd(job->program), O_CLOEXEC) < 0 ? -errno : 0;
}

int loading_close(struct loading *loading, int error)
{
	if (!loading)
		return error;
	pthread_mutex_lock(&loading->lock);
	loading->is_complete = true;
	for (size_t i = 0; error && i < loading->n_jobs; i++)
		loading->jobs[i].is_taken = true;
	pthread_cond_broadcast(&loading->changed);
	pthread_mutex_unlock(&loading->lock);
	jobs_load(loading);
	while (loading->n_workers)
		pthread_join(loading->workers[--loading->n_workers], NULL);
	for (size_t i = 0; i < loading->n_jobs; i++) {
		struct job *job = &loading->jobs[i];

		error = error ?: job_place(job);
		if (job->fd >= 0)
			close(job->fd);
		job_free(job);
	}
	pthread_cond_destroy(&loading->changed);
	pthread_mutex_destroy(&loading->lock);
	free(loading);
	return error;
}
