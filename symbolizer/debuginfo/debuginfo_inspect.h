/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks an uploaded file: whether it is a complete ELF file of this identity, which names and
 * debug sections it has, and whether it has code.
 */

#include "symbolizer/debuginfo/debuginfo_publish.h"

/*
 * Fills richness, has_code and is_split. 0; -EBADMSG with a message for the client: the file is
 * refused; other errors are the server's.
 */
int debuginfo_inspect(const struct debuginfo_arrival *arrival, struct debuginfo_entry *entry,
		      char ret_message[DEBUGINFO_MESSAGE_SIZE]);

/*
 * Compares @data, which begins at @offset of a file, with the first bytes of a 64-bit
 * little-endian ELF file. 0, or -EBADMSG with a message. A source file (@source_path not "") may
 * have any bytes.
 */
int debuginfo_check_first_bytes(const char *source_path, uint64_t offset, struct bytes_view data,
				char ret_message[DEBUGINFO_MESSAGE_SIZE]);
