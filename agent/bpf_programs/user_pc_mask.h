/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is left of a return address without its signature.
 *
 * On arm64 a return address may be signed (PAC). The signature takes the bits between the size of
 * user addresses, which is the kernel's choice (39 to 52 bits), and bit 55. An instruction says
 * which they are: it strips what it takes for a signature from an address whose bits below 55 are
 * all ones, and does nothing on processors without signatures, where nothing has to be stripped.
 */

#include "common/base.h"

#define USER_ADDRESS_BITS 55

static inline uint64_t user_pc_mask(void)
{
#if defined(__aarch64__)
	register uint64_t pc __asm__("x30") = (UINT64_C(1) << USER_ADDRESS_BITS) - 1;

	/* xpaclri, for assemblers that do not know it */
	__asm__("hint #7" : "+r"(pc));
	return pc;
#else
	return UINT64_MAX;
#endif
}
