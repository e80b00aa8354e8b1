/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Compression level 3: it reduces node lists about tenfold at 150 MB/s or more. Higher levels take
 * several times as long as the query and save a few per cent.
 */

#include "symbolizer/http/gzip.h"

#include <zlib.h>

#define GZIP_LEVEL 3

/* 15 bits of window; 16 more select a gzip header instead of zlib's own format. */
#define GZIP_WINDOW_BITS  (15 + 16)
#define GZIP_MEMORY_LEVEL 8

/* deflate() counts its input and its output in 32 bits. */
#define MAX_INPUT_BYTES GIB

static bool is_text(const char *content_type)
{
	static const char *const prefixes[] = { "text/", "application/json", "image/svg" };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (content_type && strncmp(content_type, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static int compress_all(struct bytes_view in, struct bytes *out)
{
	z_stream stream = {};
	int r;

	if (deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;

	r = bytes_reserve(out, deflateBound(&stream, in.size));
	if (r == 0) {
		assert(in.size <= MAX_INPUT_BYTES && out->capacity <= HTTP_RESPONSE_MAX_BYTES);
		stream.next_in =
			/* The field is not const without ZLIB_CONST; zlib does not write there. */
			(uint8_t *)in.data;
		stream.avail_in = (uInt)in.size;
		stream.next_out = out->data;
		stream.avail_out = (uInt)(out->capacity - out->size);
		r = deflate(&stream, Z_FINISH) == Z_STREAM_END ? 0 : -EIO;
		out->size = stream.total_out;
	}
	(void)deflateEnd(&stream);
	return r;
}

void gzip_response(const struct http_request *request, struct http_response *response)
{
	struct bytes compressed = BYTES_INIT(HTTP_RESPONSE_MAX_BYTES);

	compressed.budget = response->body.budget;
	if (response->file >= 0 || response->fixed_body.data || !is_text(response->content_type) ||
	    response->body.size < GZIP_MIN_BYTES || response->body.size > MAX_INPUT_BYTES)
		return;

	/* Caches must know that the answer depends on the header, also if this client gets it
	 * uncompressed. */
	http_response_header(response, "Vary", "Accept-Encoding");
	if (!http_request_accepts(request, "Accept-Encoding", "gzip"))
		return;
	if (compress_all(bytes_view_of(&response->body), &compressed) < 0) {
		bytes_release(&compressed);
		return;
	}
	bytes_release(&response->body);
	response->body = compressed;
	http_response_header(response, "Content-Encoding", "gzip");
}
