/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What an uploaded file is: whether it is a complete ELF file of this identity, how much it can
 * tell, and whether it has the code.
 */

#include "symbolizer/debuginfo/debuginfo_publish.h"

/* Fills richness, has_code and is_split. 0; -EBADMSG with a message for whoever sent it; other
 * errors are ours. */
int debuginfo_inspect(const struct debuginfo_arrival *arrival, struct debuginfo_entry *entry,
		      char ret_message[DEBUGINFO_MESSAGE_SIZE]);
