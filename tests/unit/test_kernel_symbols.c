/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernel addresses, from files made by hand and from the real one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/stack/kernel_symbols.h"
#include "tap.h"

static char path[] = "/tmp/test_kernel_symbols.XXXXXX";

static void file_write(const char *text)
{
	FILE *file = fopen(path, "w");

	need(file && fputs(text, file) >= 0 && !fclose(file));
}

static struct kernel_symbols *symbols_of(const char *text, size_t capacity)
{
	struct kernel_symbols *symbols;

	file_write(text);
	need(!kernel_symbols_open(&symbols, path, capacity));
	if (capacity % 2) /* either way */
		kernel_symbols_begin(symbols);
	need(!kernel_symbols_read(symbols));
	return symbols;
}

/* Compares frames as "function+offset" or, in a module, "function+offset[module]". */
static void frames_are(const struct stack *stack, const char *want, const char *what)
{
	char text[1024] = "none";
	size_t length = 0;

	for (size_t i = 0; stack && i < stack->n; i++) {
		const struct frame *frame = &stack->frames[i];

		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s+%lx",
					   i ? " " : "", frame->function ? frame->function : "",
					   frame->offset);
		if (frame->object)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "[%s]",
						   frame->object);
	}
	is_str(text, want, "%s", what);
}

TEST(frames)
{
	struct kernel_symbols *symbols = symbols_of("ffffffff81000000 T _text\n"
						    "ffffffff81000000 T startup_64\n"
						    "ffffffff81000100 T __schedule\n"
						    "ffffffff81000300 t do_exit\n"
						    "ffffffff81000400 W weak\n"
						    "ffffffff81000500 D some_data\n"
						    "ffffffff81000600 B more_data\n"
						    "0000000000000000 A fixed_percpu_data\n"
						    "ffffffffc0000200 t later\t[module_b]\n"
						    "ffffffffc0000000 t early\t[module_a]\n"
						    "ffffffffc0000400 t prog_1_f\t[bpf]",
						    10);
	/* Behind the first, each was called from the instruction before. */
	const uint64_t ips[] = {
		0xffffffff81000100, 0xffffffff81000100,
		0xffffffff81000400, 0xffffffff810004ff,
		0xffffffffc0000010, 0xffffffffc0000210,
		0xffffffffc0000480, 0xffffffffc0200000,
		0xffffffff80ffffff, 0,
	};
	const struct stack *stack;

	ok(!kernel_symbols_hidden(symbols), "addresses are to be seen");
	stack = kernel_symbols_stack(symbols, ips, COUNT(ips));
	ok(stack && !stack->stop, "a whole stack");
	frames_are(stack,
		   "__schedule+0 _text+100 do_exit+100 weak+ff early+10[module_a] "
		   "later+10[module_b] prog_1_f+80[bpf] +ffffffffc0200000 +ffffffff80ffffff +0",
		   "functions, and where there are none");
	kernel_symbols_close(symbols);
}

/* Where nothing tells a function's end, its page does; of own code its size. */
TEST(ends)
{
	struct kernel_symbols *symbols = symbols_of("ffffffff81000000 T long\n"
						    "ffffffff81008000 T last\n"
						    "ffffffffc0000f00 t last_of_a\t[module_a]\n"
						    "ffffffffc0010000 t prog_1\t[bpf]\n"
						    "ffffffffc0010200 t prog_2\t[bpf]\n"
						    "ffffffffc0018000 t own\t[bpf]\n"
						    "ffffffffc0020000 t f\t[__builtin__kprobes]\n"
						    "ffffffffc0030000 t g\t[__builtin__kprobes]\n",
						    10);
	const uint64_t ips[] = { 0xffffffffc0018000, 0xffffffff81007ff1, 0xffffffff81008ff1,
				 0xffffffff81009001, 0xffffffffc0000fff, 0xffffffffc0001001,
				 0xffffffffc0010101, 0xffffffffc0010fff, 0xffffffffc0011001,
				 0xffffffffc0019f00, 0xffffffffc0019f02, 0xffffffffc0020101,
				 0xffffffffc0021001 };

	is_i64(kernel_symbols_add_own(symbols, 0xffffffffc0018000, 0x1f00), 0, "own code");
	frames_are(kernel_symbols_stack(symbols, ips, COUNT(ips)),
		   "own+0[bpf] long+7ff1 last+ff1 +ffffffff81009001 last_of_a+ff[module_a] "
		   "+ffffffffc0001001 prog_1+101[bpf] prog_2+dff[bpf] +ffffffffc0011001 "
		   "own+1f00[bpf] +ffffffffc0019f02 f+101[__builtin__kprobes] +ffffffffc0021001",
		   "where they end");
	kernel_symbols_close(symbols);
}

TEST(stacks)
{
	struct kernel_symbols *symbols = symbols_of("ffffffff81000000 T f\n", 3);
	const uint64_t ips[] = { 0xffffffff81000001, 0xffffffff81000002, 0xffffffff81000003 };
	const struct stack *stack;
	uint64_t *many = calloc(100000, sizeof(*many));

	need(many);
	stack = kernel_symbols_stack(symbols, ips, 3);
	ok(stack && kernel_symbols_stack(symbols, ips, 3) == stack, "the same is kept once");
	ok(stack != kernel_symbols_stack(symbols, ips, 2), "a shorter one is another");
	ok(kernel_symbols_stack(symbols, ips, 0) && !kernel_symbols_stack(symbols, ips, 0)->n,
	   "one without frames");
	is_u64(kernel_symbols_beyond(symbols), 0, "all found room");
	ok(!kernel_symbols_stack(symbols, ips + 1, 2), "no room for a fourth");
	ok(kernel_symbols_stack(symbols, ips, 3) == stack, "those that are kept are found");
	is_u64(kernel_symbols_beyond(symbols), 1, "it is counted");
	kernel_symbols_close(symbols);
	symbols = symbols_of("ffffffff81000000 T f\n", 2);
	stack = kernel_symbols_stack(symbols, many, 100000);
	ok(stack && stack->n < 100000 && stack->n >= 640, "an endless stack is cut off");
	kernel_symbols_close(symbols);
	kernel_symbols_close(NULL);
	free(many);
}

/* Of the words on a stack: return addresses in the section of the scheduler's functions. */
TEST(sched)
{
	static const uint64_t words[] = {
		0xffffffff81000010, /* of other functions */
		0xffffffff82000000, /* where the section begins: nothing returns to it */
		0xffffffff82000100, /* behind the last call in __schedule */
		0xffffffff82000180, /* schedule */
		0xffffffff82000250, /* down_slow, and what an earlier call has left */
		0xffffffff82000260, 0xffffffff82000301, /* down */
		0xffffffff82000400,                     /* behind a last call: still down */
		0xffffffff82000401,                     /* behind the section */
		0xffffffff83000000,
	};
	struct kernel_symbols *symbols = symbols_of("ffffffff81000000 T f\n"
						    "ffffffff82000000 T __sched_text_start\n"
						    "ffffffff82000000 t __schedule\n"
						    "ffffffff82000100 T schedule\n"
						    "ffffffff82000200 t down_slow\n"
						    "ffffffff82000300 T down\n"
						    "ffffffff82000400 T __sched_text_end\n"
						    "ffffffff82000400 T g\n",
						    10);
	const size_t n = COUNT(words);
	uint64_t left[COUNT(words)];

	memcpy(left, words, sizeof(left));
	is_u64(kernel_symbols_sched(symbols, left, n), 2, "two functions wait");
	frames_are(kernel_symbols_stack(symbols, left, 2), "down_slow+50 down+1", "which");
	is_u64(kernel_symbols_sched(symbols, left, 0), 0, "none of no words");
	kernel_symbols_close(symbols);
	symbols = symbols_of("ffffffff82000000 T f\n", 10);
	memcpy(left, words, sizeof(left));
	is_u64(kernel_symbols_sched(symbols, left, n), 0, "none where the section is not known");
	kernel_symbols_close(symbols);
}

static void is_hidden(const char *file, const char *what)
{
	struct kernel_symbols *symbols;

	is_i64(kernel_symbols_open(&symbols, file, 1), 0, "%s: open", what);
	kernel_symbols_begin(symbols);
	is_i64(kernel_symbols_read(symbols), 0, "%s: read", what);
	is_i64(kernel_symbols_read(symbols), 0, "%s: read again", what);
	ok(kernel_symbols_hidden(symbols), "%s", what);
	is_str(kernel_symbols_name(symbols, 0xffffffff81000001), "", "%s: no names", what);
	kernel_symbols_close(symbols);
}

TEST(hidden)
{
	struct kernel_symbols *symbols = symbols_of("0000000000000000 T _text\n"
						    "0000000000000000 T __schedule\n",
						    1);
	const uint64_t ip = 0xffffffff81000001;

	ok(kernel_symbols_hidden(symbols), "all addresses are 0");
	frames_are(kernel_symbols_stack(symbols, &ip, 1), "+ffffffff81000001", "none has a name");
	kernel_symbols_close(symbols);
	symbols = symbols_of("", 1);
	ok(kernel_symbols_hidden(symbols), "an empty file");
	kernel_symbols_close(symbols);
	is_hidden("/nonexistent", "no file");
	is_hidden("/tmp", "a directory");
}

TEST(unsound)
{
	char *text = malloc(700000);
	struct kernel_symbols *symbols;
	const uint64_t ip = 0x21;

	if (!text)
		return;
	symbols = symbols_of("\n \n10\n10 \n10 T\n10 T \nT f\nx0 T f\n20 t g\n30 t h\t[]\n"
			     "40 t i\t[\n50 t\tj\n18 \xff\xff k\n19  t l\n1a tt m\n",
			     1);
	frames_are(kernel_symbols_stack(symbols, &ip, 1), "g+1", "lines that are none");
	kernel_symbols_close(symbols);
	memset(text, 'x', 699999);
	text[699999] = '\0';
	file_write(text);
	is_hidden(path, "a line without an end");
	is_i64(kernel_symbols_open(&symbols, path, 1), 0, "opened");
	kernel_symbols_begin(symbols);
	kernel_symbols_close(symbols); /* not waited for before */
	free(text);
}

/* An independent reading: the function of an address as awk finds it. Programs of BPF come
 * and go, when other tests run. */
static bool truth_start(FILE **truth)
{
	*truth = popen("awk '$2 ~ /^[tTwW]$/ && $1 !~ /^0+$/ && $4 != \"[bpf]\" {print $1, $3, (NF "
		       "> 3 ? $4 : \"-\"), NR}' "
		       "/proc/kallsyms | sort -k1,1 -k4,4n | awk '$1 != last {last = $1; "
		       "if (++n % 97 == 1) print $1, $2, $3}'",
		       "r");
	return *truth;
}

TEST(real)
{
	unsigned long wanted = 0, wrong = 0;
	struct kernel_symbols *symbols;
	char line[2048], name[1024];
	FILE *truth;

	need(!kernel_symbols_open(&symbols, NULL, 100000));
	need(!kernel_symbols_read(symbols));
	if (kernel_symbols_hidden(symbols) || !truth_start(&truth)) {
		skip("they are hidden", "addresses");
		kernel_symbols_close(symbols);
		return;
	}
	while (fgets(line, sizeof(line), truth)) {
		char module[128] = "", shown[128] = "";
		const struct stack *stack;
		uint64_t ips[2];

		sscanf(line, "%lx %1023s %127s", &ips[0], name, module);
		ips[1] = ips[0] + 1;
		if (!strcmp(module, "-"))
			*module = '\0';
		stack = kernel_symbols_stack(symbols, ips, 2);
		wanted++;
		if (stack && stack->frames[0].object)
			snprintf(shown, sizeof(shown), "[%.120s]", stack->frames[0].object);
		if (stack && stack->frames[0].function &&
		    !strcmp(stack->frames[0].function, name) && !stack->frames[0].offset &&
		    stack->frames[1].function == stack->frames[0].function &&
		    stack->frames[1].offset == 1 && !strcmp(shown, module))
			continue;
		if (wrong++ < 5)
			printf("# %s", line);
	}
	pclose(truth);
	ok(wanted > 100 && !wrong, "%lu of %lu as in the file", wanted - wrong, wanted);
	kernel_symbols_close(symbols);
}

/* Compares the variable that contains an address, as above. */
static void variable_is(const struct kernel_symbols *symbols, uint64_t address, const char *want)
{
	struct kernel_variable variable;
	char text[128] = "none";

	if (kernel_symbols_variable(symbols, address, &variable))
		snprintf(text, sizeof(text), "%s+%lx%s%s", variable.name, variable.offset,
			 variable.module ? " of " : "", variable.module ?: "");
	is_str(text, want, "%lx", address);
}

TEST(variables)
{
	struct kernel_symbols *symbols;

	file_write("0000000000000000 D fixed_percpu_data\n"
		   "0000000000001000 D cpu_debug_store\n"
		   "ffffffff81000000 T code\n"
		   "ffffffff82000000 D rtnl_mutex\n"
		   "ffffffff82000020 R constant\n"
		   "ffffffff82000020 t more_code\n"
		   "ffffffff82000040 d event_mutex\n"
		   "ffffffff82000040 D other_name\n"
		   "ffffffff82000060 b roots\n"
		   "ffffffffc0000f80 b of_module\t[module_a]\n"
		   "ffffffffc0010000 d later\t[module_b]\n");
	need(!kernel_symbols_open_variables(&symbols, path));
	need(!kernel_symbols_read(symbols));
	variable_is(symbols, 0xffffffff82000000, "rtnl_mutex+0");
	variable_is(symbols, 0xffffffff8200003f, "rtnl_mutex+3f");
	variable_is(symbols, 0xffffffff82000040, "event_mutex+0");
	variable_is(symbols, 0xffffffff82000ff0, "roots+f90");
	variable_is(symbols, 0xffffffff82001000, "none");
	variable_is(symbols, 0xffffffffc0000fff, "of_module+7f of module_a");
	variable_is(symbols, 0xffffffffc0001000, "none");
	variable_is(symbols, 0xffffffff81000000, "none");
	variable_is(symbols, 0xffff888100000000, "none");
	kernel_symbols_close(symbols);

	/* Without CONFIG_KALLSYMS_ALL. */
	file_write("ffffffff81000000 T code\nffffffff82000000 D __start_rodata\n"
		   "ffffffff82000040 B __init_begin\n");
	need(!kernel_symbols_open_variables(&symbols, path));
	need(!kernel_symbols_read(symbols));
	ok(kernel_symbols_hidden(symbols), "marks are no variables");
	variable_is(symbols, 0xffffffff82000000, "none");
	kernel_symbols_close(symbols);
}

/* Which of a sample's frames are of what samples it. */
TEST(own)
{
	enum { CODE, READ, COPY, OTHER, HELPER, WAY, WAY2, OURS, FUNCTION, THEIRS };
	static const struct {
		size_t want;
		uint8_t functions[8], n;
	} cases[] = {
		{ 0, { READ, CODE }, 2 },
		{ 0, { CODE }, 1 },
		{ 4, { COPY, OURS, WAY, WAY2, READ, CODE }, 6 },
		{ 5, { HELPER, FUNCTION, OURS, WAY, WAY2, READ }, 6 },
		{ 3, { OURS, WAY, WAY2, READ }, 4 },
		{ 3, { FUNCTION, WAY, WAY2, READ }, 4 }, /* at its first instruction */
		{ 2, { WAY, WAY2, READ }, 3 },           /* not in the program yet */
		{ 3, { HELPER, WAY, WAY2, READ }, 4 },
		{ 0, { THEIRS, WAY, WAY2, READ }, 4 },
		{ 0, { HELPER, THEIRS, WAY, READ }, 4 },
		{ 2, { OURS, WAY, HELPER, THEIRS, WAY, READ }, 6 }, /* they called what we trace */
		{ 0, { HELPER, COPY, READ, OTHER, WAY2, READ }, 6 },
		{ 2, { OURS, WAY }, 2 },
	};
	/* Three functions that are not in the file, called by bpf_trace_run2() in do_syscall_64().
	 */
	const uint64_t late[] = { 0xffffffffd0000030, 0xffffffffd0000020, 0xffffffffd0000010,
				  0xffffffff81000510, 0xffffffff81000010 };
	struct kernel_symbols *symbols =
		symbols_of("ffffffff81000000 T do_syscall_64\n"
			   "ffffffff81000100 T vfs_read\n"
			   "ffffffff81000200 T copy_from_user_nofault\n"
			   "ffffffff81000300 T schedule\n"
			   "ffffffff81000400 T migrate_disable\n"
			   "ffffffff81000500 T bpf_trace_run2\n"
			   "ffffffff81000600 T __traceiter_sys_enter\n"
			   "ffffffffc0000700 t bpf_prog_0123456789abcdef_kd_sys_enter\t[bpf]\n"
			   "ffffffffc0000800 t bpf_prog_0123456789abcdef_stack_copy\t[bpf]\n"
			   "ffffffffc0000900 t bpf_prog_fedcba9876543210_stack_copy\t[bpf]\n",
			   10);

	is_i64(kernel_symbols_add_own(symbols, 0xffffffffc0000700, 0x80), 0, "own program");
	is_i64(kernel_symbols_add_own(symbols, 0xffffffffc0000800, 0x80), 0, "its function");
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t ips[8];

		for (size_t j = 0; j < cases[i].n; j++) {
			uint8_t function = cases[i].functions[j];

			ips[j] = (function >= OURS ? 0xffffffffc0000000 : 0xffffffff81000000) +
				 function * 0x100 + 0x10;
		}
		is_u64(kernel_symbols_own(symbols, ips, cases[i].n), cases[i].want, "case %zu: own",
		       i);
	}
	is_u64(kernel_symbols_tracing(symbols, late, COUNT(late)), 0, "functions without names");
	is_i64(kernel_symbols_add_own(symbols, 0xffffffffd0000000, 0x80), 0, "loaded later");
	is_u64(kernel_symbols_tracing(symbols, late, COUNT(late)), 4, "they and who calls them");
	kernel_symbols_close(symbols);
}

void tests_begin(void)
{
	int fd = mkstemp(path);

	need(fd >= 0 && !close(fd));
}

void tests_end(void)
{
	unlink(path);
}
