/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is known about a kind of frames (frame_kinds.def). Every function accepts any number,
 * because batches and stores may contain kinds of later versions.
 */

#include <stdbool.h>

#include "common/frame.h"

/* Highest number of a kind that the wire and the store can hold. */
#define FRAME_KIND_MAX 255

/* A frame's object is the number or ID of an executable, or with this bit of a code object. */
#define FRAME_CODE_OBJECT (1u << 31)

enum frame_object {
	FRAME_OBJECT_NOTHING,
	FRAME_OBJECT_EXECUTABLE,
	FRAME_OBJECT_CODE,
};

enum frame_position {
	FRAME_POSITION_UNKNOWN, /* of an unknown kind */
	FRAME_POSITION_ELF_ADDRESS,
	FRAME_POSITION_FILE_OFFSET,
	FRAME_POSITION_NAME_KEY,
	FRAME_POSITION_CODE_OFFSET,
	FRAME_POSITION_PROCESS_ADDRESS,
};

/* "native"; NULL: this program does not know the kind. */
const char *frame_kind_name(unsigned int kind);

/* Letter of the label's prefix; 0: none, or an unknown kind. */
char frame_kind_marker(unsigned int kind);

/*
 * Whether a frame of this kind may refer to such an object. Every frame may refer to nothing, and a
 * frame of an unknown kind to anything.
 */
bool frame_kind_allows(unsigned int kind, enum frame_object object);

enum frame_position frame_kind_position(unsigned int kind);

/* Whether the code runs in the kernel. False for an unknown kind. */
static inline bool frame_kind_is_kernel(unsigned int kind)
{
	return kind == FRAME_KERNEL || kind == FRAME_KERNEL_CODE || kind == FRAME_KERNEL_NAMED;
}
