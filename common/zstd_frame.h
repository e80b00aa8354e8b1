/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bounded one-shot zstd. Frames carry a content checksum.
 */

#include "common/bytes.h"

/* Appends one frame to @out. 0, -ENOMEM, -EFBIG. */
int zstd_compress(struct bytes_view in, int level, struct bytes *out);

/*
 * Appends what the frames in @in hold to @out, up to out's ceiling, whatever the frame's header claims. The window that
 * zstd keeps beside is at most 8 MiB or the ceiling, whichever is more, and never above 128 MiB. 0, -EBADMSG (not zstd, damaged, cut short), -EFBIG (more than the ceiling), -ENOMEM.
 */
int zstd_decompress(struct bytes_view in, struct bytes *out);
