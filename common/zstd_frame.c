/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compression is one call. Decompression streams into the growing buffer. If a frame's header gives
 * the content size, that many bytes are reserved at once, up to the ceiling, and zstd decodes into
 * them without a window.
 */

#include "common/zstd_frame.h"

#include <zstd.h>
#include <zstd_errors.h>

#include "common/scoped.h"

/*
 * RFC 8878 §3.1.1.1.2 recommends that decoders support windows of 8 MiB. zstd itself refuses
 * windows above 128 MiB by default.
 */
#define MIN_WINDOW_LOG 23
#define MAX_WINDOW_LOG 27

static void scoped_free_cctx(ZSTD_CCtx **context)
{
	ZSTD_freeCCtx(*context);
}

static void scoped_free_dctx(ZSTD_DCtx **context)
{
	ZSTD_freeDCtx(*context);
}

int zstd_compress(struct bytes_view in, int level, struct bytes *out)
{
	scoped(scoped_free_cctx) ZSTD_CCtx *context = ZSTD_createCCtx();
	const size_t bound = ZSTD_compressBound(in.size);
	size_t room, written;
	int r;

	if (!context)
		return -ENOMEM;
	if (out->error)
		return out->error;
	if (ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)))
		return -ENOMEM;

	/* The output may fit although the ceiling is below the bound. */
	room = MIN(bound, out->ceiling - out->size);
	r = bytes_reserve(out, room);
	if (r < 0)
		return r;
	written = ZSTD_compress2(context, room ? out->data + out->size : NULL, room, in.data,
				 in.size);
	if (ZSTD_isError(written)) {
		bool too_large = ZSTD_getErrorCode(written) == ZSTD_error_dstSize_tooSmall;

		return out->error = too_large ? -EFBIG : -ENOMEM;
	}
	out->size += written;
	return 0;
}

static int window_log_for(size_t ceiling)
{
	int log = MIN_WINDOW_LOG;

	while (log < MAX_WINDOW_LOG && (size_t)1 << log < ceiling)
		log++;
	return log;
}

/* Number of bytes to reserve before decoding a frame: at most @room. */
static size_t expected_size(struct bytes_view in, size_t room)
{
	unsigned long long content_size = ZSTD_getFrameContentSize(in.data, in.size);

	if (content_size == ZSTD_CONTENTSIZE_UNKNOWN || content_size == ZSTD_CONTENTSIZE_ERROR)
		content_size = ZSTD_DStreamOutSize();
	return (size_t)MIN(content_size, (unsigned long long)room);
}

static int decode_error(size_t code)
{
	return ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation ? -ENOMEM : -EBADMSG;
}

/*
 * Decodes a part of the input into the free bytes of @out. If there are none, it decodes into a
 * separate byte, because the rest of the frame may be its checksum only. 0: end of a frame, 1:
 * inside a frame, or negative errno.
 */
static int decode_piece(ZSTD_DCtx *context, ZSTD_inBuffer *in, struct bytes *out)
{
	size_t room = MIN(out->capacity, out->ceiling) - out->size;
	uint8_t beyond;
	ZSTD_outBuffer piece = {
		.dst = room ? out->data + out->size : &beyond,
		.size = room ? room : 1,
	};
	size_t left = ZSTD_decompressStream(context, &piece, in);

	if (ZSTD_isError(left))
		return decode_error(left);
	if (room == 0 && piece.pos > 0)
		return out->error = -EFBIG;
	if (room > 0)
		out->size += piece.pos;
	/* The input is used up, and the output was not full: the rest of the frame is missing. */
	if (left != 0 && in->pos == in->size && piece.pos < piece.size)
		return -EBADMSG;
	return left != 0;
}

static int decode_frames(ZSTD_DCtx *context, struct bytes_view view, struct bytes *out)
{
	ZSTD_inBuffer in = { .src = view.data, .size = view.size };
	int inside = 0;

	while (inside || in.pos < in.size) {
		struct bytes_view rest = { .data = view.data + in.pos, .size = in.size - in.pos };
		size_t room = out->ceiling - out->size;

		if (!inside || out->capacity == out->size) {
			size_t wanted = inside ? MIN(ZSTD_DStreamOutSize(), room)
					       : expected_size(rest, room);
			int r = bytes_reserve(out, wanted);

			if (r < 0)
				return r;
		}
		inside = decode_piece(context, &in, out);
		if (inside < 0)
			return inside;
	}
	return 0;
}

int zstd_decompress(struct bytes_view in, struct bytes *out)
{
	scoped(scoped_free_dctx) ZSTD_DCtx *context = NULL;
	const size_t old_size = out->size;
	size_t code;
	int r;

	if (out->error)
		return out->error;
	if (in.size == 0)
		return -EBADMSG;
	context = ZSTD_createDCtx();
	if (!context)
		return -ENOMEM;
	code = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, window_log_for(out->ceiling));
	if (ZSTD_isError(code))
		return -ENOMEM;

	r = decode_frames(context, in, out);
	if (r < 0)
		out->size = old_size;
	return r;
}
