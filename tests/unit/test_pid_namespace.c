/* SPDX-License-Identifier: Apache-2.0 */
/* PIDs in other namespaces, and PIDs in files, from trees that are like /proc or hostile. */
#define _GNU_SOURCE
#include "cli/process/pids.h"
#include "tap.h"
#include "tree.h"

/* A process of a tree: its status, and a namespace, a file that stands for it. */
static void process_make(pid_t pid, const char *space, const char *status)
{
	char name[64], from[PATH_MAX];

	tree_put(space, "");
	snprintf(from, sizeof(from), "%s", tree_path(space));
	snprintf(name, sizeof(name), "%d/ns/pid", (int)pid);
	if (link(from, tree_path(name)))
		give_up("cannot make a link");
	snprintf(name, sizeof(name), "%d/status", (int)pid);
	tree_put(name, status);
}

static const struct {
	const char *status;
	size_t n;
	pid_t last;
} texts[] = {
	{ "Name:\tx\nNSpid:\t7\n", 1, 7 },
	{ "NSpid:\t7\t1\n", 2, 1 },
	{ "Name:\tx\nNSpid: 900 80 2147483647\nNSpgid:\t5\n", 3, INT_MAX },
	{ "NSpid:\t7", 1, 7 },
	{ "Name:\tNSpid:\t7\nPid:\t1\n", 0, 0 },
	{ "Name:\ta\\nNSpid:\t7\nNSpid:\t8\n", 1, 8 },
	{ "xNSpid:\t7\n", 0, 0 },
	{ "NSpid:", 0, 0 },
	{ "NSpid:\t\nPid:\t7\n", 0, 0 },
	{ "NSpid:\t0\n", 0, 0 },
	{ "NSpid:\t7\t-1\n", 0, 0 },
	{ "NSpid:\t7\t+1\n", 0, 0 },
	{ "NSpid:\t7 1x\n", 0, 0 },
	{ "NSpid:\t7,1\n", 0, 0 },
	{ "NSpid:\t2147483648\n", 0, 0 },
	{ "NSpid:\t99999999999999999999999\n", 0, 0 },
	{ "NSpid:\t1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 "
	  "30 "
	  "31 32 33\n",
	  33, 33 },
	{ "NSpid:\t1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 "
	  "30 "
	  "31 32 33 34\n",
	  0, 0 },
	{ "", 0, 0 },
};

TEST(texts)
{
	pid_t pids[PID_NAMESPACE_LEVELS];

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		size_t n = pid_namespace_pids(texts[i].status, pids);

		is_u64(n, texts[i].n, "text %zu: so many PIDs", i);
		if (n && n == texts[i].n)
			is_i64(pids[n - 1], texts[i].last, "text %zu: the innermost one", i);
	}
	is_u64(pid_namespace_pids(NULL, pids), 0, "no text: none");
}

static void find(pid_t member, pid_t pid, int error, pid_t want, const char *what)
{
	pid_t found = -1;

	is_i64(pid_namespace_find(tree, member, pid, &found), error, "%s: returns", what);
	is_i64(found, error ? -1 : want, "%s: finds", what);
}

TEST(tree)
{
	static char many[200000] = "Groups:\t";

	for (int i = 0; i < 20000; i++)
		strcat(many + 8 + 8 * (size_t)i, "1000000 ");
	strcat(many, "\nNSpid:\t140\t4\n");
	process_make(1, "host", "NSpid:\t1\n");
	process_make(100, "pod", "Name:\tinit\nNSpid:\t100\t1\n");
	process_make(101, "pod", "Name:\tNSpid: 9 2\nNSpid:\t101\t2\n");
	process_make(102, "other", "NSpid:\t102\t2\n");
	process_make(103, "pod", "NSpid:\tx\n");
	process_make(104, "pod", "");
	process_make(140, "pod", many);
	/* It says that it is one level below; but a file has no parent. */
	process_make(150, "deep", "NSpid:\t150\t6\t1\n");
	tree_put("105", "no folder");
	tree_put("uptime", "1 2\n");
	find(100, 1, 0, 100, "the member itself");
	find(100, 2, 0, 101, "a PID that two namespaces have");
	find(101, 1, 0, 100, "any member does");
	find(102, 2, 0, 102, "the same PID in the other one");
	find(100, 4, 0, 140, "one of many groups");
	find(1, 100, -ESRCH, 0, "a plain file is no ancestor");
	find(1, 1, 0, 1, "the first namespace");
	find(100, 3, -ESRCH, 0, "a PID that it does not have");
	find(100, 6, -ESRCH, 0, "one whose namespace is not inside");
	find(100, 101, -ESRCH, 0, "a PID of ours");
	find(999, 1, -ENOENT, 0, "no such member");
	find(103, 1, -ENODATA, 0, "a member whose status is damaged");
	find(104, 1, -ENODATA, 0, "or empty");
	find(105, 1, -ENOTDIR, 0, "or no folder");
}

static const struct {
	const char *text;
	int error;
	pid_t pid;
} files[] = {
	{ "123\n", 0, 123 },          { "123", 0, 123 },         { " 123 \n", 0, 123 },
	{ "123\r\n", 0, 123 },        { "123\n/var\n", 0, 123 }, { "0123\n", 0, 123 },
	{ "", -ENODATA, 0 },          { "\n", -EINVAL, 0 },      { "0\n", -EINVAL, 0 },
	{ "-5\n", -EINVAL, 0 },       { "12x\n", -EINVAL, 0 },   { "\n123\n", -EINVAL, 0 },
	{ "2147483648", -EINVAL, 0 }, { "\x1b[2J", -EINVAL, 0 },
};

TEST(pidfiles)
{
	char path[PATH_MAX], big[4096];
	uint64_t written;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/pidfile", tree);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		tree_put("pidfile", files[i].text);
		pid = 0;
		is_i64(pidfile_read(path, &pid, &written), files[i].error, "file %zu: returns", i);
		is_i64(pid, files[i].pid, "file %zu: PID", i);
	}
	memset(big, '1', sizeof(big));
	tree_put_bytes("pidfile", big, sizeof(big));
	is_i64(pidfile_read(path, &pid, &written), -EINVAL, "a long number is none");
	tree_put_bytes("pidfile", "5\0006", 3);
	is_i64(pidfile_read(path, &pid, &written), 0, "a zero ends the text");
	is_i64(pid, 5, "and the number");
	is_i64(pidfile_read(tree, &pid, &written), -EISDIR, "a folder");
	is_i64(pidfile_read("/dev/zero", &pid, &written), -EINVAL, "a device");
	unlink(path);
	is_i64(pidfile_read(path, &pid, &written), -ENOENT, "no file");
	if (mkfifo(path, 0600))
		give_up("cannot make a pipe");
	is_i64(pidfile_read(path, &pid, &written), -EINVAL, "a pipe that nobody writes to");
}
