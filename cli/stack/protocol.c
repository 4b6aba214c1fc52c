// SPDX-License-Identifier: Apache-2.0
#include "protocol.h"

#include <errno.h>
#include <string.h>

#define CUT "..."

/* Wire format, followed by its texts. Lengths include the NUL; 0: no text. */
struct sent_frame {
	uint64_t offset;
	uint16_t function;
	uint16_t object;
	uint16_t build_id;
	uint16_t file;
};

_Static_assert(PACKET_PAYLOAD <= UINT16_MAX, "a length fits");
_Static_assert(PROTOCOL_OBJECTS < UINT16_MAX, "a file's number fits");

/* Length of a text on the wire, with its NUL. */
static uint16_t sent_length(const char *text, size_t most)
{
	return text ? (uint16_t)(strnlen(text, most - 1) + 1) : 0;
}

static uint8_t *sent_text(uint8_t *at, const char *text, uint16_t length)
{
	if (!length)
		return at;
	memcpy(at, text, length - 1U);
	at[length - 1] = '\0';
	if (text[length - 1])
		memcpy(at + length - sizeof(CUT), CUT, sizeof(CUT));
	return at + length;
}

bool packet_put_frame(struct packet *packet, const struct frame *frame)
{
	const struct sent_frame sent = {
		.offset = frame->offset,
		.function = sent_length(frame->function, PROTOCOL_FUNCTION),
		.object = sent_length(frame->object, PROTOCOL_PATH),
		.build_id = sent_length(frame->build_id, PROTOCOL_BUILD_ID),
		.file = (uint16_t)frame->file,
	};
	size_t size = sizeof(sent) + sent.function + sent.object + sent.build_id;
	uint8_t *at = packet->payload + packet->size;

	if (size > sizeof(packet->payload) - packet->size)
		return false;
	memcpy(at, &sent, sizeof(sent));
	at = sent_text(at + sizeof(sent), frame->function, sent.function);
	at = sent_text(at, frame->object, sent.object);
	sent_text(at, frame->build_id, sent.build_id);
	packet->size += size;
	packet->head.n++;
	return true;
}

/* Takes a text that must have exactly this length. */
static int received_text(const struct packet *packet, size_t *at, size_t length, size_t most,
			 const char **text)
{
	const uint8_t *start = packet->payload + *at;

	*text = NULL;
	if (!length)
		return 0;
	if (length > most || length > packet->size - *at ||
	    memchr(start, '\0', length) != start + length - 1)
		return -EBADMSG;
	*text = (const char *)start;
	*at += length;
	return 0;
}

int packet_get_frame(const struct packet *packet, size_t *at, struct frame *frame)
{
	struct sent_frame sent;

	if (*at == packet->size)
		return 0;
	if (packet->size - *at < sizeof(sent))
		return -EBADMSG;
	memcpy(&sent, packet->payload + *at, sizeof(sent));
	*at += sizeof(sent);
	frame->offset = sent.offset;
	frame->file = sent.file;
	if (received_text(packet, at, sent.function, PROTOCOL_FUNCTION, &frame->function) ||
	    received_text(packet, at, sent.object, PROTOCOL_PATH, &frame->object) ||
	    received_text(packet, at, sent.build_id, PROTOCOL_BUILD_ID, &frame->build_id))
		return -EBADMSG;
	return 1;
}

void packet_put_digest(struct packet *packet, const struct digest *digest)
{
	packet->head.t = digest->hash;
	packet->size = offsetof(struct kd_shape, words[digest->shape.n]);
	memcpy(packet->payload, &digest->shape, packet->size);
}

int packet_get_digest(const struct packet *packet, struct digest *digest)
{
	struct kd_shape *shape = &digest->shape;

	if (packet->size < offsetof(struct kd_shape, words) || packet->size > sizeof(*shape))
		return -EBADMSG;
	memset(shape, 0, sizeof(*shape));
	memcpy(shape, packet->payload, packet->size);
	digest->hash = packet->head.t;
	return shape->n <= KD_SHAPE_WORDS &&
			       packet->size == offsetof(struct kd_shape, words[shape->n])
		       ? 0
		       : -EBADMSG;
}

const char *unwind_stop_text(enum unwind_stop stop)
{
	static const char *const texts[UNWIND_STOPS] = {
		[UNWIND_NO_OBJECT] = "code that is in no file",
		[UNWIND_NO_CFI] = "no unwind information",
		[UNWIND_BAD_CFI] = "unwind information that cannot be used",
		[UNWIND_NOT_COPIED] = "memory that could not be read",
		[UNWIND_TRUNCATED] = "beyond what was copied",
		[UNWIND_LOOP] = "frames that lead nowhere",
		[UNWIND_TOO_DEEP] = "too many frames",
		[UNWIND_BUDGET] = "too much work for one stack",
		[UNWIND_ELSEWHERE] = "on another stack",
		[UNWIND_BEYOND] = "code in more files, or more places, than are read",
	};

	return texts[stop];
}
