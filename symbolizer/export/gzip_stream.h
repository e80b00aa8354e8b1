/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Compresses bytes that are produced piece by piece, into a gzip file in memory. */

#include <zlib.h>

#include "common/bytes.h"

struct gzip_stream {
	z_stream zlib;
	struct bytes *out;
	bool started;
};

/* Returns 0 or -ENOMEM. Release the stream in both cases. */
int gzip_stream_init(struct gzip_stream *stream, struct bytes *out);
void gzip_stream_release(struct gzip_stream *stream);

/* Compresses @piece. Returns 0, or the error of the output: -EFBIG, -ENOMEM. */
int gzip_stream_write(struct gzip_stream *stream, struct bytes_view piece);

/* Writes the rest. Nothing can be written after it. */
int gzip_stream_finish(struct gzip_stream *stream);
