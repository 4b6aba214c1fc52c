/* SPDX-License-Identifier: Apache-2.0 */
/* A page whose content arrives late: whoever touches it waits, in the kernel too, until another
 * thread of the process provides it. Children do not inherit it. */
#ifndef LATE_PAGE_H
#define LATE_PAGE_H

#include "workload.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <sys/ioctl.h>

struct late_page {
	char *page;
	int faults;
};

/* Returns false if that cannot be. */
static inline bool late_page_make(struct late_page *late)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING, .range.len = PAGE };

	late->page = memory_map(PAGE, MAP_PRIVATE);
	range.range.start = (uintptr_t)late->page;
	late->faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	return late->faults >= 0 && !ioctl(late->faults, UFFDIO_API, &api) &&
	       !ioctl(late->faults, UFFDIO_REGISTER, &range);
}

/* Waits until somebody touches it, and so long. */
static inline void late_page_bring(struct late_page *late, long ms)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)late->page, PAGE } };
	struct uffd_msg message;

	if (read(late->faults, &message, sizeof(message)) != sizeof(message))
		die("userfaultfd");
	if (ms)
		sleep_ns(ms * MS);
	if (ioctl(late->faults, UFFDIO_ZEROPAGE, &zero))
		die("UFFDIO_ZEROPAGE");
}

/* The next one who touches it waits again. */
static inline void late_page_drop(struct late_page *late)
{
	memory_drop(late->page, PAGE);
}

#endif
