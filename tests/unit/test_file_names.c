/* SPDX-License-Identifier: Apache-2.0 */
/* Names of this process's own descriptors, also of more than are kept. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/capture/file_names.h"
#include "tap.h"

#define MINOR_BITS 20 /* of the kernel's own device numbers */
#define MANY 20000    /* more than are kept */

/* As the kernel side would note an open file. */
static struct kd_file file_at(int fd)
{
	struct kd_file file;
	struct stat now;

	memset(&file, 0, sizeof(file)); /* with what is between its fields */
	if (fstat(fd, &now))
		abort();
	file.kind = KD_AWAITED_FILE;
	file.fd = fd;
	file.inode = now.st_ino;
	file.device = major(now.st_dev) << MINOR_BITS | minor(now.st_dev);
	return file;
}

static void test_file(struct file_names *names, const char *when)
{
	char path[] = "/tmp/kdtest-XXXXXX", deleted[sizeof(path) + 16];
	int fd = mkstemp(path);
	struct kd_file file = file_at(fd), other = file, moved = file;
	const struct descriptor *is = file_names_find(names, &file);

	is_str(is->path, path, "%s: the path of a file", when);
	is_i64(is->fd, fd, "%s: its descriptor", when);
	is_u64(is->inode, file.inode, "%s: its inode", when);
	other.inode++;
	memcpy(other.name, "gone", sizeof("gone"));
	is = file_names_find(names, &other);
	is_str(is->path, ".../gone", "%s: a file that the descriptor no longer is", when);
	moved.device++;
	memcpy(moved.name, "moved", sizeof("moved"));
	is = file_names_find(names, &moved);
	is_str(is->path, ".../moved", "%s: one on another device", when);
	moved.device++;
	memcpy(moved.name, strrchr(path, '/') + 1, sizeof("kdtest-XXXXXX"));
	is = file_names_find(names, &moved);
	is_str(is->path, path, "%s: one of this name, as overlayfs has it", when);
	moved.device++;
	unlink(path);
	is = file_names_find(names, &moved);
	snprintf(deleted, sizeof(deleted), "%s (deleted)", path);
	is_str(is->path, deleted, "%s: the same when it was removed", when);
	/* Open: the next one has another number. */
}

int main(void)
{
	struct file_names *names = file_names_new(getpid());
	struct kd_file null = file_at(open("/dev/null", O_RDONLY | O_CLOEXEC));
	const char *text;

	if (!names)
		abort();
	test_file(names, "the first one");
	text = file_names_text(names, &null);
	ok(text && strstr(text, "/dev/null"), "words");
	for (uint64_t i = 1; i < MANY; i++) {
		struct kd_file more;

		memset(&more, 0, sizeof(more));
		more.fd = -1;
		more.inode = i;
		file_names_find(names, &more);
	}
	ok(file_names_text(names, &null) == text, "what is kept stays where it is");
	test_file(names, "when there are too many");
	file_names_free(names);
	return done_testing();
}
