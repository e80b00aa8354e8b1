/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MiniDebugInfo: an ELF file with a .symtab, compressed by xz, in the section .gnu_debugdata of
 * another one. Its size is not told beforehand.
 */

#include <lzma.h>

#include "symbolizer/symbols/elf/image_symbols.h"
#include "symbolizer/symbols/symbol_limits.h"
#include "symbolizer/symbols/table/symbol_file.h"

#define STEP_BYTES_AT_ONCE (1 * MIB)

/* xz's own dictionaries need up to 64 MiB at its highest level. */
#define LZMA_MEMORY_BYTES (128 * MIB)

static int expand(struct bytes_view in, struct bytes *out)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret code = lzma_stream_decoder(&stream, LZMA_MEMORY_BYTES, 0);
	int r = code == LZMA_OK ? 0 : -ENOMEM;

	stream.next_in = in.data;
	stream.avail_in = in.size;
	while (r == 0 && code == LZMA_OK) {
		r = bytes_reserve(out, STEP_BYTES_AT_ONCE);
		if (r < 0)
			break;
		stream.next_out = out->data + out->size;
		stream.avail_out = STEP_BYTES_AT_ONCE;
		code = lzma_code(&stream, LZMA_FINISH);
		out->size += STEP_BYTES_AT_ONCE - stream.avail_out;
		if (code != LZMA_OK && code != LZMA_STREAM_END)
			r = code == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
	}
	lzma_end(&stream);
	return r;
}

int image_symbols_read_mini(struct image_symbols *symbols, struct elf_image *image,
			    struct bytes *xz)
{
	const uint32_t sources = symbols->sources;
	const size_t before = symbols->functions.count;
	struct elf_image inner = {};
	struct bytes_view data;
	int r;

	/* Names live in @xz: one such section is all there may be. */
	if (xz->size > 0)
		return 0;
	r = elf_image_data(image, elf_image_section(image, ".gnu_debugdata"), &data);
	if (r < 0 || data.size == 0)
		return r;
	r = expand(data, xz);
	if (r == 0)
		r = elf_image_open_memory(&inner, bytes_view_of(xz), image->message);
	if (r == 0)
		r = image_symbols_read(symbols, &inner);
	elf_image_release(&inner);
	symbols->sources = sources;
	if (symbols->functions.count > before)
		symbols->sources |= SYMBOL_SOURCE_MINI_DEBUGINFO;
	return r < 0 ? r : 1;
}
