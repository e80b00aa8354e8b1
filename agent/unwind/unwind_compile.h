/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Compiles the unwind table of an executable from everything in its file that describes frames.
 */

#include "agent/unwind/table/unwind_table.h"

struct unwind_options {
	/*
	 * No rows for x86-64 code without call frame information
	 * (agent/unwind/x86_code/x86_code.h).
	 */
	bool skip_x86_code;
};

/*
 * Reads .eh_frame (by its section, or by PT_GNU_EH_FRAME), then Go's .gopclntab or else
 * .debug_frame. Where several of them cover an address, the first one wins. x86-64 code that none
 * covers is analyzed itself, unless @options says otherwise. Reads by pread(2) in pieces; memory is
 * bounded by the rows.
 *
 * 1: compiled; 0: the file has no such information, and the table is empty; -ENODATA, -EBADMSG,
 * -ENOMEM, -E2BIG (more than UNWIND_MAX_ROWS).
 */
int unwind_table_compile(const struct elf_file *elf, const struct unwind_options *options,
			 struct unwind_table *ret_table, struct unwind_table_stats *ret_stats);
