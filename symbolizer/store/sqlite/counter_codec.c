/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times are differences in milliseconds, so that an entry of a batch of five seconds needs about
 * ten bytes beside its counters.
 */

#include "symbolizer/store/sqlite/counter_codec.h"

#include "common/limits.h"

/* Size, sequence and three times. */
#define MAX_HEAD_BYTES 64

void counter_add_pair(struct bytes *pairs, uint32_t id, uint64_t value)
{
	(void)bytes_append_varint(pairs, id);
	(void)bytes_append_varint(pairs, value);
}

void counter_add_entry(struct bytes *out, const struct counter_entry *entry, uint64_t minute)
{
	uint64_t begin_ms = minute * (COUNTER_MINUTE_NS / NSEC_PER_MSEC);
	uint64_t closed_ms = entry->closed_ns / NSEC_PER_MSEC;
	uint64_t opened_ms = MIN(entry->opened_ns, entry->closed_ns) / NSEC_PER_MSEC;
	scoped(bytes_release) struct bytes head = BYTES_INIT(MAX_HEAD_BYTES);

	(void)bytes_append_varint(&head, entry->sequence);
	(void)bytes_append_varint(&head, closed_ms - begin_ms);
	(void)bytes_append_varint(&head, closed_ms - opened_ms);
	(void)bytes_append_varint(&head, zigzag_encode(entry->delay_ms));
	if (bytes_error(&head) < 0) {
		out->error = bytes_error(&head);
		return;
	}
	(void)bytes_append_varint(out, head.size + entry->pairs.size);
	(void)bytes_append(out, head.data, head.size);
	(void)bytes_append(out, entry->pairs.data, entry->pairs.size);
}

int counter_next_entry(struct bytes_reader *in, uint64_t minute, struct counter_entry *ret_entry)
{
	uint64_t begin_ms = minute * (COUNTER_MINUTE_NS / NSEC_PER_MSEC);
	uint64_t size, closed_ms, duration_ms;
	struct bytes_reader entry;

	if (in->next >= in->end)
		return 0;
	size = bytes_read_varint(in);
	if (in->error || size > (uint64_t)(in->end - in->next))
		return -EBADMSG;
	entry = bytes_reader_of((struct bytes_view){ .data = in->next, .size = size });
	in->next += size;
	ret_entry->sequence = bytes_read_varint(&entry);
	closed_ms = begin_ms + bytes_read_varint(&entry);
	duration_ms = bytes_read_varint(&entry);
	ret_entry->delay_ms = zigzag_decode(bytes_read_varint(&entry));
	if (entry.error || duration_ms > closed_ms)
		return -EBADMSG;
	ret_entry->closed_ns = closed_ms * NSEC_PER_MSEC;
	ret_entry->opened_ns = (closed_ms - duration_ms) * NSEC_PER_MSEC;
	ret_entry->pairs =
		(struct bytes_view){ .data = entry.next, .size = (size_t)(entry.end - entry.next) };
	return 1;
}

int counter_next_pair(struct bytes_reader *pairs, uint64_t *ret_id, uint64_t *ret_value)
{
	if (pairs->next >= pairs->end)
		return 0;
	*ret_id = bytes_read_varint(pairs);
	*ret_value = bytes_read_varint(pairs);
	return pairs->error == 0;
}
