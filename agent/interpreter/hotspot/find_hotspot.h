/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recognizes a HotSpot JVM (libjvm.so) in an ELF file, by the tables that it exports for debuggers.
 * Runs in a parser (agent/helper/parser_process.h), because anybody may have written the file.
 */

#include "agent/executable/interpreter_facts.h"
#include "common/elf/elf_file.h"

/*
 * 1: *ret_facts; 0: the file is no JVM; -ENODATA: the file was truncated; -EFBIG: a table is too
 * large; -ENOMEM.
 */
int find_hotspot(const struct elf_file *elf, struct interpreter_facts *ret_facts);
