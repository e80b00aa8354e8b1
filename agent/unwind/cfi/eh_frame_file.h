/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the call frame information of a file, and passes it to the parser in windows, so that a
 * section is never in memory as a whole.
 */

#include "agent/unwind/cfi/eh_frame.h"
#include "agent/unwind/file/section_reader.h"

/* Bytes of a section beyond this are not read. The largest browsers have 30 MiB. */
#define EH_FRAME_FILE_MAX_BYTES (256 * MIB)

/*
 * @on_fde is called for each FDE, then @on_end with the parser, which has counted them. @on_end may
 * be NULL.
 */
struct eh_frame_visit {
	eh_frame_fde_function on_fde;
	void (*on_end)(void *argument, const struct eh_frame_parser *parser);
	void *argument;
};

/*
 * Parses all bytes of @reader as @section, and sets its size. 0; the negative value of the parser
 * or of @on_fde; -ENODATA, -ENOMEM.
 */
int eh_frame_file_read(const struct elf_file *elf, struct eh_frame_section *section,
		       struct section_reader *reader, const struct eh_frame_visit *visit);

/*
 * Visits the FDEs of all sections with this name. Returns how many sections could be read; or the
 * negative value of @on_fde, -ENODATA, -ENOMEM.
 */
int eh_frame_file_each(const struct elf_file *elf, const char *name, bool is_debug_frame,
		       const struct eh_frame_visit *visit);
