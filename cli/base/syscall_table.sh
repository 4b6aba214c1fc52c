#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the system calls of the architecture that $CC compiles for, sorted by
# number, one initializer a line, to the file named by the first argument; on
# x86-64 and arm64 also those of 32-bit mode, with KD_CALL_COMPAT, and on x86-64
# those of x32, with KD_CALL_X32.
set -eu
export LC_ALL=C

[ $# -eq 1 ] || { echo "usage: CC=cc $0 OUTPUT" >&2; exit 64; }
cc=${CC:-cc}
output=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Calls that the build machine's headers may be too old to know. From 424 on
# they have the same number everywhere, but for two families of architectures.
newer_calls() {
	cat <<-END
	#if !defined(__alpha__) && !defined(__mips__)
	424 pidfd_send_signal
	425 io_uring_setup
	426 io_uring_enter
	427 io_uring_register
	428 open_tree
	429 move_mount
	430 fsopen
	431 fsconfig
	432 fsmount
	433 fspick
	434 pidfd_open
	435 clone3
	436 close_range
	437 openat2
	438 pidfd_getfd
	439 faccessat2
	440 process_madvise
	441 epoll_pwait2
	442 mount_setattr
	443 quotactl_fd
	444 landlock_create_ruleset
	445 landlock_add_rule
	446 landlock_restrict_self
	447 memfd_secret
	448 process_mrelease
	449 futex_waitv
	450 set_mempolicy_home_node
	451 cachestat
	452 fchmodat2
	453 map_shadow_stack
	454 futex_wake
	455 futex_wait
	456 futex_requeue
	457 statmount
	458 listmount
	459 lsm_get_self_attr
	460 lsm_set_self_attr
	461 lsm_list_modules
	462 mseal
	463 setxattrat
	464 getxattrat
	465 listxattrat
	466 removexattrat
	467 open_tree_attr
	468 file_getattr
	469 file_setattr
	470 listns
	471 rseq_slice_yield
	#endif
	#if defined(__x86_64__) && !defined(__ILP32__) && !defined(OTHER_MODE)
	334 rseq
	335 uretprobe
	336 uprobe
	#endif
	END
}

# Prints lines of number and name, given a header and options of the compiler. The
# compiler tells which names there are, and then what they stand for: some headers
# define one by another. A number's first name stays, so what the headers say comes
# first. Names are quoted by the "=" before them: the preprocessor leaves them alone
# unless the compiler itself defines such a word.
calls_of() {
	header=$1
	shift
	echo "#include <$header>" >"$work/names.c"
	"$@" -E -dM "$work/names.c" >"$work/macros" 2>"$work/errors" || return 0
	{
		echo "#include <$header>"
		sed -n 's/^#define __NR_\([a-z_][a-z0-9_]*\) .*/__NR_\1 =\1/p' "$work/macros"
		newer_calls
	} >"$work/calls.c"
	"$@" -E -P "$work/calls.c" |
		sed -n 's/^(*\(0 + \)*\([0-9][0-9]*\))* *=* *\([a-z_][a-z0-9_]*\)$/\2 \3/p' |
		grep -v -e ' syscalls$' -e ' arch_specific_syscall$' |
		sort -n -s -u -k 1,1
}

# Prints lines of number and name for 32-bit programs on arm64.
calls_of_arm() {
	{
		sed '/^#/d' "$(dirname "$0")/syscalls_arm.in" | xargs -n 2
		newer_calls | "$@" -E -P -
	} | sort -n -k 1,1
}

is_for() { echo "$1" | $cc -E -P - 2>"$work/errors" | grep -q '^1'; }
compat() { sed 's/\(.*\) \(.*\)/{ KD_CALL_COMPAT | \1, "\2" },/'; }

# shellcheck disable=SC2086 # CC may have options
{
	calls_of asm/unistd.h $cc | sed 's/\(.*\) \(.*\)/{ \1, "\2" },/'
	if is_for __x86_64__ && ! is_for __ILP32__; then
		calls_of asm/unistd_32.h $cc -DOTHER_MODE | compat
		calls_of asm/unistd_x32.h $cc -DOTHER_MODE -D__X32_SYSCALL_BIT=0 |
			sed 's/\(.*\) \(.*\)/{ KD_CALL_X32 | \1, "\2" },/'
	elif is_for __aarch64__; then
		calls_of_arm $cc -DOTHER_MODE | compat
	fi
} >"$work/table"

grep -q '^{ [0-9]' "$work/table" || { echo "$0: $cc knows no system calls" >&2; exit 1; }
mkdir -p "$(dirname "$output")"
cp "$work/table" "$output"
