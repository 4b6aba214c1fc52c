// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "button.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "log.h"

exit_status button_open(struct button *button)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	button->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (button->fd >= 0)
		return 0;
	log_error("cannot wait for SIGUSR1: %s", strerror(errno));
	return EX_OSERR;
}

bool button_pressed(const struct button *button)
{
	struct signalfd_siginfo info;
	bool pressed = false;

	while (read(button->fd, &info, sizeof(info)) == sizeof(info))
		pressed = true;
	return pressed;
}

void button_close(struct button *button)
{
	if (button->fd < 0)
		return;
	signal(SIGUSR1, SIG_IGN); /* one that comes this late is not to kill */
	close(button->fd);
}
