/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unpacks protobuf messages into an arena. Nothing is freed separately, and the limit of the arena
 * bounds the memory that a hostile message can cause to be allocated.
 */

#include <protobuf-c/protobuf-c.h>

#include "common/arena.h"
#include "common/bytes.h"

/*
 * Returns a message of this type in @arena. NULL: @data is no such message, or the arena has no
 * room, and *ret_is_full is set. @ret_is_full may be NULL.
 */
void *proto_arena_unpack(const ProtobufCMessageDescriptor *descriptor, struct arena *arena,
			 struct bytes_view data, bool *ret_is_full);
