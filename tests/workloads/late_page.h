/* SPDX-License-Identifier: Apache-2.0 */
/* A page whose content comes late: who touches it waits, in the kernel too, until another thread
 * of the process brings it. Children do not inherit it. */
#ifndef LATE_PAGE_H
#define LATE_PAGE_H

#include "workload.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define LATE_PAGE 4096

struct late_page {
	char *page;
	int faults;
};

static inline void late_page_make(struct late_page *late)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING,
					 .range.len = LATE_PAGE };

	late->page = mmap(NULL, LATE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	if (late->page == MAP_FAILED)
		die("mmap");
	range.range.start = (uintptr_t)late->page;
	late->faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (late->faults < 0 || ioctl(late->faults, UFFDIO_API, &api) ||
	    ioctl(late->faults, UFFDIO_REGISTER, &range))
		die("userfaultfd");
}

/* Waits until somebody touches it, and so long. */
static inline void late_page_bring(struct late_page *late, long ms)
{
	struct uffdio_zeropage zero = { .range = { .start = (uintptr_t)late->page,
						   .len = LATE_PAGE } };
	struct timespec time = { .tv_nsec = ms * 1000000 };
	struct uffd_msg message;

	if (read(late->faults, &message, sizeof(message)) != sizeof(message))
		die("userfaultfd");
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	if (ioctl(late->faults, UFFDIO_ZEROPAGE, &zero))
		die("UFFDIO_ZEROPAGE");
}

/* The next one who touches it waits again. */
static inline void late_page_drop(struct late_page *late)
{
	if (madvise(late->page, LATE_PAGE, MADV_DONTNEED))
		die("madvise");
}

#endif
