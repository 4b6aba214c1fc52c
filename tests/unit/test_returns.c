/* SPDX-License-Identifier: Apache-2.0 */
/* Return instructions, and functions that have other ways out. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "probes/return_sites.h"
#include "returns_code.h"
#include "tap.h"

static struct elf_file *program;

static void search(struct returns *returns, const struct function_code *function)
{
	returns_search(returns, function);
	returns_confirm(returns, function, program);
}

static const char *result_name(uint32_t result)
{
	static const char *const names[RETURNS_RESULTS] = {
		"found", "none", "leaves", "indirect", "far", "unknown", "too many", "failed",
	};

	return result < RETURNS_RESULTS ? names[result] : "?";
}

/* Checks a function of one part: what comes out, and where. */
#define CHECK(name, wanted)                                                                        \
	check(&(const struct function_code){ .chunks = { CODE(name) }, .n = 1, .is_64 = true },    \
	      wanted, in_file(name##_out), #name)

static void check(const struct function_code *function, enum returns_result wanted, uint64_t at,
		  const char *name)
{
	static struct returns returns;

	search(&returns, function);
	is_str(result_name(returns.result), result_name(wanted), "%s", name);
	if (wanted == RETURNS_FOUND)
		ok(returns.n && returns.addresses[returns.n - 1] == at, "where it returns");
	else if (wanted != RETURNS_NONE)
		is_u64(returns.at, at, "where it leaves");
}

TEST(functions)
{
	static struct returns returns;
	const struct function_code two = { .chunks = { CODE(two_returns) }, .n = 1, .is_64 = true };

	CHECK(two_returns, RETURNS_FOUND);
	search(&returns, &two);
	ok(returns.n == 2 && returns.addresses[0] == in_file(two_returns_first),
	   "both of its returns");
	CHECK(tail_call, RETURNS_LEAVES);
	CHECK(tail_call_if, RETURNS_LEAVES);
	CHECK(with_table, RETURNS_FOUND);
	CHECK(table_of_functions, RETURNS_INDIRECT);
	CHECK(by_register, RETURNS_INDIRECT);
	CHECK(without_return, RETURNS_NONE);
	CHECK(unknown_code, RETURNS_UNKNOWN);
	CHECK(over_lock, RETURNS_FOUND);
	CHECK(into_the_middle, RETURNS_UNKNOWN);
}

TEST(chunks)
{
	const struct function_code both = {
		.chunks = { CODE(with_cold), CODE(with_cold_cold) },
		.n = 2,
		.is_64 = true,
	};
	const struct function_code one = { .chunks = { CODE(with_cold) }, .n = 1, .is_64 = true };
	static struct returns returns;

	search(&returns, &both);
	ok(returns.result == RETURNS_FOUND && returns.n == 2 &&
		   returns.addresses[0] == in_file(with_cold_out) &&
		   returns.addresses[1] == in_file(with_cold_cold_out),
	   "a function of two parts");
	search(&returns, &one);
	ok(returns.result == RETURNS_LEAVES && returns.target == in_file(with_cold_cold),
	   "of which one is not known");
}

/* What a decoder that was taken over may say. */
TEST(confirm)
{
	static struct returns returns;
	const struct function_code two = { .chunks = { CODE(two_returns) }, .n = 1, .is_64 = true };

	returns_search(&returns, &two);
	returns.addresses[1] = in_file(tail_call);
	returns_confirm(&returns, &two, program);
	is_u64(returns.result, RETURNS_FAILED, "a place in another function");
	returns_search(&returns, &two);
	returns.n = RETURNS_MAX + 1;
	returns_confirm(&returns, &two, program);
	is_u64(returns.result, RETURNS_FAILED, "more than there is room for");
	returns_search(&returns, &two);
	returns.result = 99;
	returns_confirm(&returns, &two, program);
	is_u64(returns.result, RETURNS_FAILED, "no result at all");
}

static bool throws(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_file *file;
	bool has = false;

	if (fd >= 0 && !elf_file_open(&file, fd)) {
		has = file_has_exceptions(file) && !file_is_go(file);
		elf_file_close(file);
	}
	close(fd);
	return has;
}

TEST(danger)
{
	static const char *const folders[] = { "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
					       "/usr/lib64" };
	char path[128];

	ok(!throws("/proc/self/exe"), "this program throws nothing");
	for (size_t i = 0; i < COUNT(folders); i++) {
		snprintf(path, sizeof(path), "%s/libc.so.6", folders[i]);
		if (access(path, R_OK))
			continue;
		ok(!throws(path), "the C library throws nothing");
		snprintf(path, sizeof(path), "%s/libstdc++.so.6", folders[i]);
		ok(access(path, R_OK) || throws(path), "that of C++ does");
	}
}

void tests_begin(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	need(fd >= 0 && !elf_file_open(&program, fd));
}

void tests_end(void)
{
	elf_file_close(program);
}
