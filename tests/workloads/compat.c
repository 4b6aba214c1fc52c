/* SPDX-License-Identifier: Apache-2.0 */
/* System calls of other modes: compat GETPPIDS BY_INT [PROGRAM]
 *
 * On "go" it makes GETPPIDS getppid calls and BY_INT ones by int $0x80, and executes
 * PROGRAM. That is this file in 32-bit mode, with -nostdlib -static -ffreestanding: it
 * makes the calls below and ends. With an argument it reads a line before. */
#ifdef __i386__
#define RT_TGSIGQUEUEINFO 335

static long call(long number, long a, long b, long c, long d)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d)
			 : "memory");
	return result;
}

__asm__(".globl _start\n"
	"_start: mov %esp, %eax\n"
	"        push %eax\n"
	"        call run\n");

#elif defined(__arm__)
#define RT_TGSIGQUEUEINFO 363

static long call(long number, long a, long b, long c, long d)
{
	register long r7 __asm__("r7") = number, r0 __asm__("r0") = a, r1 __asm__("r1") = b,
			 r2 __asm__("r2") = c, r3 __asm__("r3") = d;

	__asm__ volatile("svc #0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2), "r"(r3) : "memory");
	return r0;
}

__asm__(".globl _start\n"
	"_start: mov r0, sp\n"
	"        bl run\n");
#endif

#ifdef RT_TGSIGQUEUEINFO
/* By their numbers of arch/x86/entry/syscalls/syscall_32.tbl and arch/arm/tools/syscall.tbl: the
 * names are the test's. */
__attribute__((used)) static void run(const long *stack)
{
	static const long moment[2] = { 0, 2000000 };
	char line[16];

	if (stack[0] > 1) /* argc */
		call(3, 0, (long)line, sizeof(line), 0);
	for (int i = 0; i < 100; i++)
		call(64, 0, 0, 0, 0); /* getppid; 64 is semget elsewhere */
	for (int i = 0; i < 7; i++)
		call(199, 0, 0, 0, 0); /* getuid32 */
	for (int i = 0; i < 5; i++)
		call(RT_TGSIGQUEUEINFO, 0, 0, 0,
		     0); /* 335 is the kernel's own uretprobe elsewhere */
	for (int i = 0; i < 3; i++)
		call(168, 0, 0, 1, 0); /* poll */
	for (int i = 0; i < 2; i++)
		call(162, (long)moment, 0, 0, 0); /* nanosleep */
	call(1, 0, 0, 0, 0);
}

#else
#include "workload.h"

static void getppid_by_int(void)
{
#ifdef __x86_64__
	long result = 64;

	__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
#endif
}

VERB(compat, 2, 3, "GETPPIDS BY_INT [PROGRAM]")
{
	say("ready");
	wait_for("go");
	getppids(number(argv[1]));
	for (long i = 0; i < number(argv[2]); i++)
		getppid_by_int();
	if (argc > 3)
		execl(argv[3], "compat", NULL);
	return argc > 3 ? 2 : 0;
}
#endif
