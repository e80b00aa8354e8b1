/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recognizes CRuby in an ELF file, libruby or a program that contains it, by its exported version.
 * Runs in a parser (agent/helper/parser_process.h), because anybody may have written the file.
 */

#include "agent/executable/interpreter_facts.h"
#include "common/elf/elf_file.h"

/*
 * 1: *ret_facts; with an empty loop if the version is not known; 0: the file has no CRuby, or its
 * code is not understood; -ENODATA: the file was truncated; -EFBIG: a table is too large; -ENOMEM.
 */
int find_ruby(const struct elf_file *elf, struct interpreter_facts *ret_facts);
