/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the loop of CRuby in a file without its symbol (vm_exec_core is not exported). The loop
 * jumps to the code of an instruction by a table with the addresses of about 200 labels in it, and
 * the file has a relocation for each of them.
 */

#include "bpf/abi/interpreter.h"
#include "common/elf/elf_file.h"

/*
 * Finds the function to which most relocations of one table lead. 1: *ret_loop; 0: there is none;
 * -ENODATA: the file was truncated; -ENOMEM.
 */
int loop_table_find(const struct elf_file *elf, struct abi_code_range *ret_loop);
