/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Part of kernel_delay.h: which hits of a trigger count, by values. */
#ifndef KERNEL_DELAY_CONDITION_H
#define KERNEL_DELAY_CONDITION_H

#define KD_TERMS 8       /* comparisons in a condition; a bit for each */
#define KD_TERM_LOADS 5  /* of memory, to come to a value */
#define KD_CONDITIONS 64 /* of a trigger: one for each place where its sites have the arguments */
#define KD_NO_REGISTER 0xffff

/* A comparison: a value is in a range. To come to the value, its registers are added,
 * base + (index << shift); then each offset is added, and memory read there, as often as loads
 * says. The range is from `first` on and `span` long, and may go around the end of the numbers:
 * so it is what any of == != < <= > >= means, of numbers with a sign or without. */
struct kd_term {
	__s64 offsets[KD_TERM_LOADS + 1];
	__u64 mask;        /* of the value's bits */
	__u64 first, span; /* value - first <= span */
	__u16 base, index; /* offsets in the program's context, or KD_NO_REGISTER */
	__u8 shift;
	__u8 loads;
	__u8 size; /* of what is read last, bytes; all before are addresses */
	__u8 is_signed;
};

/* True if of any group all terms are. */
struct kd_condition {
	__u8 groups[KD_TERMS]; /* bits of terms; 0: no more groups */
	__u32 n;               /* terms */
	__u32 in_kernel;       /* memory is the kernel's */
	struct kd_term terms[KD_TERMS];
};
_Static_assert(sizeof(struct kd_term) == 80 && sizeof(struct kd_condition) == 16 + 8 * 80,
	       "no holes");

#endif
