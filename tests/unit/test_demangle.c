/* SPDX-License-Identifier: Apache-2.0 */
/* Mangled names, against c++filt and by hand, and names that are made to deceive. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probes/elf/demangle.h"
#include "tap.h"

static void demangled_is(const char *name, const char *want)
{
	char *text = demangle(name);

	is_str(text, want, "%.60s", name);
	free(text);
}

static void test_names(void)
{
	demangled_is("main", NULL);
	demangled_is("", NULL);
	demangled_is("_", NULL);
	demangled_is("_Z", NULL);
	demangled_is("_Zfoo", NULL);
	demangled_is("_R", NULL);
	demangled_is("_Z3foov", "foo()");
	demangled_is("_ZNK3foo3barEPKc", "foo::bar(char const*) const");
	demangled_is("_Z3fooi.cold", "foo(int) [clone .cold]");
	demangled_is("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		     "core::fmt::Write::write_fmt");
	demangled_is("_RNvC6_123foo3bar", "123foo::bar");
	demangled_is("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
}

/* A type of which each part is said twice: 2 to the power of depth words. */
static void test_explosion(void)
{
	char name[1024], *at = name, *text;
	clock_t start = clock();

	at = name + sprintf(name, "_Z1f1AIiiE");
	for (unsigned int i = 0; i < 30; i++) {
		char reference[8] = "S_";

		if (i)
			snprintf(reference, sizeof(reference), "S%c_",
				 "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i - 1]);
		at += sprintf(at, "S_I%s%sE", i ? reference : "i", i ? reference : "i");
	}
	text = demangle(name);
	is_u64(text ? strlen(text) : 0, DEMANGLED_MAX, "one that doubles 30 times is cut off");
	is_str(text ? text + DEMANGLED_MAX - 3 : NULL, "...", "visibly");
	free(text);
	ok((clock() - start) / CLOCKS_PER_SEC < 1, "in no time");
}

static void test_deep(void)
{
	char *name = malloc(200000);

	if (!name)
		return;
	memset(name, 'P', 200000);
	memcpy(name, "_Z1f", 4);
	strcpy(name + 199990, "i");
	demangled_is(name, NULL);
	strcpy(name + 900, "i");
	free(demangle(name));
	ok(true, "as deep as libiberty goes");
	free(name);
}

static void test_against_filt(void)
{
	const char *path = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6";
	unsigned long names = 0, same = 0, wrong = 0;
	char command[512], line[20000];
	FILE *filt;

	snprintf(command, sizeof(command),
		 "nm -D --defined-only %s 2>/dev/null | awk '$2 ~ /[TWi]/ {sub(/@.*/, \"\", $3); "
		 "print $3}' | sort -u >/tmp/test_demangle.$$; c++filt -i </tmp/test_demangle.$$ | "
		 "paste /tmp/test_demangle.$$ -; rm /tmp/test_demangle.$$",
		 path);
	filt = popen(command, "r");
	while (filt && fgets(line, sizeof(line), filt)) {
		char *want = strchr(line, '\t'), *text;

		if (!want)
			continue;
		*want++ = '\0';
		want[strcspn(want, "\n")] = '\0';
		text = demangle(line);
		names++;
		if (!strcmp(text ? text : line, want))
			same++;
		else if (wrong++ < 5)
			printf("# %s\n#  got: %s\n# want: %s\n", line, text ? text : "NULL", want);
		free(text);
	}
	if (filt)
		pclose(filt);
	if (!names)
		ok(true, "%s # SKIP it is not here", path);
	else
		ok(names > 1000 && same == names, "%lu of %lu names as c++filt has them", same,
		   names);
}

int main(void)
{
	test_names();
	test_explosion();
	test_deep();
	test_against_filt();
	return done_testing();
}
