// SPDX-License-Identifier: Apache-2.0
/* Steal time of a hypervisor. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/capture/session/maps.h"
#include "cli/capture/session/parts.h"
#include "kernel_delay.skel.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* True if the steal clock has advanced since boot. */
static bool has_stolen(void)
{
	unsigned long long stolen = 0;
	FILE *file = fopen("/proc/stat", "re");

	if (file && fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &stolen) != 1)
		stolen = 0;
	if (file)
		fclose(file);
	return stolen;
}

#if defined(__x86_64__)
/* Documentation/virt/kvm/x86/cpuid.rst */
#define KVM_CPUID_SIGNATURE 0x40000000
#define KVM_FEATURE_STEAL_TIME (1U << 5)

static bool is_virtual(void)
{
	unsigned int a, b, c = 0, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c >> 31;
}

/* True if there is a steal clock. On hypervisors other than KVM, only its advance proves that. */
static bool has_clock(void)
{
	unsigned int leaf, name[3], features = 0, b, c, d;

	if (!is_virtual())
		return false;
	__cpuid(KVM_CPUID_SIGNATURE, leaf, name[0], name[1], name[2]);
	if (leaf > KVM_CPUID_SIGNATURE && !memcmp(name, "KVMKVMKVM\0\0\0", sizeof(name)))
		__cpuid(KVM_CPUID_SIGNATURE + 1, features, b, c, d);
	return features & KVM_FEATURE_STEAL_TIME || has_stolen();
}
#else
static bool is_virtual(void)
{
	return false; /* unknown */
}

static bool has_clock(void)
{
	return has_stolen();
}
#endif

/* The programs read the steal clock if there is one. */
static exit_status steal_select(struct session *session)
{
	struct kernel_delay *skel = session->skel;

	skel->rodata->kd_steal = has_clock();
	return skel->rodata->kd_steal ? session_map_resize(skel->maps.kd_steals, session->cpus) : 0;
}

/* Reports missing steal time, after the iterator's first visit. Prints nothing on a machine without
 * a hypervisor. */
static exit_status steal_tell(struct session *session)
{
	const struct kernel_delay *skel = session->skel;
	struct programs *programs = &session->programs;

	if (skel->rodata->kd_steal && !skel->bss->kd_steal_readable)
		programs_absent(programs, "THREAD TIME",
				"does not show what the hypervisor takes, it is in running user or "
				"kernel: this kernel's scheduler does not read the steal clock");
	else if (!skel->rodata->kd_steal && is_virtual())
		programs_absent(programs, "THREAD TIME",
				"does not show what the hypervisor takes, it is in running user or "
				"kernel: the kernel has no steal clock");
	return 0;
}

SESSION_PART(steal) = { .select = steal_select, .attach = steal_tell };
