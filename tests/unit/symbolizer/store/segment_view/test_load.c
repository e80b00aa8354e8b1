/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment_view/view_fixture.h"

#include "common/frame_kind.h"

static const uint64_t hour[2] = { FIRST_SLOT, FIRST_SLOT + SLOTS_PER_HOUR };
static const struct segment_part whole_hour = { .first_slot = FIRST_SLOT,
						.end_slot = FIRST_SLOT + SLOTS_PER_HOUR };

static uint64_t text(struct segment_builder *builder, const char *bytes)
{
	uint64_t row;

	assert_ok(segment_builder_text(builder, bytes, strlen(bytes), &row));
	return row;
}

static uint64_t add(struct segment_builder *builder, enum segment_table table,
		    const uint64_t *values)
{
	uint64_t row;

	assert_ok(segment_builder_add(builder, table, values, &row));
	return row;
}

/* Row of STACK + 1, of one frame. @object: 0 none, else row of OBJECT + 1. */
static uint64_t add_stack(struct segment_builder *builder, uint64_t kind, uint64_t object,
			  uint64_t position)
{
	uint64_t frame = add(builder, SEGMENT_FRAME, (uint64_t[]){ kind, object, position });
	uint64_t node = add(builder, SEGMENT_NODE, (uint64_t[]){ 0, frame });

	return 1 + add(builder, SEGMENT_STACK, (uint64_t[]){ 1 + node, 2 });
}

/*
 * A segment with one row for a native frame, a frame of a code object, and a named frame.
 * @attributes: load segments of the executable.
 */
static struct segment make_segment(const char *attributes, struct arena *arena)
{
	scoped(segment_builder_freep) struct segment_builder *builder = NULL;
	struct segment segment;
	uint64_t executable, code, named, host, path, process, series, stacks[3];

	assert_ok(segment_builder_new(&builder));
	builder_add_head(builder, "web", EVENT_VALUE_TIME);
	executable =
		add(builder, SEGMENT_OBJECT,
		    (uint64_t[]){ EXECUTABLE_ID_GNU, text(builder, "build-id"),
				  text(builder, "libc.so"), ROLE_USER, text(builder, attributes) });
	code = add(builder, SEGMENT_OBJECT,
		   (uint64_t[]){ SEGMENT_CODE_OBJECT, text(builder, "0123456789abcdef"),
				 text(builder, "run"), 0,
				 text(builder, "\x06python\x08"
					       "Main.run\x06/a.py\n\x11table") });
	named = add(builder, SEGMENT_OBJECT,
		    (uint64_t[]){ SEGMENT_NAMED_FRAME, text(builder, "key"),
				  text(builder, "bpf_prog_1"), 0, 0 });
	host = add(builder, SEGMENT_HOST,
		   (uint64_t[]){ text(builder, "host0"), text(builder, "name0"), 0 });
	path = add(builder, SEGMENT_PATH,
		   (uint64_t[]){ 0, executable, text(builder, "/lib/libc.so") });
	process = add(builder, SEGMENT_PROCESS,
		      (uint64_t[]){ host, 5, 100, 1, text(builder, "web"), text(builder, "/web"),
				    executable + 1, SEGMENT_KERNEL_THREAD, path + 1, 0 });
	series = add(builder, SEGMENT_SERIES,
		     (uint64_t[]){ process, 100, text(builder, "main"), 1, 0, 0 });
	stacks[0] = add_stack(builder, FRAME_NATIVE, executable + 1, 0x1234);
	stacks[1] = add_stack(builder, FRAME_PYTHON, code + 1, 56);
	stacks[2] = add_stack(builder, FRAME_KERNEL_NAMED, named + 1, 999);
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++)
		(void)add(builder, SEGMENT_ROW,
			  (uint64_t[]){ series + 1, FIRST_SLOT, stacks[i], 1 });
	assert_ok(segment_builder_finish(builder, arena, &segment));
	return segment;
}

struct loaded {
	struct store_stack native, code, named;
};

/* Loads the stacks of the sum. */
static struct loaded load(struct view_test *test)
{
	struct store_sum_query query;
	struct store_sums sums;
	struct loaded loaded = {};
	uint64_t range[2];

	view_select(test, hour);
	query = sum_query(test, hour);
	assert_ok(segment_view_sum(test->view, &query, &sums, range));
	assert_int_equal(sums.count, 3);
	for (size_t i = 0; i < sums.count; i++) {
		struct store_stack stack;

		assert_ok(segment_view_load_stacks(test->view, &sums.items[i].stack, 1, test->arena,
						   &stack));
		assert_int_equal(stack.n_frames, 1);
		assert_int_equal(stack.cut, 2);
		if (stack.frames[0].kind == FRAME_NATIVE)
			loaded.native = stack;
		else if (stack.frames[0].kind == FRAME_PYTHON)
			loaded.code = stack;
		else
			loaded.named = stack;
	}
	store_sums_release(&sums);
	return loaded;
}

static void an_executable_has_its_identity_and_load_segments(void **state)
{
	struct view_test *test = *state;
	/* In the first part they are not known yet. */
	struct segment without = make_segment("", test->arena);
	struct segment with = make_segment("\x10\x20\x30", test->arena);
	struct store_executable executable, found;
	struct loaded loaded;

	view_add_segment(test, &without, &whole_hour);
	view_add_segment(test, &with, &whole_hour);
	loaded = load(test);
	assert_int_equal(loaded.native.frames[0].address, 0x1234);
	assert_ok(segment_view_load_executables(test->view, &loaded.native.frames[0].object, 1,
						test->arena, &executable));
	assert_string_equal(executable.name, "libc.so");
	assert_int_equal(executable.identity.kind, EXECUTABLE_ID_GNU);
	assert_int_equal(executable.identity.size, strlen("build-id"));
	assert_memory_equal(executable.identity.bytes, "build-id", strlen("build-id"));
	assert_int_equal(executable.n_segments, 1);
	assert_int_equal(executable.segments[0].file_offset, 0x10);
	assert_int_equal(executable.segments[0].vaddr, 0x20);
	assert_int_equal(executable.segments[0].file_size, 0x30);
	assert_int_equal(
		segment_view_find_executable(test->view, &executable.identity, test->arena, &found),
		1);
	assert_int_equal(found.id, executable.id);
	assert_int_equal(test->series[0].process->main_executable, executable.id);
	assert_true(test->series[0].process->kernel_thread);
}

static void a_code_object_has_its_texts(void **state)
{
	struct view_test *test = *state;
	struct segment segment = make_segment("", test->arena);
	struct store_code_object code;
	struct loaded loaded;
	uint32_t id;

	view_add_segment(test, &segment, &whole_hour);
	loaded = load(test);
	assert_true(loaded.code.frames[0].object & FRAME_CODE_OBJECT);
	id = loaded.code.frames[0].object & ~FRAME_CODE_OBJECT;
	assert_ok(segment_view_load_code_objects(test->view, &id, 1, test->arena, &code));
	assert_int_equal(code.id, id);
	assert_string_equal(code.language, "python");
	assert_string_equal(code.function, "run");
	assert_string_equal(code.qualified_name, "Main.run");
	assert_string_equal(code.file, "/a.py\n");
	assert_int_equal(code.first_line, 17);
	assert_bytes_equal_text(&code.line_table, "table");
}

static void a_named_frame_has_its_name(void **state)
{
	struct view_test *test = *state;
	struct segment segment = make_segment("", test->arena);
	struct loaded loaded;
	const char *names[2];

	view_add_segment(test, &segment, &whole_hour);
	loaded = load(test);
	assert_int_equal(loaded.named.frames[0].object, 0);
	segment_view_named_frames(
		test->view, (uint64_t[]){ loaded.named.frames[0].address, UINT64_MAX }, 2, names);
	assert_string_equal(names[0], "bpf_prog_1");
	assert_null(names[1]);
}

static void a_path_is_that_of_the_process(void **state)
{
	struct view_test *test = *state;
	struct segment segment = make_segment("", test->arena);
	struct store_mapped_file files[4];
	const char *paths[4];

	view_add_segment(test, &segment, &whole_hour);
	files[0].executable = load(test).native.frames[0].object;
	files[0].process = test->series[0].process->id;
	files[1] = (struct store_mapped_file){ 0, files[0].executable };
	files[2] = (struct store_mapped_file){ files[0].process, files[0].executable + 1000 };
	files[3] = (struct store_mapped_file){ files[0].process + 1000, files[0].executable };
	segment_view_paths_of(test->view, files, 4, paths);
	assert_string_equal(paths[0], "/lib/libc.so");
	assert_string_equal(paths[1], "/lib/libc.so");
	assert_null(paths[2]);
	assert_null(paths[3]);
}

static void unknown_ids_have_no_attributes(void **state)
{
	struct view_test *test = *state;
	const uint64_t stacks[] = { 0, 77, STORE_OTHER_STACKS };
	const uint32_t ids[] = { 0, 77, UINT32_MAX };
	struct store_stack stack[3];
	struct store_executable executable[3];
	struct store_code_object code[3];

	assert_ok(segment_view_load_stacks(test->view, stacks, 3, test->arena, stack));
	assert_ok(segment_view_load_executables(test->view, ids, 3, test->arena, executable));
	assert_ok(segment_view_load_code_objects(test->view, ids, 3, test->arena, code));
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(stack[i].n_frames, 0);
		assert_int_equal(executable[i].identity.kind, EXECUTABLE_ID_NONE);
		assert_string_equal(executable[i].name, "");
		assert_int_equal(code[i].id, 0);
		assert_string_equal(code[i].function, "");
	}
}

int main(void)
{
#define VIEW_TEST(name) cmocka_unit_test_setup_teardown(name, view_setup, view_teardown)
	const struct CMUnitTest tests[] = {
		VIEW_TEST(an_executable_has_its_identity_and_load_segments),
		VIEW_TEST(a_code_object_has_its_texts),
		VIEW_TEST(a_named_frame_has_its_name),
		VIEW_TEST(a_path_is_that_of_the_process),
		VIEW_TEST(unknown_ids_have_no_attributes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
