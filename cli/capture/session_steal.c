// SPDX-License-Identifier: Apache-2.0
#include "session_steal.h"

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "session_programs.h"
#include "kernel_delay.skel.h"

/* The clock has shown something since the machine was started. */
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

/* Of other hypervisors only what it has shown tells that there is a clock. */
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
	return false; /* not known */
}

static bool has_clock(void)
{
	return has_stolen();
}
#endif

int steal_select(struct kernel_delay *skel, uint32_t cpus)
{
	skel->rodata->kd_steal = has_clock();
	return skel->rodata->kd_steal ? bpf_map__set_max_entries(skel->maps.kd_steals, cpus) : 0;
}

void steal_tell(const struct kernel_delay *skel, struct programs *programs)
{
	if (skel->rodata->kd_steal && !skel->bss->kd_steal_readable)
		programs_absent(programs, "THREAD TIME",
				"does not show what the hypervisor takes, it is in running user or "
				"kernel: this kernel's scheduler does not read the steal clock");
	else if (!skel->rodata->kd_steal && is_virtual())
		programs_absent(programs, "THREAD TIME",
				"does not show what the hypervisor takes, it is in running user or "
				"kernel: the kernel has no steal clock");
}
