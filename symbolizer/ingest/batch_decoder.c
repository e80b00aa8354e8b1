/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/ingest/batch_decoder.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/zstd_frame.h"
#include "symbolizer/ingest/batch_checks.h"

/*
 * The border of the server: what passes here is trusted by everything behind it. protobuf-c takes
 * the message apart into the arena, whose ceiling bounds whatever a message claims; then every
 * field is checked and the columns are expanded.
 *
 * An encoder has to keep to these rules, which are those of proto/batch.proto, said once more as
 * they are checked:
 *
 *   format           1
 *   agent_id         16 bytes
 *   epoch, sequence  1 .. 2^63 - 1
 *   times            opened <= closed, both clocks below 2^62 ns, at most 7 days between; the wall
 * clock not before the monotonic one (no host has run since before 1970) strings          [0] is ""
 * (an empty table stands for that one); each at most BATCH_MAX_TEXT_BYTES numbers          never 0
 * in a definition; a reference of 0 means none where the .proto says so executables      id_kind
 * and id as common/executable_id.h has them, or 0 and no bytes for an empty definition; the segment
 * columns have one length, at most MAX_LOAD_SEGMENTS processes        path columns of one length,
 * label columns of one length; label names are not empty series           event_type of
 * common/event_type.h; process != 0; or both 0 for an empty definition; period_ns at most an hour
 *   stacks           columns number, shared, n_frames, cut of one length; shared <= frames of the
 * stack before in the table (0 for the first); shared + n_frames <= STACK_MAX_FRAMES; the sum of
 * n_frames is the length of the columns frame_kind_executable and frame_address. Frames are listed
 * from the outermost to the leaf. frame_address    zigzag difference to the address last listed
 * with the same value of frame_kind_executable in this table, to 0 for the first with it. Modulo
 * 2^64. Frames taken over by `shared` are not listed and do not count. rows             columns
 * series, slot, stack of one length, value the same or empty (all 1). series is the difference to
 * the series number of the row before, from 0; slot to the slot of the row before, whatever its
 * series, from first_slot. Ascending by (series, slot, stack). value 1 .. 2^53. slot * 10 ms lies
 * in [opened - 1 h, closed + 10 ms] of the monotonic clock. named_frames     key is XXH3-64 of the
 * name's bytes
 *
 * Slots become wall clock by the difference of the two clocks at the batch's end.
 */

#define BATCH_FORMAT 1

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
 * An arena does not say whether its ceiling was reached or the machine's memory. Its blocks are
 * filled to three quarters at least: below half of the ceiling it was not the ceiling. What is too
 * large stays so, and must not be sent again for ever.
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

static int check_text(struct decode *decode, const char *text, const char *field, size_t item)
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
		r = check_text(decode, message->strings[i], "strings", i);
	return r;
}

static int decode_head(struct decode *decode)
{
	const Hearth__V1__Batch *message = decode->message;
	struct batch *batch = decode->batch;
	uint64_t covered_ns;

	if (message->format != BATCH_FORMAT)
		return decode_bad(decode, "format %u, this server reads %d", message->format,
				  BATCH_FORMAT);
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
	batch->opened_wall_ns = message->closed_wall_ns - covered_ns;
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
		r = check_text(decode, labels[i].name, "host.labels.name", i);
		if (r == 0)
			r = check_text(decode, labels[i].value, "host.labels.value", i);
		if (r < 0)
			return r;
		if (labels[i].name[0] == '\0')
			return decode_bad(decode, "host.labels[%zu].name is empty", i);
	}
	decode->batch->host.labels = labels;
	decode->batch->host.n_labels = (uint32_t)host->n_labels;
	return 0;
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
	r = check_text(decode, out->name, "host.name", 0);
	if (r == 0)
		r = check_text(decode, out->machine_id, "host.machine_id", 0);
	if (r == 0)
		r = check_text(decode, out->boot_id, "host.boot_id", 0);
	if (r == 0)
		r = check_text(decode, out->agent_version, "host.agent_version", 0);
	if (r == 0)
		r = check_text(decode, out->kernel_release, "host.kernel_release", 0);
	if (r == 0)
		r = check_text(decode, out->architecture, "host.architecture", 0);
	for (size_t i = 0; i < host->n_ip && r == 0; i++)
		r = check_text(decode, host->ip[i], "host.ip", i);
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

		r = check_text(decode, frame->name, "named_frames.name", i);
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

		r = check_text(decode, counter->name, "counters.name", i);
		if (r < 0)
			return r;
		counters[i] =
			(struct batch_counter){ .name = counter->name, .value = counter->value };
	}
	decode->batch->counters = counters;
	decode->batch->n_counters = (uint32_t)message->n_counters;
	return 0;
}

static int decode_message(struct decode *decode)
{
	int r;

	r = decode_head(decode);
	if (r == 0)
		r = check_strings(decode);
	if (r == 0)
		r = decode_host(decode);
	if (r == 0)
		r = decode_executables(decode);
	if (r == 0)
		r = decode_processes(decode);
	if (r == 0)
		r = decode_series(decode);
	if (r == 0)
		r = decode_stacks(decode);
	if (r == 0)
		r = decode_rows(decode);
	if (r == 0)
		r = decode_named_frames(decode);
	if (r == 0)
		r = decode_counters(decode);
	return r;
}

/* protobuf-c says only that it failed: an allocator that remembers tells a full arena from a
 * malformed message. */
struct watched_arena {
	struct arena *arena;
	bool full;
};

static void *watched_alloc(void *arg, size_t size)
{
	struct watched_arena *watched = arg;
	void *memory = arena_alloc(watched->arena, size);

	watched->full |= !memory;
	return memory;
}

static void watched_free(void *arg, void *memory)
{
	(void)arg;
	(void)memory;
}

int batch_decode_plain(struct bytes_view message, struct arena *arena, struct batch *ret_batch,
		       char ret_message[DECODE_MESSAGE_SIZE])
{
	struct watched_arena watched = { .arena = arena };
	ProtobufCAllocator allocator = {
		.alloc = watched_alloc,
		.free = watched_free,
		.allocator_data = &watched,
	};
	struct batch batch = {};
	struct decode decode = { .arena = arena, .batch = &batch, .reason = ret_message };
	int r;

	ret_message[0] = '\0';
	decode.message = hearth__v1__batch__unpack(&allocator, message.size, message.data);
	if (!decode.message && watched.full)
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
	return batch_decode_plain(bytes_view_of(&plain), arena, ret_batch, ret_message);
}
