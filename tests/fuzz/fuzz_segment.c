/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbolizer_store_segment */

#include "symbolizer/store/segment/segment_builder.h"
#include "symbolizer/store/segment/segment_layout.h"
#include "symbolizer/store/segment/segment_sum.h"

#include <string.h>

#include "common/hash.h"
#include "common/scoped.h"

/* A decoded segment must be usable: summed, rolled up, and encoded again to equal tables. */
static void use(const struct segment *segment, struct segment_codec *codec, struct arena *arena)
{
	scoped(segment_builder_freep) struct segment_builder *merge = NULL, *rollup = NULL;
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(64 * MIB);
	struct segment made, again;
	struct segment_sums sums = {};

	(void)segment_sum_rows(segment, NULL, 1, (uint64_t[]){ 0, UINT64_MAX }, &sums);
	vec_release(&sums);
	if (segment_builder_new(&rollup) == 0)
		(void)segment_builder_add_rollup(rollup, segment, 360000);
	if (segment_builder_new(&merge) < 0 || segment_builder_add_segment(merge, segment) < 0 ||
	    segment_builder_finish(merge, arena, &made) < 0 ||
	    segment_encode(&made, codec, &bytes) < 0)
		return;
	if (segment_decode(bytes_view_of(&bytes), SEGMENT_ALL, codec, arena, &again) == 0)
		assert(memcmp(made.count, again.count, sizeof(made.count)) == 0);
}

/* The input is a segment without its checksum. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(segment_codec_release) struct segment_codec codec = {};
	scoped(arena_freep) struct arena *arena = NULL;
	scoped_free uint8_t *bytes = malloc(SEGMENT_PREFIX_BYTES + size);
	struct segment segment;
	uint64_t checksum;

	if (!bytes || arena_new(64 * MIB, &arena) < 0)
		return 0;
	memcpy(bytes, SEGMENT_MAGIC, SEGMENT_MAGIC_BYTES);
	bytes[SEGMENT_MAGIC_BYTES] = SEGMENT_FORMAT;
	if (size > 0)
		memcpy(bytes + SEGMENT_PREFIX_BYTES, data, size);
	checksum = hash64_of(bytes + SEGMENT_PREFIX_BYTES, size);
	for (unsigned int i = 0; i < 8; i++)
		bytes[SEGMENT_MAGIC_BYTES + 1 + i] = (uint8_t)(checksum >> (8 * i));
	if (segment_decode((struct bytes_view){ bytes, SEGMENT_PREFIX_BYTES + size }, SEGMENT_ALL,
			   &codec, arena, &segment) == 0)
		use(&segment, &codec, arena);
	return 0;
}
