// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "session_iterator.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/log.h"

struct bpf_link *iterator_attach(const struct bpf_program *program, pid_t tgid)
{
	union bpf_iter_link_info info = { .task.pid = (__u32)tgid };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info,
		    .link_info_len = sizeof(info));
	struct bpf_link *link = tgid ? bpf_program__attach_iter(program, &options) : NULL;

	if (!link)
		link = bpf_program__attach_iter(program, NULL);
	if (!link)
		log_error("cannot create the task iterator: %s", strerror(errno));
	return link;
}

int iterator_run(const struct bpf_link *iterator)
{
	char nothing[64];
	ssize_t got;
	int fd = bpf_iter_create(bpf_link__fd(iterator));

	if (fd < 0)
		return -errno;
	/* Having just slept, this CPU's run queue clock is fresh: see seed.bpf.h. */
	clock_wait_until(clock_monotonic() + NSEC_PER_USEC);
	do {
		got = read(fd, nothing, sizeof(nothing));
	} while (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)));
	close(fd);
	return got < 0 ? -errno : 0;
}
