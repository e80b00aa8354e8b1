/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bounded one-shot zstd. Frames carry a content checksum.
 */

#include "common/bytes.h"

/* Appends one frame to @out. 0, -ENOMEM, -EFBIG. */
int zstd_compress(struct bytes_view in, int level, struct bytes *out);

/*
 * Appends what the frames in @in hold to @out, up to out's ceiling, whatever a frame's header
 * claims. A window that zstd keeps beside it is as large as the ceiling (rounded up to a power of
 * two), at least 8 MiB and at most 128 MiB. 0, -EBADMSG (not zstd, damaged, cut short), -EFBIG
 * (more than the ceiling), -ENOMEM.
 */
int zstd_decompress(struct bytes_view in, struct bytes *out);
