// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "capability.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"

bool capability_has(int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	uint64_t set;

	if (syscall(SYS_capget, &header, data))
		return false;
	set = (uint64_t)data[1].effective << 32 | data[0].effective;
	return set >> capability & 1;
}

void capability_hint_ptrace(const char *instead)
{
	log_hint("%s%s%s",
		 capability_has(CAP_SYS_PTRACE)
			 ? "a security module keeps even root from this process, or it belongs to "
			   "another user namespace"
			 : "CAP_SYS_PTRACE is missing: run it as root, or grant it; a container "
			   "needs --cap-add SYS_PTRACE",
		 instead ? "; " : "", instead ? instead : "");
}
