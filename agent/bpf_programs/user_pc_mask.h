/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The bits of a user return address that are not its signature.
 *
 * On arm64 a return address may be signed (PAC). The signature occupies bit 55 and the bits between
 * the size of user addresses and bit 55. The kernel chooses that size (39 to 52 bits). The
 * instruction xpaclri removes the signature: from an address with bits 0 to 54 set, it clears the
 * bits that a signature would occupy. On processors without PAC it does nothing, and there is
 * nothing to remove.
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
