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
	size_t n, n_multi;
	int *multi; /* links of many probes at once */
	struct bpf_link *links[];
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

static struct bpf_link *attach_place(const struct bpf_program *program,
				     const struct trigger *trigger, const struct place *place,
				     pid_t pid)
{
	LIBBPF_OPTS(bpf_kprobe_opts, options, .retprobe = trigger_is_return(trigger),
		    .offset = place->offset);

	if (trigger_is_user(trigger))
		return attach_file(program, trigger, place, pid);
	if (trigger->kind == TRIGGER_TRACEPOINT)
		return bpf_program__attach_tracepoint(program, place->group, place->name);
	return bpf_program__attach_kprobe_opts(program, place->name, &options);
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

/* All places of a file at once. */
static int attach_files(struct attachment *attachment, const struct bpf_program *program,
			const struct trigger *trigger, const struct places *places, pid_t pid)
{
	size_t all = places_count(places), n;

	for (size_t first = 0; first < all; first += n) {
		const struct place *place = places_get(places, first);
		int link, *multi;

		n = 1;
		while (first + n < all && places_get(places, first + n)->fd == place->fd)
			n++;
		multi = reallocarray(attachment->multi, attachment->n_multi + 1, sizeof(*multi));
		if (!multi)
			return attach_failed(trigger, place, ENOMEM);
		attachment->multi = multi;
		link = attach_multi(program, trigger, places, first, n, pid);
		if (link < 0)
			return attach_failed(trigger, place, -link);
		multi[attachment->n_multi++] = link;
	}
	return 0;
}

static int attach_set(struct attachment *attachment, const struct bpf_program *program,
		      const struct trigger *trigger, const struct places *places, pid_t pid)
{
	if (program_is_multi(program))
		return attach_files(attachment, program, trigger, places, pid);
	for (size_t i = 0; i < places_count(places); i++) {
		const struct place *place = places_get(places, i);
		struct bpf_link *link = attach_place(program, trigger, place, pid);

		if (!link)
			return attach_failed(trigger, place, errno);
		attachment->links[attachment->n++] = link;
	}
	return 0;
}

int attachment_open(struct attachment **out, const struct bpf_program *program,
		    const struct trigger *trigger, struct places *const *sets, size_t n_sets,
		    pid_t pid)
{
	struct attachment *attachment;
	int status = 0;
	size_t n = 0;

	*out = NULL;
	for (size_t i = 0; i < n_sets; i++)
		n += places_count(sets[i]);
	attachment = calloc(1, sizeof(*attachment) + n * sizeof(attachment->links[0]));
	if (!attachment) {
		log_error("no memory");
		return EX_OSERR;
	}
	for (size_t i = 0; i < n_sets && !status; i++)
		status = attach_set(attachment, program, trigger, sets[i], pid);
	if (status)
		attachment_close(attachment);
	else
		*out = attachment;
	return status;
}

void attachment_close(struct attachment *attachment)
{
	if (!attachment)
		return;
	for (size_t i = 0; i < attachment->n; i++)
		bpf_link__destroy(attachment->links[i]);
	for (size_t i = 0; i < attachment->n_multi; i++)
		close(attachment->multi[i]);
	free(attachment->multi);
	free(attachment);
}
