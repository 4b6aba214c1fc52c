/* SPDX-License-Identifier: Apache-2.0 */
/* Threads with names made to break a terminal or a table, and one that changes
 * its name on "go". Each makes a different number of getppid calls. */
#include "workload.h"

#define RENAMED_FROM "name-before"
#define RENAMED_TO "name-after"

static const char *const names[] = {
	"two\nlines",
	"\033[31mred",
	"\033]0;title\a",
	"tab\tand\rreturn",
	"\"quoted\"'s",
	"back\\slash",
	"\xff\xfe\x80\xc3(",        /* no UTF-8 at all */
	"caf\xc3\xa9 \xe2\x82\xac", /* valid UTF-8 */
	"\xe2\x80\xae"
	"rtl", /* valid, turns the direction of writing */
	"\xc2\x9b"
	"31mC1", /* valid, a control character of C1 */
	"fifteen-bytes-x",
	"[THREAD TIME]",
	"# WARNING: 1 x",
	"  spaces  ",
	"\x7f\x01\x02",
	"%s%n%d",
	"12345678901234\xc3", /* cut in the middle of a character */
};
#define HOSTILE (int)(sizeof(names) / sizeof(names[0]))

static void hex(const char *text, char *out)
{
	for (; *text; text++)
		out += sprintf(out, "%02x", (unsigned char)*text);
}

static void work(struct worker *worker)
{
	const char *name = worker->args[0] < HOSTILE ? names[worker->args[0]] : RENAMED_TO;
	char text[64] = "\"";

	prctl(PR_SET_NAME, name);
	for (long i = 0; i < 10 + worker->args[0]; i++)
		syscall(SYS_getppid);
	hex(name, text + 1);
	strcat(text, "\"");
	worker_note(worker, "getppid", 10 + worker->args[0]);
	worker_note_text(worker, "name_hex", text);
}

int main(void)
{
	static struct worker workers[HOSTILE + 1];
	struct stage stage = { .workers = workers, .count = HOSTILE + 1 };

	for (int i = 0; i < stage.count; i++)
		workers[i] = (struct worker){ .role = RENAMED_FROM, .run = work, .args = { i } };
	return stage_serve(&stage);
}
