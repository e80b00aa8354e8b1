/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Call frame information of a file, fed to the parser in windows: nobody has a whole section in memory.
 */

#include "agent/unwind/eh_frame.h"
#include "agent/unwind/section_reader.h"

/* The largest browsers have 30 MiB. What a section has beyond it is not read. */
#define EH_FRAME_FILE_MAX_BYTES (256 * MIB)

/* More sections of one name than any linker leaves. */
#define EH_FRAME_FILE_MAX_SECTIONS 8

/* What the parser has to know of a section, but for its size, which the reader says. */
struct eh_frame_section eh_frame_file_section(const struct elf_file *elf, const struct elf_section *section,
					      bool is_debug_frame);

/* All that @reader has. 0, or what the parser says; -ENODATA. */
int eh_frame_file_read(struct section_reader *reader, struct eh_frame_parser *parser);

/* The FDEs of all sections .eh_frame. 1; 0: there is none; negative: what @on_fde said, -ENODATA, -ENOMEM. */
int eh_frame_file_each(const struct elf_file *elf, eh_frame_fde_function on_fde, void *argument);
