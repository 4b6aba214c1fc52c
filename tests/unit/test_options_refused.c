/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines that are refused, and the messages. */
#define _GNU_SOURCE
#include "options_run.h"

/* Values that are refused, and what the message says: the option, and why. */
static const char bad_values[] =
	"--silent=5 = --silent ~ unknown option|--= = -- ~ unknown option"
	"|--pidfile= = --pidfile ~ file name is empty|--container= = --container ~ empty"
	"|--cgroup= = --cgroup ~ empty|--pid=1,ns=x = attribute ns ~ not a whole number"
	"|--machine=xml = --machine ~ give text or json|--pid=|--pid=-1|--pid=12abc"
	"|--pid= 1 = --pid ~ not a whole number|--pid=0|--pid=2147483648"
	"|--pid=99999999999999999999 = --pid ~ out of range|--sample-count=1.5"
	"|--sample-count=-1 = --sample-count ~ not a whole number"
	"|--sample-count=18446744073709551616 = --sample-count ~ out of range"
	"|--debug= = --debug ~ not a whole number|--debug=2147483648 = --debug ~ out of range"
	"|--sample-time=|--sample-time=-1|--sample-time=1h|--sample-time=1ms5|--sample-time=nan"
	"|--sample-time=inf = --sample-time ~ not a duration|--sample-time=0|--sample-time=0.0"
	"|--sample-time=0.1ns = --sample-time ~ too short|--sample-time=1e300"
	"|--sample-time=31536000.000000001 = --sample-time ~ too long|--sample-interval=-1"
	"|--sample-interval=x = --sample-interval ~ not a duration"
	"|--sample-interval=9999999999 = --sample-interval ~ too long|--btf= = --btf ~ empty"
	"|--output=|--output=:x = --output ~ neither a format"
	"|--output=jsn:x = --output ~ text, json, openmetrics, prometheus, csv, html, folded and"
	" perfetto|--output=JSON:x|--output=jsonx:x = --output ~ does not begin with a format"
	"|--output=svg|--output=JSON|--output=r.svg|--output=r.csv|--output=x/"
	"r.html.gz|--output=a.b:c"
	"|-osvg,mode=0644 = --output ~ no suffix of one|-otext,no-pager:x|-otext,x:y|-otext,top=3:x"
	"|-otext,lines,sort=tid:x = --output ~ behind an attribute"
	"|--output=json: = --output ~ no file|--output=json:a%d|--output=json:a%|--output=json:%%%"
	"|--output=json:x/%N = --output ~ unknown % sequence"
	"|-otext,zap|-ojson,foo=3 = --output ~ unknown "
	"attribute|-otext:a,mode=8|-otext:a,mode="
	"|-otext:a,mode=0777|-otext:a,mode=4644|-otext:a,mode=00644"
	"|-otext:a,mode=0x1a = attribute mode ~ octal|-otext:a,limit=0|-otext:a,limit="
	"|-otext:a,limit=K|-otext:a,limit=1T|-otext:a,limit=1KB|-otext:a,limit=-1"
	"|-otext:a,limit=1.5M|-otext:a,limit=17179869184G|-otext:a,limit=18446744073709551616"
	"|-otext:a,limit=111111111111111111111111111111 = attribute limit ~ not a size"
	"|-oprometheus,max-syscalls=x = attribute max-syscalls ~ not a whole number|--replay= = "
	"--replay ~ empty"
	"|--listen=|--listen=0|--listen=65536|--listen=:9155|--listen=localhost:9155"
	"|--listen=1.2.3:9155|--listen=::1:9155|--listen=[::1]|--listen=[]:1|--listen=+1"
	"|--listen=-1|--listen=0x50|--listen=9155x|--listen=99999999999999999999999"
	"|--listen=127.0.0.1|--listen=127.0.0.1:|--listen=127.0.0.1:0|--listen=256.0.0.1:1"
	"|--listen=[127.0.0.1]:1|--listen=[::1:1|--listen=::1]:1|--listen=[::g]:1"
	"|--listen=[::1]9155|--listen=\x1b[2J:1"
	"|--listen=[0000000000000000000000000000000000000000000000000000000000000000::1]:1 ="
	" --listen ~ not an address and port|--syscall-events=5x"
	"|--syscall-events= = --syscall-events ~ not a duration"
	"|--syscall-filter=futex = --syscall-filter ~ needs --syscall-events"
	"|--off-cpu=0 = --off-cpu ~ too short|--off-cpu=1e300 = --off-cpu ~ has no unit"
	"|--off-cpu=x = --off-cpu ~ not a duration|--profile=0"
	"|--profile=10001 = --profile ~ out of range"
	"|--profile=49Hz = --profile ~ not a whole number|--buffer-page-count=0"
	"|--buffer-page-count=262145 = --buffer-page-count ~ out of range"
	"|--buffer-page-count=4M = --buffer-page-count ~ not a whole number"
	"|--stack-trace-size=-1 = --stack-trace-size ~ not a whole number"
	"|--stack-trace-size=1000001 = --stack-trace-size ~ out of "
	"range|--stack-trace-size=user-bytes=131073"
	"|--stack-trace-size=user-bytes=129K|--stack-trace-size=user-bytes="
	"99999999999999999999999999"
	"|--stack-trace-size=user-bytes=18014398509481985K = attribute user-bytes ~ out of range"
	"|--stack-trace-size=user-bytes=K|--stack-trace-size=user-bytes=|--stack-trace-size=user-"
	"bytes=1M"
	"|--stack-trace-size=user-bytes=-1 = attribute user-bytes ~ not a number of bytes"
	"|--stack-trace-size=9,overhead=100.1 = attribute overhead ~ more than "
	"100|--stack-trace-size=9,overhead=1ms"
	"|--stack-trace-size=9,overhead=1%|--stack-trace-size=9,overhead=-1"
	"|--stack-trace-size=9,overhead= = attribute overhead ~ not a percentage"
	"|--output=folded:x = --output ~ needs stacks|--trigger-delta=x|--trigger-delta=-1"
	"|--trigger-delta=|--trigger-delta=5x = --trigger-delta ~ not a "
	"duration|--trigger-delta=worst=0"
	"|--trigger-delta=1s,worst=1001 = attribute worst ~ out of range"
	"|--long-poll=0 = --long-poll ~ too short|--duration=0 = --duration ~ too short"
	"|--max-overhead=101 = --max-overhead ~ out of range"
	"|--max-overhead=5% = --max-overhead ~ not a whole number|--long-poll=banks=1"
	"|--start-trigger=a,banks=8 = attribute banks ~ out of range";

/* Lines that are refused, and what the message says: what is named, and why. */
static const char refused[] =
	"-q = -q ~ unknown option|-\xc3\xa9 = -\\xc3 ~ unknown option"
	"|--silent = --silent ~ unknown option|--\x1b[2J\n = --\\x1b[2J\\n ~ unknown option"
	"|--pidx 1 = unknown option --pidx\n ~ similar names: --pid\n"
	"|--sample-tiem=1 = unknown option --sample-tiem\n ~ names: --sample-time\n"
	"|--trigger-detla = --trigger-detla\n ~ similar names: --trigger-delta"
	"|--xyzzyxyzzy = unknown option --xyzzyxyzzy ~ --help=all` lists the options"
	"|--help=all,run = --help ~ give target, samples, recording,"
	"|--sample 1 = ambiguous option --sample\n ~ similar names: --sample-time,"
	" --sample-count, --sample-interval\n|--s = --s ~ ambiguous option"
	"|vpp stray = unexpected argument 'stray' ~ the process is 'vpp'"
	"|vpp vpp = unexpected argument 'vpp' ~ the process is 'vpp'"
	"|1 --strict 2 = unexpected argument '2' ~ the process is '1'"
	"|1 -- ls = '1' and a command ~ give one of them"
	"|1 --pidfile x = '1' and --pidfile ~ give one of them|-p 1 --pidfile x"
	" = --pidfile ~ with --pid"
	"|--pidfile=x -- ls = --pidfile ~ with a command"
	"|-p 1, = '1,' ~ commas between them|-p ,1 = ',1' ~ commas between them"
	"|-p '1, 2' = '1, 2' ~ commas between them|-p 1,0 = '1,0' is out of range ~ --pid 12,34"
	"|-p 1,99999999999999999999999999 = out of range ~ --pid 12,34"
	"|1,,2 = '1,,2' is not a PID ~ digits with --comm|--all = --all ~ --comm postgres --all"
	"|--all -p 1 = --all ~ needs --comm|--cgroup /a -p 1 = --cgroup ~ with --pid"
	"|--cgroup /a 1 = '1' and --cgroup ~ give one of them"
	"|--cgroup /a --container b = --cgroup ~ with --container"
	"|--container a -- ls = --container ~ with a command"
	"|--container a 1 = '1' and --container ~ give one of them"
	"|--follow-restart x --all --sample-count=0 = --follow-restart ~ a target of one process"
	"|--machine -p 1,2 = --machine ~ one process|--machine -p 1 --tid=1"
	"|--machine -p 1 --threads=a = with --machine ~ takes no samples"
	"|-p 1 --tid=1 --follow-fork|--cgroup=/ --tid=1"
	"|--container=a --tid=1 = --tid ~ --threads and a pattern|-p 1,2 --list-probes"
	"|--cgroup=/ --list-probes=t:* = --list-probes ~ give one PID, without --all"
	"|--replay x --cgroup /|--replay x --sample-count 2|--replay x --at +5s|--replay x "
	"--follow-fork|--replay x --show-arguments|--replay=x -p 1|--replay=x -C a"
	"|--replay=x --profile|--replay=x --start-trigger=u:a:b|--histogram --replay=x"
	"|--replay=x --histogram -o json = with --replay ~ looks at no process"
	"|-p 1,ns=0 = attribute ns ~ out of range"
	"|--follow-restart x = --follow-restart ~ give --sample-count, --duration or"
	"|--follow-restart -- x = --follow-restart ~ with a command"
	"|--follow-restart --long-poll x --sample-count=0 = --follow-restart ~ with --long-poll"
	"|--follow-restart x --listen=1 -s = --follow-restart ~ and --listen"
	"|--machine -- x = --machine ~ with a command"
	"|--machine --replay x = --replay ~ with --machine"
	"|--list-metrics -- x = --list-metrics ~ with a command|--wait"
	"|--wait -p 1 = --wait ~ needs --comm, --pidfile or|--wait=1 x = --wait ~ has no unit"
	"|--wait=0s x = --wait ~ too short|-p 1 -- ls = --pid ~ with a command"
	"|-C x -- ls = --comm ~ with a command|--"
	"|-D -- = no command after -- ~ give one"
	"|--exit-status = --exit-status needs a command ~ give one"
	"|--replay x -- ls = --replay ~ with a command"
	"|a b\x1b[31m\xff = 'b\\x1b[31m\\xff' ~ unexpected argument|''"
	"|-C '' = name of the process ~ is empty|0 = '0' is out of range ~ from 1 to 2147483647"
	"|2147483648 = '2147483648' is out of range ~ from 1 to 2147483647"
	"|99999999999999999999 = out of range for a PID ~ digits with --comm"
	"|systemd-journald = 'systemd-journald' is too long ~ give 'systemd-journal'\n|-p 1 redis"
	"|redis -p 1 = given twice ~ as 'redis' and with --pid"
	"|5 -p 5 = given twice ~ as '5' and with --pid"
	"|5 -C x = given twice ~ as '5' and with --comm"
	"|--list-probes up:ma* = 'up:ma*' is not a process ~ --list-probes='up:ma*'"
	"|-p = --pid ~ needs a value|-C = --comm ~ needs a value"
	"|--str=1 = --strict ~ takes no value|-p --strict = --pid ~ not a whole number|-Dx|-D 1x"
	"|-D 0x3f|-D-1 = --debug ~ not a whole number"
	"|-C sixteen_bytes_16 = 'sixteen_bytes_16' is too long ~ give 'sixteen_bytes_1'|-p 1 -C x"
	"|-C x --strict -p 1 = --comm ~ cannot be combined with --pid|-o = --output ~ needs a value"
	"|-o json:x -o text:x = 'x' ~ twice"
	"|-o json -o text = --output ~ two formats would go to standard output|-o json:- -o -"
	"|-o json -o text:/dev/stdout = --output ~ two formats"
	"|-o./1 -o./2 -o./3 -o./4 -o./5 -o./6 -o./7 -o./8 -o./9 = --output ~ more than 8 times"
	"|-o folded = folded ~ needs stacks|'--listen= 9155' = --listen ~ not an address and port"
	"|--listen=9 --replay=x|--replay=x --listen=9 = --listen ~ combined with --replay"
	/* what means nothing there */
	"|--machine -o x.txt|--machine --sample-time=1|--machine --follow-fork --strict|--machine "
	"--check"
	"|--machine --start-trigger=a|--machine --fail-if=x|--list-probes --machine|--machine "
	"--live"
	"|--machine --list-metrics = combined with --machine ~ leave out one of them"
	"|--list-probes -o x.txt|--list-probes --sample-time=1|--list-probes -s|--list-probes "
	"--duration=1s"
	"|--list-probes --tid=5 7|--list-probes --stop-trigger=a"
	"|--list-probes --quiet --strict = combined with --list-probes ~ leave out one of them"
	"|--list-metrics -o x.txt|--list-metrics --listen=9|--list-metrics -p 1|--list-metrics x"
	"|--list-metrics -ojson,mode=0600|--list-metrics --threads=a"
	"|--list-metrics --replay=x = combined with --list-metrics ~ leave out one of them"
	"|--replay=x --sample-time=1|--replay=x --sample-interval=1|--replay=x --duration=1s"
	"|--replay=x --record|--replay=x --record-on=y|--replay=x --follow-restart|--replay=x "
	"--wait"
	"|--replay=x --wait-filter=lock|--replay=x --exit-status|--replay=x --btf=y|--replay=x "
	"--live"
	"|--replay=x --long-poll=banks=2|--replay=x --check|--replay=x "
	"--trigger-delta=5|--replay=x 5"
	"|--replay=x --long-poll = combined with --replay ~ leave out one of them"
	"|--check --start-trigger=a -o x.txt|--check --long-poll --sample-count=2"
	"|--check --long-poll=worst=3|--check --long-poll --compare=x"
	"|--check --long-poll --tid=5|--check --long-poll --duration=1s"
	"|--check --long-poll --profile = combined with --check ~ takes no samples"
	"|--live --sample-interval=1|--live --exit-status|--live --follow-restart"
	"|--live --record-on=x|--live --long-poll = combined with --live ~ leave out one of them"
	"|--live -- ls = --live cannot be combined with a command ~ leave out one of them"
	/* threads and users, times, counters, recordings */
	"|-p 1 --tid 1,x = '1,x' ~ commas between them"
	"|-p 1 --tid=1 --threads=x = --threads ~ with --tid"
	"|-p 1,uid=0 = --pid: '1,uid=0' ~ not a whole number"
	"|-C x,uid=kdt-nobody = attribute uid ~ is no user|x,exe= = attribute exe ~ empty"
	/* attributes */
	"|--record=5s,memroy=4M = option --record has no attribute 'memroy' ~ names: memory\n"
	"|-o prometheus:x,fold-nams = no attribute 'fold-nams' ~ similar names: fold-names\n"
	"|-o json:x,top=3 = attribute top means nothing to the format json ~ it is for: text\n"
	"|-o text,top = attribute top needs a value ~ --help=all|-o x.txt,lines= = lines ~ no value"
	"|--live=x = --live: 'x' is not what it takes ~ --live=sort=KEY|--live=sort=x = sort ~ kept"
	"|--record=5s,memory=1K = attribute memory: '1K' ~ 64K to 4G"
	"|--counters=per-cpu = 'per-cpu' ~ is no event"
	"|--at noon|--at 25:00 = --at ~ not a time|--at 2020-01-01T00:00 = --at ~ is over"
	"|--at /10 = --at ~ no unit|--at /1us = --at ~ too short"
	"|--counters cycels = --counters ~ is no event|--counters cs,cs = --counters ~ is there "
	"twice"
	"|--record=memory=1K|--record=9s,memory=5G = attribute memory ~ 64K to 4G"
	"|--record=0 = --record ~ short|--record-on=x --long-poll = --record-on ~ with --long-poll"
	"|-p 1 --follow-fork --list-probes = --list-probes ~ one process"
	"|--list-probes --check|--list-probes --replay=x = option --list-probes cannot be ~ leave "
	"out"
	"|--record-on=x --start-trigger=a = --record-on cannot be combined with triggers ~ leave"
	"|--record-on=x --at=+5s|--record-on=x --sample-interval=1"
	"|--record-on=x --compare=y = with --record-on ~ leave out one of them"
	"|--at=+5s --start-trigger=a|--compare=x --stop-trigger=a|--follow-restart "
	"--start-trigger=a"
	"|--at=/1s --start-trigger=a --stop-trigger=b = with triggers ~ when samples begin and end"
	"|--at=+5s --long-poll"
	"|--start-trigger=a,any --long-poll = with --long-poll ~ a pair of triggers by itself"
	"|--max-overhead=5 = needs a trigger ~ or both"
	"|--trigger-delta=worst=5 --stop-trigger=a"
	"|--start-trigger=a,same-thread = needs two triggers ~ and --stop-trigger"
	"|--listen=9 --long-poll=worst=3 --duration=1s"
	"|--listen=9 --long-poll=1s,worst=3 = worst cannot be combined with --listen ~ it serves"
	"|--trigger-delta=worst=3 --start-trigger=a --stop-trigger=b = worst ~ needs an end"
	"|-s-1 = --syscall-events ~ not a duration|vpp -s futex = 'futex' ~ unexpected argument"
	"|-e futex --profile = --syscall-filter ~ needs --syscall-events"
	/* What an attribute needs, where it is given the old way. */
	"|--wakers -p 1 = attribute wakers needs --off-cpu ~ 1ms,wakers"
	"|--per-cpu -p 1 = attribute per-cpu needs --counters ~ default,per-cpu"
	"|--exe=/a -p 1 = attribute exe needs --comm ~ exe=FILE"
	"|--uid=0 -p 1 = attribute uid needs --comm ~ uid=redis"
	"|--pid-ns=4 x = attribute ns needs --pid or --pidfile ~ in its namespace"
	"|--trigger-any -p 1 = attribute any needs a trigger ~ or both"
	"|--trigger-target-only -p 1 = attribute target-only needs a trigger ~ or both"
	"|--allow-host=x -p 1 = attribute allow-host needs --listen ~ give the port"
	"|--wait-filter=lock = --wait-filter ~ needs --off-cpu"
	"|--off-cpu=1s --wait-filter= = --wait-filter ~ there are blocked, "
	"|--off-cpu=1s --wait-filter=lock,, = --wait-filter ~ 'lock,,' has a word"
	"|--off-cpu=1s --wait-filter=lock,mutex = --wait-filter ~ "
	"timer, signal, kernel_lock, kernel; '*'"
	" is all|--off-cpu=1s --wait-filter=!user = --wait-filter ~ that is neither"
	"|--off-cpu=1s --wait-filter = --wait-filter ~ needs a value"
	"|-s -e = --syscall-filter ~ needs a value"
	"|-s -e futx = --syscall-filter ~ similar names: futex"
	"|-s -e '' = --syscall-filter ~ a name is missing|-s -e futex -e read"
	"|-s -e *poll* -e read = --syscall-filter ~ twice|-s -e !*"
	"|-s -e ppoll --skip-syscall-poll-events = no system call is left ~ --syscall-filter"
	"|--compare=x --record-on=ready.max>1ms = --compare ~ combined with --record-on"
	"|--off-cpu=wakers = --off-cpu ~ not a duration"
	"|--off-cpu=5 = option --off-cpu: '5' has no unit\n ~ give one: 5ns, 5us, 5ms, 5s or"
	" 5min\n|--off-cpu 5. = --off-cpu: '5.' ~ has no unit"
	"|--off-cpu 1e-3 = --off-cpu: '1e-3' ~ give one: 1e-3ns, "
	"|'--stack-trace-size=user-bytes=4 K' = attribute user-bytes ~ not a number of bytes"
	"|--start-trigger=a --start-trigger=b = --start-trigger ~ twice"
	"|--stop-trigger=a --stop-trigger=a = --stop-trigger ~ twice"
	"|--long-poll 4711 = option --long-poll: '4711' has no unit\n ~ 4711s or 4711min; or the"
	" process with --pid 4711\n"
	"|--long-poll=0.5 = --long-poll: '0.5' has no unit\n ~ 0.5s or 0.5min\n"
	"|--duration=10 = --duration: '10' has no unit\n ~ 10s or 10min\n"
	"|--check = --check ~ needs a trigger"
	"|--start-trigger=a,any,target-only = attribute any cannot be combined with attribute"
	" target-only ~ without either|--trigger-delta=worst=3 --duration=1s = worst ~ needs two"
	" triggers"
	"|--long-poll --start-trigger=a"
	"|--stop-trigger=b --long-poll = --long-poll ~ cannot be combined";

/* One or two lines of ours, without control characters, and what is said of an old spelling. */
static bool is_message(const char *err)
{
	unsigned int lines = count_lines(err) - !!strstr(err, " is now an attribute: ");

	return (lines == 1 || lines == 2) && !strncmp(err, "kernel_delay: ", 14) &&
	       !strpbrk(err, "\x1b\t\r\xff");
}

/* The message; else all that came of it. */
static const char *message_of(const struct outcome *got)
{
	return got->status == 64 && !*got->out && is_message(got->err) ? got->err : result(got);
}

static const char *refused_line(const char *line)
{
	return message_of(run(line));
}

static const char *refused_word(const char *word)
{
	char copy[CASE_LEN];

	return message_of(run_words((char *[WORDS + 1]){ strcpy(copy, word) }, -1));
}

/* "NAMES ~ SAYS": both are in the message. */
static bool has_both(const char *got, const char *want)
{
	char names[CASE_LEN], *says = strstr(strcpy(names, want), " ~ ");

	*says = '\0';
	return strncmp(got, "status", 6) && strstr(got, names) && strstr(got, says + 3);
}

TEST(refused)
{
	cases_compare(
		"--pid|--sample-time|--sample-count|--sample-interval|--btf|--listen|--off-cpu"
		"|--start-trigger = -- ~ needs a value",
		has_both, refused_word, "refused");
	cases_compare("--strict=1|--version=1|--quiet=1|--histogram=1|--skip-syscall-poll-events=1"
		      "|--verbose=1 = -- ~ takes no value",
		      has_both, refused_word, "refused");
	cases_compare(bad_values, has_both, refused_word, "refused");
	cases_compare(refused, has_both, refused_line, "refused");
}

/* A refused value may be longer than any message. */
TEST(long_value)
{
	static char value[100000];
	const struct outcome *got;

	memset(value, '\x1b', sizeof(value) - 1);
	got = run_words((char *[WORDS + 1]){ (char[]){ "-p" }, value }, -1);
	is_i64(got->status, 64, "a value of 99,999 control characters is refused");
	is_u64(count_lines(got->err), 2, "in two lines");
	got = run_words((char *[WORDS + 1]){ value }, -1);
	is_i64(got->status, 64, "and so it is as an argument");
}

/* Random command lines of pieces that matter: refused with one or two lines, or accepted with
 * none. What ends the process is not among them. */
TEST(random)
{
	static const char *const pieces[] = {
		"-p",  "-p1", "1", "-C", "x",  "-D", "-D1", "--debug", "--sample-time", "--sample-",
		"1ms", "--",  "-", "",   "=1", "-v", "--s", "--pid=",  "--comm=y",      "-Dvq",
		"-!",  "0",   ":", "-:", "-;", "-W", "-=",  "--=1",    "\xff\x1b",      "--strict",
	};
	const unsigned int rounds = 500;
	uint64_t state = 0x2545f4914f6cdd1d, wrong = 0;

	for (unsigned int round = 0; round < rounds; round++) {
		char copies[WORDS][32], *words[WORDS + 1] = { NULL };
		const struct outcome *got;

		for (size_t i = 0; i < round % 10; i++) {
			state = state * 6364136223846793005 + 1442695040888963407;
			words[i] = strcpy(copies[i], pieces[(state >> 33) % COUNT(pieces)]);
		}
		got = run_words(words, -1);
		if (got->status == 64 ? is_message(got->err) : !*got->err && !got->status)
			continue;
		wrong++;
		for (size_t i = 0; words[i]; i++)
			tap_print_string("wrong", words[i]);
	}
	is_u64(wrong, 0, "%u random command lines end well", rounds);
}

static const struct {
	const char *text, *says, *line;
} bad_files[] = {
	{ "-v\n--sample-tme 2s\n", "unknown option --sample-tme", "line 2 of " },
	{ "--sample-time 2 parsecs\n", "2 parsecs", "line 1 of " },
	{ "\n\n-p\n", "option --pid needs a value", "line 3 of " },
	{ "--all yes\n", "option --all takes no value", "line 1 of " },
	{ "@other\n", "cannot name another", "line 1 of " },
	{ "-- ls\n", "an options file cannot hold", "line 1 of " },
	{ "--\n", "an options file cannot hold", "line 1 of " },
	{ "17\n18\n", "unexpected argument '18'", "line 2 of " },
};

TEST(files)
{
	static const char *const none[] = { "@/nowhere/x", "@/proc/self", "@" };
	char large[OPTIONS_FILE_MAX + 2];
	const struct outcome *got;

	for (size_t i = 0; i < COUNT(bad_files); i++) {
		got = run_file("@", bad_files[i].text, strlen(bad_files[i].text));
		ok(got->status == 64 && strstr(got->err, bad_files[i].says) &&
			   strstr(got->err, bad_files[i].line),
		   "a file is refused, and it is said why and where: %s", got->err);
	}
	is_i64(run_file("@", "-v\n\0-v\n", 7)->status, 66, "a file that is no text is refused");
	memset(large, '#', sizeof(large));
	is_i64(run_file("@", large, sizeof(large))->status, 66, "and one that is too large");
	for (size_t i = 0; i < COUNT(none); i++)
		is_i64(run(none[i])->status, 66, "and '%s'", none[i]);
	got = run(none[0]);
	ok(strstr(got->err, "'/nowhere/x': No such file") && strstr(got->err, "--comm"),
	   "which says what to do");
}
