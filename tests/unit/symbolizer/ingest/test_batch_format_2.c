/* SPDX-License-Identifier: Apache-2.0 */
/* What format 2 added: code objects, described event types, labels of series, unknown kinds. */
#include "tests/support/unit.h"

#include "tests/unit/symbolizer/ingest/small_batch.h"

struct decoded {
	struct batch_builder *builder;
	struct arena *arena;
	struct batch batch;
	char reason[DECODE_MESSAGE_SIZE];
};

static void decoded_release(struct decoded *decoded)
{
	(void)batch_builder_free(decoded->builder);
	(void)arena_free(decoded->arena);
}

static int decode(struct decoded *decoded)
{
	return decode_message(batch_builder_message(decoded->builder), decoded->arena,
			      &decoded->batch, decoded->reason);
}

static struct decoded small_2(void)
{
	struct decoded decoded = { .builder = small_batch_2() };

	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &decoded.arena));
	return decoded;
}

static void code_objects_keep_their_texts_and_line_table(void **state)
{
	scoped(decoded_release) struct decoded decoded = small_2();
	const struct batch_code_object *object;

	(void)state;
	assert_ok(decode(&decoded));
	assert_int_equal(decoded.batch.n_code_objects, 2);
	object = &decoded.batch.code_objects[0];
	assert_int_equal(object->number, 1);
	assert_string_equal(object->language, "python");
	assert_string_equal(object->function, "step");
	assert_string_equal(object->qualified_name, "Model.step");
	assert_string_equal(object->file, "/app/model.py");
	assert_int_equal(object->first_line, 17);
	assert_int_equal(object->line_table.size, 3);
	assert_int_equal(object->line_table.data[2], 3);
}

static void the_hash_of_a_code_object_depends_on_its_content_only(void **state)
{
	scoped(decoded_release) struct decoded decoded = small_2();
	scoped(decoded_release) struct decoded other = small_2();
	Hearth__V1__Batch *message = batch_builder_message(other.builder);
	const struct hash128 *hash;

	(void)state;
	assert_ok(decode(&decoded));
	hash = &decoded.batch.code_objects[0].hash;
	message->code_objects[0]->number = 99;
	message->stacks = NULL;
	assert_ok(decode_message(message, other.arena, &other.batch, other.reason));
	assert_true(hash128_equal(&other.batch.code_objects[0].hash, hash));
	message->code_objects[0]->first_line++;
	assert_ok(decode_message(message, other.arena, &other.batch, other.reason));
	assert_false(hash128_equal(&other.batch.code_objects[0].hash, hash));
	message->code_objects[0]->first_line--;
	message->code_objects[0]->qualified_name = message->code_objects[0]->function;
	assert_ok(decode_message(message, other.arena, &other.batch, other.reason));
	assert_false(hash128_equal(&other.batch.code_objects[0].hash, hash));
}

static void frames_refer_to_code_objects_executables_or_nothing(void **state)
{
	scoped(decoded_release) struct decoded decoded = small_2();
	static const struct batch_frame expected[] = {
		{ FRAME_KERNEL_CODE, FRAME_CODE_OBJECT | 2, 0 },
		{ FRAME_PYTHON, FRAME_CODE_OBJECT | 1, 42 },
		{ UNKNOWN_KIND, 1, 0x2000 },
		{ UNKNOWN_KIND, FRAME_CODE_OBJECT | 1, 7 },
		{ FRAME_NATIVE, 1, 0x1000 },
		{ FRAME_ANONYMOUS, 0, UINT64_MAX },
	};

	(void)state;
	assert_ok(decode(&decoded));
	assert_int_equal(decoded.batch.n_stacks, 1);
	assert_int_equal(decoded.batch.stacks[0].n_frames, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct batch_frame *frame = &decoded.batch.stacks[0].frames[i];

		assert_int_equal(frame->kind, expected[i].kind);
		assert_int_equal(frame->object, expected[i].object);
		assert_true(frame->address == expected[i].address);
	}
	assert_int_equal(decoded.batch.n_unknown_frames, 2);
}

static void an_unknown_event_type_keeps_its_description(void **state)
{
	scoped(decoded_release) struct decoded decoded = small_2();
	const struct batch_series *series;

	(void)state;
	assert_ok(decode(&decoded));
	series = decoded.batch.series;
	assert_int_equal(series[0].type, EVENT_ON_CPU);
	assert_null(series[0].described);
	assert_int_equal(series[1].type, EVENT_NONE);
	assert_string_equal(series[1].described->name, "page-faults");
	assert_string_equal(series[1].described->unit, "events");
	assert_int_equal(series[1].described->kind, EVENT_VALUE_SUM);
}

static void labels_of_a_series_are_sorted_by_name(void **state)
{
	scoped(decoded_release) struct decoded decoded = small_2();
	const struct batch_series *series;

	(void)state;
	assert_ok(decode(&decoded));
	series = &decoded.batch.series[1];
	assert_int_equal(decoded.batch.series[0].n_labels, 0);
	assert_int_equal(series->n_labels, 2);
	assert_string_equal(series->labels[0].name, "device");
	assert_string_equal(series->labels[0].value, "gpu0");
	assert_string_equal(series->labels[1].name, "stream");
}

static void a_value_of_zero_is_kept(void **state)
{
	scoped(decoded_release) struct decoded decoded = small_2();

	(void)state;
	assert_ok(decode(&decoded));
	assert_int_equal(decoded.batch.n_rows, 2);
	assert_int_equal(decoded.batch.rows[1].series, 2);
	assert_int_equal(decoded.batch.rows[1].value, 0);
}

static void rows_with_a_context_are_counted(void **state)
{
	scoped(decoded_release) struct decoded decoded = small_2();
	Hearth__V1__Batch *message = batch_builder_message(decoded.builder);
	Hearth__V1__Context context = HEARTH__V1__CONTEXT__INIT;
	Hearth__V1__Context *contexts[] = { &context };
	uint32_t column[] = { 1, 0 };
	uint8_t ids[16] = { 1 };

	(void)state;
	context.trace_id = (ProtobufCBinaryData){ .len = 16, .data = ids };
	context.span_id = (ProtobufCBinaryData){ .len = 8, .data = ids };
	message->contexts = contexts;
	message->n_contexts = 1;
	message->rows->context = column;
	message->rows->n_context = 2;
	assert_ok(decode_message(message, decoded.arena, &decoded.batch, decoded.reason));
	assert_int_equal(decoded.batch.n_rows_with_context, 1);
	context.span_id.len = 0;
	assert_ok(decode_message(message, decoded.arena, &decoded.batch, decoded.reason));
}

/* Appends field @number with the varint 1 to the packed message. */
static void append_field(struct bytes *plain, unsigned int number)
{
	assert_ok(bytes_append_varint(plain, (uint64_t)number << 3));
	assert_ok(bytes_append_byte(plain, 1));
}

static void unknown_fields_are_counted_and_ignored(void **state)
{
	scoped(decoded_release) struct decoded decoded = small_2();
	scoped(bytes_release) struct bytes plain = BYTES_INIT(MIB);

	(void)state;
	batch_pack_plain(batch_builder_message(decoded.builder), &plain);
	append_field(&plain, 1000);
	append_field(&plain, 77);
	assert_ok(batch_decode_plain(bytes_view_of(&plain), decoded.arena, &decoded.batch,
				     decoded.reason));
	assert_int_equal(decoded.batch.n_unknown_fields, 2);
	assert_int_equal(decoded.batch.n_rows, 2);
}

static void a_later_format_is_not_a_malformed_batch(void **state)
{
	scoped(decoded_release) struct decoded decoded = small_2();
	/* Format 3 with fields that cannot be unpacked. */
	static const uint8_t changed[] = { 1 << 3, 3, 2 << 3 | 7, 0xff };

	(void)state;
	batch_builder_message(decoded.builder)->format = 3;
	assert_errno(decode(&decoded), -EPROTONOSUPPORT);
	assert_string_equal(decoded.reason, "format 3, this server reads 1 to 2: upgrade the "
					    "server, the agent is newer");
	assert_errno(batch_decode_plain((struct bytes_view){ changed, sizeof(changed) },
					decoded.arena, &decoded.batch, decoded.reason),
		     -EPROTONOSUPPORT);
}

static void too_many_event_types_are_efbig(void **state)
{
	scoped(decoded_release) struct decoded decoded = small_2();
	Hearth__V1__Batch *message = batch_builder_message(decoded.builder);
	Hearth__V1__EventType *types[MAX_EVENT_TYPES + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		types[i] = message->event_types[0];
	message->event_types = types;
	message->n_event_types = MAX_EVENT_TYPES;
	assert_ok(decode_message(message, decoded.arena, &decoded.batch, decoded.reason));
	message->n_event_types++;
	assert_errno(decode_message(message, decoded.arena, &decoded.batch, decoded.reason),
		     -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_objects_keep_their_texts_and_line_table),
		cmocka_unit_test(the_hash_of_a_code_object_depends_on_its_content_only),
		cmocka_unit_test(frames_refer_to_code_objects_executables_or_nothing),
		cmocka_unit_test(an_unknown_event_type_keeps_its_description),
		cmocka_unit_test(labels_of_a_series_are_sorted_by_name),
		cmocka_unit_test(a_value_of_zero_is_kept),
		cmocka_unit_test(rows_with_a_context_are_counted),
		cmocka_unit_test(unknown_fields_are_counted_and_ignored),
		cmocka_unit_test(a_later_format_is_not_a_malformed_batch),
		cmocka_unit_test(too_many_event_types_are_efbig),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
