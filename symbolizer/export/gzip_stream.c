/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/export/gzip_stream.h"

/* Profiles of all levels differ by a few per cent in size, and by several times in time. */
#define LEVEL 3

/* 15 bits of window; 16 more select a gzip header instead of zlib's own format. */
#define WINDOW_BITS  (15 + 16)
#define MEMORY_LEVEL 8

/* zlib counts its input in 32 bits. */
#define MAX_PIECE_BYTES GIB

#define OUTPUT_BYTES (16 * KIB)

int gzip_stream_init(struct gzip_stream *stream, struct bytes *out)
{
	*stream = (struct gzip_stream){ .out = out };
	if (deflateInit2(&stream->zlib, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	stream->started = true;
	return 0;
}

void gzip_stream_release(struct gzip_stream *stream)
{
	if (stream->started)
		(void)deflateEnd(&stream->zlib);
	stream->started = false;
}

static int compress_input(struct gzip_stream *stream, int flush)
{
	uint8_t output[OUTPUT_BYTES];

	do {
		stream->zlib.next_out = output;
		stream->zlib.avail_out = sizeof(output);
		/* The state is valid, so that deflate() cannot fail. */
		(void)deflate(&stream->zlib, flush);
		(void)bytes_append(stream->out, output, sizeof(output) - stream->zlib.avail_out);
	} while (stream->zlib.avail_out == 0 && bytes_error(stream->out) == 0);
	return bytes_error(stream->out);
}

int gzip_stream_write(struct gzip_stream *stream, struct bytes_view piece)
{
	assert(stream->started && piece.size <= MAX_PIECE_BYTES);
	/* The field is not const without ZLIB_CONST; zlib does not write there. */
	stream->zlib.next_in = (uint8_t *)piece.data;
	stream->zlib.avail_in = (uInt)piece.size;
	return compress_input(stream, Z_NO_FLUSH);
}

int gzip_stream_finish(struct gzip_stream *stream)
{
	stream->zlib.avail_in = 0;
	return compress_input(stream, Z_FINISH);
}
