/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Call frame information of a file, fed to the parser in windows: nobody has a whole section in
 * memory.
 */

#include "agent/unwind/eh_frame.h"
#include "agent/unwind/section_reader.h"

/* The largest browsers have 30 MiB. What a section has beyond it is not read. */
#define EH_FRAME_FILE_MAX_BYTES (256 * MIB)

/*
 * What is done with each FDE; and, unless it is NULL, with the parser behind the last one, which
 * has counted them.
 */
struct eh_frame_visit {
	eh_frame_fde_function on_fde;
	void (*on_end)(void *argument, const struct eh_frame_parser *parser);
	void *argument;
};

/*
 * All that @reader has of @section, whose size it says. 0, or what the parser or the visit says;
 * -ENODATA, -ENOMEM.
 */
int eh_frame_file_read(const struct elf_file *elf, struct eh_frame_section *section,
		       struct section_reader *reader, const struct eh_frame_visit *visit);

/*
 * The FDEs of all sections called @name. How many sections could be read; or negative: what the
 * visit said, -ENODATA, -ENOMEM.
 */
int eh_frame_file_each(const struct elf_file *elf, const char *name, bool is_debug_frame,
		       const struct eh_frame_visit *visit);
