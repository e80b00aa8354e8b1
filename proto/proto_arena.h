/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unpacks protobuf messages into an arena: nothing is freed one by one, and the arena's ceiling
 * bounds what a hostile message can make us allocate.
 */

#include <protobuf-c/protobuf-c.h>

#include "common/arena.h"

/*
 * The allocator borrows @arena. Use: ProtobufCAllocator a = proto_arena_allocator(arena);
 * x__unpack(&a, ...).
 */
ProtobufCAllocator proto_arena_allocator(struct arena *arena);
