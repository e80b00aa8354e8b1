/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the table of functions in a Go program (agent/unwind/go/go_pclntab.h). */

#include "agent/unwind/file/byte_window.h"
#include "common/elf/elf_file.h"

struct go_file {
	struct byte_window pclntab; /* without a buffer; for byte_window_part() */
	uint64_t pclntab_vaddr;
	uint64_t text_start; /* addresses of functions are relative to it */
};

/* 1: found; 0: it is no Go program, or its table is not supported; -ENOMEM, -ENODATA. */
int go_file_find(const struct elf_file *elf, struct go_file *ret_file);
