/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unpacks protobuf messages into an arena. Nothing is freed separately, and the limit of the arena
 * bounds the memory that a hostile message can cause to be allocated.
 */

#include <protobuf-c/protobuf-c.h>

#include "common/arena.h"

/*
 * The allocator borrows @arena. Use: ProtobufCAllocator a = proto_arena_allocator(arena);
 * x__unpack(&a, ...).
 */
ProtobufCAllocator proto_arena_allocator(struct arena *arena);
