// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "preflight.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli/base/exit_status.h"
#include "cli/base/log.h"

#define SYSFS_DIR "/sys"
#define TRACEFS_DIR "/sys/kernel/tracing"
/* libbpf tries this directory first if it exists. */
#define DEBUGFS_TRACEFS_DIR "/sys/kernel/debug/tracing"
#define RAW_SYSCALLS "/events/raw_syscalls/sys_enter/id"

/* Both check with the rights of open(): access() would drop the capabilities of non-root users. */
static bool is_there(const char *path)
{
	return !faccessat(AT_FDCWD, path, F_OK, AT_EACCESS);
}

static bool is_readable(const char *path)
{
	return !faccessat(AT_FDCWD, path, R_OK, AT_EACCESS);
}

/* sysfs has the directory exactly if the kernel was built with BTF. */
static bool kernel_lacks_btf(void)
{
	struct statfs mounted;

	return !statfs(SYSFS_DIR, &mounted) && mounted.f_type == SYSFS_MAGIC &&
	       !is_there(BTF_DIR) && errno == ENOENT;
}

/* A file could serve for relocations, but the kernel checks programs at typed tracepoints (tp_btf)
 * and iterators against the BTF that it has itself: bpf_get_btf_vmlinux() in
 * kernel/bpf/verifier.c. */
static exit_status btf_lacking(void)
{
	log_error("this kernel was built without BTF (CONFIG_DEBUG_INFO_BTF=y)");
	log_hint("nothing can stand in for it, not even --btf: boot a kernel that has it, as those "
		 "of Debian 11, Ubuntu 20.10, Fedora 31, RHEL 8.2 and later do");
	return EX_OSFILE;
}

static exit_status btf_unreadable(void)
{
	log_error("cannot read the kernel's BTF: " BTF_FILE ": %s", strerror(errno));
	log_hint(is_there(BTF_DIR) ? "give a copy of that file, or the kernel's vmlinux, with "
				     "--btf FILE"
				   : "mount sysfs: mount -t sysfs sysfs /sys");
	return EX_OSFILE;
}

static exit_status btf_check(const char *file)
{
	struct btf *btf = btf__parse(file, NULL);

	if (!btf) {
		log_error("--btf %s: %s", file,
			  errno < __LIBBPF_ERRNO__START ? strerror(errno) : "this is not BTF");
		log_hint("give a copy of " BTF_FILE " or a vmlinux with a .BTF section, of the "
			 "kernel that is running");
		return EX_OSFILE;
	}
	btf__free(btf);
	return 0;
}

/* Makes later mounts private to this process. */
static int mounts_detach(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -errno;
	return 0;
}

/* libbpf can read BTF for relocations from any file, but looks up tracepoints only in the
 * kernel's own place. So mount the file there, in a private mount namespace. */
static int btf_mount(const char *file)
{
	int target, error = mounts_detach();

	if (error)
		return error;
	if (access(BTF_FILE, F_OK)) {
		if (mount("none", BTF_DIR, "tmpfs", 0, "size=4k"))
			return -errno;
		target = open(BTF_FILE, O_CREAT | O_WRONLY | O_CLOEXEC, 0400);
		if (target < 0)
			return -errno;
		close(target);
	}
	return mount(file, BTF_FILE, NULL, MS_BIND, NULL) ? -errno : 0;
}

exit_status btf_provide(const char *file)
{
	int status, error;

	if (kernel_lacks_btf())
		return btf_lacking();
	if (!file)
		return is_readable(BTF_FILE) ? 0 : btf_unreadable();
	status = btf_check(file);
	if (status)
		return status;
	error = btf_mount(file);
	if (error) {
		log_error("--btf %s: cannot put it in the place of " BTF_FILE ": %s", file,
			  strerror(-error));
		log_hint("this needs CAP_SYS_ADMIN, and sysfs mounted on /sys");
		return EX_OSFILE;
	}
	return 0;
}

int tracefs_provide(void)
{
	int error;

	if (is_readable(DEBUGFS_TRACEFS_DIR RAW_SYSCALLS) || is_readable(TRACEFS_DIR RAW_SYSCALLS))
		return 0;
	/* A mount of our own would have the same owner. */
	if (errno == EACCES)
		return -EACCES;
	error = mounts_detach();
	if (error)
		return error;
	if (mount("none", TRACEFS_DIR, "tracefs", 0, NULL) ||
	    !is_readable(TRACEFS_DIR RAW_SYSCALLS))
		return -errno;
	return 0;
}
