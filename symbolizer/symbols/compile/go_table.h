/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions, inlined functions and lines of Go programs without DWARF, from what Go's own runtime
 * prints its tracebacks from: .gopclntab, and the inline trees that moduledata leads to. Go 1.18
 * and later.
 *
 * Format: the Go sources, internal/abi/symtab.go, runtime/symtab.go,
 * cmd/internal/objabi/funcdata.go.
 */

#include "symbolizer/symbols/compile/table_builder.h"
#include "symbolizer/symbols/elf/elf_image.h"

/* Adds what the file's table has. 1 read, 0 there is none (or of another version), -EBADMSG (what
 * was read before the damage is in the builder), -EFBIG, -ENOMEM. */
int go_table_read(struct elf_image *image, const struct code_section_vec *code,
		  struct table_builder *builder);
