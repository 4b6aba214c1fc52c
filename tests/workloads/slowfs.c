/* SPDX-License-Identifier: Apache-2.0 */
/* A file system of one file, "data", whose server takes its time: each read is answered after so
 * many milliseconds; 0: never. It is a process of its own, as such servers are, so it has a main().
 *
 *     slowfs DIRECTORY MILLISECONDS
 *
 * Prints "ready", then "began NS" and "ended NS" for each read as the server sees it
 * (CLOCK_MONOTONIC). Ends, and unmounts, when its input does. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NODE 2
#define FILE_SIZE (1u << 30)
#define BLOCK 4096u
#define REQUEST_SIZE (1u << 20)

static int device = -1;
static long delay_ms;

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void reply(const struct fuse_in_header *request, int error, const void *data, size_t size)
{
	static char buffer[sizeof(struct fuse_out_header) + BLOCK];
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + size),
		.error = -error,
		.unique = request->unique,
	};

	memcpy(buffer, &head, sizeof(head));
	if (size)
		memcpy(buffer + sizeof(head), data, size);
	/* Whoever asked may be gone. */
	if (write(device, buffer, head.len) < 0 && errno != ENOENT)
		perror("slowfs: reply");
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr attr = {
		.ino = node,
		.mode = S_IFREG | 0644,
		.nlink = 1,
		.size = FILE_SIZE,
		.blksize = BLOCK,
	};

	if (node == FUSE_ROOT_ID) {
		attr.mode = S_IFDIR | 0755;
		attr.size = 0;
	}
	return attr;
}

static void reply_init(const struct fuse_in_header *request)
{
	struct fuse_init_out out = {
		.major = 7,
		.minor = 31,
		.max_background = 4,
		.congestion_threshold = 3,
		.max_write = BLOCK,
	};

	reply(request, 0, &out, sizeof(out));
}

static void reply_lookup(const struct fuse_in_header *request)
{
	struct fuse_entry_out out = { .nodeid = NODE, .attr = attributes(NODE) };

	if (strcmp((const char *)(request + 1), "data") != 0)
		reply(request, ENOENT, NULL, 0);
	else
		reply(request, 0, &out, sizeof(out));
}

static void reply_read(const struct fuse_in_header *request)
{
	const struct fuse_read_in *in = (const void *)(request + 1);
	static const char zeros[BLOCK];

	printf("began %llu\n", (unsigned long long)now_ns());
	fflush(stdout);
	if (!delay_ms)
		return;
	usleep((useconds_t)delay_ms * 1000);
	reply(request, 0, zeros, in->size < BLOCK ? in->size : BLOCK);
	printf("ended %llu\n", (unsigned long long)now_ns());
	fflush(stdout);
}

static void answer(const struct fuse_in_header *request)
{
	struct fuse_attr_out attr = { .attr = attributes(request->nodeid) };
	struct fuse_open_out opened = { .open_flags = FOPEN_DIRECT_IO };

	switch (request->opcode) {
	case FUSE_INIT:
		reply_init(request);
		break;
	case FUSE_LOOKUP:
		reply_lookup(request);
		break;
	case FUSE_GETATTR:
		reply(request, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		reply(request, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		reply_read(request);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		reply(request, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* which have no answer */
	default:
		reply(request, ENOSYS, NULL, 0);
	}
}

static void serve(void)
{
	static char request[REQUEST_SIZE] __attribute__((aligned(8)));
	struct pollfd fds[] = { { .fd = device, .events = POLLIN },
				{ .fd = STDIN_FILENO, .events = POLLIN } };

	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		if (fds[1].revents)
			return;
		if (fds[0].revents && read(device, request, sizeof(request)) > 0)
			answer((const struct fuse_in_header *)request);
	}
}

int main(int argc, char **argv)
{
	char options[64];

	if (argc != 3) {
		fprintf(stderr, "usage: slowfs DIRECTORY MILLISECONDS\n");
		return 64;
	}
	delay_ms = strtol(argv[2], NULL, 10);
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (device < 0 || mount("slowfs", argv[1], "fuse.slowfs", MS_RDONLY, options)) {
		perror("slowfs");
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	serve();
	return umount2(argv[1], MNT_DETACH) ? 1 : 0;
}
