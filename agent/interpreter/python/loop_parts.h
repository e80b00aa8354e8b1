/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the second part of a function that the compiler has split: gcc moves code that rarely runs
 * (NAME.cold) away from the function, often without an exported symbol. The function jumps to
 * it, and it has call frame information of its own.
 */

#include "bpf/abi/interpreter.h"
#include "common/elf/elf_file.h"
#include "common/elf/elf_symbol.h"

/*
 * Sets ret_parts[0] to the range of the function @symbol, and ret_parts[1] to its second part if it
 * has one. 1; 0: the file has no such function; or an error of loop_parts_find().
 */
int loop_parts_of_symbol(const struct elf_file *elf, const struct elf_symbol *symbol,
			 struct abi_code_range ret_parts[2]);

/*
 * Finds the range of call frame information to which most jumps out of @first lead. 1: *ret_second;
 * 0: there is none; -ENODATA: the file was truncated; -ENOMEM.
 */
int loop_parts_find(const struct elf_file *elf, const struct abi_code_range *first,
		    struct abi_code_range *ret_second);
