/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What an uploaded file is: whether it is a complete ELF file of this identity, and how much it can
 * tell.
 */

#include "symbolizer/debuginfo/debuginfo_store.h"

/* 0; -EBADMSG with a message for whoever sent it; other errors are ours. */
int debuginfo_inspect(int fd, const struct executable_id *id, enum debuginfo_richness *ret_richness,
		      char ret_message[DEBUGINFO_MESSAGE_SIZE]);
