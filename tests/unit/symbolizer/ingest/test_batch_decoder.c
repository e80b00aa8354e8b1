/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder on batches of an independent encoder (tests/support/batch_builder.h), and on damaged
 * and hostile ones.
 */

#include "tests/support/unit.h"

#include <malloc.h>

#include "common/zstd_frame.h"
#include "symbolizer/ingest/batch_checks.h"
#include "tests/unit/symbolizer/ingest/small_batch.h"

/* Decodes small_batch(). Returns the arena with the items of the decoded batch. */
static struct arena *decode_small_batch(struct batch *ret_batch)
{
	scoped(batch_builder_freep) struct batch_builder *builder = small_batch();
	char reason[DECODE_MESSAGE_SIZE];
	struct arena *arena;

	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	assert_ok(decode_message(batch_builder_message(builder), arena, ret_batch, reason));
	return arena;
}

static void a_decoded_batch_equals_the_encoded_one(void **state)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch batch;

	(void)state;
	arena = decode_small_batch(&batch);
	assert_int_equal(batch.agent_id.bytes[15], 7);
	assert_int_equal(batch.epoch, 1000);
	assert_int_equal(batch.sequence, 3);
	assert_int_equal(batch.opened_wall_ns, OPENED);
	assert_int_equal(batch.closed_wall_ns, CLOSED);
	assert_string_equal(batch.host.name, "host-7");
	assert_int_equal(batch.n_executables, 2);
	assert_string_equal(batch.executables[0].name, "libc.so.6");
	assert_int_equal(batch.executables[0].n_segments, 2);
	assert_int_equal(batch.executables[0].segments[1].vaddr, 0x402000);
	assert_int_equal(batch.executables[1].role, ROLE_KERNEL);
	assert_int_equal(batch.n_processes, 1);
	assert_string_equal(batch.processes[0].paths[0].path, "/usr/lib/libc.so.6");
	assert_string_equal(batch.processes[0].labels[0].value, "web");
	assert_int_equal(batch.n_series, 2);
	assert_int_equal(batch.series[0].cpu, -1);
	assert_string_equal(batch.series[1].thread_name, "worker");
	assert_string_equal(batch.named_frames[0].name, "bpf_prog_1");
	assert_string_equal(batch.counters[0].name, "samples_total");
	assert_int_equal(batch.counters[0].value, 12);
}

static const struct batch_stack *stack_of_number(const struct batch *batch, uint32_t number)
{
	for (uint32_t i = 0; i < batch->n_stacks; i++)
		if (batch->stacks[i].number == number)
			return &batch->stacks[i];
	fail_msg("stack %u is not there", number);
	return NULL;
}

static void stacks_are_expanded_leaf_first(void **state)
{
	scoped(arena_freep) struct arena *arena = NULL;
	const struct batch_stack *stack;
	struct batch batch;

	(void)state;
	arena = decode_small_batch(&batch);
	assert_int_equal(batch.n_stacks, 3);
	stack = stack_of_number(&batch, 1);
	assert_int_equal(stack->n_frames, 4);
	assert_int_equal(stack->frames[0].kind, FRAME_KERNEL);
	assert_int_equal(stack->frames[0].address, 0x1234);
	assert_int_equal(stack->frames[1].address, 0x2000);
	assert_int_equal(stack->frames[2].address, 0x1000);
	assert_true(stack->frames[3].address == UINT64_MAX);
	assert_int_equal(stack->frames[3].object, 0);
	stack = stack_of_number(&batch, 2);
	assert_int_equal(stack->n_frames, 3);
	assert_int_equal(stack->cut, STACK_CUT_READ_FAULT);
	assert_int_equal(stack->frames[0].address, 0x2000);
	assert_int_equal(stack_of_number(&batch, 3)->n_frames, 0);
}

static void rows_get_wall_clock_slots(void **state)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch batch;

	(void)state;
	arena = decode_small_batch(&batch);
	assert_int_equal(batch.n_rows, 4);
	assert_int_equal(batch.rows[0].series, 1);
	assert_int_equal(batch.rows[0].slot, OPENED / SLOT_NS);
	assert_int_equal(batch.rows[1].slot, OPENED / SLOT_NS + 100);
	assert_int_equal(batch.rows[1].value, 2);
	assert_int_equal(batch.rows[2].series, 2);
	assert_int_equal(batch.rows[2].slot, OPENED / SLOT_NS);
	assert_int_equal(batch.rows[2].stack, 0);
	assert_int_equal(batch.rows[3].value, 700);
}

static void rows_without_values_count_one_each(void **state)
{
	struct batch_builder *builder = batch_builder_new(1, 1, 1, OPENED, CLOSED);
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	char reason[DECODE_MESSAGE_SIZE];
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch batch;

	(void)state;
	batch_builder_row(builder, 1, 0, OPENED, 1);
	batch_builder_row(builder, 9, 0, OPENED, 1);
	assert_int_equal(batch_builder_message(builder)->rows->n_value, 0);
	batch_builder_finish(builder, &body);
	assert_ok(arena_new(MIB, &arena));
	assert_ok(batch_decode(bytes_view_of(&body), arena, &batch, reason));
	assert_int_equal(batch.rows[1].series, 9);
	assert_int_equal(batch.rows[1].value, 1);
}

static void texts_beyond_the_limit_are_refused(void **state)
{
	scoped(batch_builder_freep) struct batch_builder *builder =
		batch_builder_new(1, 1, 1, OPENED, CLOSED);
	char longest[BATCH_MAX_TEXT_BYTES + 2] = {};
	char reason[DECODE_MESSAGE_SIZE];
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch batch;

	(void)state;
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	memset(longest, 'a', BATCH_MAX_TEXT_BYTES);
	batch_builder_process(builder, 1, 1, 1, longest, 0);
	assert_ok(decode_message(batch_builder_message(builder), arena, &batch, reason));
	memset(longest, 'b', BATCH_MAX_TEXT_BYTES + 1);
	batch_builder_process(builder, 2, 2, 1, longest, 0);
	assert_errno(decode_message(batch_builder_message(builder), arena, &batch, reason),
		     -EBADMSG);
	assert_non_null(strstr(reason, "strings of item 2"));
}

static void a_definition_may_be_empty(void **state)
{
	scoped(batch_builder_freep) struct batch_builder *builder =
		batch_builder_new(1, 1, 1, OPENED, CLOSED);
	char reason[DECODE_MESSAGE_SIZE];
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch batch;

	(void)state;
	batch_builder_executable(builder, 1, NULL, "", ROLE_USER);
	batch_builder_process(builder, 1, 0, 0, "", 0);
	batch_builder_series(builder, 1, 0, 0, "", EVENT_NONE, 0);
	batch_builder_stack(builder, 1, STACK_CUT_NONE, NULL, 0);
	assert_ok(arena_new(MIB, &arena));
	assert_ok(decode_message(batch_builder_message(builder), arena, &batch, reason));
	assert_int_equal(batch.executables[0].id.kind, EXECUTABLE_ID_NONE);
	assert_int_equal(batch.series[0].type, EVENT_NONE);
}

static void stacks_expanded_from_shared_frames_are_bounded(void **state)
{
	/* Each of these stacks takes a few bytes on the wire and 640 frames when expanded. */
	enum { N_STACKS = 40000 };
	scoped(batch_builder_freep) struct batch_builder *builder =
		batch_builder_new(1, 1, 1, OPENED, CLOSED);
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch_frame frames[STACK_MAX_FRAMES] = {};
	char reason[DECODE_MESSAGE_SIZE];
	Hearth__V1__StackTable *table;
	struct batch batch;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		frames[i].kind = FRAME_NATIVE;
	batch_builder_stack(builder, 1, STACK_CUT_NONE, frames, STACK_MAX_FRAMES);
	table = batch_builder_message(builder)->stacks;
	table->number = calloc(N_STACKS, sizeof(uint32_t));
	table->shared = calloc(N_STACKS, sizeof(uint32_t));
	table->cut = calloc(N_STACKS, sizeof(uint32_t));
	table->n_frames = calloc(N_STACKS, sizeof(uint32_t));
	table->n_number = table->n_shared = table->n_cut = table->n_n_frames = N_STACKS;
	for (uint32_t i = 0; i < N_STACKS; i++) {
		table->number[i] = i + 1;
		table->shared[i] = i ? STACK_MAX_FRAMES : 0;
		table->n_frames[i] = i ? 0 : STACK_MAX_FRAMES;
	}
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	{
		scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
		const Hearth__V1__Batch message = {
			PROTOBUF_C_MESSAGE_INIT(&hearth__v1__batch__descriptor),
			.format = 1,
			.epoch = 1,
			.sequence = 1,
			.agent_id = { .len = 16, .data = (uint8_t *)"0123456789abcdef" },
			.closed_wall_ns = CLOSED,
			.host = &(Hearth__V1__Host)HEARTH__V1__HOST__INIT,
			.stacks = table,
		};

		batch_pack(&message, &body);
		assert_true(body.size < 256 * KIB);
		assert_errno(batch_decode(bytes_view_of(&body), arena, &batch, reason), -EFBIG);
	}
	assert_true(arena_used_bytes(arena) < 4 * MIB);
	free(table->number);
	free(table->shared);
	free(table->cut);
	free(table->n_frames);
}

/* 27 KB on the wire; each frame would be a node of the store's tree, of which it adds 400,000/s. */
static void stacks_that_list_too_many_frames_are_refused(void **state)
{
	enum { N_STACKS = DECODE_MAX_LISTED_FRAMES / STACK_MAX_FRAMES + 1 };
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	struct batch_frame frames[STACK_MAX_FRAMES];
	struct batch_builder *builder = small_batch();
	char reason[DECODE_MESSAGE_SIZE];
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch batch;

	(void)state;
	for (uint32_t i = 0; i < N_STACKS; i++) {
		for (uint32_t k = 0; k < STACK_MAX_FRAMES; k++)
			frames[k] = (struct batch_frame){ FRAME_NATIVE, 1, i + 1 };
		batch_builder_stack(builder, 1000 + i, STACK_CUT_NONE, frames, STACK_MAX_FRAMES);
	}
	batch_builder_finish(builder, &body);
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	assert_errno(batch_decode(bytes_view_of(&body), arena, &batch, reason), -EFBIG);
	assert_non_null(strstr(reason, "listed frames"));
}

static void a_decompression_bomb_is_refused(void **state)
{
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	scoped_free uint8_t *zeros = calloc(1, BATCH_MAX_BYTES + 1);
	char reason[DECODE_MESSAGE_SIZE];
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch batch;

	(void)state;
	assert_ok(zstd_compress((struct bytes_view){ zeros, BATCH_MAX_BYTES + 1 }, 1, &body));
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	assert_errno(batch_decode(bytes_view_of(&body), arena, &batch, reason), -EFBIG);
}

/* The most rows take 96 MiB as columns, below the ceiling. Expanded they exceed it. */
static void too_many_rows_are_efbig(void **state)
{
	const size_t n_rows = BATCH_MAX_ROWS;
	scoped(batch_builder_freep) struct batch_builder *builder =
		batch_builder_new(1, 1, 1, CLOSED - NSEC_PER_SEC, CLOSED);
	scoped(bytes_release) struct bytes plain = BYTES_INIT(BATCH_MAX_BYTES);
	char reason[DECODE_MESSAGE_SIZE];
	scoped(arena_freep) struct arena *arena = NULL;
	Hearth__V1__RowTable rows = HEARTH__V1__ROW_TABLE__INIT;
	Hearth__V1__Batch *message;
	struct batch batch;

	(void)state;
	message = batch_builder_message(builder);
	rows.n_series = rows.n_slot = rows.n_stack = n_rows;
	rows.series = calloc(n_rows, sizeof(*rows.series));
	rows.slot = calloc(n_rows, sizeof(*rows.slot));
	rows.stack = calloc(n_rows, sizeof(*rows.stack));
	message->rows = &rows;
	batch_pack_plain(message, &plain);
	message->rows = NULL;
	free(rows.series);
	free(rows.slot);
	free(rows.stack);
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	assert_errno(batch_decode_plain(bytes_view_of(&plain), arena, &batch, reason), -EFBIG);
	assert_non_null(strstr(reason, "takes more memory"));
}

static void many_tiny_items_hit_the_ceiling_of_the_arena(void **state)
{
	/* An empty string takes two bytes on the wire and 32 in memory. */
	const size_t n_bytes = 32 * MIB;
	scoped_free uint8_t *message = malloc(n_bytes);
	char reason[DECODE_MESSAGE_SIZE];
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch batch;

	(void)state;
	for (size_t i = 0; i < n_bytes; i += 2) {
		message[i] = 9 << 3 | 2;
		message[i + 1] = 0;
	}
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	assert_errno(
		batch_decode_plain((struct bytes_view){ message, n_bytes }, arena, &batch, reason),
		-EFBIG);
}

static void a_truncated_body_is_refused(void **state)
{
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	char reason[DECODE_MESSAGE_SIZE];
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch batch;

	(void)state;
	batch_builder_finish(small_batch(), &body);
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	for (size_t size = 0; size < body.size; size++) {
		arena_clear(arena);
		assert_errno(
			batch_decode((struct bytes_view){ body.data, size }, arena, &batch, reason),
			-EBADMSG);
		assert_true(reason[0] != '\0');
	}
}

static void a_truncated_message_is_decoded_safely(void **state)
{
	scoped(batch_builder_freep) struct batch_builder *builder = small_batch();
	scoped(bytes_release) struct bytes plain = BYTES_INIT(MIB);
	char reason[DECODE_MESSAGE_SIZE];
	scoped(arena_freep) struct arena *arena = NULL;
	size_t n_refused = 0;
	struct batch batch;

	(void)state;
	batch_pack_plain(batch_builder_message(builder), &plain);
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	for (size_t size = 0; size < plain.size; size++) {
		/* On the heap, so that AddressSanitizer detects a read beyond the end. */
		scoped_free uint8_t *cut = malloc(size + 1);
		int r;

		memcpy(cut, plain.data, size);
		arena_clear(arena);
		r = batch_decode_plain((struct bytes_view){ cut, size }, arena, &batch, reason);
		assert_true(r == 0 || r == -EBADMSG);
		n_refused += r < 0;
	}
	/* Truncated between two fields, the message is a valid shorter batch. */
	assert_true(n_refused > plain.size / 2);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void check_random_bodies(struct batch_builder *builder)
{
	scoped(bytes_release) struct bytes plain = BYTES_INIT(MIB);
	char reason[DECODE_MESSAGE_SIZE];
	scoped(arena_freep) struct arena *arena = NULL;
	uint64_t seed = 88172645463325252u;
	size_t in_use_before = 0;
	struct batch batch;

	batch_pack_plain(batch_builder_message(builder), &plain);
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	for (int i = 0; i < 10000; i++) {
		uint8_t body[2048];
		size_t size = plain.size;
		int r;

		assert_true(size <= sizeof(body));
		memcpy(body, plain.data, size);
		if (i % 2) {
			size = next_random(&seed) % sizeof(body);
			for (size_t k = 0; k < size; k++)
				body[k] = (uint8_t)next_random(&seed);
		} else {
			for (size_t k = 0; k < 1 + next_random(&seed) % 4; k++)
				body[next_random(&seed) % size] = (uint8_t)next_random(&seed);
		}
		arena_clear(arena);
		r = batch_decode_plain((struct bytes_view){ body, size }, arena, &batch, reason);
		assert_true(r == 0 || r == -EBADMSG || r == -EFBIG || r == -EPROTONOSUPPORT);
		r = batch_decode((struct bytes_view){ body, size }, arena, &batch, reason);
		assert_true(r < 0);
		if (i == 100)
			in_use_before = mallinfo2().uordblks;
	}
	arena_clear(arena);
	assert_true(mallinfo2().uordblks <= in_use_before + 128 * KIB);
}

static void random_bodies_do_not_leak(void **state)
{
	scoped(batch_builder_freep) struct batch_builder *format_1 = small_batch();
	scoped(batch_builder_freep) struct batch_builder *format_2 = small_batch_2();

	(void)state;
	check_random_bodies(format_1);
	check_random_bodies(format_2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_decoded_batch_equals_the_encoded_one),
		cmocka_unit_test(stacks_are_expanded_leaf_first),
		cmocka_unit_test(rows_get_wall_clock_slots),
		cmocka_unit_test(rows_without_values_count_one_each),
		cmocka_unit_test(texts_beyond_the_limit_are_refused),
		cmocka_unit_test(a_definition_may_be_empty),
		cmocka_unit_test(stacks_expanded_from_shared_frames_are_bounded),
		cmocka_unit_test(stacks_that_list_too_many_frames_are_refused),
		cmocka_unit_test(a_decompression_bomb_is_refused),
		cmocka_unit_test(too_many_rows_are_efbig),
		cmocka_unit_test(many_tiny_items_hit_the_ceiling_of_the_arena),
		cmocka_unit_test(a_truncated_body_is_refused),
		cmocka_unit_test(a_truncated_message_is_decoded_safely),
		cmocka_unit_test(random_bodies_do_not_leak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
