/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Compresses and decompresses whole zstd frames, with bounded memory. Frames have a content
 * checksum.
 */

#include "common/bytes.h"

/* Appends one frame to @out. 0, -ENOMEM, -EFBIG. */
int zstd_compress(struct bytes_view in, int level, struct bytes *out);

/*
 * Appends the content of the frames in @in to @out, up to the ceiling of @out, even if a frame's
 * header has a larger size. zstd allocates a window of at most the ceiling, rounded up to a power
 * of two and limited to 8 MiB to 128 MiB. 0, -EBADMSG (not zstd, damaged, truncated), -EFBIG (more
 * than the ceiling), -ENOMEM.
 */
int zstd_decompress(struct bytes_view in, struct bytes *out);
