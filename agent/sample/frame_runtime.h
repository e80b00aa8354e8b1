/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The runtimes whose functions have frames (bpf/abi/interpreter.h). */

#include "bpf/abi/interpreter.h"
#include "bpf/abi/sample_record.h"
#include "common/frame.h"

/* The runtime of a frame of byte code, or of code compiled from it; else INTERPRETER_NONE. */
static inline enum interpreter_runtime frame_runtime(const struct abi_frame *frame)
{
	switch (frame->kind & ABI_FRAME_KIND) {
	case FRAME_PYTHON:
		return INTERPRETER_PYTHON;
	case FRAME_HOTSPOT:
		return INTERPRETER_HOTSPOT;
	case FRAME_V8:
		return INTERPRETER_V8;
	case FRAME_RUBY:
		return INTERPRETER_RUBY;
	case FRAME_PHP:
		return INTERPRETER_PHP;
	case FRAME_PERL:
		return INTERPRETER_PERL;
	case FRAME_LUA:
		return INTERPRETER_LUA;
	default:
		return INTERPRETER_NONE;
	}
}
