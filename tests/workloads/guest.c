// SPDX-License-Identifier: Apache-2.0
/* --- guest: a thread that runs a virtual machine (KVM) ---
 *
 *   guest GUEST_MS USER_MS KERNEL_MS
 *
 * "vcpu" computes for so long of its CPU time in a guest, in user mode and in system calls, in
 * turn.
 *
 *   <- log      -> {"guest": ns, "user": ns, "kernel": ns}: its CPU time so far, of complete turns
 *
 * Without KVM it ends with NO_KVM. */
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>

#define NO_KVM 77
#define LOOPS 1000000 /* between two readings of the clock: milliseconds where it is emulated */

#if defined(__x86_64__)
/* In real mode: counts ECX down to 0, and halts. */
static const unsigned char code[] = { 0x66, 0x49, 0x75, 0xfc, 0xf4 };

enum part { IN_GUEST, IN_USER, IN_KERNEL, PARTS };

static const char *const names[] = { "guest", "user", "kernel" };
static _Atomic(long long) spent[PARTS];

struct guest {
	int vcpu;
	struct kvm_run *run;
};

static void guest_open(struct guest *guest)
{
	struct kvm_userspace_memory_region memory = { .guest_phys_addr = PAGE,
						      .memory_size = PAGE };
	struct kvm_sregs sregs;
	unsigned char *page;
	long size;
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int machine = kvm < 0 ? -1 : ioctl(kvm, KVM_CREATE_VM, 0);

	if (machine < 0)
		exit(NO_KVM);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		die("mmap");
	memcpy(page, code, sizeof(code));
	memory.userspace_addr = (unsigned long)page;
	if (ioctl(machine, KVM_SET_USER_MEMORY_REGION, &memory))
		die("KVM_SET_USER_MEMORY_REGION");
	guest->vcpu = ioctl(machine, KVM_CREATE_VCPU, 0);
	size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	guest->run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, guest->vcpu, 0);
	if (guest->vcpu < 0 || size < 0 || guest->run == MAP_FAILED ||
	    ioctl(guest->vcpu, KVM_GET_SREGS, &sregs))
		die("KVM_CREATE_VCPU");
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	if (ioctl(guest->vcpu, KVM_SET_SREGS, &sregs))
		die("KVM_SET_SREGS");
}

static void guest_compute(const struct guest *guest)
{
	struct kvm_regs regs = { .rip = PAGE, .rflags = 2, .rcx = LOOPS };

	if (ioctl(guest->vcpu, KVM_SET_REGS, &regs))
		die("KVM_SET_REGS");
	while (ioctl(guest->vcpu, KVM_RUN, 0))
		if (errno != EINTR)
			die("KVM_RUN");
	if (guest->run->exit_reason != KVM_EXIT_HLT)
		die("the guest has not halted");
}

static void turn(const struct guest *guest, enum part part, long long ns)
{
	static char bytes[1 << 18];
	long long began = clock_ns(CLOCK_THREAD_CPUTIME_ID), now = began;

	while (now - began < ns) {
		if (part == IN_GUEST)
			guest_compute(guest);
		for (volatile long i = 0; part == IN_USER && i < LOOPS / 4; i++)
			;
		if (part == IN_KERNEL && getrandom(bytes, sizeof(bytes), 0) < 0)
			die("getrandom");
		now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	}
	atomic_fetch_add(&spent[part], now - began);
}

static void role_vcpu(struct worker *worker)
{
	struct guest guest;

	guest_open(&guest);
	while (!stage_over(worker->stage))
		for (enum part part = 0; part < PARTS; part++)
			turn(&guest, part, worker->args[part] * MS);
}

static void spent_print(const struct stage *stage)
{
	(void)stage;
	putchar('{');
	for (enum part part = 0; part < PARTS; part++)
		printf("%s\"%s\": %lld", comma(part), names[part], atomic_load(&spent[part]));
	say("}");
}

#endif

VERB(guest, 3, 3, "GUEST_MS USER_MS KERNEL_MS")
{
#if defined(__x86_64__)
	static struct stage stage = { .log = spent_print };
	struct worker *vcpu = stage_add(&stage, "vcpu", role_vcpu);

	vcpu->throughout = true;
	for (int i = 0; i < PARTS; i++)
		vcpu->args[i] = number(argv[i + 1]);
	stage_serve(&stage);
#else
	return NO_KVM;
#endif
}
