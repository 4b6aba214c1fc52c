/* SPDX-License-Identifier: Apache-2.0 */
/* Files of whole records, in a directory of this test's own. What is in it is read by
 * other means than they were written. */
#define _GNU_SOURCE
#include "cli/output/output_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/output/output_path.h"
#include "tap.h"

static char folder[] = "/tmp/kdunit-XXXXXX";
static const struct timespec when = { .tv_sec = 1795275840 }; /* 2026-11-21 15:44:00 UTC */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
	(void)status, (void)type, (void)at;
	return remove(path);
}

/* An empty directory, the current one, with this mode. */
static void begin(mode_t mode)
{
	if (chdir("/tmp") || nftw(folder, remove_one, 10, FTW_DEPTH | FTW_PHYS) ||
	    mkdir(folder, 0700) || chmod(folder, mode) || chdir(folder)) {
		perror(folder);
		exit(1);
	}
}

static void put(const char *name, const char *text)
{
	FILE *out = fopen(name, "w");

	if (!out || fputs(text, out) < 0 || fclose(out))
		perror(name);
}

static const char *content(const char *name)
{
	static char text[4096];
	FILE *in = fopen(name, "r");
	size_t n = in ? fread(text, 1, sizeof(text) - 1, in) : 0;

	text[n] = '\0';
	if (in)
		fclose(in);
	return in ? text : NULL;
}

/* The names in the directory, sorted, each after a blank. */
static const char *names(void)
{
	static char text[4096];
	struct dirent **found;
	int n = scandir(".", &found, NULL, alphasort);
	size_t used = 0;

	*text = '\0';
	for (int i = 0; i < n; i++) {
		if (strcmp(found[i]->d_name, ".") && strcmp(found[i]->d_name, ".."))
			used += (size_t)snprintf(text + used, sizeof(text) - used, " %s",
						 found[i]->d_name);
		free(found[i]);
	}
	free(found);
	return text;
}

static struct output_file *opened(const char *path, bool gather, uint64_t limit)
{
	const struct output_file_config config = {
		.path = path,
		.gather = gather,
		.mode = 0640,
		.limit = limit,
	};
	struct output_file *file;
	int error = output_file_open(&file, &config);

	is_i64(error, 0, "%s can be opened", path);
	if (error)
		exit(1);
	return file;
}

/* A record; failed: as if writing it had failed. */
static int record(struct output_file *file, uint64_t number, const char *text, int failed)
{
	FILE *out;
	int error = output_file_begin(file, number, &when, &out);

	if (error)
		return error;
	if (fputs(text, out) < 0 && !failed)
		failed = -errno;
	return output_file_end(file, failed);
}

static int open_error(const char *path)
{
	const struct output_file_config config = { .path = path, .gather = true, .mode = 0600 };
	struct output_file *file;
	int error = output_file_open(&file, &config);

	output_file_close(file);
	return error;
}

static void test_names(void)
{
	char out[PATH_MAX], want[PATH_MAX], large[PATH_MAX + 10];

	snprintf(want, sizeof(want), "/a%%n/7-20261121T154400Z-%d-%%-%%x%%", (int)getpid());
	is_i64(output_path_expand(out, "/a%n/%n-%t-%p-%%-%x%", 7, &when), 0, "a name");
	is_str(out, want, "with all sequences, in its last part only");
	ok(output_path_varies("a/%n") && output_path_varies("%%%t"), "names that vary");
	ok(!output_path_varies("%n/a") && !output_path_varies("a%p") &&
		   !output_path_varies("%%n") && !output_path_varies("%"),
	   "and those that do not");
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	is_i64(output_path_expand(out, large, 7, &when), -ENAMETOOLONG, "one that is too long");
	large[PATH_MAX - 3] = '%';
	large[PATH_MAX - 2] = 't';
	large[PATH_MAX - 1] = '\0';
	is_i64(output_path_expand(out, large, 7, &when), -ENAMETOOLONG, "or gets too long");
}

static void test_gathering(void)
{
	struct output_file *file;
	struct stat status;

	begin(0700);
	put("a", "old\n");
	file = opened("a", true, 0);
	ok(!output_file_is_stream(file), "it is no stream");
	is_str(content("a"), "old\n", "opening changes nothing");
	is_str(names(), " a", "and leaves nothing");
	is_i64(record(file, 1, "half", -ENOSPC), -ENOSPC, "a record that fails");
	is_str(content("a"), "old\n", "changes nothing");
	is_i64(record(file, 1, "one\n", 0), 0, "a record");
	is_str(content("a"), "one\n", "takes the place of what was there");
	ok(!stat("a", &status) && (status.st_mode & 07777) == 0640, "with its mode");
	is_i64(record(file, 2, "two\n", 0), 0, "a second one");
	is_str(content("a"), "one\ntwo\n", "follows it");
	is_i64(record(file, 3, "half", -EIO), -EIO, "one that fails");
	is_str(content("a"), "one\ntwo\n", "does not");
	/* as logrotate does it */
	is_i64(rename("a", "b"), 0, "the file is renamed");
	is_i64(record(file, 4, "four\n", 0), 0, "another record");
	is_str(content("a"), "four\n", "begins anew");
	is_str(content("b"), "one\ntwo\n", "and leaves the other one");
	is_i64(truncate("a", 0), 0, "the file is emptied");
	is_i64(record(file, 5, "five\n", 0), 0, "another record");
	is_str(content("a"), "five\n", "is at its beginning");
	unlink("a");
	is_i64(mkdir("a", 0700), 0, "now it is a directory");
	is_i64(record(file, 6, "six\n", 0), -EISDIR, "which is refused");
	rmdir("a");
	is_i64(symlink("b", "a"), 0, "now it is a link");
	is_i64(record(file, 7, "seven\n", 0), -ELOOP, "which is refused");
	is_str(content("b"), "one\ntwo\n", "and not followed");
	output_file_close(file);
	is_str(names(), " a b", "nothing else is left");
}

static void test_replacing(void)
{
	struct output_file *file;
	FILE *out;

	begin(0700);
	file = opened("a", false, 0);
	is_str(names(), "", "no file without a record");
	is_i64(record(file, 1, "one\n", 0), 0, "a record");
	is_i64(record(file, 2, "two\n", 0), 0, "another one");
	is_str(content("a"), "two\n", "replaces it");
	is_i64(record(file, 3, "half", -EIO), -EIO, "one that fails");
	is_str(content("a"), "two\n", "does not");
	is_i64(output_file_begin(file, 4, &when, &out), 0, "one that is begun");
	fputs("half", out);
	output_file_close(file);
	is_str(names(), " a", "and discarded");
	is_str(content("a"), "two\n", "does not either");
}

static void test_numbered(void)
{
	struct output_file *file;

	begin(0700);
	file = opened("a%n", true, 0);
	is_i64(record(file, 1, "one\n", 0), 0, "sample 1");
	is_i64(record(file, 2, "two\n", 0), 0, "sample 2");
	is_i64(record(file, 2, "end\n", 0), 0, "more with its number");
	is_str(names(), " a1 a2", "a file for each");
	is_str(content("a1"), "one\n", "the first");
	is_str(content("a2"), "two\nend\n", "the second");
	is_i64(symlink("a1", "a3"), 0, "a link");
	is_i64(record(file, 3, "three\n", 0), -ELOOP, "is refused");
	is_i64(mkfifo("a4", 0600), 0, "a FIFO");
	is_i64(record(file, 4, "four\n", 0), -EEXIST, "too");
	is_str(content("a1"), "one\n", "the first file is as before");
	output_file_close(file);
	is_str(names(), " a1 a2 a3 a4", "nothing else is left");
	file = opened("b%t", false, 0);
	is_i64(record(file, 1, "one\n", 0), 0, "a time");
	is_str(content("b20261121T154400Z"), "one\n", "is in the name");
	output_file_close(file);
}

/* What the directory's files have in sum. */
static uint64_t filled(void)
{
	struct dirent **found;
	int n = scandir(".", &found, NULL, NULL);
	uint64_t sum = 0;

	for (int i = 0; i < n; i++) {
		struct stat status;

		if (!lstat(found[i]->d_name, &status) && S_ISREG(status.st_mode))
			sum += (uint64_t)status.st_size;
		free(found[i]);
	}
	free(found);
	return sum;
}

static void test_limit(void)
{
	struct output_file *file;
	uint64_t most = 0;

	begin(0700);
	put("a0", "of another run");
	file = opened("a%n", false, 30);
	for (uint64_t i = 1; i <= 5; i++)
		is_i64(record(file, i, "ten bytes\n", 0), 0, "sample %d", (int)i);
	is_str(names(), " a0 a3 a4 a5", "the oldest are removed");
	is_i64(record(file, 6, "thirty bytes is more than all\n", 0), 0, "one that takes all");
	is_str(names(), " a0 a6", "removes all of them");
	is_i64(record(file, 7, "thirty-one bytes is more than ok\n", 0), -EFBIG, "one too large");
	is_str(names(), " a0 a6", "is not there");
	unlink("a6");
	put("a6", "someone else's");
	is_i64(record(file, 8, "thirty bytes is more than all\n", 0), 0, "one more");
	is_str(content("a6"), "someone else's", "removes none but its own");
	is_str(names(), " a0 a6 a8", "so three are there");
	is_i64(record(file, 8, "less\n", 0), 0, "and once more");
	is_i64(record(file, 9, "twenty-five bytes is fine", 0), 0, "and another one");
	is_str(names(), " a0 a6 a8 a9", "both have room");
	output_file_close(file);

	begin(0700);
	file = opened("a", true, 40);
	for (int i = 0; i < 20; i++) {
		if (record(file, 1, "ten bytes\n", 0))
			ok(false, "record %d", i);
		most = filled() > most ? filled() : most;
	}
	is_u64(most, 40, "a file that grows never exceeds the limit");
	is_str(names(), " a a.old", "it is set aside");
	is_str(content("a"), "ten bytes\nten bytes\n", "with whole records");
	is_i64(record(file, 1, "thirty-five bytes and no room left\n", 0), 0, "a large one");
	is_str(names(), " a", "takes the place of both");
	output_file_close(file);
}

static void test_places(void)
{
	begin(0700);
	is_i64(open_error("none/a"), -ENOENT, "no such directory");
	is_i64(open_error("/"), -EISDIR, "the root directory");
	is_i64(open_error("."), -EISDIR, "this directory");
	put("file", "");
	is_i64(open_error("file/a"), -ENOTDIR, "a file is no directory");
	is_i64(open_error("file/"), -EISDIR, "nor with a slash");
	is_i64(mkdir("d", 0700), 0, "a directory");
	is_i64(open_error("d"), -EISDIR, "is no file");
	is_i64(symlink("d", "own"), 0, "a link to it");
	is_i64(open_error("own/a"), 0, "is followed in a directory of one's own");
	is_i64(symlink("d/x", "ownlast"), 0, "a link to a file that is not there");
	is_i64(open_error("ownlast"), 0, "too");
	is_i64(symlink("loop", "loop"), 0, "a link to itself");
	is_i64(open_error("loop"), -ELOOP, "is refused");
	is_i64(open_error("d/../d/./a"), 0, "dots");
	is_i64(mkdir("shared", 0700), 0, "a directory");
	is_i64(chmod("shared", 01777), 0, "that others can write");
	is_i64(open_error("shared/a"), 0, "can have files");
	is_i64(symlink("../d", "shared/l"), 0, "a link in it");
	is_i64(symlink("../file", "shared/f"), 0, "and one to a file");
	is_i64(open_error("shared/l/a"), -ELOOP, "is not followed to a directory");
	is_i64(open_error("shared/f"), -ELOOP, "nor to a file");
	is_i64(open_error("shared/../shared/./l/a"), -ELOOP, "nor by a detour");
	is_i64(symlink("shared/l", "detour"), 0, "a link of one's own that leads there");
	is_i64(open_error("detour/a"), -ELOOP, "is no way either");
	is_i64(chmod("shared", 0770), 0, "the group can write");
	is_i64(open_error("shared/f"), -ELOOP, "it is not followed");
	is_i64(chmod("shared", 0755), 0, "nobody else can write");
	is_i64(open_error("shared/f"), 0, "it is followed");
	is_str(names(), " d detour file loop own ownlast shared", "nothing is left");
}

static void test_other_owner(void)
{
	const struct stat own = { .st_mode = 0755, .st_uid = geteuid() },
			  root = { .st_mode = 0755 },
			  other = { .st_mode = 0755, .st_uid = geteuid() + 1 },
			  sticky = { .st_mode = 01777 };

	ok(!output_path_is_shared(&own) && !output_path_is_shared(&root),
	   "directories of root and of the user");
	ok(output_path_is_shared(&other) && output_path_is_shared(&sticky), "and of others");
}

/* A record that can be read from the descriptor. */
static void check_stream(const char *path, int fd, const char *what)
{
	struct output_file *file = opened(path, true, 0);
	char text[100] = "";

	ok(output_file_is_stream(file), "%s is a stream", what);
	is_i64(record(file, 1, "one\n", 0), 0, "%s takes a record", what);
	ok(read(fd, text, sizeof(text) - 1) == 4, "%s has it", what);
	is_str(text, "one\n", "%s: the text", what);
	output_file_close(file);
}

static void test_streams(void)
{
	struct output_file *file;
	char path[64];
	int ends[2], fd;

	begin(0700);
	is_i64(mkfifo("fifo", 0600), 0, "a FIFO");
	fd = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	check_stream("fifo", fd, "a FIFO");
	close(fd);
	if (pipe2(ends, O_CLOEXEC))
		exit(1);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	check_stream(path, ends[0], "a pipe's descriptor");
	close(ends[0]);
	file = opened(path, true, 0);
	is_i64(record(file, 1, "one\n", 0), -EPIPE, "nobody reads the pipe");
	output_file_close(file);
	close(ends[1]);
	is_i64(open_error(path), -EBADF, "a descriptor that is not open");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[1]);
	check_stream(path, ends[0], "a socket's descriptor");
	close(ends[0]);
	close(ends[1]);
	/* What is redirected to a file goes on there. */
	fd = open("log", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ok(write(fd, "log\n", 4) == 4, "a file with text");
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	file = opened(path, true, 0);
	is_i64(record(file, 1, "one\n", 0), 0, "a record to its descriptor");
	output_file_close(file);
	close(fd);
	is_str(content("log"), "log\none\n", "follows the text");
	file = opened("/dev/null", false, 0);
	ok(output_file_is_stream(file), "a device is a stream");
	is_i64(record(file, 1, "one\n", 0), 0, "that takes a record");
	output_file_close(file);
	file = opened("/dev/full", false, 0);
	is_i64(record(file, 1, "one\n", 0), -ENOSPC, "and one that is full");
	output_file_close(file);
	is_str(names(), " fifo log", "nothing is left");
}

/* Where a planted FIFO or link waits. */
static void test_planted(void)
{
	begin(01777);
	is_i64(symlink("/dev/null", "null"), 0, "a link to a device");
	is_i64(open_error("null"), -ELOOP, "in a shared directory");
	is_i64(mkfifo("own", 0600), 0, "one's own FIFO there");
	is_i64(open("own", O_RDONLY | O_NONBLOCK | O_CLOEXEC) < 0, 0, "that is read");
	is_i64(open_error("own"), 0, "is fine");
	if (geteuid()) {
		ok(true, "a FIFO of someone else # SKIP not root");
		return;
	}
	is_i64(mkfifo("theirs", 0666), 0, "someone's FIFO");
	is_i64(chown("theirs", 65534, 65534), 0, "of nobody");
	is_i64(open_error("theirs"), -EACCES, "is not");
}

/* A write that fails for real, in the middle of a record. */
static void test_full(void)
{
	static char large[200000];
	const struct rlimit small = { 100000, RLIM_INFINITY },
			    none = { RLIM_INFINITY, RLIM_INFINITY };
	struct output_file *file;

	memset(large, 'x', sizeof(large) - 1);
	begin(0700);
	file = opened("a", true, 0);
	is_i64(record(file, 1, "one\n", 0), 0, "a record");
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	is_i64(record(file, 2, large, 0), -EFBIG, "one that does not fit");
	/* The record alone has room, the file has not. */
	large[99998] = '\0';
	is_i64(record(file, 2, large, 0), -EFBIG, "one that does not fit behind the other");
	setrlimit(RLIMIT_FSIZE, &none);
	is_str(content("a"), "one\n", "the file is as before");
	is_i64(record(file, 3, "two\n", 0), 0, "and takes the next");
	is_str(content("a"), "one\ntwo\n", "at its end");
	output_file_close(file);
	is_str(names(), " a", "nothing is left");
}

/* Another process has begun a record when this returns, and writes it until it is ended. */
static pid_t writer_start(void)
{
	struct output_file *file;
	int ready[2];
	pid_t pid;
	char byte;
	FILE *out;

	if (pipe(ready))
		return -1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		const struct output_file_config config = { .path = "a", .mode = 0600 };

		if (output_file_open(&file, &config) || output_file_begin(file, 1, &when, &out) ||
		    fputs("a part", out) < 0 || fflush(out) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	is_i64(read(ready[0], &byte, 1), 1, "another run has begun a record");
	close(ready[0]);
	return pid;
}

/* A temporary file of a run that was killed is removed by the next one; nothing else is. */
static void test_killed(void)
{
	static const char like[] = ".kernel_delay-0123456789abcdef.tmp";
	static const char *const others[] = { ".kernel_delay-0123456789abcdef.tmpx",
					      ".kernel_delay-0123456789abcde.tmp",
					      ".kernel_delay-0123456789abcdef0.tmp",
					      "kernel_delay-0123456789abcdef.tmp",
					      ".kernel_delay-0123456789abcdeg.tmp" };
	struct output_file *file;
	char before[4096];
	pid_t writer;

	begin(0700);
	writer = writer_start();
	snprintf(before, sizeof(before), "%s", names());
	ok(!strncmp(before, " .kernel_delay-", 15), "it has a temporary file:%s", before);
	file = opened("b", false, 0);
	is_str(names(), before, "while it lives, that is left alone");
	is_i64(record(file, 1, "one\n", 0), 0, "a record beside it");
	output_file_close(file);
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	ok(strstr(names(), before), "killed, it has left it:%s", names());
	output_file_close(opened("b", false, 0));
	is_str(names(), " b", "the next run removes that");

	begin(0700);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		put(others[i], "");
	if (mkdir(like, 0700))
		perror(like);
	snprintf(before, sizeof(before), "%s", names());
	output_file_close(opened("b", false, 0));
	is_str(names(), before, "nothing else is removed, nor a directory");
	if (rmdir(like) || symlink(others[0], like))
		perror(like);
	output_file_close(opened("b", false, 0));
	is_str(names(), before, "nor a link");
	if (geteuid())
		return;
	if (unlink(like))
		perror(like);
	put(like, "");
	if (chown(like, 4711, 4711))
		perror(like);
	output_file_close(opened("b", false, 0));
	is_str(names(), before, "nor what others own");
}

/* A file is not locked any more when it is where it belongs. */
static void test_unlocked(void)
{
	struct output_file *file;
	int fd;

	begin(0700);
	file = opened("a", true, 0);
	is_i64(record(file, 1, "one\n", 0), 0, "a record");
	fd = open("a", O_RDWR | O_CLOEXEC);
	is_i64(flock(fd, LOCK_EX | LOCK_NB), 0, "others may lock the file");
	is_i64(record(file, 2, "two\n", 0), 0, "which disturbs nobody");
	close(fd);
	output_file_close(file);
	is_str(content("a"), "one\ntwo\n", "it is complete");
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	umask(0);
	if (!mkdtemp(folder)) {
		perror(folder);
		return 1;
	}
	test_names();
	test_gathering();
	test_replacing();
	test_numbered();
	test_limit();
	test_places();
	test_other_owner();
	test_streams();
	test_planted();
	test_full();
	test_killed();
	test_unlocked();
	begin(0700);
	output_file_close(NULL);
	if (chdir("/") || rmdir(folder))
		perror(folder);
	return done_testing();
}
