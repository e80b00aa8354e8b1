/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MiniDebugInfo: an xz-compressed ELF file with a .symtab, in the section .gnu_debugdata of another
 * ELF file. No header holds its expanded size, so the output buffer grows in steps.
 */

#include <lzma.h>

#include "symbolizer/symbols/elf/image_symbols.h"
#include "symbolizer/symbols/symbol_limits.h"
#include "symbolizer/symbols/table/symbol_file.h"

#define EXPAND_STEP_BYTES (1 * MIB)

/* Memory limit of the decoder. At xz's highest level the dictionary needs 64 MiB. */
#define LZMA_MEMORY_BYTES (128 * MIB)

static int expand(struct bytes_view in, struct bytes *out)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret code = lzma_stream_decoder(&stream, LZMA_MEMORY_BYTES, 0);
	int r = code == LZMA_OK ? 0 : -ENOMEM;

	stream.next_in = in.data;
	stream.avail_in = in.size;
	while (r == 0 && code == LZMA_OK) {
		r = bytes_reserve(out, EXPAND_STEP_BYTES);
		if (r < 0)
			break;
		stream.next_out = out->data + out->size;
		stream.avail_out = EXPAND_STEP_BYTES;
		code = lzma_code(&stream, LZMA_FINISH);
		out->size += EXPAND_STEP_BYTES - stream.avail_out;
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

	/* @xz holds the names of an image that was read before: it cannot take another one. */
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
