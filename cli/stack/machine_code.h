/* SPDX-License-Identifier: Apache-2.0 */
/* What machine code tells about its stack frame. */
#ifndef MACHINE_CODE_H
#define MACHINE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#define CALL_SIZE 7 /* most bytes of a call */
#else
#define CALL_SIZE 4
#endif

/* True if these CALL_SIZE bytes end with a call. */
bool code_ends_with_call(const uint8_t *code);

/* True if they end with a direct call; *distance: from its end to the target. */
bool code_ends_with_call_to(const uint8_t *code, int64_t *distance);

#define EDGE_SIZE 4
#define BEGIN_SIZE 8

/* True if a function with these first BEGIN_SIZE bytes pushes something. */
bool code_begins_frame(const uint8_t *code);

/* What a function has pushed so far. */
enum code_location {
	CODE_UNKNOWN,
	CODE_AT_EDGE, /* nothing: it was just called, or is about to return */
	CODE_PUSHED,  /* only its caller's frame pointer */
};

/* Decides by the EDGE_SIZE bytes before and after an instruction. CODE_UNKNOWN on machines whose
 * calls push nothing. */
enum code_location code_location(const uint8_t *before, const uint8_t *at);

#endif
