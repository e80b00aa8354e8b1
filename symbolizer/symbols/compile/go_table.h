/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads functions, inlined functions and lines of Go programs without DWARF from the tables that
 * Go's runtime uses for tracebacks: .gopclntab, and the inline trees that moduledata points to. Go
 * 1.18 and later.
 *
 * Format: the Go sources, internal/abi/symtab.go, runtime/symtab.go,
 * cmd/internal/objabi/funcdata.go.
 */

#include "symbolizer/symbols/compile/table_builder.h"
#include "symbolizer/symbols/elf/elf_image.h"

/*
 * Adds the functions of the file's table to @builder. Returns 1, or 0 if the file has no table or
 * one of an unsupported version. -EBADMSG: the table is damaged, and the functions before the
 * damage were added; -EFBIG; -ENOMEM.
 */
int go_table_read(struct elf_image *image, const struct code_section_vec *code,
		  struct table_builder *builder);
