/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expands compressed sections. There are two forms: SHF_COMPRESSED, where an Elf_Chdr precedes a
 * zlib or zstd stream, and GNU's older ".zdebug_", where "ZLIB" and the expanded size (8 bytes,
 * big-endian) precede a zlib stream. The caller has checked the expanded size; a stream that
 * expands to more or fewer bytes is damaged.
 */

#include <elf.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "symbolizer/symbols/elf/elf_image.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define ZDEBUG_HEADER_BYTES 12

/* Most bytes passed to one inflate() call: zlib counts them in 32 bits. */
#define INFLATE_STEP_BYTES (1u << 30)

static size_t chdr_bytes(const struct elf_image *image)
{
	return image->is_64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
}

static Elf64_Chdr chdr_of(const struct elf_image *image, const struct elf_image_section *section)
{
	Elf64_Chdr wide;
	Elf32_Chdr narrow;

	if (image->is_64) {
		memcpy(&wide, section->stored.data, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, section->stored.data, sizeof(narrow));
	return (Elf64_Chdr){ .ch_type = narrow.ch_type, .ch_size = narrow.ch_size };
}

int elf_section_expanded_size(const struct elf_image *image,
			      const struct elf_image_section *section, uint64_t *ret_size)
{
	uint64_t size = 0;

	*ret_size = section->stored.size;
	if (section->flags & SHF_COMPRESSED) {
		if (section->stored.size < chdr_bytes(image))
			return -EBADMSG;
		*ret_size = chdr_of(image, section).ch_size;
		return 1;
	}
	if (!section->gnu_compressed)
		return 0;
	if (section->stored.size < ZDEBUG_HEADER_BYTES ||
	    memcmp(section->stored.data, "ZLIB", 4) != 0)
		return -EBADMSG;
	for (size_t i = 4; i < ZDEBUG_HEADER_BYTES; i++)
		size = size << 8 | section->stored.data[i];
	*ret_size = size;
	return 1;
}

static int inflate_all(z_stream *stream, struct bytes_view in, uint8_t *to, size_t size)
{
	size_t written = 0, taken = 0;

	for (;;) {
		const size_t room = MIN(size - written, (size_t)INFLATE_STEP_BYTES);
		const size_t left = MIN(in.size - taken, (size_t)INFLATE_STEP_BYTES);
		int code;

		stream->next_in = (Bytef *)in.data + taken;
		stream->avail_in = (uInt)left;
		stream->next_out = to + written;
		stream->avail_out = (uInt)room;
		code = inflate(stream, Z_NO_FLUSH);
		taken += left - stream->avail_in;
		written += room - stream->avail_out;
		if (code == Z_STREAM_END)
			return written == size ? 0 : -EBADMSG;
		if (code != Z_OK)
			return code == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
		if (written == size && room == 0)
			return -EBADMSG;
	}
}

static int expand_zlib(struct bytes_view in, uint8_t *to, size_t size)
{
	z_stream stream = {};
	int r;

	if (inflateInit(&stream) != Z_OK)
		return -ENOMEM;
	r = inflate_all(&stream, in, to, size);
	(void)inflateEnd(&stream);
	return r;
}

static int expand_zstd(struct bytes_view in, uint8_t *to, size_t size)
{
	size_t written = ZSTD_decompress(to, size, in.data, in.size);

	return !ZSTD_isError(written) && written == size ? 0 : -EBADMSG;
}

int elf_section_expand(const struct elf_image *image, const struct elf_image_section *section,
		       uint8_t *to, size_t size)
{
	struct bytes_view in = section->stored;
	size_t header = section->flags & SHF_COMPRESSED ? chdr_bytes(image) : ZDEBUG_HEADER_BYTES;
	uint32_t type = section->flags & SHF_COMPRESSED ? chdr_of(image, section).ch_type
							: ELFCOMPRESS_ZLIB;

	in.data += header;
	in.size -= header;
	switch (type) {
	case ELFCOMPRESS_ZLIB:
		return expand_zlib(in, to, size);
	case ELFCOMPRESS_ZSTD:
		return expand_zstd(in, to, size);
	default:
		return -EBADMSG;
	}
}
