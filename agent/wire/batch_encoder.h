/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/sample/window.h"
#include "common/bytes.h"

/*
 * Encodes @window as one zstd frame of a hearth.v1.Batch and appends it to @out. Sorts stacks and
 * rows in place. *ret_plain_bytes is the size before compression. 0, -ENOMEM, -EFBIG (above
 * BATCH_MAX_COMPRESSED_BYTES or BATCH_MAX_BYTES: the caller has to close windows earlier).
 */
int batch_encode(struct window *window, struct bytes *out, size_t *ret_plain_bytes);
