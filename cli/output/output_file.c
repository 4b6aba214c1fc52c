/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/parse.h"
#include "output_path.h"

#define OLD ".old"

/* A file that this run has written. */
struct left_file {
	char *name;
	dev_t device;
	ino_t inode;
	uint64_t size;
};

struct output_file {
	struct output_file_config config;
	struct output_entry entry; /* file: its name is the part before % sequences */
	bool is_stream;
	bool has_record;         /* stream: one has been written */
	bool named_at_once;      /* temporary files need a name: the file system has no others */
	FILE *record;            /* the stream; file: the open record, NULL: none */
	char temporary[40];      /* the record's name; "": none, or it has none */
	char next[NAME_MAX + 1]; /* final name of the record */
	char name[NAME_MAX + 1]; /* file with the previous records */
	int fd;                  /* of that file; -1: none */
	off_t before;            /* its size without the last record; 0: no other; -1: that
				  * replaced the one before */
	struct left_file *left;  /* if there is a limit, oldest first */
	size_t n_left;
	uint64_t total; /* of their sizes */
};

/* --- Temporary files --- */

static bool is_same(const struct stat *one, const struct stat *other)
{
	return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* True if the descriptor refers to the file with this name. */
static bool is_named(int directory, const char *name, int fd, struct stat *there)
{
	struct stat open;

	return !fstat(fd, &open) && !fstatat(directory, name, there, AT_SYMLINK_NOFOLLOW) &&
	       is_same(&open, there);
}

static int temporary_name(struct output_file *file)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	snprintf(file->temporary, sizeof(file->temporary), ".kernel_delay-%016llx.tmp",
		 (unsigned long long)random);
	return 0;
}

/* One without a name goes with this process, even if that is killed. */
static int temporary_create(struct output_file *file)
{
	int fd = -1, error;

	if (!file->named_at_once)
		fd = openat(file->entry.directory, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	error = temporary_name(file);
	if (error)
		return error;
	fd = openat(file->entry.directory, file->temporary,
		    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	*file->temporary = '\0';
	return -errno;
}

/* Gives a file its first name, unless that exists. */
static int file_link(int fd, int directory, const char *name)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW))
		return 0;
	if (errno != ENOENT) /* without /proc it takes CAP_DAC_READ_SEARCH */
		return -errno;
	return linkat(fd, "", directory, name, AT_EMPTY_PATH) ? -errno : 0;
}

/* Gives the record its final name, in place of another file. Only a rename replaces one. */
static int temporary_rename(struct output_file *file, int fd)
{
	int directory = file->entry.directory, error;

	if (!*file->temporary) {
		error = file_link(fd, directory, file->next);
		if (error != -EEXIST)
			return error;
		error = temporary_name(file) ?: file_link(fd, directory, file->temporary);
		if (error) {
			*file->temporary = '\0'; /* it is another's */
			return error;
		}
	}
	if (renameat(directory, file->temporary, directory, file->next))
		return -errno;
	*file->temporary = '\0';
	return 0;
}

static void temporary_remove(struct output_file *file)
{
	if (*file->temporary)
		unlinkat(file->entry.directory, file->temporary, 0);
	*file->temporary = '\0';
}

/* --- Opening --- */

/* /dev/stderr and the like are not opened again: that would start at offset 0 of a redirected
 * file, and fails for sockets. */
static int named_descriptor(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
	uint64_t number;

	if (!strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		size_t length = strlen(folders[i]);

		if (!strncmp(path, folders[i], length) &&
		    !parse_u64(path + length, 0, INT_MAX, &number))
			return (int)number;
	}
	return -1;
}

/* Takes over the descriptor, which may be a failed call's. */
static int stream_open(struct output_file *file, int fd)
{
	if (fd < 0)
		return -errno;
	file->is_stream = true;
	file->record = fdopen(fd, "w");
	if (file->record)
		return 0;
	close(fd);
	return -errno;
}

static int special_open(struct output_file *file, const struct stat *found)
{
	const struct output_entry *entry = &file->entry;
	struct stat opened;
	int fd;

	/* A foreign FIFO in place of a file: others would read the data. */
	if (entry->shared && found->st_uid && found->st_uid != geteuid())
		return -EACCES;
	fd = openat(entry->directory, entry->name, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &opened) || !is_same(&opened, found)) {
		close(fd);
		return -EAGAIN;
	}
	return stream_open(file, fd);
}

/* Fails early rather than at the end of a long run. */
static int files_try(struct output_file *file)
{
	int fd = temporary_create(file);

	/* Some file systems give no name to a file that had none. */
	if (fd >= 0 && !*file->temporary &&
	    (temporary_name(file) || file_link(fd, file->entry.directory, file->temporary))) {
		*file->temporary = '\0';
		file->named_at_once = true;
		close(fd);
		fd = temporary_create(file);
	}
	if (fd < 0)
		return fd;
	close(fd);
	temporary_remove(file);
	return 0;
}

static int path_open(struct output_file *file)
{
	const struct timespec never = { 0 };
	bool varies = output_path_varies(file->config.path);
	char path[PATH_MAX];
	struct stat found;
	int error;

	error = output_path_expand(path, file->config.path, 0, &never);
	if (!error)
		error = output_path_find(path, varies, &file->entry);
	if (error)
		return error;
	if (!varies &&
	    !fstatat(file->entry.directory, file->entry.name, &found, AT_SYMLINK_NOFOLLOW)) {
		if (S_ISFIFO(found.st_mode) || S_ISCHR(found.st_mode))
			return special_open(file, &found);
		if (S_ISDIR(found.st_mode))
			return -EISDIR;
		if (!S_ISREG(found.st_mode))
			return -ENOTSUP;
	}
	return files_try(file);
}

int output_file_open(struct output_file **out, const struct output_file_config *config)
{
	struct output_file *file = calloc(1, sizeof(*file));
	int fd;

	*out = file;
	if (!file)
		return -ENOMEM;
	file->config = *config;
	file->entry.directory = -1;
	file->fd = -1;
	if (!config->path) {
		file->is_stream = true;
		file->record = stdout;
		return 0;
	}
	fd = named_descriptor(config->path);
	if (fd >= 0)
		return stream_open(file, fcntl(fd, F_DUPFD_CLOEXEC, 0));
	return path_open(file);
}

bool output_file_is_stream(const struct output_file *file)
{
	return file->is_stream;
}

bool output_file_is_terminal(const struct output_file *file)
{
	return file->is_stream && isatty(fileno(file->record));
}

/* Status of the place, if it exists; false: it does not, or its name varies. */
static bool location_stat(const struct output_file *file, struct stat *location)
{
	if (file->is_stream)
		return !fstat(fileno(file->record), location);
	return !output_path_varies(file->config.path) &&
	       !fstatat(file->entry.directory, file->entry.name, location, AT_SYMLINK_NOFOLLOW);
}

/* Those that it writes; old: to which it renames them. */
static void names_of(const struct output_file *file, bool old, struct output_names *names)
{
	bool varies = output_path_varies(file->config.path);
	char name[PATH_MAX + sizeof(OLD)];

	snprintf(name, sizeof(name), "%s%s",
		 varies ? basename(file->config.path) : file->entry.name, old ? OLD : "");
	output_names_make(names, name, varies);
}

static bool names_meet(const struct output_file *file, const struct output_file *other)
{
	struct output_names one, two;

	names_of(file, false, &one);
	names_of(other, false, &two);
	if (output_names_meet(&one, &two))
		return true;
	if (file->config.limit)
		names_of(file, true, &one);
	if (file->config.limit && output_names_meet(&one, &two))
		return true;
	names_of(file, false, &one);
	names_of(other, true, &two);
	return other->config.limit && output_names_meet(&one, &two);
}

bool output_file_is_same(const struct output_file *file, const struct output_file *other)
{
	struct stat one, two;

	if (location_stat(file, &one) && location_stat(other, &two) && is_same(&one, &two))
		return !S_ISCHR(one.st_mode) || output_file_is_terminal(file);
	return !file->is_stream && !other->is_stream && !fstat(file->entry.directory, &one) &&
	       !fstat(other->entry.directory, &two) && is_same(&one, &two) &&
	       names_meet(file, other);
}

/* --- Files of this run, if there is a limit --- */

static void left_forget(struct output_file *file, size_t at)
{
	file->total -= file->left[at].size;
	free(file->left[at].name);
	file->n_left--;
	memmove(&file->left[at], &file->left[at + 1], (file->n_left - at) * sizeof(*file->left));
}

/* Forgets a file whose name is about to be reused. */
static void left_forget_name(struct output_file *file, const char *name)
{
	for (size_t i = file->n_left; i-- > 0;)
		if (!strcmp(file->left[i].name, name))
			left_forget(file, i);
}

static int left_add(struct output_file *file, const char *name, const struct stat *status)
{
	struct left_file *left;
	char *copy;

	if (!file->config.limit)
		return 0;
	left_forget_name(file, name);
	left = reallocarray(file->left, file->n_left + 1, sizeof(*left));
	if (left)
		file->left = left;
	copy = left ? strdup(name) : NULL;
	if (!copy)
		return -ENOMEM;
	file->left[file->n_left++] = (struct left_file){
		.name = copy,
		.device = status->st_dev,
		.inode = status->st_ino,
		.size = (uint64_t)status->st_size,
	};
	file->total += (uint64_t)status->st_size;
	return 0;
}

/* Removes the oldest file, unless it has been replaced. */
static int left_remove(struct output_file *file)
{
	const struct left_file *oldest = &file->left[0];
	int directory = file->entry.directory;
	struct stat found;

	if (!fstatat(directory, oldest->name, &found, AT_SYMLINK_NOFOLLOW) &&
	    found.st_dev == oldest->device && found.st_ino == oldest->inode &&
	    unlinkat(directory, oldest->name, 0))
		return -errno;
	left_forget(file, 0);
	return 0;
}

/* --- Records --- */

int output_file_begin(struct output_file *file, uint64_t number, const struct timespec *when,
		      FILE **out)
{
	char path[PATH_MAX];
	const char *name = file->entry.name;
	int error, fd;

	*out = file->record;
	if (file->is_stream)
		return 0;
	if (output_path_varies(file->config.path)) {
		error = output_path_expand(path, file->config.path, number, when);
		if (error)
			return error;
		name = basename(path);
		if (strlen(name) > NAME_MAX)
			return -ENAMETOOLONG;
	}
	memcpy(file->next, name, strlen(name) + 1);
	fd = temporary_create(file);
	if (fd < 0)
		return fd;
	file->record = fdopen(fd, "w+");
	*out = file->record;
	if (file->record)
		return 0;
	error = -errno;
	close(fd);
	temporary_remove(file);
	return error;
}

/* True if the record continues a file that is still in place. */
static bool is_continued(const struct output_file *file, struct stat *there)
{
	return file->config.gather && file->fd >= 0 && !strcmp(file->name, file->next) &&
	       is_named(file->entry.directory, file->name, file->fd, there);
}

bool output_file_is_new(const struct output_file *file)
{
	struct stat there;

	return file->is_stream ? !file->has_record : !is_continued(file, &there);
}

static int record_append(struct output_file *file, uint64_t length, const struct stat *there)
{
	struct stat status;
	off_t from = 0;
	int error = lseek(file->fd, there->st_size, SEEK_SET) < 0 ? -errno : 0;

	while (!error && (uint64_t)from < length) {
		ssize_t n = sendfile(file->fd, fileno(file->record), &from,
				     length - (uint64_t)from);

		if (!n)
			error = -EIO;
		else if (n < 0 && errno != EINTR)
			error = -errno;
	}
	file->before = there->st_size;
	if (error) {
		int ignored = ftruncate(file->fd, there->st_size);

		(void)ignored; /* the first error is reported */
		return error;
	}
	return fstat(file->fd, &status) ? -errno : left_add(file, file->name, &status);
}

/* Makes way for a file with the next name. */
static int file_set_aside(struct output_file *file)
{
	int directory = file->entry.directory;
	char old[NAME_MAX + sizeof(OLD)];
	struct stat status;

	snprintf(old, sizeof(old), "%s" OLD, file->name);
	if (fstat(file->fd, &status) || renameat(directory, file->name, directory, old))
		return -errno;
	left_forget_name(file, file->name);
	return left_add(file, old, &status);
}

/* Moves the record to its file. */
static int record_publish(struct output_file *file)
{
	int directory = file->entry.directory, fd, error;
	bool again = file->fd >= 0 && !strcmp(file->name, file->next);
	struct stat status;

	/* rename() replaces a link rather than follow it, which its creator would not expect. */
	if (!fstatat(directory, file->next, &status, AT_SYMLINK_NOFOLLOW) &&
	    !S_ISREG(status.st_mode))
		return S_ISLNK(status.st_mode)   ? -ELOOP
		       : S_ISDIR(status.st_mode) ? -EISDIR
						 : -EEXIST;
	fd = fcntl(fileno(file->record), F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	error = fchmod(fd, file->config.mode) || fstat(fd, &status) ? -errno
								    : temporary_rename(file, fd);
	if (error) {
		close(fd);
		return error;
	}
	if (file->fd >= 0)
		close(file->fd);
	file->fd = fd;
	file->before = again ? -1 : 0;
	memcpy(file->name, file->next, sizeof(file->name));
	return left_add(file, file->name, &status);
}

/* Makes space for length more bytes. */
static int limit_keep(struct output_file *file, uint64_t length)
{
	int error = 0;

	while (!error && file->n_left && file->total + length > file->config.limit)
		error = left_remove(file);
	return error;
}

static int record_keep(struct output_file *file)
{
	uint64_t limit = file->config.limit, length;
	struct stat status, there;
	bool continued;
	int error = 0;

	if (fstat(fileno(file->record), &status))
		return -errno;
	length = (uint64_t)status.st_size;
	if (limit && length > limit)
		return -EFBIG;
	continued = is_continued(file, &there);
	if (limit && continued && (uint64_t)there.st_size + length > limit / 2) {
		error = file_set_aside(file);
		continued = false;
	}
	if (!error && limit && !continued && !file->config.gather)
		left_forget_name(file, file->next); /* about to be replaced */
	if (!error && limit)
		error = limit_keep(file, length);
	if (error)
		return error;
	return continued ? record_append(file, length, &there) : record_publish(file);
}

int output_file_hold(struct output_file *file, int error)
{
	if (!file->record)
		return error;
	errno = 0;
	if ((fflush(file->record) || ferror(file->record)) && !error)
		error = -(errno ?: EIO);
	file->has_record = true;
	if (error)
		output_file_drop(file);
	return error;
}

int output_file_keep(struct output_file *file)
{
	int error;

	if (!file->record || file->is_stream)
		return 0;
	error = record_keep(file);
	/* Some file systems only now report a full disk. */
	if (fclose(file->record) && !error)
		error = -errno;
	file->record = NULL;
	temporary_remove(file);
	return error;
}

void output_file_drop(struct output_file *file)
{
	if (!file->record || file->is_stream)
		return;
	fclose(file->record);
	file->record = NULL;
	temporary_remove(file);
}

int output_file_end(struct output_file *file, int error)
{
	return output_file_hold(file, error) ?: output_file_keep(file);
}

void output_file_undo(struct output_file *file)
{
	struct stat there;
	int ignored = 0;

	if (file->fd < 0 || file->before < 0)
		return;
	if (file->before)
		ignored = ftruncate(file->fd, file->before);
	else if (is_named(file->entry.directory, file->name, file->fd, &there))
		ignored = unlinkat(file->entry.directory, file->name, 0);
	(void)ignored; /* the earlier failure is reported */
}

void output_file_close(struct output_file *file)
{
	if (!file)
		return;
	if (file->record && file->record != stdout)
		fclose(file->record);
	if (file->entry.directory >= 0) {
		temporary_remove(file);
		close(file->entry.directory);
	}
	if (file->fd >= 0)
		close(file->fd);
	while (file->n_left)
		left_forget(file, file->n_left - 1);
	free(file->left);
	free(file);
}
