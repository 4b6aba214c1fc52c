// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "attach.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cli/exit_status.h"
#include "../cli/log.h"
#include "attach_multi.h"

struct attachment {
	struct bpf_link **links;
	size_t n_links;
	int *multi; /* links of many probes at once */
	size_t n_multi;
};

void attachment_prepare(struct bpf_program *program, const struct trigger *trigger)
{
	if (trigger_is_user(trigger) && attach_multi_is_possible())
		attach_multi_prepare(program);
}

static bool program_is_multi(const struct bpf_program *program)
{
	return bpf_program__type(program) == BPF_PROG_TYPE_KPROBE &&
	       bpf_program__expected_attach_type(program) != 0;
}

/* The kernel opens the very file in which the probe was found, whatever its path
 * leads to by now. */
static struct bpf_link *attach_file(const struct bpf_program *program,
				    const struct trigger *trigger, const struct place *place,
				    pid_t pid)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = trigger_is_return(trigger),
		    .ref_ctr_offset = place->semaphore);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", place->fd);
	return bpf_program__attach_uprobe_opts(program, pid, path, place->offset, &options);
}

static struct bpf_link *attach_tracepoint(const struct bpf_program *program,
					  const struct place *place)
{
	LIBBPF_OPTS(bpf_tracepoint_opts, options, .bpf_cookie = place->offset);

	return bpf_program__attach_tracepoint_opts(program, place->group, place->name, &options);
}

static struct bpf_link *attach_place(const struct bpf_program *program,
				     const struct trigger *trigger, const struct place *place,
				     pid_t pid)
{
	LIBBPF_OPTS(bpf_kprobe_opts, options, .retprobe = trigger_is_return(trigger),
		    .offset = place->offset);

	if (trigger_is_user(trigger))
		return attach_file(program, trigger, place, pid);
	if (trigger->kind == TRIGGER_TRACEPOINT)
		return attach_tracepoint(program, place);
	return bpf_program__attach_kprobe_opts(program, place->name, &options);
}

static int attach_alone(struct attachment *attachment, const struct bpf_program *program,
			const struct trigger *trigger, const struct place *place, pid_t pid)
{
	struct bpf_link **links = reallocarray(attachment->links, attachment->n_links + 1,
					       sizeof(*links));

	if (!links)
		return -ENOMEM;
	attachment->links = links;
	links[attachment->n_links] = attach_place(program, trigger, place, pid);
	if (!links[attachment->n_links])
		return -errno;
	attachment->n_links++;
	return 0;
}

static int attach_failed(const struct trigger *trigger, const struct place *place, int error)
{
	log_error("cannot attach %s to %s%s%s: %s", trigger_kind_name(trigger->kind),
		  place->object ? place->object : "", place->object ? ":" : "",
		  *place->name ? place->name : trigger->text, strerror(error));
	switch (error) {
	case EPERM:
	case EACCES:
		log_hint("does lockdown, a security module or a container forbid it?");
		return EX_NOPERM;
	case EOPNOTSUPP:
	case EINVAL:
		log_hint("the kernel cannot put a probe on that instruction: take another place");
		return EX_OSERR;
	case ENOENT:
		log_hint("this kernel lacks that kind of probe: take another kind");
		return EX_OSERR;
	case EMFILE:
		log_hint("raise the limit of open files: ulimit -n");
		return EX_OSERR;
	default:
		log_hint("--check shows where the probes would be, --debug what libbpf says");
		return EX_OSERR;
	}
}

/* n places of the same file. */
static int attach_together(struct attachment *attachment, const struct bpf_program *program,
			   const struct trigger *trigger, const struct place *const *places,
			   size_t n, pid_t pid)
{
	uint64_t *offsets = calloc(2 * n, sizeof(*offsets)), *semaphores = offsets + n;
	int *multi = reallocarray(attachment->multi, attachment->n_multi + 1, sizeof(*multi));
	int link = -ENOMEM;

	if (multi)
		attachment->multi = multi;
	for (size_t i = 0; offsets && i < n; i++) {
		offsets[i] = places[i]->offset;
		semaphores[i] = places[i]->semaphore;
	}
	if (offsets && multi)
		link = attach_multi(program, trigger_is_return(trigger), places[0]->fd, offsets,
				    semaphores, n, pid);
	free(offsets);
	if (link < 0)
		return link;
	multi[attachment->n_multi++] = link;
	return 0;
}

/* How many places of a list are of the same file as its first. */
static size_t same_file(const struct place *const *places, size_t n)
{
	size_t same = 1;

	while (same < n && places[same]->fd == places[0]->fd)
		same++;
	return same;
}

static int attach_list(struct attachment *attachment, const struct bpf_program *program,
		       const struct trigger *trigger, const struct place *const *places, size_t n,
		       pid_t pid, const struct place **failed)
{
	int error = 0;

	for (size_t done = 0, step; done < n && !error; done += step) {
		*failed = places[done];
		if (program_is_multi(program)) {
			step = same_file(&places[done], n - done);
			error = attach_together(attachment, program, trigger, &places[done], step,
						pid);
		} else {
			step = 1;
			error = attach_alone(attachment, program, trigger, places[done], pid);
		}
	}
	return error;
}

/* One list of all places of the sets; NULL: no memory. */
static const struct place **places_join(struct places *const *sets, size_t n_sets, size_t *n)
{
	const struct place **list;
	size_t all = 0;

	for (size_t i = 0; i < n_sets; i++)
		all += places_count(sets[i]);
	list = calloc(all + 1, sizeof(*list));
	*n = 0;
	for (size_t i = 0; list && i < n_sets; i++)
		for (size_t j = 0; j < places_count(sets[i]); j++)
			list[(*n)++] = places_get(sets[i], j);
	return list;
}

int attachment_open(struct attachment **out, const struct bpf_program *program,
		    const struct trigger *trigger, struct places *const *sets, size_t n_sets,
		    pid_t pid)
{
	const struct place *failed = NULL, **list;
	int error;
	size_t n;

	*out = calloc(1, sizeof(**out));
	list = places_join(sets, n_sets, &n);
	if (!*out || !list) {
		free(list);
		log_error("no memory");
		return EX_OSERR;
	}
	error = attach_list(*out, program, trigger, list, n, pid, &failed);
	free(list);
	return error ? attach_failed(trigger, failed, -error) : 0;
}

int attachment_open_calls(struct attachment **out, const struct bpf_program *program,
			  const struct trigger *trigger)
{
	static const struct place places[] = {
		{ .fd = -1, .group = "raw_syscalls", .name = "sys_enter", .offset = 0 },
		{ .fd = -1, .group = "raw_syscalls", .name = "sys_exit", .offset = 1 },
	};
	const struct place *const list[] = { &places[0], &places[1] }, *failed = list[0];
	int error = -ENOMEM;

	*out = calloc(1, sizeof(**out));
	if (*out)
		error = attach_list(*out, program, trigger, list, 2, 0, &failed);
	return error ? attach_failed(trigger, failed, -error) : 0;
}

int attachment_open_one(struct attachment **out, const struct bpf_program *program,
			const struct trigger *trigger, const struct place *place, pid_t pid)
{
	const struct place *failed;

	*out = calloc(1, sizeof(**out));
	return *out ? attach_list(*out, program, trigger, &place, 1, pid, &failed) : -ENOMEM;
}

void attachment_close(struct attachment *attachment)
{
	if (!attachment)
		return;
	for (size_t i = 0; i < attachment->n_links; i++)
		bpf_link__destroy(attachment->links[i]);
	for (size_t i = 0; i < attachment->n_multi; i++)
		close(attachment->multi[i]);
	free(attachment->links);
	free(attachment->multi);
	free(attachment);
}
