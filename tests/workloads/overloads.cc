/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of C++ that share names, each of which counts its calls.
 *
 *   -> ready
 *   <- go     -> {"NAME": calls, ...}: all of them were called once more, some more often
 *   <- end    the process ends */
#include <cstdio>
#include <cstring>

#define FRAME __attribute__((noinline, noclone))

namespace ns {

template <typename T> struct Foo {
	static long bars, others;
	FRAME long bar(T by) { return bars += by; }
	FRAME long operator+(T by) const { return others += by; }
};
template <typename T> long Foo<T>::bars = 0;
template <typename T> long Foo<T>::others = 0;

long ints, texts, made;

FRAME long over(int by) { return ints += by; }
FRAME long over(const char *text, unsigned int by) { return texts += by + strlen(text); }

struct Made {
	FRAME explicit Made(int by) { made += by; }
	FRAME virtual ~Made() {}
};

}

int main()
{
	char line[16];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "go\n") == 0) {
		ns::Foo<int> ints;
		ns::Foo<long> longs;

		ints.bar(1);
		ints.bar(1);
		longs.bar(1);
		ints + 1;
		for (int i = 0; i < 3; i++)
			ns::over(1);
		for (int i = 0; i < 4; i++)
			ns::over("", 1);
		ns::Made one(1);
		printf("{\"bar<int>\": %ld, \"bar<long>\": %ld, \"plus\": %ld, \"over(int)\": %ld, "
		       "\"over(text)\": %ld, \"Made\": %ld}\n",
		       ns::Foo<int>::bars, ns::Foo<long>::bars, ns::Foo<int>::others, ns::ints,
		       ns::texts, ns::made);
		fflush(stdout);
	}
	return 0;
}
