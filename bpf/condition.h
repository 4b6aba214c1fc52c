/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Included by kernel_delay.h: conditions of triggers on values. */
#ifndef KERNEL_DELAY_CONDITION_H
#define KERNEL_DELAY_CONDITION_H

#define KD_TERMS 8       /* comparisons per condition, one bit each */
#define KD_TERM_LOADS 5  /* memory loads to get at a value */
#define KD_CONDITIONS 64 /* per trigger: one for each location of arguments at its sites */
#define KD_NO_REGISTER 0xffff

/* A comparison: true if a value is in a range. The value starts as base + (index << shift), from
 * registers. Then each offset is added, followed by a load from there, as often as loads says.
 * The range starts at `first`, has length `span` and may wrap around, so it covers == != < <= >
 * >= for signed and unsigned numbers. */
struct kd_term {
	__s64 offsets[KD_TERM_LOADS + 1];
	__u64 mask;        /* of the value's bits */
	__u64 first, span; /* value - first <= span */
	__u16 base, index; /* offsets in the program's context, or KD_NO_REGISTER */
	__u8 shift;
	__u8 loads;
	__u8 size; /* bytes of the last load; earlier loads are addresses */
	__u8 is_signed;
};

/* True if all terms of any group are true. */
struct kd_condition {
	__u8 groups[KD_TERMS]; /* bits of terms; 0: no more groups */
	__u32 n;               /* terms */
	__u32 in_kernel;       /* loads from kernel memory */
	struct kd_term terms[KD_TERMS];
};
_Static_assert(sizeof(struct kd_term) == 80 && sizeof(struct kd_condition) == 16 + 8 * 80,
	       "no holes");

#endif
