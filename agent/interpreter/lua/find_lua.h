/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recognizes Lua in an ELF file, the program lua, liblua, or a program that contains Lua, by the
 * exported text lua_ident. Runs in a parser (agent/helper/parser_process.h), because anybody may
 * have written the file.
 */

#include "agent/executable/interpreter_facts.h"
#include "common/elf/elf_file.h"

/*
 * 1: *ret_facts; with an empty loop if the version is not known; 0: the file has no Lua, or its
 * code is not understood; -ENODATA: the file was truncated; -EFBIG: a table is too large; -ENOMEM.
 */
int find_lua(const struct elf_file *elf, struct interpreter_facts *ret_facts);
