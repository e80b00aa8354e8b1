/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbolizer_store_segment_db */

#include "symbolizer/store/segment_db/batch_block.h"
#include "symbolizer/store/host_codec.h"

#include "common/arena.h"
#include "common/scoped.h"

/* A decoded block must be usable: sorted and encoded again. */
static void use(struct batch_block *block)
{
	scoped(bytes_release) struct bytes times = BYTES_INIT(64 * MIB);
	scoped(bytes_release) struct bytes counters = BYTES_INIT(64 * MIB);
	struct batch_range range;

	batch_block_sort(block);
	range = batch_block_range(block, 0);
	(void)batch_times_encode(block, range, false, &times);
	(void)batch_counters_encode(block, range, false, &counters);
}

/* Byte 0: the number of batches. Byte 1: the size of the times. Then times, then counters. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(batch_block_release) struct batch_block block = {};
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch_head head = { .hour = 490000 };
	struct batch_host host;
	size_t n_times;

	if (size < 2 || arena_new(16 * MIB, &arena) < 0)
		return 0;
	head.count = data[0];
	n_times = MIN((size_t)data[1], size - 2);
	(void)host_decode((struct bytes_view){ data, size }, arena, &host);
	if (batch_times_decode((struct bytes_view){ data + 2, n_times }, &head, &block.times) ==
		    0 &&
	    batch_counters_decode((struct bytes_view){ data + 2 + n_times, size - 2 - n_times },
				  head.count, 0, &block.values) == 0)
		use(&block);
	return 0;
}
