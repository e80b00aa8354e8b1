/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Puts the frames of Ruby, PHP, Perl or Lua, which a sample has after all native frames, between
 * them: those that a call of the interpreter's loop executes before the frame of the loop
 * (bpf/abi/interpreter.h).
 */

#include "bpf/abi/sample_record.h"
#include "common/base.h"

/*
 * ret_order[i]: index in @frames of the frame that is number i of the stack, leaf first. Without
 * ABI_SAMPLE_LISTED it is i. The numbers of frames are those of @sample, at most ABI_MAX_FRAMES.
 */
void frame_order_find(const struct abi_sample *sample, const struct abi_frame *frames,
		      uint16_t ret_order[ABI_MAX_FRAMES]);
