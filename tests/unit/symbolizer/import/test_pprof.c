/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of pprof: recorded ones of Go and Node.js, and wrong ones. */
#include "tests/unit/symbolizer/import/imported.h"

#include "proto/profile.pb-c.h"

static int read_pprof(const char *name, struct bytes_view body, struct imported *imported)
{
	const struct import_request request = { .name = name, .now_ns = TEST_NOW_NS };

	return import_pprof(&request, body, &imported->result);
}

static void read_recorded(const char *file, struct imported *imported)
{
	scoped(bytes_release) struct bytes body = {};
	int r;

	read_corpus(file, &body);
	r = read_pprof("demo{region=eu,process.pid=42}", bytes_view_of(&body), imported);
	if (r < 0)
		fail_msg("%s: %s", file, imported->result.reason);
	decode_imported(imported);
}

/* The sums are those that `go tool pprof -raw` shows. */
static void recorded_profiles_keep_the_sum_of_each_type(void **state)
{
	static const struct {
		const char *file, *event;
		uint64_t sum;
	} cases[] = {
		{ "import_pprof/go-cpu.pb.gz", "samples", 9 },
		{ "import_pprof/go-cpu.pb.gz", "on-cpu", 90000000 },
		{ "import_pprof/go-cpu.pb", "on-cpu", 90000000 },
		{ "import_pprof/go-heap.pb.gz", "alloc_objects", 22 },
		{ "import_pprof/go-heap.pb.gz", "mem-alloc", 2778824 },
		{ "import_pprof/go-heap.pb.gz", "inuse_objects", 16 },
		{ "import_pprof/go-heap.pb.gz", "mem-inuse", 1066336 },
		{ "import_pprof/node-wall.pb.gz", "samples", 103 },
		{ "import_pprof/node-wall.pb.gz", "wall", 1506100000 },
		{ "import_pprof/node-wall.pb.gz", "on-cpu", 515809185 },
		{ "import_pprof/node-heap.pb.gz", "mem-inuse", 11585818 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(imported_release) struct imported imported = {};

		read_recorded(cases[i].file, &imported);
		assert_int_equal(imported.result.batches.count, 1);
		if (sum_of(imported.batches, cases[i].event) != cases[i].sum)
			fail_msg("%s %s: %llu", cases[i].file, cases[i].event,
				 (unsigned long long)sum_of(imported.batches, cases[i].event));
	}
}

static void stacks_have_the_names_of_go_with_inlined_functions(void **state)
{
	scoped(imported_release) struct imported imported = {};
	const struct batch *batch;

	(void)state;
	read_recorded("import_pprof/go-cpu.pb.gz", &imported);
	batch = imported.batches;
	assert_int_equal(sum_of_stack(batch, "on-cpu",
				      "runtime.main;main.main;main.outer;main.inner;main.spin"),
			 20000000);
	assert_int_equal(sum_of_stack(batch, "on-cpu",
				      "runtime.main;main.main;main.outer;main.inner;main.spin;"
				      "runtime.asyncPreempt"),
			 30000000);
}

static void a_process_has_the_name_and_the_labels_of_the_request(void **state)
{
	scoped(imported_release) struct imported imported = {};
	const struct batch_process *process;

	(void)state;
	read_recorded("import_pprof/go-cpu.pb.gz", &imported);
	process = &imported.batches->processes[0];
	assert_string_equal(process->name, "demo");
	assert_int_equal(process->pid, 42);
	assert_int_equal(process->n_labels, 2);
	assert_string_equal(process->labels[1].name, "region");
	assert_string_equal(process->labels[1].value, "eu");
}

static void labels_of_samples_are_labels_of_series(void **state)
{
	scoped(imported_release) struct imported imported = {};
	const struct batch *batch;
	uint64_t with_label = 0;

	(void)state;
	read_recorded("import_pprof/go-cpu.pb.gz", &imported);
	batch = imported.batches;
	for (uint32_t i = 0; i < batch->n_rows; i++) {
		const struct batch_series *series = series_of(batch, batch->rows[i].series);

		if (series->type != EVENT_ON_CPU || series->n_labels == 0)
			continue;
		assert_string_equal(series->labels[0].name, "request");
		assert_string_equal(series->labels[0].value, "checkout");
		with_label += batch->rows[i].value;
	}
	assert_int_equal(with_label, 40000000);
}

static void samples_lie_in_the_time_of_the_profile(void **state)
{
	scoped(imported_release) struct imported imported = {};
	const struct batch *batch;

	(void)state;
	read_recorded("import_pprof/node-wall.pb.gz", &imported);
	batch = imported.batches;
	assert_int_equal(batch->opened_wall_ns, UINT64_C(1795780982395000064));
	assert_true(batch->closed_wall_ns - batch->opened_wall_ns > NSEC_PER_SEC);
	assert_true(batch->closed_wall_ns - batch->opened_wall_ns < 2 * NSEC_PER_SEC);
	for (uint32_t i = 0; i < batch->n_rows; i++) {
		assert_true(batch->rows[i].slot >= batch->opened_wall_ns / SLOT_NS);
		assert_true(batch->rows[i].slot <= batch->closed_wall_ns / SLOT_NS);
	}
}

static void a_retry_has_the_same_identity_and_another_profile_has_not(void **state)
{
	scoped(imported_release) struct imported first = {}, again = {}, other = {};

	(void)state;
	read_recorded("import_pprof/go-cpu.pb.gz", &first);
	read_recorded("import_pprof/go-cpu.pb.gz", &again);
	read_recorded("import_pprof/go-heap.pb.gz", &other);
	assert_true(hash128_equal(&first.batches->agent_id, &again.batches->agent_id));
	assert_true(first.batches->epoch == again.batches->epoch);
	assert_true(first.batches->sequence == again.batches->sequence);
	assert_true(hash128_equal(&first.batches->agent_id, &other.batches->agent_id));
	assert_true(first.batches->epoch != other.batches->epoch);
}

/* A profile of one sample with all tables, which tests change. */
struct small {
	Pprof__Profile profile;
	Pprof__ValueType type, *types[1];
	Pprof__Sample sample, *samples[1];
	Pprof__Mapping mapping, *mappings[1];
	Pprof__Location location, *locations[1];
	Pprof__Function function, *functions[1];
	Pprof__Line line, *lines[1];
	Pprof__Label label, *labels[1];
	uint64_t location_ids[1];
	int64_t values[1];
	char *strings[7];
};

static void make_small(struct small *small)
{
	static char texts[][48] = { "",         "cpu",        "nanoseconds", "work",
				    "/bin/app", "0102030405", "user" };

	*small = (struct small){
		.profile = PPROF__PROFILE__INIT,
		.type = PPROF__VALUE_TYPE__INIT,
		.sample = PPROF__SAMPLE__INIT,
		.mapping = PPROF__MAPPING__INIT,
		.location = PPROF__LOCATION__INIT,
		.function = PPROF__FUNCTION__INIT,
		.line = PPROF__LINE__INIT,
		.label = PPROF__LABEL__INIT,
		.location_ids = { 7 },
		.values = { 1000 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(small->strings); i++)
		small->strings[i] = texts[i];
	small->types[0] = &small->type;
	small->samples[0] = &small->sample;
	small->mappings[0] = &small->mapping;
	small->locations[0] = &small->location;
	small->functions[0] = &small->function;
	small->lines[0] = &small->line;
	small->labels[0] = &small->label;
	small->type.type = 1;
	small->type.unit = 2;
	small->function.id = 9;
	small->function.name = 3;
	small->line.function_id = 9;
	small->line.line = 12;
	small->mapping.id = 5;
	small->mapping.memory_start = 0x400000;
	small->mapping.memory_limit = 0x500000;
	small->mapping.file_offset = 0x1000;
	small->mapping.filename = 4;
	small->mapping.build_id = 5;
	small->location.id = 7;
	small->location.mapping_id = 5;
	small->location.address = 0x400010;
	small->location.n_line = 1;
	small->location.line = small->lines;
	small->label.key = 6;
	small->label.str = 3;
	small->sample.n_location_id = small->sample.n_value = small->sample.n_label = 1;
	small->sample.location_id = small->location_ids;
	small->sample.value = small->values;
	small->sample.label = small->labels;
	small->profile.n_sample_type = small->profile.n_sample = small->profile.n_mapping =
		small->profile.n_location = small->profile.n_function = 1;
	small->profile.sample_type = small->types;
	small->profile.sample = small->samples;
	small->profile.mapping = small->mappings;
	small->profile.location = small->locations;
	small->profile.function = small->functions;
	small->profile.n_string_table = ARRAY_SIZE(small->strings);
	small->profile.string_table = small->strings;
}

static int read_small(const struct small *small, struct imported *imported)
{
	uint8_t packed[4096];
	size_t size = pprof__profile__get_packed_size(&small->profile);

	assert_true(size <= sizeof(packed));
	(void)pprof__profile__pack(&small->profile, packed);
	return read_pprof("app", (struct bytes_view){ packed, size }, imported);
}

static void a_location_without_lines_is_a_native_frame_of_its_build_id(void **state)
{
	scoped(imported_release) struct imported in_mapping = {}, elf = {};
	const struct batch_frame *frame;
	struct small small;

	(void)state;
	make_small(&small);
	small.location.n_line = 0;
	assert_ok(read_small(&small, &in_mapping));
	decode_imported(&in_mapping);
	frame = &in_mapping.batches->stacks[0].frames[0];
	assert_int_equal(frame->kind, FRAME_NATIVE_FILE_OFFSET);
	assert_int_equal(frame->address, 0x1010);
	assert_int_equal(frame->object, 1);
	assert_int_equal(in_mapping.batches->executables[0].id.kind, EXECUTABLE_ID_GNU);
	assert_int_equal(in_mapping.batches->executables[0].id.size, 5);
	assert_string_equal(in_mapping.batches->executables[0].name, "app");

	small.location.address = 0x123;
	assert_ok(read_small(&small, &elf));
	decode_imported(&elf);
	frame = &elf.batches->stacks[0].frames[0];
	assert_int_equal(frame->kind, FRAME_NATIVE);
	assert_int_equal(frame->address, 0x123);
}

static void a_named_frame_has_its_line(void **state)
{
	scoped(imported_release) struct imported imported = {};
	struct small small;

	(void)state;
	make_small(&small);
	assert_ok(read_small(&small, &imported));
	decode_imported(&imported);
	assert_int_equal(imported.batches->stacks[0].frames[0].kind, FRAME_IMPORTED);
	assert_int_equal(imported.batches->stacks[0].frames[0].address, 12);
	assert_int_equal(imported.batches->closed_wall_ns, TEST_NOW_NS);
}

static void wrong_function_id(struct small *small)
{
	small->line.function_id = 1;
}
static void wrong_location_id(struct small *small)
{
	small->location_ids[0] = UINT64_MAX;
}
static void wrong_mapping_id(struct small *small)
{
	small->location.mapping_id = 6;
}
static void location_id_0(struct small *small)
{
	small->location.id = 0;
}
static void string_beyond_the_table(struct small *small)
{
	small->function.name = 7;
}
static void negative_string(struct small *small)
{
	small->label.key = -1;
}
static void negative_value(struct small *small)
{
	small->values[0] = -1;
}
static void huge_value(struct small *small)
{
	small->values[0] = INT64_MAX;
}
static void missing_value(struct small *small)
{
	small->sample.n_value = 0;
}
static void no_types(struct small *small)
{
	small->profile.n_sample_type = 0;
}
static void negative_time(struct small *small)
{
	small->profile.time_nanos = -1;
}

static void a_time_beyond_the_end(struct small *small)
{
	small->profile.time_nanos = 1;
	small->profile.duration_nanos = INT64_MAX;
}

static void first_string_not_empty(struct small *small)
{
	small->profile.string_table = &small->strings[1];
	small->profile.n_string_table--;
}

static void the_same_location_twice(struct small *small)
{
	static Pprof__Location *locations[2];

	locations[0] = locations[1] = &small->location;
	small->profile.location = locations;
	small->profile.n_location = 2;
}

static void wrong_profiles_are_refused_with_the_field(void **state)
{
	static const struct {
		void (*change)(struct small *small);
		const char *reason;
	} cases[] = {
		{ wrong_function_id, "location[0].line.function_id: no function 1" },
		{ wrong_location_id, "sample[0].location_id[0]: no location" },
		{ wrong_mapping_id, "location[0].mapping_id: no mapping 6" },
		{ location_id_0, "location[0].id is 0" },
		{ string_beyond_the_table, "function.name of item 0: string 7 of 7" },
		{ negative_string, "sample.label.key of item 0: string -1" },
		{ negative_value, "sample[0].value[0] is negative: -1" },
		{ huge_value, "out of range" },
		{ missing_value, "sample[0] has 0 values, but there are 1 types" },
		{ no_types, "sample_type is missing" },
		{ negative_time, "time_nanos" },
		{ a_time_beyond_the_end, "out of range" },
		{ first_string_not_empty, "string_table[0] is not empty" },
		{ the_same_location_twice, "location[1].id: 7 is there twice" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(imported_release) struct imported imported = {};
		struct small small;

		make_small(&small);
		cases[i].change(&small);
		assert_errno(read_small(&small, &imported), -EBADMSG);
		if (!strstr(imported.result.reason, cases[i].reason))
			fail_msg("%s, not %s", imported.result.reason, cases[i].reason);
		assert_int_equal(imported.result.batches.count, 0);
	}
}

static void a_damaged_file_is_refused(void **state)
{
	static const char not_protobuf[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
	scoped(bytes_release) struct bytes body = {};
	scoped(imported_release) struct imported cut = {}, other = {}, empty = {};

	(void)state;
	read_corpus("import_pprof/go-cpu.pb.gz", &body);
	assert_errno(read_pprof("app", (struct bytes_view){ body.data, body.size / 2 }, &cut),
		     -EBADMSG);
	assert_non_null(strstr(cut.result.reason, "gzip"));
	assert_errno(read_pprof("app", text_view(not_protobuf), &other), -EBADMSG);
	assert_errno(read_pprof("app", (struct bytes_view){}, &empty), -EBADMSG);
}

static void a_deep_stack_is_cut_at_its_root(void **state)
{
	scoped(imported_release) struct imported imported = {};
	static uint64_t ids[STACK_MAX_FRAMES + 60];
	struct small small;

	(void)state;
	make_small(&small);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		ids[i] = 7;
	small.sample.location_id = ids;
	small.sample.n_location_id = ARRAY_SIZE(ids);
	assert_ok(read_small(&small, &imported));
	decode_imported(&imported);
	assert_int_equal(imported.batches->stacks[0].n_frames, STACK_MAX_FRAMES);
	assert_int_equal(imported.batches->stacks[0].cut, STACK_CUT_DEPTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_profiles_keep_the_sum_of_each_type),
		cmocka_unit_test(stacks_have_the_names_of_go_with_inlined_functions),
		cmocka_unit_test(a_process_has_the_name_and_the_labels_of_the_request),
		cmocka_unit_test(labels_of_samples_are_labels_of_series),
		cmocka_unit_test(samples_lie_in_the_time_of_the_profile),
		cmocka_unit_test(a_retry_has_the_same_identity_and_another_profile_has_not),
		cmocka_unit_test(a_location_without_lines_is_a_native_frame_of_its_build_id),
		cmocka_unit_test(a_named_frame_has_its_line),
		cmocka_unit_test(wrong_profiles_are_refused_with_the_field),
		cmocka_unit_test(a_damaged_file_is_refused),
		cmocka_unit_test(a_deep_stack_is_cut_at_its_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
