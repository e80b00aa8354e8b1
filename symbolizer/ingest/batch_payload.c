/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/ingest/batch_payload.h"

#include <stdlib.h>

#include "common/limits.h"
#include "common/scoped.h"
#include "common/zstd_frame.h"
#include "proto/batch.pb-c.h"
#include "proto/proto_arena.h"
#include "symbolizer/ingest/batch_decoder.h"
#include "symbolizer/ingest/sender_clock.h"

int batch_payload_decode(void *unused, struct bytes_view body, int64_t step_ns, struct arena *arena,
			 struct batch *ret_batch)
{
	char message[DECODE_MESSAGE_SIZE];
	int r;

	(void)unused;
	r = batch_decode(body, arena, ret_batch, message);
	if (r == 0)
		sender_clock_move(ret_batch, step_ns);
	return r;
}

int batch_payload_decode_definitions(void *unused, struct bytes_view message, struct arena *arena,
				     struct batch *ret_batch)
{
	char reason[DECODE_MESSAGE_SIZE];

	(void)unused;
	return batch_decode_plain(message, arena, ret_batch, reason);
}

/* Packs the message without the fields that are no definitions. They stay with the message. */
static int pack_definitions(const Hearth__V1__Batch *message, struct bytes *out)
{
	Hearth__V1__Batch definitions = *message;
	size_t size;
	int r;

	definitions.rows = NULL;
	definitions.n_counters = 0;
	definitions.n_contexts = 0;
	definitions.base.n_unknown_fields = 0;
	size = hearth__v1__batch__get_packed_size(&definitions);
	r = bytes_reserve(out, size);
	if (r < 0)
		return r;
	out->size += hearth__v1__batch__pack(&definitions, out->data + out->size);
	return 0;
}

int batch_payload_definitions(void *unused, struct bytes_view body, struct bytes *out)
{
	scoped(bytes_release) struct bytes plain = BYTES_INIT(BATCH_MAX_BYTES);
	scoped(arena_freep) struct arena *arena = NULL;
	const Hearth__V1__Batch *message;
	int r;

	(void)unused;
	r = zstd_decompress(body, &plain);
	if (r == 0)
		r = arena_new(BATCH_MAX_DECODED_BYTES, &arena);
	if (r < 0)
		return r;
	message = proto_arena_unpack(&hearth__v1__batch__descriptor, arena, bytes_view_of(&plain),
				     NULL);
	return message ? pack_definitions(message, out) : -EBADMSG;
}
