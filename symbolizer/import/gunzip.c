/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/gunzip.h"

#include <zlib.h>

#include "common/scoped.h"

/* 15 bits of window; 16 more accept a gzip header only. */
#define WINDOW_BITS (15 + 16)

/* Room for output that is made at a time. */
#define PIECE_BYTES ((size_t)(64 * KIB))

static void release_stream(z_stream *stream)
{
	(void)inflateEnd(stream);
}

/* Expands a piece. 1: a member has ended, 0: there is more. */
static int inflate_piece(z_stream *stream, struct bytes *out)
{
	const size_t left = out->ceiling - out->size;
	int r;

	/* One byte more than may be used shows that the content is too large. */
	if (left == 0)
		return -EFBIG;
	r = bytes_reserve(out, MIN(PIECE_BYTES, left));
	if (r < 0)
		return r;
	stream->next_out = out->data + out->size;
	stream->avail_out = (uInt)MIN(PIECE_BYTES, left);
	r = inflate(stream, Z_NO_FLUSH);
	out->size = (size_t)(stream->next_out - out->data);
	if (r == Z_STREAM_END)
		return 1;
	if (r == Z_MEM_ERROR)
		return -ENOMEM;
	/* Z_BUF_ERROR: the input has ended before the member. */
	return r == Z_OK ? 0 : -EBADMSG;
}

static int inflate_member(z_stream *stream, struct bytes *out)
{
	int r;

	do {
		r = inflate_piece(stream, out);
	} while (r == 0);
	return r < 0 ? r : 0;
}

int gunzip(struct bytes_view in, struct bytes *out)
{
	scoped(release_stream) z_stream stream = {};
	int r;

	if (in.size > UINT32_MAX)
		return -EFBIG;
	if (inflateInit2(&stream, WINDOW_BITS) != Z_OK)
		return -ENOMEM;
	/* The field is not const without ZLIB_CONST; zlib does not write there. */
	stream.next_in = (uint8_t *)in.data;
	stream.avail_in = (uInt)in.size;
	r = inflate_member(&stream, out);
	while (r == 0 && stream.avail_in > 0) {
		if (inflateReset(&stream) != Z_OK)
			return -EBADMSG;
		r = inflate_member(&stream, out);
	}
	return r;
}
