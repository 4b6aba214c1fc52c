// SPDX-License-Identifier: Apache-2.0
/* What the header says that the BPF programs and user space share. */
#include <unistd.h>

#include "bpf/kernel_delay.h"
#include "tap.h"

TEST(stacks)
{
	is_u64(KD_STACK_SIZE(4096), 16384, "the kernel's stacks with pages of 4 KB");
	is_u64(KD_STACK_SIZE(16384), 16384, "of 16 KB");
	is_u64(KD_STACK_SIZE(65536), 65536, "of 64 KB");
}

/* Idle threads have stacks, too, and are no threads of loadavg; those that have ended and are not
 * waited for are, and have none: it is more or less the quotient. */
TEST(stacks_of_this_kernel)
{
	unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE), kb = 0, threads = 0, each;
	char line[128];
	FILE *file = fopen("/proc/loadavg", "re");

	if (!file || fscanf(file, "%*s %*s %*s %*[0-9]/%lu", &threads) != 1)
		threads = 0;
	if (file)
		fclose(file);
	file = fopen("/proc/meminfo", "re");
	while (file && !kb && fgets(line, sizeof(line), file))
		(void)!sscanf(line, "KernelStack: %lu", &kb);
	if (file)
		fclose(file);
	each = threads ? kb * 1024 / threads : 0;
	ok(each > KD_STACK_SIZE(page) * 3 / 4 && each < KD_STACK_SIZE(page) * 3 / 2,
	   "this kernel's own are %lu bytes each", each);
}
