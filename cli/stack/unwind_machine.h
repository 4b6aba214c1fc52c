/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between machines in unwinding. */
#ifndef UNWIND_MACHINE_H
#define UNWIND_MACHINE_H

#include <libunwind.h>
#include <stdint.h>

#if defined(__x86_64__)
#define REG_RETURN UNW_X86_64_RIP
#define REG_FRAME UNW_X86_64_RBP
#define ADDRESS_MASK UINT64_MAX
#define LEAF_NEEDS_STACK true /* its return address is there */
#define SIGNAL_REGISTERS 0    /* call frame information has them */
#else
#define REG_RETURN UNW_AARCH64_X30
#define REG_FRAME UNW_AARCH64_X29
#define ADDRESS_MASK ((1ULL << 48) - 1) /* bits above are for pointer authentication */
#define LEAF_NEEDS_STACK false
/* Offset of registers in what the kernel pushes for a signal: struct rt_sigframe. */
#define SIGNAL_REGISTERS 312
#endif

/* Where handlers return to on arm64: mov x8, 139 (rt_sigreturn); svc 0. */
#define SIGNAL_RETURNS                                                                             \
	{                                                                                          \
		0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4                                     \
	}
#define RETURNS_FROM_SIGNAL 32 /* bytes: more than the function around it has */

#endif
