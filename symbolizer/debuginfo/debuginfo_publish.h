/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A file that is here as a whole, in a descriptor, on its way into the store: checked, compared
 * with what is there, stored, and made visible in one step.
 */

#include "symbolizer/debuginfo/debuginfo_store.h"

struct debuginfo_arrival {
	struct executable_id id;
	enum debuginfo_origin origin;
	const char *source_path; /* canonical; "": an ELF file */
	int fd;
	uint64_t size;
};

/*
 * Compares @data, which stands at @offset of a file, with the first bytes of a 64-bit little-endian
 * ELF file. 0, or -EBADMSG with a message. A source file (@source_path not "") may hold anything.
 */
int debuginfo_check_first_bytes(const char *source_path, uint64_t offset, struct bytes_view data,
				char ret_message[DEBUGINFO_MESSAGE_SIZE]);

uint64_t debuginfo_arrival_limit(const struct debuginfo_arrival *arrival);

/* As debuginfo_upload_commit(). */
int debuginfo_publish(struct debuginfo_store *store, const struct debuginfo_arrival *arrival,
		      struct debuginfo_entry *ret_entry, char ret_message[DEBUGINFO_MESSAGE_SIZE]);
