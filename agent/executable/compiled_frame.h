/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A function that compiled code executes at some address: the function to which the code belongs,
 * or one that the compiler has inlined.
 */

#include <stdint.h>

/*
 * Functions that a compiler has inlined into each other, at one address. HotSpot of JDK 17 inlines
 * up to 15 levels. TurboFan limits the size of the code, which may have more levels of functions
 * that do nothing but call another one.
 */
#define COMPILED_MAX_INLINED 64

struct compiled_frame {
	uint64_t function; /* address of the method, or of the SharedFunctionInfo */
	uint32_t position; /* Java: index of the byte code; JavaScript: the line, 0: not known */
	uint32_t zero;
};
