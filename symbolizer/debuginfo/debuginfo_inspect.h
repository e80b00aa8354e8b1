/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks an uploaded ELF file: it must be complete, and have the identity under which it was
 * uploaded. Determines which names and debug sections it has, and whether it has code.
 */

#include "symbolizer/debuginfo/debuginfo_publish.h"

/*
 * Fills richness, has_code and is_split of @entry. Returns 0; -EBADMSG: the file is refused, and
 * the message has the reason for the client; other errors: the server could not check the file.
 */
int debuginfo_inspect(const struct debuginfo_arrival *arrival, struct debuginfo_entry *entry,
		      char ret_message[DEBUGINFO_MESSAGE_SIZE]);

/*
 * Checks a file while it is received, so that a wrong file is refused early. @data are its bytes
 * from @offset on. As far as they belong to the first bytes of the file, they must be those of a
 * 64-bit little-endian ELF file. Returns 0, or -EBADMSG with a message. A source file (@source_path
 * not "") may have any bytes.
 */
int debuginfo_check_first_bytes(const char *source_path, uint64_t offset, struct bytes_view data,
				char ret_message[DEBUGINFO_MESSAGE_SIZE]);
