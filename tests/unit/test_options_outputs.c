/* SPDX-License-Identifier: Apache-2.0 */
/* The options about outputs. */
#define _GNU_SOURCE
#include "options_run.h"

#define STDOUT "(none)" /* as options_run.h shows no file */

/* What a command line must yield; what is not set here is the default. */
static const struct good {
	const char *args[ARGS];
	const char *formats[OUTPUTS_MAX];
	const char *files[OUTPUTS_MAX];
	const char *address; /* of --listen; none: not given */
	uint16_t port;
	mode_t mode;
	uint64_t limit, syscalls, count;
	size_t n_fail_if;
	bool quiet, replay, per_thread, fold_names, timestamps, list_metrics, histogram;
	bool unlimited; /* number of samples */
} good[] = {
	{ .args = { NULL } },
	/* formats, alone and with a file */
	{ { "-o", "text" }, .formats = { "text" }, .files = { STDOUT } },
	{ { "-ojson" }, .formats = { "json" }, .files = { STDOUT } },
	{ { "--output=openmetrics" }, .formats = { "openmetrics" }, .files = { STDOUT } },
	{ { "--output", "prometheus" }, .formats = { "prometheus" }, .files = { STDOUT } },
	{ { "-s", "-o", "folded" }, .formats = { "folded" }, .files = { STDOUT } },
	{ { "-o", "json:-" }, .formats = { "json" }, .files = { STDOUT } },
	{ { "-o", "json:/dev/stdout" }, .formats = { "json" }, .files = { STDOUT } },
	{ { "-o", "json:a.json" }, .formats = { "json" }, .files = { "a.json" } },
	{ { "-o", "json:/x/y:z" }, .formats = { "json" }, .files = { "/x/y:z" } },
	{ { "-o", "text:json" }, .formats = { "text" }, .files = { "json" } },
	{ { "-o", "text:a", "-o", "json:b", "-o", "text" },
	  .formats = { "text", "json", "text" },
	  .files = { "a", "b", STDOUT } },
	{ { "-s", "-ofolded:a", "-o", "folded:b" },
	  .formats = { "folded", "folded" },
	  .files = { "a", "b" } },
	/* what is no format is a file for the text */
	{ { "-o", "out.txt" }, .formats = { "text" }, .files = { "out.txt" } },
	{ { "-o", "jsonx" }, .formats = { "text" }, .files = { "jsonx" } },
	{ { "-o", "JSON" }, .formats = { "text" }, .files = { "JSON" } },
	{ { "-o", "-" }, .formats = { "text" }, .files = { STDOUT } },
	{ { "-o", "/x/y:z" }, .formats = { "text" }, .files = { "/x/y:z" } },
	{ { "-o", "./jsn:z" }, .formats = { "text" }, .files = { "./jsn:z" } },
	{ { "-o", "a.b:c" }, .formats = { "text" }, .files = { "a.b:c" } },
	/* sequences, which only the last name has */
	{ { "-o", "json:%n-%t-%p%%" }, .formats = { "json" }, .files = { "%n-%t-%p%%" } },
	{ { "-o", "json:/50%/%x%/a" }, .formats = { "json" }, .files = { "/50%/%x%/a" } },
	/* the others */
	{ { "--output-mode=0644" }, .mode = 0644 },
	{ { "--output-mode", "640" }, .mode = 0640 },
	{ { "--output-limit=1" }, .limit = 1 },
	{ { "--output-limit=100K" }, .limit = 102400 },
	{ { "--output-limit=3M" }, .limit = 3145728 },
	{ { "--output-limit=2G" }, .limit = 2147483648 },
	{ { "--output-limit=18446744073709551615" }, .limit = UINT64_MAX },
	{ { "--output-limit=17179869183G" }, .limit = 0xffffffffc0000000 },
	{ { "--quiet" }, .quiet = true },
	{ { "--fail-if", "ready.max>1ms", "--fail-if=x" }, .n_fail_if = 2 },
	{ { "--replay", "x.json" }, .replay = true },
	{ { "--replay=-", "-o", "folded" },
	  .formats = { "folded" },
	  .files = { STDOUT },
	  .replay = true },
	{ { "--per-thread", "--fold-names" }, .per_thread = true, .fold_names = true },
	{ { "--max-syscalls=7", "--timestamps" }, .syscalls = 7, .timestamps = true },
	{ { "--list-metrics" }, .list_metrics = true },
	{ { "--histogram" }, .histogram = true },
	{ { "--histogram", "-o", "json", "-s" },
	  .formats = { "json" },
	  .files = { STDOUT },
	  .histogram = true },
	/* the exporter: for ever, unless told otherwise */
	{ { "--listen=9155" }, .address = "127.0.0.1", .port = 9155, .unlimited = true },
	{ { "--listen", "1" }, .address = "127.0.0.1", .port = 1, .unlimited = true },
	{ { "--listen=0.0.0.0:65535" }, .address = "0.0.0.0", .port = 65535, .unlimited = true },
	{ { "--listen=192.0.2.7:80" }, .address = "192.0.2.7", .port = 80, .unlimited = true },
	{ { "--listen=[::1]:9155" }, .address = "::1", .port = 9155, .unlimited = true },
	{ { "--listen=[::]:9155" }, .address = "::", .port = 9155, .unlimited = true },
	{ { "--listen=[2001:db8::5:6]:9" },
	  .address = "2001:db8::5:6",
	  .port = 9,
	  .unlimited = true },
	{ { "--listen=[1111:2222:3333:4444:5555:6666:123.123.123.123]:9" },
	  .address = "1111:2222:3333:4444:5555:6666:123.123.123.123",
	  .port = 9,
	  .unlimited = true },
	{ { "--listen=1", "--listen=2" }, .address = "127.0.0.1", .port = 2, .unlimited = true },
	{ { "--listen=0.0.0.0:1", "--listen=2" },
	  .address = "127.0.0.1",
	  .port = 2,
	  .unlimited = true },
	{ { "--listen=9", "--sample-count=5" }, .address = "127.0.0.1", .port = 9, .count = 5 },
	{ { "--sample-count=5", "--listen=9" }, .address = "127.0.0.1", .port = 9, .count = 5 },
	{ { "--listen=9", "--sample-count=0" },
	  .address = "127.0.0.1",
	  .port = 9,
	  .unlimited = true },
	{ { "--listen=9", "--start-trigger=u:a:b", "--histogram" },
	  .address = "127.0.0.1",
	  .port = 9,
	  .unlimited = true,
	  .histogram = true },
	{ { "--listen=9", "-o", "json:a-%n", "-o", "text", "--per-thread" },
	  .formats = { "json", "text" },
	  .files = { "a-%n", STDOUT },
	  .address = "127.0.0.1",
	  .port = 9,
	  .unlimited = true,
	  .per_thread = true },
	/* so is looking for the worst, up to its end */
	{ { "--long-poll", "--trigger-worst=3", "--duration=1s" }, .unlimited = true },
	{ { "--long-poll", "--trigger-worst=3", "--sample-count=9" }, .count = 9 },
	{ { "--long-poll", "--duration=1s" }, .count = 1 },
};

static void check_listen(const struct options *got, const struct good *want, const char *line)
{
	ok(got->outputs.listen == !!want->address, "'%s': listen", line);
	if (!got->outputs.listen || !want->address)
		return;
	is_str(got->outputs.address, want->address, "'%s': address", line);
	is_u64(got->outputs.port, want->port, "'%s': port", line);
}

static void check_good(const struct good *want)
{
	const struct outcome *got = run(want->args, -1);
	const struct options *options = &got->options;
	char line[256];
	size_t files = 0;

	join(want->args, line);
	is_i64(got->status, 0, "'%s' is accepted", line);
	if (got->status)
		return;
	is_str(got->err, "", "'%s': no message", line);
	for (; files < OUTPUTS_MAX && want->files[files]; files++) {
		is_str(options->outputs.all[files].format->name, want->formats[files],
		       "'%s': format", line);
		is_str(got->outputs[files], want->files[files], "'%s': file", line);
	}
	is_u64(options->outputs.n, files, "'%s': number of outputs", line);
	is_u64(options->outputs.mode, want->mode ? want->mode : 0600, "'%s': mode", line);
	is_u64(options->outputs.limit, want->limit, "'%s': limit", line);
	is_u64(options->outputs.report.max_syscalls, want->syscalls, "'%s': calls", line);
	is_u64(options->n_fail_if, want->n_fail_if, "'%s': conditions", line);
	ok(options->outputs.quiet == want->quiet, "'%s': quiet", line);
	ok(!options->replay == !want->replay, "'%s': replay", line);
	ok(options->outputs.report.per_thread == want->per_thread, "'%s': per thread", line);
	ok(options->outputs.report.fold_names == want->fold_names, "'%s': fold names", line);
	ok(options->outputs.report.timestamps == want->timestamps, "'%s': time stamps", line);
	ok(options->list_metrics == want->list_metrics, "'%s': list", line);
	ok(options->histogram == want->histogram, "'%s': distributions", line);
	is_u64(options->sample_count,
	       want->unlimited ? 0
	       : want->count   ? want->count
			       : 1,
	       "'%s': count", line);
	check_listen(options, want, line);
}

/* Command lines that are refused, and why. */
static const struct refusal bad[] = {
	{ { "-o" }, "--output", "needs a value" },
	{ { "-o", "" }, "--output", "neither a format" },
	{ { "-o", ":x" }, "--output", "neither a format" },
	{ { "-o", "jsn:x" },
	  "--output",
	  "text, json, openmetrics, prometheus, csv, html, folded and perfetto" },
	{ { "-o", "JSON:x" }, "--output", "does not begin with a format" },
	{ { "-o", "jsonx:x" }, "--output", "does not begin with a format" },
	{ { "-o", "json:" }, "--output", "no file" },
	{ { "-o", "json:x", "-o", "text:x" }, "'x'", "twice" },
	{ { "-o", "json", "-o", "text" }, "--output", "two formats would go to standard output" },
	{ { "-o", "json:-", "-o", "-" }, "--output", "two formats" },
	{ { "-o", "json", "-o", "text:/dev/stdout" }, "--output", "two formats" },
	{ { "-o", "json:a%d" }, "--output", "unknown % sequence" },
	{ { "-o", "json:a%" }, "--output", "unknown % sequence" },
	{ { "-o", "json:%%%" }, "--output", "unknown % sequence" },
	{ { "-o", "json:x/%N" }, "--output", "unknown % sequence" },
	{ { "-o1", "-o2", "-o3", "-o4", "-o5", "-o6", "-o7", "-o8", "-o9" },
	  "--output",
	  "more than 8 times" },
	{ { "-o", "folded" }, "folded", "needs stacks" },
	{ { "--output-mode=8" }, "--output-mode", "octal" },
	{ { "--output-mode=" }, "--output-mode", "octal" },
	{ { "--output-mode=0777" }, "--output-mode", "octal" },
	{ { "--output-mode=4644" }, "--output-mode", "octal" },
	{ { "--output-mode=00644" }, "--output-mode", "octal" },
	{ { "--output-mode=0x1a" }, "--output-mode", "octal" },
	{ { "--output-limit=0" }, "--output-limit", "not a size" },
	{ { "--output-limit=" }, "--output-limit", "not a size" },
	{ { "--output-limit=K" }, "--output-limit", "not a size" },
	{ { "--output-limit=1T" }, "--output-limit", "not a size" },
	{ { "--output-limit=1KB" }, "--output-limit", "not a size" },
	{ { "--output-limit=-1" }, "--output-limit", "not a size" },
	{ { "--output-limit=1.5M" }, "--output-limit", "not a size" },
	{ { "--output-limit=17179869184G" }, "--output-limit", "not a size" },
	{ { "--output-limit=18446744073709551616" }, "--output-limit", "not a size" },
	{ { "--output-limit=111111111111111111111111111111" }, "--output-limit", "not a size" },
	{ { "--quiet=1" }, "--quiet", "takes no value" },
	{ { "--max-syscalls=x" }, "--max-syscalls", "not a whole number" },
	{ { "--replay=" }, "--replay", "empty" },
	{ { "--replay=x", "-p", "1" }, "--replay", "does not look at any process" },
	{ { "--replay=x", "-C", "a" }, "--replay", "does not look at any process" },
	{ { "--replay=x", "--profile" }, "--replay", "does not look at any process" },
	{ { "--replay=x", "--start-trigger=u:a:b" }, "--replay", "does not look at any process" },
	{ { "--listen=" }, "--listen", "not an address and port" },
	{ { "--listen=0" }, "--listen", "not an address and port" },
	{ { "--listen=65536" }, "--listen", "not an address and port" },
	{ { "--listen=:9155" }, "--listen", "not an address and port" },
	{ { "--listen=localhost:9155" }, "--listen", "not an address and port" },
	{ { "--listen=1.2.3:9155" }, "--listen", "not an address and port" },
	{ { "--listen=::1:9155" }, "--listen", "not an address and port" },
	{ { "--listen=[::1]" }, "--listen", "not an address and port" },
	{ { "--listen=[]:1" }, "--listen", "not an address and port" },
	{ { "--listen" }, "--listen", "needs a value" },
	{ { "--listen=+1" }, "--listen", "not an address and port" },
	{ { "--listen=-1" }, "--listen", "not an address and port" },
	{ { "--listen=0x50" }, "--listen", "not an address and port" },
	{ { "--listen=9155x" }, "--listen", "not an address and port" },
	{ { "--listen= 9155" }, "--listen", "not an address and port" },
	{ { "--listen=99999999999999999999999" }, "--listen", "not an address and port" },
	{ { "--listen=127.0.0.1" }, "--listen", "not an address and port" },
	{ { "--listen=127.0.0.1:" }, "--listen", "not an address and port" },
	{ { "--listen=127.0.0.1:0" }, "--listen", "not an address and port" },
	{ { "--listen=256.0.0.1:1" }, "--listen", "not an address and port" },
	{ { "--listen=[127.0.0.1]:1" }, "--listen", "not an address and port" },
	{ { "--listen=[::1:1" }, "--listen", "not an address and port" },
	{ { "--listen=::1]:1" }, "--listen", "not an address and port" },
	{ { "--listen=[::g]:1" }, "--listen", "not an address and port" },
	{ { "--listen=[::1]9155" }, "--listen", "not an address and port" },
	{ { "--listen=\x1b[2J:1" }, "--listen", "not an address and port" },
	/* longer than any address */
	{ { "--listen=[0000000000000000000000000000000000000000000000000000000000000000::1]:1" },
	  "--listen",
	  "not an address and port" },
	{ { "--listen=9", "--replay=x" }, "--listen", "combined with --replay" },
	{ { "--replay=x", "--listen=9" }, "--listen", "combined with --replay" },
	{ { "--listen=9", "--long-poll", "--trigger-worst=3", "--duration=1s" },
	  "--listen",
	  "cannot be combined with --replay or --trigger-worst" },
	{ { "--listen=9", "--long-poll", "--trigger-worst=3" }, "--trigger-worst", "needs an end" },
	{ { "--histogram=1" }, "--histogram", "takes no value" },
	{ { "--histogram", "--replay=x" }, "--replay", "does not look at any process" },
	{ { "--replay=x", "--histogram", "-o", "json" },
	  "--replay",
	  "does not look at any process" },
};

int main(void)
{
	options_run_begin();
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		check_good(&good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_refusal(&bad[i]);
	options_run_end();
	return done_testing();
}
