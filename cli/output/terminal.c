/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "terminal.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/arith.h"
#include "cli/base/clock.h"
#include "cli/base/log.h"
#include "cli/base/parse.h"

/* --- Bold text --- */

#define NOT_FOUND 126 /* shells return 126 or 127 if there is no such program */

static bool is_dumb(void)
{
	const char *terminal = getenv("TERM");

	return !terminal || !*terminal || !strcmp(terminal, "dumb");
}

bool pager_color(enum color_when when, int fd)
{
	const char *forbidden = getenv("NO_COLOR");

	if (when != COLOR_AUTO)
		return when == COLOR_ALWAYS;
	return isatty(fd) && !is_dumb() && !(forbidden && *forbidden);
}

bool pager_is_usable(void)
{
	struct winsize size;

	return isatty(STDOUT_FILENO) && !is_dumb() && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) &&
	       size.ws_row && tcgetpgrp(STDOUT_FILENO) == getpgrp();
}

/* Screen lines of a text, roughly: most of it is ASCII. */
static bool is_longer_than_screen(const char *text, size_t length)
{
	const char *end = text + length, *next;
	struct winsize size;
	size_t lines = 0;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row)
		return false;
	for (; text < end && lines < size.ws_row; text = next + 1) {
		next = memchr(text, '\n', (size_t)(end - text)) ?: end;
		lines += 1 + (size.ws_col ? (size_t)(next - text) / (size.ws_col + 1U) : 0);
	}
	return lines >= size.ws_row;
}

/* Writes everything, or returns a negative errno. */
static int write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t written = write(fd, text, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -EIO;
		text += written;
		length -= (size_t)written;
	}
	return 0;
}

/* --- The pager --- */

/* Finds the user who became root through a program; 0: none, or root. False if there was one who
 * cannot be found. */
static bool caller_find(uid_t *uid, gid_t *gid)
{
	static const char *const names[] = { "SUDO_UID", "PKEXEC_UID" };
	const char *doas = getenv("DOAS_USER"), *text;
	const struct passwd *user = NULL;
	uint64_t number;

	*uid = *gid = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		text = getenv(names[i]);
		if (!text)
			continue;
		if (parse_u64(text, 0, UINT32_MAX - 1, &number))
			return false;
		user = getpwuid((uid_t)number);
		*uid = (uid_t)number;
		*gid = user ? user->pw_gid : (gid_t)number;
		return true;
	}
	if (!doas)
		return true;
	user = getpwnam(doas);
	if (user) {
		*uid = user->pw_uid;
		*gid = user->pw_gid;
	}
	return user;
}

static bool privileges_drop(uid_t uid, gid_t gid)
{
	if (uid && (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid)))
		return false;
	/* Clears the bounding set, too: otherwise root would regain everything by executing the
	 * pager. */
	if (capng_get_caps_process() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return false;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP)) {
		capng_clear(CAPNG_SELECT_BOTH);
		return !capng_apply(CAPNG_SELECT_BOTH);
	}
	capng_clear(CAPNG_SELECT_CAPS);
	return !capng_apply(CAPNG_SELECT_CAPS);
}

static void signals_reset(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int number = 1; number < SIGRTMIN; number++)
		signal(number, SIG_DFL);
}

/* PAGER is run by a shell, as git does. It is ignored for a user who became root, if the pager
 * cannot get that user's rights. */
static void pager_run(int text)
{
	const char *pager = getenv("PAGER");
	bool is_root = !geteuid(), found;
	uid_t uid = 0;
	gid_t gid = 0;

	found = !is_root || caller_find(&uid, &gid);
	signals_reset();
	if (dup2(text, STDIN_FILENO) < 0 || !privileges_drop(uid, gid))
		_exit(NOT_FOUND);
	syscall(SYS_close_range, 3, ~0U, 0); /* all close on exec anyway */
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	if (is_root) {
		setenv("LESSSECURE", "1", 1); /* no shell, no other files */
		setenv("LESSHISTFILE", "-", 0);
	}
	if (pager && found) {
		execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
		_exit(NOT_FOUND);
	}
	execlp("less", "less", (char *)NULL);
	execlp("more", "more", (char *)NULL);
	_exit(NOT_FOUND);
}

/* --- Feeding the pager --- */

/* Feeds the pager and waits for it. False if there is none. Signals of the keyboard only affect
 * the pager. */
static bool pager_feed(pid_t child, int to, const char *text, size_t length)
{
	void (*interrupt)(int) = signal(SIGINT, SIG_IGN), (*quit)(int) = signal(SIGQUIT, SIG_IGN);
	int status = 0;
	pid_t ended;

	write_all(to, text, length); /* it may have exited early */
	close(to);
	do
		ended = waitpid(child, &status, 0);
	while (ended < 0 && errno == EINTR);
	signal(SIGINT, interrupt);
	signal(SIGQUIT, quit);
	return !WIFEXITED(status) || WEXITSTATUS(status) < NOT_FOUND;
}

static bool is_refused(void)
{
	const char *pager = getenv("PAGER");

	return pager && (!*pager || !strcmp(pager, "cat"));
}

int pager_show(const char *text, size_t length)
{
	int ends[2];
	pid_t child;

	if (is_refused() || !is_longer_than_screen(text, length) || pipe2(ends, O_CLOEXEC))
		return write_all(STDOUT_FILENO, text, length);
	child = fork();
	if (!child)
		pager_run(ends[0]);
	close(ends[0]);
	if (child < 0)
		close(ends[1]);
	if (child > 0 && pager_feed(child, ends[1], text, length))
		return 0;
	return write_all(STDOUT_FILENO, text, length);
}

/* --- Remaining time of a long run --- */

#define LONG_NS (5 * NSEC_PER_SEC) /* users wait this long without asking */
#define DAY_NS (24 * 3600 * NSEC_PER_SEC)
#define NEVER UINT64_MAX
#define WHEN_LENGTH 40

static uint64_t seconds_of(uint64_t ns)
{
	return ns / NSEC_PER_SEC + (ns % NSEC_PER_SEC > 0);
}

const char *progress_length(char text[static PROGRESS_LENGTH], uint64_t ns)
{
	unsigned long long s = seconds_of(ns), min = s / 60, h = min / 60;
	const struct {
		unsigned long long large, small;
		const char *large_unit, *small_unit;
	} all[] = {
		{ h / 24, h % 24, "d", "h" },
		{ h, min % 60, "h", "min" },
		{ min, s % 60, "min", "s" },
		{ s, 0, "s", "" },
	};
	unsigned int i = s >= 24 * 3600 ? 0 : s >= 3600 ? 1 : s >= 60 ? 2 : 3;

	if (all[i].small)
		snprintf(text, PROGRESS_LENGTH, "%llu %s %llu %s", all[i].large, all[i].large_unit,
			 all[i].small, all[i].small_unit);
	else
		snprintf(text, PROGRESS_LENGTH, "%llu %s", all[i].large, all[i].large_unit);
	return text;
}

/* Formats local wall clock time, with the date unless it is soon. */
static const char *when_text(char text[static WHEN_LENGTH], uint64_t when, uint64_t now)
{
	struct timespec wall = clock_wall_at(when);
	struct tm local;

	if (!localtime_r(&wall.tv_sec, &local) ||
	    !strftime(text, WHEN_LENGTH, when - now < DAY_NS / 2 ? "%H:%M:%S" : "%F %H:%M:%S",
		      &local))
		snprintf(text, WHEN_LENGTH, "its end");
	return text;
}

/* True on a terminal in the foreground. In the background, progress would overwrite what the
 * user types. */
static bool is_watched(void)
{
	pid_t foreground;

	if (!isatty(STDERR_FILENO))
		return false;
	foreground = tcgetpgrp(STDERR_FILENO);
	return foreground < 0 || foreground == getpgrp();
}

static bool has_end(const struct progress_config *config)
{
	return config->deadline != NEVER || (config->samples && !config->triggered);
}

/* End of the run, or of the number-th sample, which ends then, if the run has none. */
static uint64_t until_of(const struct progress_config *config, uint64_t number, uint64_t sample_end)
{
	uint64_t each = u64_add(config->sample_time, config->sample_interval);
	uint64_t rest = config->samples ? u64_sub(config->samples, number) : NEVER;

	if (config->triggered)
		return config->deadline;
	if (!has_end(config))
		return sample_end;
	return u64_min(u64_add(sample_end, u64_times(rest, each)), config->deadline);
}

static void announce(const struct progress *progress, uint64_t now)
{
	char length[PROGRESS_LENGTH], when[WHEN_LENGTH];

	progress_length(length, progress->until - now);
	if (!has_end(&progress->config))
		log_note("a sample takes %s; Ctrl-C ends the run and prints the last one", length);
	else
		log_note("sampling for %s, until %s; Ctrl-C ends it and prints the %s", length,
			 when_text(when, progress->until, now),
			 progress->config.samples == 1 ? "report" : "last sample");
}

void progress_begin(struct progress *progress, const struct progress_config *config)
{
	uint64_t now = clock_monotonic();

	*progress = (struct progress){ .config = *config };
	progress->until = until_of(config, 1, u64_add(now, config->sample_time));
	progress->on = !config->quiet && progress->until != NEVER &&
		       progress->until > u64_add(now, LONG_NS);
	if (!progress->on)
		return;
	progress->shown = seconds_of(progress->until - now);
	if (!config->triggered && is_watched())
		announce(progress, now);
}

void progress_sample(struct progress *progress, uint64_t end)
{
	progress->sample++;
	progress->until = until_of(&progress->config, progress->sample, end);
}

void progress_tick(struct progress *progress)
{
	uint64_t now, left;
	char length[PROGRESS_LENGTH], sample[64] = "";

	if (!progress->on)
		return;
	now = clock_monotonic();
	left = progress->until > now ? progress->until - now : 0;
	if (seconds_of(left) == progress->shown)
		return;
	progress->shown = seconds_of(left);
	if (!left || !is_watched()) {
		log_progress_end();
		return;
	}
	if (progress->sample && progress->config.samples > 1)
		snprintf(sample, sizeof(sample), "sample %llu of %llu, ",
			 (unsigned long long)progress->sample,
			 (unsigned long long)progress->config.samples);
	else if (progress->sample && !progress->config.samples)
		snprintf(sample, sizeof(sample), "sample %llu%s",
			 (unsigned long long)progress->sample,
			 has_end(&progress->config) ? ", " : ": ");
	log_progress("%s%s left", sample, progress_length(length, left));
}
