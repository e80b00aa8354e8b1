/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Recognizes PHP in an ELF file: the programs php and php-fpm, or libphp.so. Runs in a parser
 * (agent/helper/parser_process.h), because anybody may have written the file.
 */

#include "agent/executable/interpreter_facts.h"
#include "common/elf/elf_file.h"

/*
 * 1: *ret_facts, also of a version without a layout, or with PHP_VERSION_ZTS; 0: the file has no
 * PHP; -ENODATA: the file was truncated; -EFBIG: a table is too large; -ENOMEM.
 */
int find_php(const struct elf_file *elf, struct interpreter_facts *ret_facts);
