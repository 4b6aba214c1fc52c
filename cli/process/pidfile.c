// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "pidfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/parse.h"

static int text_read(int fd, pid_t *pid, uint64_t *written)
{
	struct stat status;
	char text[64], *number;
	uint64_t value;
	ssize_t length;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
	length = read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return length ? -errno : -ENODATA;
	text[length] = '\0';
	number = text + strspn(text, " \t");
	/* What follows the number: blanks, further lines, as of PostgreSQL. */
	number[strcspn(number, " \t\r\n")] = '\0';
	if (parse_u64(number, 1, INT32_MAX, &value))
		return -EINVAL;
	*pid = (pid_t)value;
	*written = clock_ns(&status.st_mtim);
	return 0;
}

int pidfile_read(const char *path, pid_t *pid, uint64_t *written)
{
	/* A pipe would keep us waiting for its writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error;

	if (fd < 0)
		return -errno;
	error = text_read(fd, pid, written);
	close(fd);
	return error;
}
