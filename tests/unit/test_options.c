/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of accepted command lines; and those that print something and end the process. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>

#include "options_run.h"

/* What lines mean. */
static const char accepted[] =
	/* the target */
	"-p 1|-p1 = pid=1|--pid 4194304 = pid=4194304|--pid=2147483647 = pid=2147483647"
	"|-p 1 -p 2 = pid=2|-p 12,34 = pid=12,34|-p 12,34 -p 5 = pid=5|12,34,56 = pid=12,34,56"
	"|,12 = comm=,12|-C x --all = comm=x all|x --all --wait = comm=x wait=ever all"
	"|--cgroup /a --follow-fork = cgroup=/a follow_fork"
	"|--container web --long-poll = container=web long_poll=1"
	"|--follow-fork 5 = pid=5 follow_fork|5 --show-arg = pid=5 show_arguments"
	"|--follow-fork -- x = command=x sample_time=ever follow_fork|-C redis-server"
	"|redis-server = comm=redis-server|-Cx = comm=x"
	"|--comm=exactly15bytes_ = comm=exactly15bytes_|--comm -p = comm=-p|--comm 'two words'"
	"|'two words' = comm=two words|4711|0004711 = pid=4711|4711x = comm=4711x"
	"|-C 4711 = comm=4711|- = comm=-|--comm @x = comm=@x"
	/* a command: one sample of it lasts to its end */
	"|-- -p = command=-p sample_time=ever|-- 5 = command=5 sample_time=ever"
	"|-- '' = command= sample_time=ever|-- ls -- -V -p = command=ls -- -V -p sample_time=ever"
	"|--strict -- ls -l = command=ls -l sample_time=ever strict"
	"|--exit-status -- ls = command=ls sample_time=ever pass_status"
	"|--sample-count 1 -- ls = command=ls sample_time=ever"
	"|--sample-count 2 -- ls = command=ls sample_count=2"
	"|--sample-count 0 -- ls = command=ls sample_count=0|--sample-time 0.5s -- ls = command=ls"
	"|--start-trigger up:main -- ls = command=ls triggers[0]=up:main sample_count=0"
	"|--strict 5 = pid=5 strict"
	"|vpp --strict = comm=vpp strict|-D vpp = comm=vpp debug=63|-D1 1 = pid=1 debug=1"
	"|-D -- 1 = command=1 sample_time=ever debug=63|--machine x = comm=x machine"
	"|--machine=json = machine machine_json|--wait x = comm=x wait=ever"
	"|--wait=1s -C x = comm=x wait=1"
	"|--pidfile x,ns=1 --wait=1min = pidfile=x wait=60 pid_ns=1"
	"|-p 5,ns=1 = pid=5 pid_ns=1"
	"|--follow-restart x --sample-count 5 = comm=x follow_restart sample_count=5"
	"|--sample-interval 0|-D 0|--buffer-page-count 1024|--stack-trace-size user-bytes=131072"
	"|--stack-trace-size=user-bytes=128KiB|--stack-trace-size=4096,overhead=1 = |--strict = "
	"strict"
	/* an optional value, and abbreviations */
	"|-D|--debug = debug=63|-D1|-D 1 = debug=1|-D 2147483647 = debug=2147483647|--debug=8"
	"|--debug 8|--deb 8 = debug=8|-D -p 9|-p 9 -D = pid=9 debug=63"
	"|-D --strict = debug=63 strict|-D 1 -p 9 = pid=9 debug=1"
	"|--sample-t=3 --sample-i 4 --str = sample_time=3 sample_interval=4 strict"
	/* what is no format is a file for the text */
	"|-o text|-o - = -o text:|-ojson|-o json:-|-o json:/dev/stdout = -o json:"
	"|--output=openmetrics = -o openmetrics:|--output prometheus = -o prometheus:"
	"|-s -o folded = call_events -o folded:|-o json:a.json = -o json:a.json"
	"|-o json:/x/y:z = -o json:/x/y:z|-o text:json = -o text:json"
	"|-o text:a -o json:b -o text = -o text:a -o json:b -o text:"
	"|-s -ofolded:a -o folded:b = call_events -o folded:a -o folded:b"
	"|-o out.txt = -o text:out.txt|-o ./svg = -o text:./svg|-o r.1 = -o text:r.1"
	"|-o r-%n = -o text:r-%n|-o a.log = -o text:a.log|-o r.html = -o html:r.html"
	"|-o x/R.JSON = -o json:x/R.JSON|-o m.prom = -o prometheus:m.prom"
	"|-o t-%n.pftrace -o t.htm = -o perfetto:t-%n.pftrace -o html:t.htm"
	"|-o /x/y:z = -o text:/x/y:z|-o ./jsn:z = -o text:./jsn:z|-o text:a.b:c = -o text:a.b:c"
	"|-o json:%n-%t-%p%% = -o json:%n-%t-%p%%|-o json:/50%/%x%/a = -o json:/50%/%x%/a"
	"|--quiet = quiet"
	"|--fail-if ready.max>1ms --fail-if=x = fail_if[0]=ready.max>1ms fail_if[1]=x"
	"|--replay=- -o folded = replay=- -o folded:"
	"|-p 47,48,ns=5 = pid=47,48 pid_ns=5|4711,ns=5 = pid=4711 pid_ns=5"
	"|-C x,exe=/a,uid=7 = comm=x exe=/a uid=7|x,uid=7 = comm=x uid=7|x,y = comm=x,y"
	"|-o openmetrics:x,fold-names,max-syscalls=7 -o prometheus,timestamps = -o openmetrics:x"
	" max_syscalls=7 fold_names -o prometheus: timestamps|--list-metrics = list_metrics"
	"|--histogram = histogram|--histogram -o json -s = histogram call_events -o json:"
	/* the exporter: for ever, unless told otherwise */
	"|--listen=9155 = sample_count=0 listen 127.0.0.1 9155"
	"|--listen 1 = sample_count=0 listen 127.0.0.1 1"
	"|--listen=0.0.0.0:65535 = sample_count=0 listen 0.0.0.0 65535"
	"|--listen=192.0.2.7:80 = sample_count=0 listen 192.0.2.7 80"
	"|--listen=[::1]:9155 = sample_count=0 listen ::1 9155"
	"|--listen=[::]:9155 = sample_count=0 listen :: 9155"
	"|--listen=[2001:db8::5:6]:9 = sample_count=0 listen 2001:db8::5:6 9"
	"|--listen=[1111:2222:3333:4444:5555:6666:123.123.123.123]:9 = sample_count=0 listen"
	" 1111:2222:3333:4444:5555:6666:123.123.123.123 9|--listen=1 --listen=2"
	"|--listen=0.0.0.0:1 --listen=2 = sample_count=0 listen 127.0.0.1 2"
	"|--listen=9 --sample-count=5"
	"|--sample-count=5 --listen=9 = sample_count=5 listen 127.0.0.1 9"
	"|--listen=9 --sample-count=0 = sample_count=0 listen 127.0.0.1 9"
	"|--listen=9 --start-trigger=u:a:b --histogram = triggers[0]=u:a:b sample_count=0"
	" histogram listen 127.0.0.1 9"
	"|--listen=9,per-thread,allow-host=a,b,max-syscalls=3 -o json:a-%n -o text,sort=tid,top=3"
	" = allow_host=a,b sample_count=0 listen -o json:a-%n -o text: sort=6 top=3 127.0.0.1 9"
	" max_syscalls=3 per_thread|--live=sort=tid = sample_time=1 sample_count=0 live sort=6"
	"|-o a,b,mode=0644,limit=1K -o json:c,d = -o text:a,b mode=644 limit=1024 -o json:c,d"
	/* so is looking for the worst, up to its end */
	"|--long-poll=1s,worst=3 --duration=1s = duration=1 long_poll=1 sample_count=0"
	" trigger_worst=3"
	"|--long-poll=1s,worst=3 --sample-count=9 = long_poll=1 sample_count=9"
	" trigger_worst=3|--long-poll=worst=3 -- ls = command=ls long_poll=1"
	" sample_count=0 trigger_worst=3"
	/* and so is a run that has an end: one sample would not wait for it */
	"|--long-poll --duration=1s = duration=1 long_poll=1 sample_count=0"
	"|--duration=1s --long-poll --sample-count 1 = duration=1 long_poll=1"
	"|--start-trigger up:f --duration=1s = triggers[0]=up:f duration=1 sample_count=0"
	"|--stop-trigger up:f --duration=1s = triggers[1]=up:f duration=1 sample_count=0"
	"|--stop-trigger up:f --duration=1s --sample-count=3 = triggers[1]=up:f duration=1"
	" sample_count=3|--duration=2.5s = duration=2.5 sample_count=0"
	"|--duration 1ns = duration=1e-09 sample_count=0"
	"|--duration 1s --record-on x = record_on=x sample_time=0.1 duration=1 record=5"
	" sample_count=0|--record-on x -- ls = command=ls record_on=x sample_time=0.1 record=5"
	" sample_count=0|--record-on x = record_on=x sample_time=0.1 record=5"
	"|--duration 1s -- ls = command=ls sample_time=ever duration=1"
	"|--duration 1s --sample-time 0.1s -- ls = command=ls sample_time=0.1"
	" duration=1 sample_count=0|--follow-restart x --duration 1s = comm=x duration=1"
	" follow_restart sample_count=0"
	/* slow calls: ns, and also after a blank */
	"|-s|--syscall-events|-s 0|-s5 -s = call_events|-s50000|-s 50000|--syscall-events=50000"
	"|--syscall-events 50000 = call_threshold=5e-05 call_events"
	"|-s 1.5ms = call_threshold=0.0015 call_events|-s10us = call_threshold=1e-05 call_events"
	"|-s -p 9 = pid=9 call_events|-s --strict = call_events strict|-s -e futex,recvmsg"
	"|--syscall-filter=futex -s = call_events calls_chosen calls_named -ppoll -read"
	"|-e!ppoll -s1us = call_threshold=1e-06 call_events calls_chosen -ppoll"
	"|--skip-syscall-poll-events = calls_chosen skip_polls -ppoll"
	"|--skip-syscall-poll-events -s"
	"|-s -e * --skip-syscall-poll-events = call_events calls_chosen skip_polls -ppoll"
	"|-e futex --off-cpu=1s = off_cpu=1 calls_chosen calls_named -ppoll -read"
	"|--off-cpu=1s --wait-filter=lock = off_cpu=1 -ready"
	"|--off-cpu=1s --wait-filter !ready*,d[io]sk = off_cpu=1 +timer -ready"
	"|--off-cpu=1s --wait-filter=lock --wait-filter=* = off_cpu=1 +timer"
	"|--off-cpu=1s --wait-filter=!lo?k = off_cpu=1 +timer -lock"
	"|--off-cpu=1ns,wakers = off_cpu=1e-09 all_wakers"
	/* running code, and sizes */
	"|--profile = profile_hz=49|--profile -p 9 = pid=9 profile_hz=49"
	"|--profile -o text,lines = profile_hz=49 -o text: lines"
	/* triggers */
	"|--start-trigger up:f = triggers[0]=up:f|--stop-trigger=ur:f = triggers[1]=ur:f"
	"|--start-trigger --check --stop-trigger 5 = triggers[0]=--check triggers[1]=5"
	"|--start-trigger=a --stop-trigger=b --trigger-delta=50000"
	"|--start-trigger=a --stop-trigger=b --trigger-delta 50000 = triggers[0]=a triggers[1]=b"
	" others=5e-05"
	"|--start-trigger=a --stop-trigger=b --trigger-delta 1.5ms = triggers[0]=a triggers[1]=b"
	" others=0.0015|--start-trigger=a --stop-trigger=b --trigger-delta"
	"|--start-trigger=a --trigger-delta --stop-trigger=b = triggers[0]=a triggers[1]=b"
	"|--start-trigger=a --stop-trigger=b --trigger-delta=365min = triggers[0]=a triggers[1]=b"
	" others=21900"
	"|--start-trigger=a,same-thread --stop-trigger=b = triggers[0]=a triggers[1]=b"
	" same_thread|--start-trigger=a,target-only = triggers[0]=a target_only"
	"|--start-trigger=a,any = triggers[0]=a any"
	"|--stop-trigger=b,target-only = triggers[1]=b target_only"
	"|--start-trigger=a --stop-trigger=b --trigger-delta 2ms --trigger-delta=worst=3 "
	"--duration=1min"
	" = triggers[0]=a triggers[1]=b duration=60 others=0.002 sample_count=0 trigger_worst=3"
	"|--start-trigger=a --stop-trigger=b --trigger-delta=worst=3 --duration=1min = "
	"triggers[0]=a"
	" triggers[1]=b duration=60 sample_count=0 trigger_worst=3"
	"|--start-trigger=a --stop-trigger=b --trigger-delta=worst=3 --sample-count=9 = "
	"triggers[0]=a"
	" triggers[1]=b sample_count=9 trigger_worst=3|--long-poll = long_poll=1"
	"|--long-poll=50ms,target-only = long_poll=0.05 target_only"
	"|--long-poll --check = long_poll=1 check"
	"|--long-poll 1s,worst=1 --duration=1s = duration=1 long_poll=1 sample_count=0"
	" trigger_worst=1|-v|--verbose = verbose|--list-probes = list_probes"
	"|--list-probes=u:* = list_glob=u:* list_probes"
	"|--list-probes --quiet = list_probes quiet|--skip-upcall-stats = skip_upcall_stats"
	"|--long-poll --max-overhead=0 = long_poll=1 max_overhead=0"
	"|--long-poll --max-overhead=100 = long_poll=1 max_overhead=100"
	"|--start-trigger=a,banks=2 = triggers[0]=a window_banks=2"
	"|--start-trigger=a,banks=7 = triggers[0]=a window_banks=7"
	"|-s -e futex,ppoll = call_events calls_chosen calls_named -read"
	"|-s -e !futex = call_events calls_chosen -futex"
	"|--skip-syscall-poll-events -e!futex -s = call_events calls_chosen skip_polls -futex"
	" -ppoll";

/* Values of an option, and what they are to a member. */
static const struct {
	const char *option, *member, *values;
} values[] = {
	{ "--container", "container", "web=web" },
	{ "--sample-time", "sample_time",
	  "1=1|0.1=0.1|10ms=0.01|1ns=1e-09|2min=120|1e-3=0.001|525600min=31536000"
	  "|31536000=31536000" },
	{ "--sample-t", "sample_time", "1=1" },
	{ "--sample-interval", "sample_interval", "0.25=0.25|3s=3" },
	{ "--sample-count", "sample_count", "7=7|0=0|18446744073709551614=18446744073709551614" },
	{ "--btf", "btf_file", "/x/vmlinux=/x/vmlinux" },
	{ "--sample-c", "sample_count", "3=3" },
	{ "--output=json:x,mode", "-o json:x mode", "0644=644|640=640" },
	{ "--output=json:x,limit", "-o json:x limit",
	  "1=1|100K=102400|3M=3145728|2G=2147483648|18446744073709551615=18446744073709551615"
	  "|17179869183G=18446744072635809792" },
	{ "--replay", "replay", "x.json=x.json" },
	{ "--off-cpu", "off_cpu", "10ms=0.01|0.5s=0.5|1ns=1e-09" },
	{ "--profile", "profile_hz", "997=997|99=99|1=1|10000=10000" },
	{ "--buffer-page-count", "buffer_pages", "1025=2048|4000=4096|262144=262144" },
	{ "--stack-trace-size", "stacks", "10=10|0=0" },
	{ "--stack-trace-size=user-bytes", "stack_bytes", "4K=4096|16k=16384|5000=8192|0=0" },
	{ "--stack-trace-size=5,overhead", "stacks=5 stack_share",
	  "0=0|0.5=5000|100=1000000|.0001=1" },
	{ "--long-poll", "long_poll", "0.2s=0.2" },
};

static const char *meaning_of(const char *line)
{
	return result(run(line));
}

TEST(accepted)
{
	char line[CASE_LEN], want[CASE_LEN + 32];

	cases_check(accepted, meaning_of, "what it means");
	is_str(result(run("")), "", "nothing but defaults");
	for (size_t i = 0; i < COUNT(values); i++)
		for (const char *list = values[i].values; case_next(&list, line);) {
			char *value = strchr(line, '=');

			*value++ = '\0';
			snprintf(want, sizeof(want), "%s=%s", values[i].member, value);
			is_str(result(run_value(values[i].option, line)), want, "%s=%s",
			       values[i].option, line);
		}
}

/* An attribute and the option that it was, if it was one, do the same, beside what the attribute
 * needs; and the latter is told how it is spelled now, once. */
static void attribute_check(const struct option_row *row, const char *without, const char *value)
{
	char line[CASE_LEN], old[CASE_LEN + 32], want[SAY_LEN], says[CASE_LEN];
	attribute_text spelled;
	const struct outcome *got;

	snprintf(line, sizeof(line), "%s,%s%s%s", without, attribute_name(row), value ? "=" : "",
		 value ? value : "");
	got = run(line);
	ok(!got->status && !*got->err, "'%s' is read: %s", line, got->err);
	snprintf(want, sizeof(want), "%s", got->meaning);
	ok(strcmp(run(without)->meaning, want), "which is not nothing: %s", want);
	if (!row->name)
		return;
	snprintf(old, sizeof(old), "%s --%s%s%s", without, row->name, value ? "=" : "",
		 value ? value : "");
	snprintf(says, sizeof(says), "kernel_delay: --%s is now an attribute: %s\n", row->name,
		 attribute_spelled(row, spelled));
	got = run(old);
	is_str(got->meaning, want, "'%s' means what '%s' does", old, line);
	is_str(got->err, says, "and says so");
}

/* Each row. */
TEST(attributes)
{
	static const struct {
		const char *option, *line;
	} lines[] = {
		{ "--comm", "-C x" },
		{ "--pid", "-p 5" },
		{ "--counters", "--counters=cs" },
		{ "--record", "--record=5s" },
		{ "--off-cpu", "--off-cpu=1s" },
		{ "--stack-trace-size", "--stack-trace-size=9" },
		{ "--start-trigger", "--stop-trigger=b --start-trigger=a" },
		{ "--trigger-delta", "--start-trigger=a --stop-trigger=b --duration=1s"
				     " --trigger-delta=1s" },
		{ "--listen", "--listen=9" },
		{ "--debug", "--debug=7" },
		{ "--output=FORMAT", "-o json:x" },
		{ "--output=text", "-o text:x" },
		{ "--output=openmetrics", "-o openmetrics:x" },
	};
	static const struct {
		const char *name, *value;
	} usual[] = {
		{ "uid", "0" },     { "user-bytes", "8K" }, { "color", "always" },
		{ "mode", "0644" }, { "memory", "1M" },     { "sort", "tid" },
		{ "limit", "5M" },
	};
	const struct option_row *row;
	unsigned int n = 0;

	for (size_t i = 0; (row = option_row_at(i)); i++) {
		const char *value = row->takes == TAKES_NONE ? NULL : "3";
		attribute_text spelled;
		size_t at = 0;

		if (!row->of || !*row->of)
			continue;
		for (size_t v = 0; v < COUNT(usual); v++)
			if (!strcmp(attribute_name(row), usual[v].name))
				value = usual[v].value;
		attribute_spelled(row, spelled);
		while (at < COUNT(lines) &&
		       strncmp(spelled, lines[at].option, strlen(lines[at].option)))
			at++;
		ok(at < COUNT(lines), "%s: %s", attribute_name(row), spelled);
		if (at < COUNT(lines))
			attribute_check(row, lines[at].line, value);
		n++;
	}
	ok(n > 20, "there are %u attributes", n);
	is_str(run("--ewma=0.5")->err, "kernel_delay: --ewma means nothing any more\n",
	       "what has gone is said");
	is_str(run("--quiet --lines --lines")->err, "", "--quiet says nothing");
	is_u64(count_lines(run("-v --lines --lines")->err), 1, "and otherwise it is said once");
	is_str(run("-o json:x -o text:y,top=3 --top=5")->meaning,
	       " -o json:x top=5 -o text:y top=3",
	       "an output has what it says before what all have");
}

/* A delta for one trigger is accepted, as by kernel_delay.py, but not in silence. */
TEST(no_effect)
{
	static const char *const effective[] = {
		"--start-trigger=a --trigger-delta=5 --quiet",
		"--start-trigger=a --stop-trigger=b --trigger-delta=5",
		"--long-poll --trigger-delta=5",
	};

	is_str(run("--start-trigger=a --trigger-delta=5")->err,
	       "kernel_delay: warning: --trigger-delta has no effect without both triggers\n",
	       "a delta of one trigger");
	for (size_t i = 0; i < COUNT(effective); i++)
		is_str(run(effective[i])->err, "", "%s", effective[i]);
}

/* --help and the like: what the output has at least. */
TEST(endings)
{
	static const struct {
		const char *line, *has;
	} cases[] = {
		{ "--help=all",
		  "-p, --pid=PID|-C, --comm=NAME|--sample-time=DURATION|0.5s|--sample-count=N"
		  "|--sample-interval=DURATION|--btf=FILE|--strict|-D, --debug[=N]|-V, --version"
		  "|DURATION is|-s, --syscall-events[=NS]|-e, --syscall-filter=LIST"
		  "|--off-cpu=DURATION|--profile[=HZ]|-o, --output=FORMAT[:FILE]"
		  "|--stack-trace-size=N,user-bytes=BYTES|--output=text,lines "
		  "|--stack-trace-size=N,overhead=PERCENT|--stack-trace-size=N"
		  "|--buffer-page-count=N" },
		{ "-h", "Usage: kernel_delay [OPTION...] [PID|NAME] [@FILE...]\n|--help=TOPIC" },
		{ "-?", "Usage: kernel_delay [OPTION...]|  -p, --pid=PID[,PID...] |\nExamples:" },
		{ "--help=target", " Target:\n|--container=NAME|ID" },
		{ "--help=triggers",
		  " Triggers:\n|--start-trigger=TRIGGER,any\n|TRIGGER is one of\n  u:" },
		{ "--help=recording", " Recording: |--record-on=EXPR" },
		{ "--help=output", " Output:\n|--live|FORMAT is one of\n  text " },
		{ "--help=samples", " Samples:\n|--sample-time=DURATION|DURATION is" },
		{ "--help=run", " Run:\n| Help:\n|--usage|@FILE stands|\nExit status: 0 " },
		{ "--he", "Usage: kernel_delay [OPTION...]" },
		{ "-p 1 --help --nonsense", "Usage: kernel_delay" },
		{ "--usage", "Usage: kernel_delay|[--pid=PID[,PID...]]|[--debug[=N]]" },
		{ "--version", "kernel_delay " },
		{ "-V", "kernel_delay " },
		{ "-Vq", "kernel_delay " },
	};
	char has[CASE_LEN];

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct outcome *got = run(cases[i].line);

		ok(got->status == ENDED && !*got->err, "'%s' ends the process with status 0",
		   cases[i].line);
		for (const char *list = cases[i].has; case_next(&list, has);)
			ok(strstr(got->out, has), "'%s': prints '%s'", cases[i].line, has);
		for (const char *at = got->out, *end; (end = strchr(at, '\n')); at = end + 1)
			if (end - at > 80)
				ok(false, "'%s': a line is longer than 80", cases[i].line);
	}
}

/* The first screen of the help is one: what most people need, without what only some do. Each topic
 * has its options alone. */
TEST(topics)
{
	ok(count_lines(run("--help")->out) <= 45, "--help is one screen");
	ok(!strstr(run("--help")->out, "--btf"), "without what few need");
	ok(!strstr(run("--help=target")->out, "--live"), "a topic is without others");
}

/* --help and the like where the output cannot be written. */
TEST(output_errors)
{
	static const char *const lines[] = { "--help", "--usage", "--version" };
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC), ends[2];

	need(full >= 0 && !pipe2(ends, O_CLOEXEC));
	close(ends[0]);
	for (size_t i = 0; i < COUNT(lines); i++) {
		const struct outcome *got = run_to(lines[i], full);

		is_i64(got->status, ENDED + 74, "'%s' to a full disk: status 74", lines[i]);
		is_u64(count_lines(got->err), 1, "'%s' to a full disk: one line", lines[i]);
		got = run_to(lines[i], ends[1]);
		is_i64(got->status, ENDED + 128 + SIGPIPE, "'%s' to a closed pipe", lines[i]);
		is_u64(count_lines(got->err), 0, "'%s' to a closed pipe: quietly", lines[i]);
	}
	close(full);
	close(ends[1]);
}

/* Whatever sizes are asked for, the buffer is a power of two in which two records of that size
 * have room: a ring cannot take one that is larger than itself. */
TEST(sizes)
{
	static const unsigned int kilobytes[] = { 0, 4, 64, 128 }, pages[] = { 1, 3, 64, 1000 };

	for (size_t i = 0; i < 16; i++) {
		unsigned int stack = kilobytes[i / 4], count = pages[i % 4];
		char line[CASE_LEN];
		uint64_t size;

		snprintf(line, sizeof(line),
			 "-s --stack-trace-size=user-bytes=%uK --buffer-page-count=%u", stack,
			 count);
		size = run(line)->buffer_pages * BUFFER_PAGE;
		ok(size && !(size & (size - 1)), "%s: a power of two", line);
		ok(size >= BUFFER_PAGE * count &&
			   size >= 2 * (1024 * stack + sizeof(struct kd_trace)),
		   "%s: not less, and room for two", line);
	}
}

static const struct {
	const char *line, *text, *meaning;
} files[] = {
	{ "@",
	  "# what the lab records each night\n\n--sample-time 2s   # two seconds\n"
	  "\t--sample-count=7\r\n-v\n-o json:two words.json\n--output   text:a#b\n"
	  "--syscall-events 0\nredis-server",
	  "comm=redis-server sample_time=2 sample_count=7 verbose call_events "
	  "-o json:two words.json -o text:a#b" },
	/* it counts where it stands */
	{ "--sample-time=1s @", "--sample-time 2s\n", "sample_time=2" },
	{ "@ --sample-time=3s", "--sample-time 2s\n", "sample_time=3" },
	{ "17 @", "", "pid=17" },
};

TEST(files)
{
	for (size_t i = 0; i < COUNT(files); i++)
		is_str(result(run_file(files[i].line, files[i].text, strlen(files[i].text))),
		       files[i].meaning, "'%s' with a file", files[i].line);
}
