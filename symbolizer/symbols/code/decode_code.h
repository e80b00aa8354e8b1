/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decodes machine code of x86-64 and AArch64 with the library capstone. It runs in a helper process
 * only (compile/table_helper.h), because anybody who may upload a file can choose the bytes.
 */

#include "symbolizer/symbols/code/code_exchange.h"

/* Whether code of this machine (EM_...) can be decoded. */
bool decode_code_knows(uint16_t machine);

/*
 * Decodes the blocks of @request (code_exchange.h) one after another, each from its first byte, and
 * appends the answer to @out. Bytes that are no instruction are given as data: one byte of x86-64,
 * four of AArch64, after which decoding continues. 0; -EBADMSG: not a request; -ENOTSUP: another
 * machine; -EFBIG: beyond the ceiling of @out; -ENOMEM.
 */
int decode_code(struct bytes_view request, struct bytes *out);
