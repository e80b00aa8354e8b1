/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes and checks a batch; the code behind trusts the result. protobuf-c unpacks the message
 * into the arena, and the arena's ceiling bounds the memory that a message can claim. Then every
 * field is checked, and the columns are expanded.
 *
 * These rules are checked, and an encoder must follow them. They are those of proto/batch.proto.
 * Unknown fields, frame kinds and event types are not errors: they are kept where possible, and
 * counted.
 *
 *   format        1 or 2
 *   agent_id      16 bytes
 *   epoch, sequence
 *                 1 .. 2^63 - 1
 *   times         opened <= closed; both clocks below 2^62 ns; at most 7 days from opened to
 *                 closed; the wall clock is not less than the monotonic one (no host runs since
 *                 before 1970)
 *   strings       [0] is "" (an empty table stands for that); each has at most BATCH_MAX_TEXT_BYTES
 *   numbers       not 0 in a definition; a reference of 0 means none where the .proto allows it
 *   executables   id_kind and id as in common/executable_id.h, or 0 and no bytes for an empty
 *                 definition; the segment columns have the same length, at most MAX_LOAD_SEGMENTS
 *   processes     the path columns have the same length, and so have the label columns; label names
 *                 are not empty
 *   event_types   at most MAX_EVENT_TYPES; a name; kind as in common/event_type.h
 *   series        event_type 1 .. n_event_types (format 1: as in common/event_type.h) and process
 *                 != 0, or both 0 for an empty definition; period_ns is at most an hour; at most
 *                 MAX_LABELS_PER_SERIES labels, with different names
 *   code_objects  number below 2^31; line_table has at most MAX_LINE_TABLE_BYTES; no texts, lines
 *                 and bytes at all are an empty definition
 *   stacks        the columns number, shared, n_frames, cut have the same length; shared <= frames
 *                 of the stack before in the table (0 for the first stack); shared + n_frames <=
 *                 STACK_MAX_FRAMES; the sum of n_frames is the length of the columns frame_space
 *                 (format 1: frame_kind_executable) and frame_address. Frames are listed from the
 *                 outermost to the leaf; frames counted in `shared` are not listed
 *   spaces        the columns have the same length, but space_code_object may be empty; kind 1 ..
 *                 255; a kind of common/frame_kinds.def has no other sort of object than that of
 *                 its row; an unknown kind may have any
 *   frame_address zigzag difference, modulo 2^64, to the address that the table listed last in the
 *                 same space; to 0 for the first one
 *   rows          the columns series, slot, stack have the same length; value and context have it
 *                 too, or are empty (all values are 1; no contexts); series is the difference to
 *                 the row before, from 0; slot is the difference to the row before, whatever its
 *                 series, from first_slot; rows ascend by (series, slot, stack); value is 0 (format
 *                 1: 1) .. 2^53; slot * 10 ms lies in [opened - 1 h, closed + 10 ms] of the
 *                 monotonic clock; context is at most n_contexts
 *   contexts      trace_id of 16 bytes; span_id of 8 bytes or none
 *   named_frames  key is XXH3-64 of the bytes of the name
 *
 * The decoder converts slots to the wall clock by the difference of the two clocks at the end of
 * the batch.
 */

#include "symbolizer/ingest/batch_decoder.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/zstd_frame.h"
#include "proto/proto_arena.h"
#include "symbolizer/ingest/batch_checks.h"

int decode_bad(struct decode *decode, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(decode->reason, DECODE_MESSAGE_SIZE, format, args);
	va_end(args);
	return -EBADMSG;
}

int decode_too_much(struct decode *decode, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(decode->reason, DECODE_MESSAGE_SIZE, format, args);
	va_end(args);
	return -EFBIG;
}

void *decode_array(struct decode *decode, size_t count, size_t size)
{
	void *items = arena_alloc_array(decode->arena, count, size);

	if (!items && __builtin_mul_overflow(count, size, &decode->refused_bytes))
		decode->refused_bytes = SIZE_MAX / 2;
	return items;
}

/*
 * The arena does not report whether its ceiling or the machine's memory was exhausted. Its blocks
 * are filled to at least three quarters, so with less than half of the ceiling used it was not the
 * ceiling. The difference matters: the agent retries after -ENOMEM, but a batch that is too large
 * would be retried for ever.
 */
int decode_no_room(struct decode *decode)
{
	if (decode->arena &&
	    arena_used_bytes(decode->arena) + decode->refused_bytes > BATCH_MAX_DECODED_BYTES / 2)
		return decode_too_much(
			decode, "the batch takes more memory than %llu MiB when it is decoded",
			(unsigned long long)(BATCH_MAX_DECODED_BYTES / MIB));
	(void)snprintf(decode->reason, DECODE_MESSAGE_SIZE, "no memory to decode the batch");
	return -ENOMEM;
}

int decode_string(struct decode *decode, uint32_t index, const char *field, size_t item,
		  const char **ret_text)
{
	if (index == 0) {
		*ret_text = "";
		return 0;
	}
	if (index >= decode->message->n_strings)
		return decode_bad(decode, "%s of item %zu: string %u of %zu", field, item, index,
				  decode->message->n_strings);
	*ret_text = decode->message->strings[index];
	return 0;
}

int decode_check_text(struct decode *decode, const char *text, const char *field, size_t item)
{
	if (strnlen(text, BATCH_MAX_TEXT_BYTES + 1) > BATCH_MAX_TEXT_BYTES)
		return decode_bad(decode, "%s of item %zu: longer than %d bytes", field, item,
				  BATCH_MAX_TEXT_BYTES);
	return 0;
}

static int check_strings(struct decode *decode)
{
	const Hearth__V1__Batch *message = decode->message;
	int r = 0;

	if (message->n_strings > 0 && message->strings[0][0] != '\0')
		return decode_bad(decode, "strings[0] is not empty");
	for (size_t i = 0; i < message->n_strings && r == 0; i++)
		r = decode_check_text(decode, message->strings[i], "strings", i);
	return r;
}

/*
 * A newer agent may send a format that this server cannot read. The agent must keep the batch until
 * the server is upgraded.
 */
static int decode_too_new(struct decode *decode, uint64_t format)
{
	(void)decode_bad(decode,
			 "format %llu, this server reads %d to %d: upgrade the server, the agent "
			 "is newer",
			 (unsigned long long)format, BATCH_OLDEST_FORMAT, BATCH_FORMAT);
	return -EPROTONOSUPPORT;
}

static int decode_head(struct decode *decode)
{
	const Hearth__V1__Batch *message = decode->message;
	struct batch *batch = decode->batch;
	uint64_t covered_ns;

	if (message->format < BATCH_OLDEST_FORMAT)
		return decode_bad(decode, "format %u, this server reads %d to %d", message->format,
				  BATCH_OLDEST_FORMAT, BATCH_FORMAT);
	if (message->format > BATCH_FORMAT)
		return decode_too_new(decode, message->format);
	if (message->agent_id.len != sizeof(batch->agent_id.bytes))
		return decode_bad(decode, "agent_id has %zu bytes, not %zu", message->agent_id.len,
				  sizeof(batch->agent_id.bytes));
	if (message->epoch == 0 || message->epoch > INT64_MAX)
		return decode_bad(decode, "epoch is out of range");
	if (message->sequence == 0 || message->sequence > INT64_MAX)
		return decode_bad(decode, "sequence is out of range");
	if (message->closed_monotonic_ns > DECODE_MAX_TIME_NS ||
	    message->closed_wall_ns > DECODE_MAX_TIME_NS)
		return decode_bad(decode, "closed_monotonic_ns or closed_wall_ns is out of range");
	if (message->opened_monotonic_ns > message->closed_monotonic_ns)
		return decode_bad(decode, "opened_monotonic_ns is after closed_monotonic_ns");
	if (message->closed_wall_ns < message->closed_monotonic_ns)
		return decode_bad(
			decode,
			"closed_wall_ns is before the start of the host: its clock is not set");
	covered_ns = message->closed_monotonic_ns - message->opened_monotonic_ns;
	if (covered_ns > DECODE_MAX_COVERED_NS)
		return decode_bad(decode, "the batch covers more than 7 days");

	memcpy(batch->agent_id.bytes, message->agent_id.data, sizeof(batch->agent_id.bytes));
	batch->epoch = message->epoch;
	batch->sequence = message->sequence;
	batch->closed_wall_ns = message->closed_wall_ns;
	batch->closed_monotonic_ns = message->closed_monotonic_ns;
	batch->opened_wall_ns = message->closed_wall_ns - covered_ns;
	return 0;
}

int decode_labels(struct decode *decode, const struct label_columns *columns,
		  struct label **ret_labels, uint32_t *ret_count)
{
	size_t count = columns->n_names;
	struct label *labels;
	char field[64];
	int r = 0;

	if (columns->n_values != count)
		return decode_bad(decode, "%s[%zu]: label columns of %zu and %zu items",
				  columns->owner, columns->item, count, columns->n_values);
	if (count > columns->max)
		return decode_bad(decode, "%s[%zu]: %zu labels, at most %zu", columns->owner,
				  columns->item, count, columns->max);
	labels = decode_array(decode, count, sizeof(*labels));
	if (!labels)
		return decode_no_room(decode);
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(field, sizeof(field), "%s.label_name", columns->owner);
		r = decode_string(decode, columns->names[i], field, columns->item, &labels[i].name);
		(void)snprintf(field, sizeof(field), "%s.label_value", columns->owner);
		if (r == 0)
			r = decode_string(decode, columns->values[i], field, columns->item,
					  &labels[i].value);
		if (r < 0)
			return r;
		if (labels[i].name[0] == '\0')
			return decode_bad(decode, "%s[%zu].label_name[%zu] is empty",
					  columns->owner, columns->item, i);
	}
	*ret_labels = labels;
	*ret_count = (uint32_t)count;
	return 0;
}

static int decode_host_labels(struct decode *decode)
{
	const Hearth__V1__Host *host = decode->message->host;
	struct label *labels;
	int r;

	if (host->n_labels > MAX_LABELS_PER_PROCESS)
		return decode_bad(decode, "host.labels: %zu, at most %d", host->n_labels,
				  MAX_LABELS_PER_PROCESS);
	labels = decode_array(decode, host->n_labels, sizeof(*labels));
	if (!labels)
		return decode_no_room(decode);
	for (size_t i = 0; i < host->n_labels; i++) {
		labels[i] = (struct label){ .name = host->labels[i]->name,
					    .value = host->labels[i]->value };
		r = decode_check_text(decode, labels[i].name, "host.labels.name", i);
		if (r == 0)
			r = decode_check_text(decode, labels[i].value, "host.labels.value", i);
		if (r < 0)
			return r;
		if (labels[i].name[0] == '\0')
			return decode_bad(decode, "host.labels[%zu].name is empty", i);
	}
	decode->batch->host.labels = labels;
	decode->batch->host.n_labels = (uint32_t)host->n_labels;
	return 0;
}

static int check_host_texts(struct decode *decode, const struct batch_host *host)
{
	const struct {
		const char *text, *field;
	} texts[] = {
		{ host->name, "host.name" },
		{ host->machine_id, "host.machine_id" },
		{ host->boot_id, "host.boot_id" },
		{ host->agent_version, "host.agent_version" },
		{ host->kernel_release, "host.kernel_release" },
		{ host->architecture, "host.architecture" },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts) && r == 0; i++)
		r = decode_check_text(decode, texts[i].text, texts[i].field, 0);
	return r;
}

static int decode_host(struct decode *decode)
{
	const Hearth__V1__Host *host = decode->message->host;
	struct batch_host *out = &decode->batch->host;
	int r;

	if (!host)
		return decode_bad(decode, "host is missing");
	if (host->n_ip > DECODE_MAX_IPS)
		return decode_bad(decode, "host.ip: %zu, at most %d", host->n_ip, DECODE_MAX_IPS);
	*out = (struct batch_host){
		.name = host->name,
		.machine_id = host->machine_id,
		.boot_id = host->boot_id,
		.agent_version = host->agent_version,
		.kernel_release = host->kernel_release,
		.architecture = host->architecture,
		.n_cpus = host->n_cpus,
		.ips = (const char **)host->ip,
		.n_ips = (uint32_t)host->n_ip,
	};
	r = check_host_texts(decode, out);
	for (size_t i = 0; i < host->n_ip && r == 0; i++)
		r = decode_check_text(decode, host->ip[i], "host.ip", i);
	return r < 0 ? r : decode_host_labels(decode);
}

static int decode_named_frames(struct decode *decode)
{
	const Hearth__V1__Batch *message = decode->message;
	struct batch_named_frame *frames =
		decode_array(decode, message->n_named_frames, sizeof(*frames));
	int r;

	if (!frames)
		return decode_no_room(decode);
	for (size_t i = 0; i < message->n_named_frames; i++) {
		const Hearth__V1__NamedFrame *frame = message->named_frames[i];

		r = decode_check_text(decode, frame->name, "named_frames.name", i);
		if (r < 0)
			return r;
		if (frame->key != hash64_of(frame->name, strlen(frame->name)))
			return decode_bad(decode,
					  "named_frames[%zu].key is not the hash of its name", i);
		frames[i] = (struct batch_named_frame){ .key = frame->key, .name = frame->name };
	}
	decode->batch->named_frames = frames;
	decode->batch->n_named_frames = (uint32_t)message->n_named_frames;
	return 0;
}

static int decode_counters(struct decode *decode)
{
	const Hearth__V1__Batch *message = decode->message;
	struct batch_counter *counters =
		decode_array(decode, message->n_counters, sizeof(*counters));
	int r;

	if (!counters)
		return decode_no_room(decode);
	if (message->n_counters > DECODE_MAX_COUNTERS)
		return decode_bad(decode, "counters: %zu, at most %d", message->n_counters,
				  DECODE_MAX_COUNTERS);
	for (size_t i = 0; i < message->n_counters; i++) {
		const Hearth__V1__Counter *counter = message->counters[i];

		r = decode_check_text(decode, counter->name, "counters.name", i);
		if (r < 0)
			return r;
		counters[i] =
			(struct batch_counter){ .name = counter->name, .value = counter->value };
	}
	decode->batch->counters = counters;
	decode->batch->n_counters = (uint32_t)message->n_counters;
	return 0;
}

static void count_unknown_fields(struct decode *decode)
{
	const Hearth__V1__Batch *message = decode->message;
	size_t count = message->base.n_unknown_fields + message->host->base.n_unknown_fields;

	if (message->stacks)
		count += message->stacks->base.n_unknown_fields;
	if (message->rows)
		count += message->rows->base.n_unknown_fields;
	decode->batch->n_unknown_fields = (uint32_t)MIN(count, (size_t)UINT32_MAX);
}

static int decode_message(struct decode *decode)
{
	static int (*const steps[])(struct decode * decode) = {
		decode_head,      check_strings,      decode_host,         decode_executables,
		decode_processes, decode_event_types, decode_series,       decode_code_objects,
		decode_stacks,    decode_rows,        decode_named_frames, decode_counters,
	};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		int r = steps[i](decode);

		if (r < 0)
			return r;
	}
	count_unknown_fields(decode);
	return 0;
}

/*
 * Reads the format from the first field, where encoders place it: a message of a later format may
 * have fields that cannot be unpacked. 0: not there.
 */
static uint64_t peek_format(struct bytes_view message)
{
	static const uint8_t format_tag = 1 << 3;
	uint64_t format = 0;

	if (message.size < 2 || message.data[0] != format_tag)
		return 0;
	for (size_t i = 1; i < message.size && i <= 5; i++) {
		format |= (uint64_t)(message.data[i] & 0x7f) << (7 * (i - 1));
		if (!(message.data[i] & 0x80))
			return format;
	}
	return 0;
}

int batch_decode_plain(struct bytes_view message, struct arena *arena, struct batch *ret_batch,
		       char ret_message[DECODE_MESSAGE_SIZE])
{
	struct batch batch = {};
	struct decode decode = { .arena = arena, .batch = &batch, .reason = ret_message };
	bool is_full;
	int r;

	ret_message[0] = '\0';
	if (peek_format(message) > BATCH_FORMAT)
		return decode_too_new(&decode, peek_format(message));
	decode.message =
		proto_arena_unpack(&hearth__v1__batch__descriptor, arena, message, &is_full);
	if (is_full)
		return decode_too_much(
			&decode, "the batch takes more memory than %llu MiB when it is decoded",
			(unsigned long long)(BATCH_MAX_DECODED_BYTES / MIB));
	if (!decode.message)
		return decode_bad(&decode, "not a hearth.v1.Batch");
	r = decode_message(&decode);
	if (r < 0)
		return r;
	*ret_batch = batch;
	return 0;
}

int batch_decode(struct bytes_view body, struct arena *arena, struct batch *ret_batch,
		 char ret_message[DECODE_MESSAGE_SIZE])
{
	scoped(bytes_release) struct bytes plain = BYTES_INIT(BATCH_MAX_BYTES);
	struct decode decode = { .reason = ret_message };
	int r;

	ret_message[0] = '\0';
	if (body.size > BATCH_MAX_COMPRESSED_BYTES)
		return decode_too_much(&decode, "the batch has %zu bytes, at most %llu", body.size,
				       (unsigned long long)BATCH_MAX_COMPRESSED_BYTES);
	r = zstd_decompress(body, &plain);
	if (r == -EFBIG)
		return decode_too_much(&decode,
				       "the batch has more than %llu bytes when it is decompressed",
				       (unsigned long long)BATCH_MAX_BYTES);
	if (r == -EBADMSG)
		return decode_bad(&decode, "not a zstd frame, damaged, or cut short");
	if (r < 0)
		return decode_no_room(&decode);
	r = batch_decode_plain(bytes_view_of(&plain), arena, ret_batch, ret_message);
	if (r == 0)
		ret_batch->body = body;
	return r;
}
