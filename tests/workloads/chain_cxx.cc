/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of calls in C++: a template, an operator, a lambda, a constructor, and a
 * function that is called while an exception is handled. Each "go" passes through
 * it once, see chain.c; the innermost function sleeps 20 ms. */
#include <iostream>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#if defined(__clang__)
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noipa))
#endif
#define RETURN_HERE() asm volatile("" ::: "memory")

namespace kdtest {

FRAME void slow(int ms)
{
	struct timespec time = { 0, ms * 1000000L };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
	RETURN_HERE();
}

class Chain {
public:
	FRAME explicit Chain(int ms)
	{
		auto nap = [ms](char) FRAME {
			slow(ms);
			RETURN_HERE();
		};
		nap('a');
		RETURN_HERE();
	}

	FRAME static void catches(const std::string &, unsigned long)
	{
		try {
			throw 20;
		} catch (int ms) {
			Chain chain(ms);
			RETURN_HERE();
		}
	}

	FRAME virtual long operator()(const char *name) const
	{
		catches(name, 1);
		RETURN_HERE();
		return 0;
	}

	Chain() = default;
	virtual ~Chain() = default;
};

template <typename T, int N> FRAME T outer(const std::vector<T> &numbers)
{
	Chain chain;

	chain("x");
	RETURN_HERE();
	return numbers[0] + N;
}

} // namespace kdtest

static long long now()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main()
{
	std::vector<int> numbers(3);
	std::string line;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	std::cout << "ready" << std::endl;
	while (std::getline(std::cin, line) && line == "go") {
		long long from = now();

		kdtest::outer<int, 7>(numbers);
		std::cout << "{\"tid\": " << getpid() << ", \"from\": " << from
			  << ", \"to\": " << now() << "}" << std::endl;
	}
}
