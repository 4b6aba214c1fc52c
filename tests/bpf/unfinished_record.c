// SPDX-License-Identifier: Apache-2.0
/* A ring whose next record is being written, by a program that lost its CPU, or here sleeps for a
 * page: poll() says that it can be read, which it cannot. As root; the kernel runs the program of
 * unfinished_record.bpf.c. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/capture/session/parts.h"
#include "cli/capture/session/rings.h"
#include "tests/unit/tap.h"
#include "unfinished_record.skel.h"

#define LOOKED_NS (200 * NSEC_PER_MSEC)
#define LEAST_NS 50000 /* for each look */
#define PAGE 4096

static struct unfinished_record *skel;
static void *page; /* whoever reads it sleeps, until it is brought */
static int faults;

static bool page_make(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING, .range.len = PAGE };

	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)page;
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	return page != MAP_FAILED && faults >= 0 && !ioctl(faults, UFFDIO_API, &api) &&
	       !ioctl(faults, UFFDIO_REGISTER, &range);
}

static bool page_bring(void)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)page, PAGE } };

	return !ioctl(faults, UFFDIO_ZEROPAGE, &zero);
}

/* Runs the program with what is at an address; returns that if it has written its record. */
static void *program_run(void *at)
{
	uint64_t from = (uintptr_t)at;
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &from, .ctx_size_in = sizeof(from));

	if (bpf_prog_test_run_opts(bpf_program__fd(skel->progs.write_slowly), &options) ||
	    options.retval)
		return NULL;
	return at;
}

static int record_count(void *context, void *data, size_t size)
{
	ok(size == sizeof(uint64_t) && !*(uint64_t *)data, "it is whole");
	++*(int *)context;
	return 0;
}

void tests_begin(void)
{
	if (geteuid() || libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SYSCALL, NULL) != 1 ||
	    !page_make()) {
		puts("1..0 # SKIP needs root's rights, userfaultfd, and programs that may sleep");
		exit(0);
	}
	skel = unfinished_record__open_and_load();
	if (!skel) {
		puts("Bail out! the kernel refused the BPF program");
		exit(1);
	}
}

void tests_end(void)
{
	unfinished_record__destroy(skel);
}

TEST(rests)
{
	struct session session = { 0 };
	struct pollfd readable = { .events = POLLIN }, faulted = { .fd = faults, .events = POLLIN };
	int found = 0, reads = 0, wrong = 0;
	uint64_t until, second = 0;
	void *written = NULL;
	pthread_t thread;

	need(!session_ring_open(&session, RING_EVENTS, skel->maps.ring, sizeof(uint64_t)));
	readable.fd = session_ring_fd(&session, RING_EVENTS);
	need(!pthread_create(&thread, NULL, program_run, page));
	need(poll(&faulted, 1, 10000) == 1 && faulted.revents == POLLIN);
	ok(program_run(&second) == &second, "another record comes behind it, and wakes the reader");
	is_i64(poll(&readable, 1, 10000), 1, "the first can be read, as poll() has it");
	for (until = clock_monotonic() + LOOKED_NS; clock_monotonic() < until; reads++)
		wrong += session_ring_read(&session, RING_EVENTS, record_count, &found) || found ||
			 poll(&readable, 1, 0) != 1;
	is_i64(wrong, 0, "and is not, until it is complete");
	ok(reads && (uint64_t)reads <= LOOKED_NS / LEAST_NS + 1,
	   "who looks at it again and again leaves the CPU to others: %d looks", reads);
	need(page_bring() && !pthread_join(thread, &written));
	ok(written == page, "it is written");
	is_i64(session_ring_read(&session, RING_EVENTS, record_count, &found), 0, "both are read");
	is_i64(found, 2, "once");
	session_rings_close(&session);
}
