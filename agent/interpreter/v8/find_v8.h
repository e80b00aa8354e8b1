/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recognizes V8 in an ELF file, the program node or libnode, by its exported version. Runs in a
 * parser (agent/helper/parser_process.h), because anybody may have written the file.
 */

#include "agent/executable/interpreter_facts.h"
#include "common/elf/elf_file.h"

/*
 * 1: *ret_facts, with the code that calls the handlers of byte code in loop[0] and the built-in
 * functions in loop[1] if the file has their symbols; 0: the file has no V8, or one of an unknown
 * version; -ENODATA: the file was truncated; -EFBIG: a table is too large; -ENOMEM.
 */
int find_v8(const struct elf_file *elf, struct interpreter_facts *ret_facts);
