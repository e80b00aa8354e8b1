/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_jit */
/* The file is read in pieces of 128 bytes more than a record needs, or as a whole. */
#include <stdlib.h>

#include "agent/jit/file/jit_dump.h"
#include "agent/jit/file/jit_name.h"
#include "agent/jit/jit_ranges.h"
#include "common/scoped.h"

#define PIECE_BYTES 192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_names(const struct jit_dump *dump, struct bytes_view file,
		       const struct jit_codes *codes)
{
	for (size_t i = 0; i < codes->count; i++) {
		const struct jit_code *code = &codes->items[i];
		struct jit_dump_name dumped;
		struct jit_name name;

		if (code->flags & JIT_CODE_MOVED)
			continue;
		assert(code->offset < file.size);
		if (!jit_dump_name(dump,
				   (struct bytes_view){ file.data + code->offset,
							file.size - code->offset },
				   code->size - 1, &dumped))
			continue;
		jit_name_parse(dumped.function, &name);
		jit_text_copy(dumped.file, name.file);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_free struct jit_codes *codes = calloc(1, sizeof(*codes));
	const struct bytes_view file = { data, size };
	struct jit_ranges ranges = {};
	bool is_closed = false;
	struct jit_dump dump;
	uint64_t offset;

	if (!codes || !jit_dump_open(file, &dump))
		return 0;
	jit_ranges_forget_replaced(&ranges, 1);
	offset = dump.first_record;
	while (offset < size && !is_closed) {
		const struct jit_dump_piece piece = {
			.bytes = { data + offset, MIN(size - offset, (size_t)PIECE_BYTES) },
			.offset = offset,
			.file_size = size,
		};
		uint64_t next;

		codes->count = 0;
		next = jit_dump_parse(&dump, &piece, codes, &is_closed);
		assert(next >= offset && next <= size);
		read_names(&dump, file, codes);
		if (jit_ranges_add(&ranges, codes) < 0 || next == offset)
			break;
		offset = next;
	}
	(void)jit_ranges_commit(&ranges);
	jit_ranges_release(&ranges);
	return 0;
}
