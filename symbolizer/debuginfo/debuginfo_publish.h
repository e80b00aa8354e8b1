/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stores a file that has arrived completely: checks it, compares it with the stored files of the
 * identity, stores it, and makes it visible in one transaction.
 */

#include "symbolizer/debuginfo/debuginfo_store.h"

struct debuginfo_arrival {
	struct executable_id id;
	enum debuginfo_origin origin;
	const char *source_path; /* canonical; "": an ELF file */
	int fd;
	uint64_t size;
};

/* Returns the largest size that a file of this arrival may have. */
uint64_t debuginfo_arrival_limit(const struct debuginfo_arrival *arrival);

/* Results are those of debuginfo_upload_commit(). */
int debuginfo_publish(struct debuginfo_store *store, const struct debuginfo_arrival *arrival,
		      struct debuginfo_entry *ret_entry, char ret_message[DEBUGINFO_MESSAGE_SIZE]);
