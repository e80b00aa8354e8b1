/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_jit */
/*
 * The first two bytes say where the map is split into two pieces. The entries of both are those of
 * the whole map, and each entry has a name.
 */
#include <stdlib.h>

#include "agent/jit/file/jit_name.h"
#include "agent/jit/file/perf_map.h"
#include "agent/jit/jit_ranges.h"
#include "common/scoped.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t parse(struct bytes_view text, size_t offset, size_t until, bool *in_long_line,
		    struct jit_codes *codes)
{
	const struct perf_map_piece piece = {
		.text = { text.data + offset, until - offset },
		.offset = (uint32_t)offset,
		.in_long_line = *in_long_line,
	};

	return offset + perf_map_parse(&piece, codes, in_long_line);
}

static void read_names(struct bytes_view text, const struct jit_codes *codes)
{
	for (size_t i = 0; i < codes->count; i++) {
		const uint32_t offset = codes->items[i].offset;
		struct bytes_view name_text;
		struct jit_name name;

		assert(offset < text.size);
		if (!perf_map_name((struct bytes_view){ text.data + offset, text.size - offset },
				   &name_text))
			continue;
		jit_name_parse(name_text, &name);
		assert(name.language);
	}
}

static void look_up(const struct jit_codes *codes)
{
	struct jit_ranges ranges = {};
	uint32_t code_offset;

	if (jit_ranges_add(&ranges, codes) == 0 && jit_ranges_commit(&ranges) == 0 &&
	    codes->count > 0) {
		const struct jit_code *last = &codes->items[codes->count - 1];
		const struct jit_range *range =
			jit_ranges_find(&ranges, last->start, 0, &code_offset);

		assert(range && range->offset == last->offset && code_offset == 0);
	}
	jit_ranges_release(&ranges);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_free struct jit_codes *whole = calloc(1, sizeof(*whole));
	scoped_free struct jit_codes *pieces = calloc(1, sizeof(*pieces));
	bool in_long_line = false;
	struct bytes_view text;
	size_t split, next;

	if (!whole || !pieces || size < 2)
		return 0;
	text = (struct bytes_view){ data + 2, size - 2 };
	split = MIN((size_t)data[0] << 8 | data[1], text.size);
	(void)parse(text, 0, text.size, &in_long_line, whole);
	in_long_line = false;
	next = parse(text, 0, split, &in_long_line, pieces);
	assert(next <= split);
	(void)parse(text, next, text.size, &in_long_line, pieces);
	assert(whole->count == pieces->count);
	for (size_t i = 0; i < whole->count; i++)
		assert(memcmp(&whole->items[i], &pieces->items[i], sizeof(whole->items[i])) == 0);
	read_names(text, whole);
	look_up(whole);
	return 0;
}
