/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads the batches that imports make, as the server does. */

#include "common/file.h"
#include "symbolizer/import/import.h"
#include "symbolizer/ingest/batch_decoder.h"
#include "tests/support/unit.h"

/* 2026-11-27 12:00 UTC */
#define TEST_NOW_NS (UINT64_C(1795780800) * NSEC_PER_SEC)

/* The build defines it for the tests. */
#ifndef IMPORT_CORPUS
#define IMPORT_CORPUS "tests/fuzz/corpus/"
#endif

struct imported {
	struct import_result result;
	struct arena *arena;
	struct batch *batches; /* [result.batches.count] */
};

static inline void imported_release(struct imported *imported)
{
	import_result_release(&imported->result);
	(void)arena_free(imported->arena);
}

/* Decodes all batches of the result. */
static inline void decode_imported(struct imported *imported)
{
	const size_t count = imported->result.batches.count;

	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &imported->arena));
	imported->batches = arena_alloc_array(imported->arena, count + 1, sizeof(struct batch));
	assert_non_null(imported->batches);
	for (size_t i = 0; i < count; i++) {
		char message[DECODE_MESSAGE_SIZE];
		int r = batch_decode(bytes_view_of(&imported->result.batches.items[i]),
				     imported->arena, &imported->batches[i], message);

		if (r < 0)
			fail_msg("batch %zu: %s", i, message);
	}
}

/* Reads a file of the corpora, such as "import_pprof/go-cpu.pb". */
static inline void read_corpus(const char *name, struct bytes *out)
{
	char path[512];

	(void)snprintf(path, sizeof(path), IMPORT_CORPUS "%s", name);
	*out = BYTES_INIT(64 * MIB);
	if (file_read(path, out) < 0)
		fail_msg("cannot read '%s'", path);
}

static inline struct bytes_view text_view(const char *text)
{
	return (struct bytes_view){ (const uint8_t *)text, strlen(text) };
}

static inline const struct batch_series *series_of(const struct batch *batch, uint32_t number)
{
	assert_true(number >= 1 && number <= batch->n_series);
	assert_int_equal(batch->series[number - 1].number, number);
	return &batch->series[number - 1];
}

static inline const char *event_name_of(const struct batch_series *series)
{
	return series->described ? series->described->name : event_type_name(series->type);
}

/* The sum of all rows with this event type, in its unit. */
static inline uint64_t sum_of(const struct batch *batch, const char *event)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < batch->n_rows; i++) {
		const struct batch_series *series = series_of(batch, batch->rows[i].series);

		if (strcmp(event_name_of(series), event) == 0)
			sum += batch->rows[i].value * (series->period_ns ? series->period_ns : 1);
	}
	return sum;
}

static inline const struct batch_stack *stack_of(const struct batch *batch, uint32_t number)
{
	for (uint32_t i = 0; i < batch->n_stacks; i++)
		if (batch->stacks[i].number == number)
			return &batch->stacks[i];
	fail_msg("no stack %u", number);
	return NULL;
}

static inline const char *function_of(const struct batch *batch, const struct batch_frame *frame)
{
	const uint32_t number = frame->object & ~FRAME_CODE_OBJECT;

	if (!(frame->object & FRAME_CODE_OBJECT))
		return "?";
	assert_int_equal(batch->code_objects[number - 1].number, number);
	return batch->code_objects[number - 1].function;
}

/* "outer;inner", of a stack of named frames. */
static inline void folded_text(const struct batch *batch, uint32_t stack, char *text, size_t size)
{
	const struct batch_stack *found = stack_of(batch, stack);
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = found->n_frames; i > 0; i--)
		used += (size_t)snprintf(text + used, size - used, "%s%s",
					 function_of(batch, &found->frames[i - 1]),
					 i > 1 ? ";" : "");
	assert_true(used < size);
}

/* The sum of the rows with this event type and this stack. */
static inline uint64_t sum_of_stack(const struct batch *batch, const char *event,
				    const char *folded)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < batch->n_rows; i++) {
		const struct batch_row *row = &batch->rows[i];
		char text[4096];

		if (strcmp(event_name_of(series_of(batch, row->series)), event) != 0)
			continue;
		folded_text(batch, row->stack, text, sizeof(text));
		if (strcmp(text, folded) == 0)
			sum += row->value;
	}
	return sum;
}
