/* SPDX-License-Identifier: Apache-2.0 */
/* What bytes of code say of the frame that they run in. */
#ifndef MACHINE_CODE_H
#define MACHINE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#define CALL_SIZE 7 /* bytes of a call at most */
#else
#define CALL_SIZE 4
#endif

/* Whether these CALL_SIZE bytes end with a call. */
bool code_ends_with_call(const uint8_t *code);

/* The same for one that says where it goes, by distance from its end. */
bool code_ends_with_call_to(const uint8_t *code, int64_t *distance);

#define EDGE_SIZE 4
#define BEGIN_SIZE 8

/* Whether a function that begins with these BEGIN_SIZE bytes puts something on the stack. */
bool code_begins_frame(const uint8_t *code);

/* What a function has put on the stack. */
enum code_place {
	CODE_UNKNOWN,
	CODE_AT_EDGE, /* nothing: it has just been called, or is about to return */
	CODE_PUSHED,  /* its caller's frame pointer, and nothing else */
};

/* Tells by the EDGE_SIZE bytes before an instruction and as many from there on. On machines whose
 * calls put nothing on the stack it is CODE_UNKNOWN. */
enum code_place code_place(const uint8_t *before, const uint8_t *at);

#endif
