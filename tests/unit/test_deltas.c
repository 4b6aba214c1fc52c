/* SPDX-License-Identifier: Apache-2.0 */
/* How long windows must be, by names of threads. */
#include <errno.h>
#include <string.h>

#include "cli/model/deltas.h"
#include "cases.h"
#include "tap.h"

#define MAX 1000000000000ULL

/* "DELTAS NAME": that of the thread of this name, and the least. */
static const char *delta_of(const char *input)
{
	static char said[64];
	const char *name = strchr(input, ' ');
	struct deltas_error error;
	struct deltas deltas;
	char text[128];

	snprintf(text, sizeof(text), "%.*s", (int)(name - input), input);
	if (deltas_parse(&deltas, text, MAX, &error))
		return "refused";
	snprintf(said, sizeof(said), "%" PRIu64 ", least %" PRIu64, deltas_of(&deltas, name + 1),
		 deltas_least(&deltas));
	return said;
}

static const char valid[] =
	"0 a = 0, least 0|5 a = 5, least 5|1ms a = 1000000, least 1000000"
	"|1ms,pmd*:50us pmd-c02/id:9 = 50000, least 50000"
	"|1ms,pmd*:50us main = 1000000, least 50000"
	"|pmd*:50us,1ms main = 1000000, least 50000|pmd*:50us main = 0, least 0"
	"|pmd*:50us pmd = 50000, least 0|1,a:20ms a = 20000000, least 1"
	"|1,a*:2,ab*:3 abc = 2, least 1|9,kworker/0:1:7 kworker/0:1 = 7, least 7"
	"|9,[ab]?:7 bx = 7, least 7|9,[ab]?:7 cx = 9, least 7"
	"|1,a:2,b:3,c:4,d:5,e:6,f:7,g:8,h:9 h = 9, least 1"
	"|0.5us,a:1e-3s a = 1000000, least 500";

TEST(invalid)
{
	static const struct {
		const char *text;
		size_t at;
		const char *why; /* a part of it */
	} cases[] = {
		{ "", 0, "not a duration" },
		{ "x", 0, "not a duration" },
		{ "1x", 0, "not a duration" },
		{ "-1", 0, "not a duration" },
		{ "1001s", 0, "too long" },
		{ "1ms,", 4, "not a duration" },
		{ ",1ms", 0, "not a duration" },
		{ "1ms,2ms", 4, "two for all other" },
		{ "1ms,:2ms", 4, "is empty" },
		{ "1ms,a:", 6, "not a duration" },
		{ "1ms,a:x", 6, "not a duration" },
		{ "1ms,a:1001s", 6, "too long" },
		{ "a:1,a:b:,c:3", 8, "not a duration" },
		{ "a:1,a:2,a:3,a:4,a:5,a:6,a:7,a:8,a:9", 32, "more than eight" },
		{ "0000000000000000000000000000000000000000000000000000000000000001", 0,
		  "not a duration" },
		{ "0123456789012345678901234567890123456789012345678901234567890123:1", 0,
		  "pattern of names is too long" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct deltas_error error = { .why = "" };
		struct deltas deltas;

		ok(deltas_parse(&deltas, cases[i].text, MAX, &error) == -EINVAL &&
			   error.at == cases[i].at && strstr(error.why, cases[i].why),
		   "'%s' is refused, and where: %s", cases[i].text, error.why);
	}
}

void tests_begin(void)
{
	cases_check(valid, delta_of, "deltas");
}
