/* SPDX-License-Identifier: Apache-2.0 */
/* A directory with files like those of /proc and /sys, or hostile ones. */
#ifndef TESTS_UNIT_TREE_H
#define TESTS_UNIT_TREE_H

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

static char tree[] = "/tmp/kdtest-tree-XXXXXX";

static void give_up(const char *why)
{
	perror(why);
	exit(1);
}

static int tree_remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
	(void)status, (void)type, (void)at;
	return remove(path);
}

void tests_begin(void)
{
	if (!mkdtemp(tree))
		give_up("cannot make a directory");
}

void tests_end(void)
{
	if (nftw(tree, tree_remove_one, 10, FTW_DEPTH | FTW_PHYS))
		give_up("cannot remove the directory");
}

/* The path of a file in it, whose directories are made. */
static const char *tree_path(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", tree, name);
	for (char *at = path + strlen(tree) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(path, 0700) && errno != EEXIST)
			give_up("cannot make a directory");
		*at = '/';
	}
	return path;
}

static void tree_put_bytes(const char *name, const char *bytes, size_t n)
{
	FILE *file = fopen(tree_path(name), "we");

	if (!file || fwrite(bytes, 1, n, file) != n || fclose(file))
		give_up("cannot write a file");
}

__attribute__((unused)) static void tree_put(const char *name, const char *text)
{
	tree_put_bytes(name, text, strlen(text));
}

__attribute__((unused)) static void tree_remove(const char *name)
{
	if (remove(tree_path(name)))
		give_up("cannot remove a file");
}

#endif
