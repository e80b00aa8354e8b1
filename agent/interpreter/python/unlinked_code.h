/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * CPython 3.8 to 3.10: finds the code of the interpreter's loop that is executed while the thread's
 * list of frames lacks the frame of this call. The loop, a C function, adds the frame some
 * instructions after its beginning ("links" it), and removes it some instructions before its end.
 */

#include "bpf/abi/interpreter.h"
#include "common/elf/elf_file.h"

/*
 * @loop: the parts of the function of version @version. 1: *ret_pieces; 0: the code is not
 * understood, or is not x86-64; -ENODATA: the file was truncated; -ENOMEM.
 */
int unlinked_code_find(const struct elf_file *elf, uint32_t version,
		       const struct abi_code_range loop[ABI_LOOP_PARTS],
		       struct abi_code_piece ret_pieces[ABI_UNLINKED_PIECES]);
