/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/batch_encoder.h"

#include <iconv.h>
#include <inttypes.h>
#include <time.h>

#include "common/hash.h"
#include "common/limits.h"
#include "common/zstd_frame.h"
#include "proto/batch.pb-c.h"
#include "random_window.h"
#include "tests/support/unit.h"
#include "window_text.h"

#define WINDOWS    300
#define TEXT_BYTES (64 * MIB)

/* HEARTH_TEST_SEED repeats a failed run. */
static uint64_t first_seed(void)
{
	const char *given = getenv("HEARTH_TEST_SEED");
	struct timespec now;

	if (given)
		return strtoull(given, NULL, 0);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* Fails with the first difference of the two texts. */
static void assert_same_text(const struct bytes *read, const struct bytes *expected, uint64_t seed)
{
	size_t same = 0, start;

	assert_int_equal(bytes_error(read), 0);
	assert_int_equal(bytes_error(expected), 0);
	while (same < read->size && same < expected->size &&
	       read->data[same] == expected->data[same])
		same++;
	if (same == read->size && same == expected->size)
		return;
	start = same > 100 ? same - 100 : 0;
	fail_msg("seed %" PRIu64 ": the server reads '%.*s', not '%.*s'", seed,
		 (int)MIN(read->size - start, (size_t)200), (const char *)read->data + start,
		 (int)MIN(expected->size - start, (size_t)200),
		 (const char *)expected->data + start);
}

static void check_round_trip(struct window *window, uint64_t seed)
{
	scoped(bytes_release) struct bytes batch = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
	scoped(bytes_release) struct bytes expected = BYTES_INIT(TEXT_BYTES);
	scoped(bytes_release) struct bytes read = BYTES_INIT(TEXT_BYTES);
	size_t plain_bytes = 0;
	int r;

	window_text(window, &expected);
	r = batch_encode(window, &batch, &plain_bytes);
	if (r < 0)
		fail_msg("seed %" PRIu64 ": cannot encode: %s", seed, strerror(-r));
	assert_true(plain_bytes > 0);
	r = decoded_text(bytes_view_of(&batch), &read);
	if (r < 0)
		fail_msg("seed %" PRIu64 ": the server answers '%.*s'", seed, (int)read.size,
			 (const char *)read.data);
	assert_same_text(&read, &expected, seed);
}

static void the_server_reads_what_the_agent_wrote(void **state)
{
	uint64_t seed = first_seed();

	(void)state;
	print_message("HEARTH_TEST_SEED=%" PRIu64 "\n", seed);
	for (uint64_t i = 0; i < WINDOWS; i++) {
		scoped(arena_freep) struct arena *arena = NULL;
		struct window window;

		assert_ok(arena_new(256 * MIB, &arena));
		random_window(seed + i, arena, &window);
		check_round_trip(&window, seed + i);
	}
}

static struct window empty_window(void)
{
	return (struct window){
		.epoch = 1,
		.sequence = 1,
		.opened_monotonic_ns = 10 * NSEC_PER_SEC,
		.closed_monotonic_ns = 15 * NSEC_PER_SEC,
		.closed_wall_ns = 1700000000 * NSEC_PER_SEC,
		.host = { .name = "h",
			  .machine_id = "",
			  .boot_id = "",
			  .kernel_release = "",
			  .architecture = "" },
	};
}

static void an_empty_window_becomes_a_batch(void **state)
{
	struct window window = empty_window();

	(void)state;
	check_round_trip(&window, 0);
}

static void texts_are_truncated_at_a_character(void **state)
{
	scoped(bytes_release) struct bytes batch = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
	scoped(bytes_release) struct bytes read = BYTES_INIT(TEXT_BYTES);
	static char name[BATCH_MAX_TEXT_BYTES + 100];
	struct window_process process = { .number = 1, .name = name, .executable_path = "" };
	struct window window = empty_window();
	const char *found;
	size_t plain_bytes;

	(void)state;
	/* 4095 letters, then characters of three bytes each. */
	memset(name, 'x', sizeof(name) - 1);
	for (size_t i = BATCH_MAX_TEXT_BYTES - 1; i + 3 < sizeof(name); i += 3)
		memcpy(name + i, "本", 3);
	window.processes = &process;
	window.n_processes = 1;
	assert_ok(batch_encode(&window, &batch, &plain_bytes));
	assert_ok(decoded_text(bytes_view_of(&batch), &read));
	assert_ok(bytes_append_byte(&read, 0));
	found = strstr((const char *)read.data, "xxxx");
	assert_non_null(found);
	assert_int_equal(strspn(found, "x"), BATCH_MAX_TEXT_BYTES - 1);
	assert_int_equal(found[BATCH_MAX_TEXT_BYTES - 1], ' ');
}

/* The decoder of the C library also refuses overlong forms and surrogates. */
static bool is_utf8(const char *text)
{
	iconv_t decoder = iconv_open("UTF-32LE", "UTF-8");
	size_t left = strlen(text), room = 4 * BATCH_MAX_TEXT_BYTES;
	scoped_free char *out = malloc(room);
	char *from = (char *)text, *to = out;
	size_t r;

	assert_true(decoder != (iconv_t)-1);
	assert_non_null(out);
	r = iconv(decoder, &from, &left, &to, &room);
	iconv_close(decoder);
	return r != (size_t)-1;
}

/*
 * Checks all strings of @message and of the messages in it with a strict decoder. Returns their
 * number.
 */
static size_t check_strings(const ProtobufCMessage *message)
{
	size_t n_strings = 0;

	for (unsigned int i = 0; i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
		const uint8_t *base = (const uint8_t *)message;
		bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
		size_t count = repeated ? *(const size_t *)(base + field->quantifier_offset) : 1;
		void *const *values = repeated ? *(void *const *const *)(base + field->offset)
					       : (void *const *)(base + field->offset);

		for (size_t at = 0; at < count; at++) {
			if (field->type == PROTOBUF_C_TYPE_STRING) {
				assert_true(is_utf8(values[at]));
				n_strings++;
			} else if (field->type == PROTOBUF_C_TYPE_MESSAGE && values[at]) {
				n_strings += check_strings(values[at]);
			}
		}
	}
	return n_strings;
}

static void strings_are_utf8_for_any_bytes_in_names(void **state)
{
	scoped(bytes_release) struct bytes batch = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
	scoped(bytes_release) struct bytes plain = BYTES_INIT(BATCH_MAX_BYTES);
	static const char bad[] = "w\xff\xc0\xaf\xed\xa0\x80-\xe6\x97";
	static const struct window_label labels[] = { { bad, bad } };
	struct executable executable = { .number = 1 };
	struct window_path paths[] = { { .executable = 1, .path = bad } };
	struct window_process process = { .number = 1,
					  .name = bad,
					  .executable_path = bad,
					  .paths = paths,
					  .n_paths = 1,
					  .labels = labels,
					  .n_labels = 1 };
	struct window_series series = { .number = 1,
					.process = 1,
					.thread_name = bad,
					.cpu = -1,
					.type = EVENT_ON_CPU,
					.labels = labels,
					.n_labels = 1 };
	struct executable *const executables[] = { &executable };
	const struct code_object object = {
		.number = 1,
		.content = { .language = bad, .function = bad, .qualified_name = bad, .file = bad },
	};
	const struct code_object *const objects[] = { &object };
	struct window_counter counter = { .name = bad, .value = 1 };
	struct window window = empty_window();
	Hearth__V1__Batch *decoded;
	size_t plain_bytes;

	(void)state;
	executable.name = (char *)bad;
	window.host = (struct window_host){ .name = bad,
					    .machine_id = bad,
					    .boot_id = bad,
					    .kernel_release = bad,
					    .architecture = bad,
					    .ips = (const char *const[]){ bad },
					    .n_ips = 1,
					    .labels = labels,
					    .n_labels = 1 };
	window.executables = executables;
	window.n_executables = 1;
	window.processes = &process;
	window.n_processes = 1;
	window.series = &series;
	window.n_series = 1;
	window.code_objects = objects;
	window.n_code_objects = 1;
	window.counters = &counter;
	window.n_counters = 1;
	assert_ok(batch_encode(&window, &batch, &plain_bytes));
	assert_ok(zstd_decompress(bytes_view_of(&batch), &plain));
	decoded = hearth__v1__batch__unpack(NULL, plain.size, plain.data);
	assert_non_null(decoded);
	assert_true(check_strings(&decoded->base) >= 12);
	hearth__v1__batch__free_unpacked(decoded, NULL);
}

static void values_that_the_server_would_refuse_are_corrected(void **state)
{
	scoped(bytes_release) struct bytes batch = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
	scoped(bytes_release) struct bytes read = BYTES_INIT(TEXT_BYTES);
	static const struct window_label labels[] = { { "", "no name" },
						      { NULL, "none" },
						      { "name", "value" } };
	struct window_row rows[] = {
		{ .series = 1, .slot = 1200, .stack = 2, .value = UINT64_MAX },
		{ .series = 1, .slot = 1200, .stack = 2, .value = 7 },
		{ .series = 2, .slot = 1300, .stack = 0, .value = UINT64_MAX },
	};
	struct window window = empty_window();
	size_t plain_bytes;

	(void)state;
	window.host.labels = labels;
	window.host.n_labels = ARRAY_SIZE(labels);
	window.rows = rows;
	window.n_rows = ARRAY_SIZE(rows);
	assert_ok(batch_encode(&window, &batch, &plain_bytes));
	assert_ok(decoded_text(bytes_view_of(&batch), &read));
	assert_ok(bytes_append_byte(&read, 0));
	assert_non_null(strstr((const char *)read.data, "  label name=value\n"));
	assert_null(strstr((const char *)read.data, "no name"));
	assert_non_null(strstr((const char *)read.data, " 2 9007199254740992\n"));
	assert_non_null(strstr((const char *)read.data, " 0 9007199254740992\n"));
}

static void zero_ends_a_state(void **state)
{
	scoped(bytes_release) struct bytes batch = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
	scoped(bytes_release) struct bytes read = BYTES_INIT(TEXT_BYTES);
	struct window_row rows[] = {
		{ .series = 1, .slot = 1200, .stack = 1, .value = 4096 },
		{ .series = 1, .slot = 1300, .stack = 1, .value = 0 },
	};
	struct window window = empty_window();
	size_t plain_bytes;

	(void)state;
	window.rows = rows;
	window.n_rows = ARRAY_SIZE(rows);
	assert_ok(batch_encode(&window, &batch, &plain_bytes));
	assert_ok(decoded_text(bytes_view_of(&batch), &read));
	assert_ok(bytes_append_byte(&read, 0));
	assert_non_null(strstr((const char *)read.data, " 1 4096\n"));
	assert_non_null(strstr((const char *)read.data, " 1 0\n"));
}

static void a_too_large_window_is_refused_and_nothing_is_appended(void **state)
{
	scoped(bytes_release) struct bytes batch = BYTES_INIT(2 * BATCH_MAX_COMPRESSED_BYTES);
	/* 20000 stacks of 640 frames, all different. */
	const size_t n_stacks = 20000;
	scoped_free struct window_stack *stacks = calloc(n_stacks, sizeof(*stacks));
	scoped_free struct window_frame *all = calloc(n_stacks * STACK_MAX_FRAMES, sizeof(*all));
	struct window window = empty_window();
	uint64_t address = 1;
	size_t plain_bytes = 0;

	(void)state;
	for (size_t i = 0; i < n_stacks; i++) {
		for (size_t k = 0; k < STACK_MAX_FRAMES; k++) {
			address = address * UINT64_C(6364136223846793005) + 1442695040888963407;
			all[i * STACK_MAX_FRAMES + k] = (struct window_frame){ .kind = FRAME_NATIVE,
									       .object = 1,
									       .address = address };
		}
		stacks[i] = (struct window_stack){ .number = (uint32_t)i + 1,
						   .n_frames = STACK_MAX_FRAMES,
						   .frames = all + i * STACK_MAX_FRAMES };
	}
	window.stacks = stacks;
	window.n_stacks = n_stacks;
	assert_errno(batch_encode(&window, &batch, &plain_bytes), -EFBIG);
	assert_int_equal(batch.size, 0);
	window.n_stacks = 2000;
	assert_errno(batch_encode(&window, &batch, &plain_bytes), -EFBIG);
	assert_int_equal(batch.size, 0);
	window.n_stacks = 10;
	assert_ok(batch_encode(&window, &batch, &plain_bytes));
	assert_true(batch.size > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_server_reads_what_the_agent_wrote),
		cmocka_unit_test(an_empty_window_becomes_a_batch),
		cmocka_unit_test(texts_are_truncated_at_a_character),
		cmocka_unit_test(strings_are_utf8_for_any_bytes_in_names),
		cmocka_unit_test(values_that_the_server_would_refuse_are_corrected),
		cmocka_unit_test(zero_ends_a_state),
		cmocka_unit_test(a_too_large_window_is_refused_and_nothing_is_appended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
