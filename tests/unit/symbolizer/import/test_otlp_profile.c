/* SPDX-License-Identifier: Apache-2.0 */
/* Small requests of OTLP, right and wrong ones. */
#include "tests/unit/symbolizer/import/otlp_builder.h"

static void an_address_in_a_mapping_of_a_process_is_an_offset_in_the_file(void **state)
{
	scoped(imported_release) struct imported process = {}, elf = {};
	const struct batch_frame *frame;
	struct small_request small;

	(void)state;
	make_small(&small);
	small.location[1].n_lines = 0;
	assert_ok(read_small(&small, &process));
	frame = &process.batches->stacks[0].frames[0];
	assert_int_equal(frame->kind, FRAME_NATIVE_FILE_OFFSET);
	assert_int_equal(frame->address, 0x2010);
	assert_int_equal(process.batches->executables[0].id.size, 5);
	assert_string_equal(process.batches->executables[0].name, "app");

	small.mapping[1].memory_start = 0x1000;
	small.location[1].address = 0x1010;
	assert_ok(read_small(&small, &elf));
	frame = &elf.batches->stacks[0].frames[0];
	assert_int_equal(frame->kind, FRAME_NATIVE);
	assert_int_equal(frame->address, 0x1010);
}

static void a_frame_without_names_and_mapping_is_an_address(void **state)
{
	scoped(imported_release) struct imported native = {}, kernel = {}, nothing = {};
	static char type[] = "kernel";
	struct small_request small;

	(void)state;
	make_small(&small);
	small.location[1].n_lines = 0;
	small.location[1].mapping_index = 0;
	assert_ok(read_small(&small, &native));
	assert_int_equal(native.batches->stacks[0].frames[0].kind, FRAME_ANONYMOUS);
	small.strings[TEXT_TYPE] = type;
	assert_ok(read_small(&small, &kernel));
	assert_int_equal(kernel.batches->stacks[0].frames[0].kind, FRAME_KERNEL);
	assert_int_equal(kernel.batches->stacks[0].frames[0].object, 0);
	small.location[1].address = 0;
	assert_ok(read_small(&small, &nothing));
	assert_int_equal(nothing.batches->stacks[0].n_frames, 0);
}

static void counts_of_a_cpu_period_are_time_on_cpu(void **state)
{
	scoped(imported_release) struct imported counts = {}, without = {};
	struct small_request small;

	(void)state;
	make_small(&small);
	small.type.type_strindex = TEXT_SAMPLES;
	small.type.unit_strindex = TEXT_COUNT;
	small.period_type.type_strindex = TEXT_CPU;
	small.period_type.unit_strindex = TEXT_NANOSECONDS;
	small.profile[0].period_type = &small.period_type;
	small.profile[0].period = 10000000;
	small.values[0] = 7;
	assert_ok(read_small(&small, &counts));
	assert_int_equal(sum_of(counts.batches, "on-cpu"), 70000000);
	small.profile[0].period = 0;
	assert_ok(read_small(&small, &without));
	assert_int_equal(sum_of(without.batches, "samples"), 7);
}

static void values_and_timestamps_are_counted_by_their_numbers(void **state)
{
	static const struct {
		size_t n_values, n_timestamps;
		int64_t first;
		uint64_t sum; /* 0: refused */
	} cases[] = {
		{ 1, 0, 5, 5 }, { 3, 3, 5, 25 }, { 0, 3, 0, 3 }, { 1, 3, 7, 7 },
		{ 1, 3, 1, 3 }, { 2, 3, 5, 0 },  { 0, 0, 0, 0 }, { 2, 0, 5, 15 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(imported_release) struct imported imported = {};
		struct small_request small;
		int r;

		make_small(&small);
		small.values[0] = cases[i].first;
		small.values[1] = small.values[2] = 10;
		for (size_t k = 0; k < 3; k++)
			small.timestamps[k] = TEST_NOW_NS - (k + 1) * NSEC_PER_SEC / 10;
		small.sample[0].n_attribute_indices = 0;
		small.sample[0].n_values = cases[i].n_values;
		small.sample[0].n_timestamps_unix_nano = cases[i].n_timestamps;
		small.sample[0].timestamps_unix_nano = small.timestamps;
		r = read_small(&small, &imported);
		assert_int_equal(r, cases[i].sum ? 0 : -EBADMSG);
		if (r == 0)
			assert_int_equal(sum_of(imported.batches, "on-cpu"), cases[i].sum);
		else
			assert_non_null(strstr(imported.result.reason, "samples[0]"));
	}
}

static void timestamps_outside_of_the_profile_extend_its_time(void **state)
{
	scoped(imported_release) struct imported imported = {};
	struct small_request small;

	(void)state;
	make_small(&small);
	small.profile[0].time_unix_nano = 0;
	small.profile[0].duration_nano = 0;
	small.timestamps[0] = TEST_NOW_NS - 20 * NSEC_PER_SEC;
	small.sample[0].n_timestamps_unix_nano = 1;
	small.sample[0].timestamps_unix_nano = small.timestamps;
	assert_ok(read_small(&small, &imported));
	assert_int_equal(imported.batches->opened_wall_ns, small.timestamps[0]);
	assert_int_equal(imported.batches->closed_wall_ns, TEST_NOW_NS);
	assert_int_equal(imported.batches->rows[0].slot, small.timestamps[0] / SLOT_NS);
}

/* The reason names the field whose index is in no table. */
static void each_index_is_checked(void **state)
{
	struct small_request small;
	const struct {
		int32_t *index;
		const char *field;
	} cases[] = {
		{ &small.sample[0].stack_index, "samples[0].stack_index" },
		{ &small.of_sample[0], "samples[0].attribute_indices[0]" },
		{ &small.of_stack[0], "location_indices[0]" },
		{ &small.of_location[0], "location_table.attribute_indices[0]" },
		{ &small.of_mapping[0], "mapping_table.attribute_indices[0]" },
		{ &small.location[1].mapping_index, "location_table[1].mapping_index" },
		{ &small.line.function_index, "location_table[1].line.function_index" },
		{ &small.function[1].name_strindex, "function_table[1].name_strindex" },
		{ &small.function[1].system_name_strindex,
		  "function_table[1].system_name_strindex" },
		{ &small.function[1].filename_strindex, "function_table[1].filename_strindex" },
		{ &small.mapping[1].filename_strindex, "mapping_table.filename_strindex" },
		{ &small.attribute[2].key_strindex, "attribute_table[2].key_strindex" },
		{ &small.value[2].string_value_strindex, "string_value_strindex" },
		{ &small.type.type_strindex, "sample_type.type_strindex" },
		{ &small.type.unit_strindex, "sample_type.unit_strindex" },
	};
	static const int32_t wrong[] = { 1000, -1, INT32_MAX, INT32_MIN };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(wrong); k++) {
			scoped(imported_release) struct imported imported = {};

			make_small(&small);
			/* Only a location without lines needs its mapping. */
			if (strncmp(cases[i].field, "mapping_table", 13) == 0)
				small.location[1].n_lines = 0;
			*cases[i].index = wrong[k];
			assert_errno(read_small(&small, &imported), -EBADMSG);
			if (!strstr(imported.result.reason, cases[i].field))
				fail_msg("%s: %s", cases[i].field, imported.result.reason);
			assert_int_equal(imported.result.batches.count, 0);
		}
	}
}

static void a_negative_value_is_refused(void **state)
{
	scoped(imported_release) struct imported imported = {};
	struct small_request small;

	(void)state;
	make_small(&small);
	small.values[0] = -3;
	assert_errno(read_small(&small, &imported), -EBADMSG);
	assert_non_null(strstr(imported.result.reason, "samples[0].values: -3"));
}

static void a_negative_value_with_timestamps_is_refused(void **state)
{
	scoped(imported_release) struct imported imported = {};
	struct small_request small;

	(void)state;
	make_small(&small);
	small.values[0] = -1;
	small.timestamps[0] = small.timestamps[1] = TEST_NOW_NS - NSEC_PER_SEC;
	small.sample[0].n_timestamps_unix_nano = 2;
	small.sample[0].timestamps_unix_nano = small.timestamps;
	assert_errno(read_small(&small, &imported), -EBADMSG);
	assert_non_null(strstr(imported.result.reason, "samples[0].values: -1"));
}

static void a_mapping_without_a_build_id_is_identified_by_its_htlhash(void **state)
{
	static char gnu[] = "process.executable.build_id.gnu",
		    hash[] = "process.executable.build_id.htlhash",
		    old[] = "process.executable.build_id.profiling", id[] = "0102030405",
		    digits[] = "600DCAFE4A110000F2BF38C493F5FB92",
		    zeros[] = "00000000000000000000000000000000";
	static const struct {
		char *key, *value, *second_key, *second_value;
		const char *text;
	} cases[] = {
		{ hash, digits, NULL, NULL, "htlhash-600dcafe4a110000f2bf38c493f5fb92" },
		{ old, digits, NULL, NULL, "htlhash-600dcafe4a110000f2bf38c493f5fb92" },
		/* a build ID is better, whichever is first */
		{ hash, digits, gnu, id, "0102030405" },
		{ gnu, id, hash, digits, "0102030405" },
		/* no hash */
		{ hash, id, NULL, NULL, "" },
		{ hash, zeros, NULL, NULL, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(imported_release) struct imported imported = {};
		int32_t attributes[] = { ATTRIBUTE_BUILD_ID, ATTRIBUTE_USER };
		char text[EXECUTABLE_ID_TEXT_SIZE];
		struct small_request small;

		make_small(&small);
		small.location[1].n_lines = 0;
		small.strings[TEXT_BUILD_ID_KEY] = cases[i].key;
		small.strings[TEXT_BUILD_ID] = cases[i].value;
		if (cases[i].second_key) {
			small.strings[TEXT_USER] = cases[i].second_key;
			small.strings[TEXT_WORK] = cases[i].second_value;
		}
		small.mapping[1].attribute_indices = attributes;
		small.mapping[1].n_attribute_indices = ARRAY_SIZE(attributes);
		assert_ok(read_small(&small, &imported));
		executable_id_format(&imported.batches->executables[0].id, text);
		assert_string_equal(text, cases[i].text);
	}
}

/* A mapping with many attributes would be searched for each of its locations. */
static void only_the_first_attributes_of_a_mapping_are_read(void **state)
{
	enum { N_READ = 32 };
	scoped(imported_release) struct imported last = {}, beyond = {};
	int32_t attributes[N_READ + 1] = {};
	struct small_request small;

	(void)state;
	make_small(&small);
	small.location[1].n_lines = 0;
	small.mapping[1].attribute_indices = attributes;
	small.mapping[1].n_attribute_indices = ARRAY_SIZE(attributes);
	attributes[N_READ - 1] = ATTRIBUTE_BUILD_ID;
	assert_ok(read_small(&small, &last));
	assert_int_equal(last.batches->executables[0].id.size, 5);
	attributes[N_READ - 1] = ATTRIBUTE_NONE;
	attributes[N_READ] = ATTRIBUTE_BUILD_ID;
	assert_ok(read_small(&small, &beyond));
	assert_int_not_equal(beyond.batches->executables[0].id.size, 5);
}

/* Locations without names and addresses make no frames, whose number has a limit. */
static void locations_without_frames_are_bounded(void **state)
{
	enum { N_LOCATIONS = 4096, N_PROFILES = 8192 };
	scoped(imported_release) struct imported few = {}, many = {};
	static int32_t locations[N_LOCATIONS];
	static Otlp__Profile *profiles[N_PROFILES];
	struct small_request small;

	(void)state;
	make_small(&small);
	small.location[1].n_lines = 0;
	small.location[1].address = 0;
	small.location[1].mapping_index = 0;
	for (size_t i = 0; i < N_LOCATIONS; i++)
		locations[i] = 1;
	small.stack[1].location_indices = locations;
	small.stack[1].n_location_indices = N_LOCATIONS;
	for (size_t i = 0; i < N_PROFILES; i++)
		profiles[i] = &small.profile[0];
	small.scope.profiles = profiles;
	small.scope.n_profiles = 2;
	assert_ok(read_small(&small, &few));
	small.scope.n_profiles = N_PROFILES;
	assert_errno(read_small(&small, &many), -EFBIG);
	assert_non_null(strstr(many.result.reason, "locations and lines"));
}

static void a_wrong_profile_is_rejected_and_the_others_are_stored(void **state)
{
	scoped(imported_release) struct imported second = {}, first = {};
	struct small_request small;

	(void)state;
	make_small(&small);
	small.scope.n_profiles = 2;
	small.sample[1].stack_index = 9;
	assert_ok(read_small(&small, &second));
	assert_int_equal(second.result.n_rejected, 1);
	assert_non_null(
		strstr(second.result.reason, "resource_profiles[0], profile 1: samples[0]"));
	assert_int_equal(sum_of(second.batches, "on-cpu"), 1000);

	make_small(&small);
	small.scope.n_profiles = 2;
	small.profile[0].time_unix_nano = UINT64_MAX;
	assert_ok(read_small(&small, &first));
	assert_int_equal(first.result.n_rejected, 1);
	assert_non_null(strstr(first.result.reason, "time of the profile"));
	assert_int_equal(sum_of(first.batches, "on-cpu"), 1000);
}

static void profiles_with_one_time_are_one_batch(void **state)
{
	scoped(imported_release) struct imported one = {}, two = {};
	struct small_request small;

	(void)state;
	make_small(&small);
	small.scope.n_profiles = 2;
	assert_ok(read_small(&small, &one));
	assert_int_equal(one.result.batches.count, 1);
	assert_int_equal(sum_of(&one.batches[0], "on-cpu"), 2000);
	small.profile[1].duration_nano /= 2;
	assert_ok(read_small(&small, &two));
	assert_int_equal(two.result.batches.count, 2);
	assert_true(two.batches[0].epoch != two.batches[1].epoch);
	for (size_t i = 0; i < 2; i++) {
		const struct batch *batch = &two.batches[i];

		assert_int_equal(sum_of(batch, "on-cpu"), 1000);
		assert_string_equal(batch->processes[0].name, "app");
		assert_int_equal(batch->stacks[0].n_frames, 1);
		assert_int_equal(batch->n_code_objects, 1);
		assert_string_equal(function_of(batch, &batch->stacks[0].frames[0]), "work");
		assert_int_equal(batch->series[0].n_labels, 1);
		assert_string_equal(batch->series[0].labels[0].name, "user");
		assert_string_equal(batch->series[0].labels[0].value, "work");
	}
}

static void attributes_of_a_sample_replace_those_of_the_resource(void **state)
{
	scoped(imported_release) struct imported imported = {};
	static char key[] = "service.name", name[] = "other";
	struct small_request small;

	(void)state;
	make_small(&small);
	small.strings[TEXT_USER] = key;
	small.value[ATTRIBUTE_USER].value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	small.value[ATTRIBUTE_USER].string_value = name;
	small.profile[0].n_samples = 2;
	small.sample[1].n_attribute_indices = 0;
	assert_ok(read_small(&small, &imported));
	assert_int_equal(imported.batches->n_processes, 2);
	assert_string_equal(imported.batches->processes[0].name, "other");
	assert_string_equal(imported.batches->processes[1].name, "app");
}

static void a_request_without_profiles_has_no_batch(void **state)
{
	scoped(imported_release) struct imported empty = {}, no_samples = {};
	const struct import_request request = { .now_ns = TEST_NOW_NS };
	struct small_request small;

	(void)state;
	assert_ok(import_otlp(&request, (struct bytes_view){}, &empty.result));
	assert_int_equal(empty.result.batches.count, 0);
	make_small(&small);
	small.profile[0].n_samples = 0;
	assert_ok(read_small(&small, &no_samples));
	assert_int_equal(no_samples.result.batches.count, 0);
	assert_int_equal(no_samples.result.n_rejected, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_in_a_mapping_of_a_process_is_an_offset_in_the_file),
		cmocka_unit_test(a_frame_without_names_and_mapping_is_an_address),
		cmocka_unit_test(counts_of_a_cpu_period_are_time_on_cpu),
		cmocka_unit_test(values_and_timestamps_are_counted_by_their_numbers),
		cmocka_unit_test(timestamps_outside_of_the_profile_extend_its_time),
		cmocka_unit_test(each_index_is_checked),
		cmocka_unit_test(a_negative_value_is_refused),
		cmocka_unit_test(a_negative_value_with_timestamps_is_refused),
		cmocka_unit_test(a_mapping_without_a_build_id_is_identified_by_its_htlhash),
		cmocka_unit_test(only_the_first_attributes_of_a_mapping_are_read),
		cmocka_unit_test(locations_without_frames_are_bounded),
		cmocka_unit_test(a_wrong_profile_is_rejected_and_the_others_are_stored),
		cmocka_unit_test(profiles_with_one_time_are_one_batch),
		cmocka_unit_test(attributes_of_a_sample_replace_those_of_the_resource),
		cmocka_unit_test(a_request_without_profiles_has_no_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
