/* SPDX-License-Identifier: Apache-2.0 */
/* Files of whole records, in a directory of this test's own. They are read by other means than
 * those that wrote them. */
#define _GNU_SOURCE
#include "cli/output/output_file.h"
#include "cli/output/output_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

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

	for (; out && *text; text++)
		putc(*text == '/' ? '\n' : *text, out);
	if (!out || fclose(out))
		perror(name);
}

/* With a slash for each line feed. */
static const char *content(const char *name)
{
	static char text[4096];
	FILE *in = fopen(name, "r");
	size_t n = in ? fread(text, 1, sizeof(text) - 1, in) : 0;

	text[n] = '\0';
	for (char *at = text; (at = strchr(at, '\n'));)
		*at = '/';
	if (in)
		fclose(in);
	return in ? text : "none";
}

/* The names in the directory, sorted. */
static const char *names(void)
{
	static char text[4096];
	struct dirent **found;
	int n = scandir(".", &found, NULL, alphasort);
	size_t used = 0;

	*text = '\0';
	for (int i = 0; i < n; i++) {
		if (strcmp(found[i]->d_name, ".") && strcmp(found[i]->d_name, ".."))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
						 used ? " " : "", found[i]->d_name);
		free(found[i]);
	}
	free(found);
	return text;
}

static struct output_file *file;

static int file_open(const char *name, bool gather, const char *limit)
{
	static char path[CASE_LEN]; /* it is kept */
	const struct output_file_config config = {
		.path = path, .gather = gather, .mode = 0640, .limit = strtoull(limit, NULL, 10)
	};

	strcpy(path, name);
	return output_file_open(&file, &config);
}

static int file_try(const char *path)
{
	int error = file_open(path, true, "");

	output_file_close(file);
	return error;
}

/* A record; failed: as if writing it had failed. */
static int record(const char *number, const char *text, int failed)
{
	FILE *out;
	int error = output_file_begin(file, strtoull(number, NULL, 10), &when, &out);

	if (error)
		return error;
	if (fprintf(out, "%s\n", text) < 0 && !failed)
		failed = -errno;
	return output_file_end(file, failed);
}

static const char *mode_of(const char *name)
{
	static char text[16];
	struct stat status;

	snprintf(text, sizeof(text), "%o", stat(name, &status) ? 0 : status.st_mode & 07777);
	return text;
}

static const char *said(int error)
{
	return error ? strerrorname_np(-error) : "ok";
}

/* What a step has led to. rec: record NUMBER TEXT, fail: one whose writing fails; open: for all
 * records, each: for the last one; try: open and close. */
static const char *step(char *line)
{
	char *does = strsep(&line, " "), *name = strsep(&line, " "), *rest = line ? line : "";

#define DOES(what, ...)                                                                            \
	if (!strcmp(does, what))                                                                   \
	return __VA_ARGS__
#define CALLS(what, ...) DOES(what, said(__VA_ARGS__ ? -errno : 0))
	DOES("begin", (begin((mode_t)strtoul(name, NULL, 8)), "ok"));
	DOES("put", (put(name, rest), "ok"));
	DOES("cat", content(name));
	DOES("ls", names());
	DOES("open", said(file_open(name, true, rest)));
	DOES("each", said(file_open(name, false, rest)));
	DOES("close", (output_file_close(file), "ok"));
	DOES("stream", output_file_is_stream(file) ? "yes" : "no");
	DOES("rec", said(record(name, rest, 0)));
	DOES("fail", said(record(name, "half", -atoi(rest))));
	DOES("try", said(file_try(name)));
	DOES("mode", mode_of(name));
	CALLS("mkdir", mkdir(name, 0700));
	CALLS("rm", remove(name));
	CALLS("mv", rename(name, rest));
	CALLS("ln", symlink(name, rest));
	CALLS("fifo", mkfifo(name, 0600));
	CALLS("empty", truncate(name, 0));
	CALLS("chmod", chmod(rest, (mode_t)strtoul(name, NULL, 8)));
	abort();
}

/* "STEP = what it leads to|STEP", which leads to "ok". */
static void steps(const char *list)
{
	char one[CASE_LEN], shown[CASE_LEN];

	while (case_next(&list, one)) {
		char *want = strstr(one, " = ");

		strcpy(shown, one);
		if (want)
			*want = '\0';
		is_str(step(one), want ? want + 3 : "ok", "%s", shown);
	}
}

TEST(names)
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

/* What two names with % sequences are for some samples: one file, or never. */
TEST(meeting)
{
	static const struct {
		const char *one, *other;
		bool meet;
	} pairs[] = {
		{ "z%n", "z1", true },
		{ "z%n", "z01x", false },
		{ "z%n", "z", false },
		{ "z%n", "z%n", true },
		{ "z%n", "z1%n", true },
		{ "%nz", "%nz1", false },
		{ "a%nb%nc", "a%nc", false },
		{ "a%nb%n", "a1b2", true },
		{ "a%n%n", "a%n", true },
		{ "z%t", "z%n", false },
		{ "z%t", "z%nT%nZ", true },
		{ "z%t", "z20261121T154400Z", true },
		{ "z%t", "z20261121T15440Z", false },
		{ "z%%n", "z%n", false },
		{ "z%x", "z%x", true },
	};

	for (size_t i = 0; i < COUNT(pairs); i++) {
		struct output_names one, other;

		output_names_make(&one, pairs[i].one, true);
		output_names_make(&other, pairs[i].other, true);
		ok(output_names_meet(&one, &other) == pairs[i].meet &&
			   output_names_meet(&other, &one) == pairs[i].meet,
		   "%s and %s: %s", pairs[i].one, pairs[i].other,
		   pairs[i].meet ? "one file" : "never");
	}
}

TEST(gathering)
{
	steps("begin 700|put a old/|open a|stream = no|cat a = old/|ls = a|fail 1 28 = ENOSPC"
	      "|cat a = old/|rec 1 one|cat a = one/|mode a = 640|rec 2 two|cat a = one/two/"
	      "|fail 3 5 = EIO|cat a = one/two/"
	      /* as logrotate does it */
	      "|mv a b|rec 4 four|cat a = four/|cat b = one/two/"
	      "|empty a|rec 5 five|cat a = five/|rm a|mkdir a|rec 6 six = EISDIR"
	      "|rm a|ln b a|rec 7 seven = ELOOP|cat b = one/two/|close|ls = a b");
}

TEST(replacing)
{
	FILE *out;

	steps("begin 700|each a|ls = |rec 1 one|rec 2 two|cat a = two/|fail 3 5 = EIO"
	      "|cat a = two/");
	is_i64(output_file_begin(file, 4, &when, &out), 0, "one that is begun");
	fputs("half", out);
	steps("close|ls = a|cat a = two/");
}

TEST(numbered)
{
	steps("begin 700|open a%n|rec 1 one|rec 2 two|rec 2 end|ls = a1 a2|cat a1 = one/"
	      "|cat a2 = two/end/|ln a1 a3|rec 3 three = ELOOP|fifo a4|rec 4 four = EEXIST"
	      "|cat a1 = one/|close|ls = a1 a2 a3 a4"
	      "|each b%t|rec 1 one|cat b20261121T154400Z = one/|close");
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

TEST(limit)
{
	uint64_t most = 0;

	steps("begin 700|put a0 of another run|each a%n 30|rec 1 ten bytes|rec 2 ten bytes"
	      "|rec 3 ten bytes|rec 4 ten bytes|rec 5 ten bytes|ls = a0 a3 a4 a5"
	      "|rec 6 thirty bytes is more than all|ls = a0 a6"
	      "|rec 7 thirty-one bytes is more than ok = EFBIG|ls = a0 a6"
	      /* It removes none but its own. */
	      "|rm a6|put a6 someone else's|rec 8 thirty bytes is more than all"
	      "|cat a6 = someone else's|ls = a0 a6 a8"
	      "|rec 8 less|rec 9 twenty-five bytes is it.|ls = a0 a6 a8 a9|close"
	      "|begin 700|open a 40");
	for (int i = 0; i < 20; i++) {
		if (record("1", "ten bytes", 0))
			ok(false, "record %d", i);
		most = filled() > most ? filled() : most;
	}
	is_u64(most, 40, "a file that grows never exceeds the limit");
	steps("ls = a a.old|cat a = ten bytes/ten bytes/"
	      "|rec 1 thirty-five bytes and no room left|ls = a|close");
}

TEST(locations)
{
	steps("begin 700|try none/a = ENOENT|try / = EISDIR|try . = EISDIR|put file "
	      "|try file/a = ENOTDIR|try file/ = EISDIR|mkdir d|try d = EISDIR"
	      /* One's own links are followed, also to a file that is not there. */
	      "|ln d own|try own/a|ln d/x ownlast|try ownlast|ln loop loop|try loop = ELOOP"
	      "|try d/../d/./a"
	      /* In a directory that others can write they are not, nor by a detour. */
	      "|mkdir shared|chmod 1777 shared|try shared/a|ln ../d shared/l|ln ../file shared/f"
	      "|try shared/l/a = ELOOP|try shared/f = ELOOP|try shared/../shared/./l/a = ELOOP"
	      "|ln shared/l detour|try detour/a = ELOOP"
	      "|chmod 770 shared|try shared/f = ELOOP|chmod 755 shared|try shared/f"
	      "|ls = d detour file loop own ownlast shared");
}

TEST(other_owner)
{
	const struct stat own = { .st_mode = 0755, .st_uid = geteuid() },
			  root = { .st_mode = 0755 },
			  other = { .st_mode = 0755, .st_uid = geteuid() + 1 },
			  sticky = { .st_mode = 01777 };

	ok(!output_path_is_shared(&own) && !output_path_is_shared(&root),
	   "directories of root and of the user");
	ok(output_path_is_shared(&other) && output_path_is_shared(&sticky), "and of others");
}

static void path_step(const char *before, int fd, const char *behind)
{
	char line[CASE_LEN];

	snprintf(line, sizeof(line), "%s%d%s", before, fd, behind);
	steps(line);
}

/* Another end has the record. */
static void is_received(int fd, const char *what)
{
	char text[100] = "";

	ok(read(fd, text, sizeof(text) - 1) == 4 && !strcmp(text, "one\n"), "%s has it", what);
}

TEST(streams)
{
	int ends[2], fd;

	steps("begin 700|fifo fifo");
	fd = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	steps("open fifo|stream = yes|rec 1 one|close");
	is_received(fd, "a FIFO");
	close(fd);
	if (pipe2(ends, O_CLOEXEC))
		exit(1);
	path_step("open /dev/fd/", ends[1], "|stream = yes|rec 1 one|close");
	is_received(ends[0], "a pipe");
	close(ends[0]);
	path_step("open /dev/fd/", ends[1], "|rec 1 one = EPIPE|close");
	close(ends[1]);
	path_step("try /dev/fd/", ends[1], " = EBADF");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	path_step("open /proc/self/fd/", ends[1], "|stream = yes|rec 1 one|close");
	is_received(ends[0], "a socket");
	close(ends[0]);
	close(ends[1]);
	/* What is redirected to a file goes on there. */
	fd = open("log", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ok(write(fd, "log\n", 4) == 4, "a file with text");
	path_step("open /dev/fd/", fd, "|rec 1 one|close|cat log = log/one/");
	close(fd);
	steps("each /dev/null|stream = yes|rec 1 one|close|each /dev/full|rec 1 one = ENOSPC|close"
	      "|ls = fifo log");
}

/* Where a planted FIFO or link waits. */
TEST(planted)
{
	steps("begin 1777|ln /dev/null null|try null = ELOOP|fifo own");
	ok(open("own", O_RDONLY | O_NONBLOCK | O_CLOEXEC) >= 0, "one's own FIFO is read");
	steps("try own");
	if (geteuid()) {
		skip("not root", "a FIFO of someone else");
		return;
	}
	steps("fifo theirs|chmod 666 theirs");
	is_i64(chown("theirs", 65534, 65534), 0, "of nobody");
	steps("try theirs = EACCES");
}

/* A write that fails for real, in the middle of a record. */
TEST(full)
{
	static char large[200000];
	const struct rlimit small = { 100000, RLIM_INFINITY },
			    none = { RLIM_INFINITY, RLIM_INFINITY };

	memset(large, 'x', sizeof(large) - 1);
	steps("begin 700|open a|rec 1 one");
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	is_i64(record("2", large, 0), -EFBIG, "one that does not fit");
	/* The record alone has room, the file has not. */
	large[99997] = '\0';
	is_i64(record("2", large, 0), -EFBIG, "one that does not fit behind the other");
	setrlimit(RLIMIT_FSIZE, &none);
	steps("cat a = one/|rec 3 two|cat a = one/two/|close|ls = a");
}

/* Another process has begun a record when this returns, and writes it until it is ended. */
static pid_t writer_start(void)
{
	int ready[2];
	pid_t pid;
	char byte;
	FILE *out;

	if (pipe(ready))
		return -1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (file_open("a", false, "") || output_file_begin(file, 1, &when, &out) ||
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

/* What a run had that is killed: neither it nor anybody else takes a part for the whole. */
TEST(killed)
{
	pid_t writer;
	int nameless;

	steps("begin 700|put a old");
	nameless = open(".", O_RDWR | O_TMPFILE, 0600);
	writer = writer_start();
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	if (nameless >= 0)
		is_str(names(), "a", "killed, it has left nothing");
	else
		ok(strstr(names(), ".tmp a"), "killed, it has left its temporary file");
	close(nameless);
	is_str(content("a"), "old", "and the file of the run before");
	steps("open a|rec 1 one|close|cat a = one/");
}

void tests_begin(void)
{
	signal(SIGPIPE, SIG_IGN);
	umask(0);
	need(mkdtemp(folder));
}

void tests_end(void)
{
	begin(0700);
	output_file_close(NULL);
	if (chdir("/") || rmdir(folder))
		perror(folder);
}
