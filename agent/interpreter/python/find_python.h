/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recognizes CPython in an ELF file: the program python3, libpython, or a program that contains it.
 * Runs in a parser (agent/helper/parser_process.h), because anybody may have written the file.
 */

#include "agent/executable/interpreter_facts.h"
#include "common/elf/elf_file.h"

/*
 * 1: *ret_facts; 0: the file has no CPython, or one of an unknown version; -ENODATA: the file was
 * truncated; -EFBIG: a table is too large; -ENOMEM.
 */
int find_python(const struct elf_file *elf, struct interpreter_facts *ret_facts);
