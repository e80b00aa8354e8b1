/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Expands gzip. */

#include "common/bytes.h"

static inline bool is_gzip(struct bytes_view data)
{
	return data.size >= 2 && data.data[0] == 0x1f && data.data[1] == 0x8b;
}

/*
 * Appends the content of all members of the gzip file @in to @out, up to the ceiling of @out,
 * whatever size the file declares. 0; -EBADMSG: no gzip, damaged, or cut short; -EFBIG: more than
 * the ceiling; -ENOMEM.
 */
int gunzip(struct bytes_view in, struct bytes *out);
