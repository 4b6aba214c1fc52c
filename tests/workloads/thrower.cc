/* SPDX-License-Identifier: Apache-2.0 */
/* A function that an exception leaves now and then, which a return probe would turn into the
 * end of the process, and functions that end in others.
 *
 *   -> ready
 *   <- go SECONDS   -> {"calls": [[before, begin, end, after, thrown], ...]}: ns of
 *                      CLOCK_MONOTONIC before each call, at its begin, its end, and after it
 *   <- end          the process ends */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <time.h>

struct call {
	long before, begin, end, after;
	int thrown;
};

static long now()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void nap(long us)
{
	struct timespec t = { 0, us * 1000 };

	nanosleep(&t, nullptr);
}

extern "C" {

__attribute__((noinline)) int thrower(int number)
{
	if (number % 20 == 7)
		nap(6000);
	if (number % 3 == 0)
		throw number;
	return number;
}

/* The string has to be destroyed on the way out. */
__attribute__((noinline)) int probed(int number, struct call *log)
{
	std::string text(static_cast<size_t>(number % 50), 'x');
	int got;

	log->begin = now();
	got = thrower(number);
	log->end = now();
	if (got % 2) /* a second way out */
		return static_cast<int>(text.size());
	return got;
}

/* Leaves by a jump. */
__attribute__((noinline)) int tail_call(int number)
{
	return thrower(number + 1);
}
}

static struct call call_once(int number)
{
	struct call log = {};

	log.before = now();
	try {
		probed(number, &log);
	} catch (int thrown) {
		log.thrown = thrown == number;
	}
	log.after = now();
	if (!log.end)
		log.end = log.begin;
	return log;
}

int main()
{
	char line[64];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "end\n")) {
		std::vector<struct call> calls;
		long end = now() + atoi(line + 3) * 1000000000L;

		for (int number = 0; now() < end; number++) {
			calls.push_back(call_once(number));
			nap(2000);
		}
		printf("{\"calls\": [");
		for (size_t i = 0; i < calls.size(); i++)
			printf("%s[%ld, %ld, %ld, %ld, %d]", i ? ", " : "", calls[i].before,
			       calls[i].begin, calls[i].end, calls[i].after, calls[i].thrown);
		puts("]}");
		fflush(stdout);
	}
	return tail_call(0) != 1;
}
