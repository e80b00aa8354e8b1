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
 * Appends the content of the frames in @in to @out, up to the ceiling of @out, whatever content
 * size a frame's header gives. zstd allocates a window of at most the ceiling, rounded up to a
 * power of two, but not less than 8 MiB and not more than 128 MiB. 0, -EBADMSG (not zstd, damaged,
 * truncated), -EFBIG (the content exceeds the ceiling), -ENOMEM.
 */
int zstd_decompress(struct bytes_view in, struct bytes *out);
