/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of one tenant's agents do not affect another tenant, even if both run the same files
 * and one sends false names.
 */

#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

struct fixture {
	char *folder;
	struct test_clock clock;
	struct arena *arena;
	struct store *store;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_ok(temp_folder_setup((void **)&fixture->folder));
	fixture->clock = test_clock_at(NOON);
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &fixture->arena));
	fixture->store = open_store(fixture->folder, &fixture->clock);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	(void)store_free(fixture->store);
	(void)arena_free(fixture->arena);
	assert_ok(temp_folder_teardown((void **)&fixture->folder));
	free(fixture);
	return 0;
}

struct last_stack {
	uint64_t id;
};

static int keep_stack(void *arg, uint32_t series_index, uint64_t stack_id, uint64_t slot,
		      uint64_t value)
{
	struct last_stack *last = arg;

	(void)series_index;
	(void)slot;
	(void)value;
	last->id = stack_id;
	return 0;
}

/* Loads the stack of the last row of the view's tenant. */
static void stack_of_tenant(struct fixture *fixture, struct store_view *view,
			    struct store_stack *ret_stack)
{
	const struct store_series_query query = {};
	struct last_stack last = {};
	struct store_series *series;
	size_t count;

	assert_ok(store_find_series(view, &query, fixture->arena, &series, &count));
	assert_int_equal(count, 1);
	assert_ok(store_scan(view,
			     &(struct store_range){ .series_ids = &series[0].id,
						    .n_series = 1,
						    .to_slot = UINT64_MAX },
			     keep_stack, &last));
	assert_ok(store_load_stacks(view, &last.id, 1, fixture->arena, ret_stack));
}

/* Writes executable 1 as @name and @role with a segment at @vaddr (0: none), and one sample. */
static void write_executable(struct fixture *fixture, const char *tenant, uint64_t sequence,
			     const char *name, enum executable_role role, uint64_t vaddr)
{
	struct batch_builder *builder =
		batch_builder_new(1, EPOCH, sequence, NOON - NSEC_PER_SEC, NOON);
	const uint64_t name_key = batch_builder_named_frame(builder, "bpf_prog_7");
	const struct batch_frame frames[] = { { FRAME_KERNEL_NAMED, 0, name_key },
					      { FRAME_KERNEL, 1, 0x10 } };
	struct executable_id id = test_build_id(1);

	batch_builder_executable(builder, 1, &id, name, role);
	if (vaddr)
		batch_builder_segment(builder, 0, vaddr, 0x1000);
	batch_builder_process(builder, 1, 4711, 99, "server", 1);
	batch_builder_series(builder, 1, 1, 4711, "main", EVENT_ON_CPU, 10 * NSEC_PER_MSEC);
	batch_builder_stack(builder, 1, STACK_CUT_NONE, frames, 2);
	batch_builder_row(builder, 1, 1, NOON - NSEC_PER_SEC, 1);
	assert_int_equal(write_batch_in(fixture->store, tenant, builder, fixture->arena, NULL),
			 STORE_STORED);
}

/* The executable in the stack of write_executable(). */
static struct store_executable executable_of(struct fixture *fixture, const char *tenant)
{
	scoped(store_view_closep) struct store_view *view = open_view(fixture->store, tenant);
	struct store_executable executable;
	struct store_stack stack;

	stack_of_tenant(fixture, view, &stack);
	assert_int_equal(stack.n_frames, 2);
	assert_ok(store_load_executables(view, &stack.frames[1].object, 1, fixture->arena,
					 &executable));
	return executable;
}

static void a_tenant_cannot_rename_an_executable_of_another(void **state)
{
	struct store_executable executables[2];
	struct fixture *fixture = *state;

	write_executable(fixture, "liar", 1, "nothing to see", ROLE_KERNEL_MODULE, 0x7000);
	write_executable(fixture, "shop", 1, "[kernel]", ROLE_KERNEL, 0x400000);
	executables[0] = executable_of(fixture, "liar");
	executables[1] = executable_of(fixture, "shop");
	assert_string_equal(executables[0].name, "nothing to see");
	assert_int_equal(executables[0].segments[0].vaddr, 0x7000);
	assert_string_equal(executables[1].name, "[kernel]");
	assert_int_equal(executables[1].role, ROLE_KERNEL);
	assert_int_equal(executables[1].segments[0].vaddr, 0x400000);
}

static void an_identity_is_looked_up_within_its_tenant(void **state)
{
	scoped(store_view_closep) struct store_view *before = NULL;
	scoped(store_view_closep) struct store_view *after = NULL;
	struct executable_id id = test_build_id(1);
	struct store_executable executable;
	struct fixture *fixture = *state;

	write_executable(fixture, "liar", 1, "nothing to see", ROLE_USER, 0x7000);
	before = open_view(fixture->store, "shop");
	assert_int_equal(store_find_executable(before, &id, fixture->arena, &executable), 0);
	write_executable(fixture, "shop", 1, "server", ROLE_USER, 0x400000);
	after = open_view(fixture->store, "shop");
	assert_int_equal(store_find_executable(after, &id, fixture->arena, &executable), 1);
	assert_string_equal(executable.name, "server");
}

static void tenants_have_separate_rows_for_a_named_frame(void **state)
{
	static const char *const tenants[] = { "liar", "shop" };
	struct fixture *fixture = *state;
	struct store_stack stacks[2];

	for (int i = 0; i < 2; i++)
		write_executable(fixture, tenants[i], 1, "server", ROLE_USER, 0);
	for (int i = 0; i < 2; i++) {
		scoped(store_view_closep) struct store_view *view =
			open_view(fixture->store, tenants[i]);
		uint64_t addresses[] = { 1000, 0 };
		const char *names[2];

		stack_of_tenant(fixture, view, &stacks[i]);
		assert_int_equal(stacks[i].frames[0].kind, FRAME_KERNEL_NAMED);
		addresses[1] = stacks[i].frames[0].address;
		assert_ok(store_named_frames(view, addresses, 2, fixture->arena, names));
		assert_null(names[0]);
		assert_string_equal(names[1], "bpf_prog_7");
	}
	assert_int_not_equal(stacks[0].frames[0].address, stacks[1].frames[0].address);
}

static const char *name_of_first_frame(struct fixture *fixture)
{
	scoped(store_view_closep) struct store_view *view = open_view(fixture->store, "default");
	struct store_stack stack;
	const char *name;

	stack_of_tenant(fixture, view, &stack);
	assert_int_equal(stack.frames[0].kind, FRAME_KERNEL_NAMED);
	assert_ok(store_named_frames(view, &stack.frames[0].address, 1, fixture->arena, &name));
	return name;
}

static void the_name_of_a_frame_may_arrive_after_its_stack(void **state)
{
	struct fixture *fixture = *state;
	struct batch_builder *builder = batch_at(1, NOON, true);
	struct batch_builder *later = batch_builder_new(1, EPOCH, 2, NOON, NOON + 5 * NSEC_PER_SEC);
	const uint64_t key = batch_builder_named_frame(later, "late");
	const struct batch_frame frame = { FRAME_KERNEL_NAMED, 0, key };

	batch_builder_stack(builder, 9, STACK_CUT_NONE, &frame, 1);
	/* stack_of_tenant() finds the stack of the last row. */
	batch_builder_row(builder, 1, 9, NOON - NSEC_PER_SEC / 2, 1);
	assert_int_equal(write_batch(fixture->store, builder), STORE_STORED);
	assert_null(name_of_first_frame(fixture));
	assert_int_equal(write_batch(fixture->store, later), STORE_STORED);
	assert_string_equal(name_of_first_frame(fixture), "late");
}

static void later_definitions_add_missing_attributes(void **state)
{
	struct fixture *fixture = *state;
	struct store_executable executable;

	write_executable(fixture, "shop", 1, "", ROLE_USER, 0);
	executable = executable_of(fixture, "shop");
	assert_int_equal(executable.n_segments, 0);

	write_executable(fixture, "shop", 2, "[kernel]", ROLE_KERNEL, 0x400000);
	executable = executable_of(fixture, "shop");
	assert_string_equal(executable.name, "[kernel]");
	assert_int_equal(executable.role, ROLE_KERNEL);
	assert_int_equal(executable.n_segments, 1);
	assert_int_equal(executable.segments[0].vaddr, 0x400000);

	/* A process that maps the file of the kernel does not reset the role. */
	write_executable(fixture, "shop", 3, "vmlinux", ROLE_USER, 0x9000);
	executable = executable_of(fixture, "shop");
	assert_string_equal(executable.name, "[kernel]");
	assert_int_equal(executable.role, ROLE_KERNEL);
	assert_int_equal(executable.segments[0].vaddr, 0x400000);
}

int main(void)
{
#define with_store(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		with_store(a_tenant_cannot_rename_an_executable_of_another),
		with_store(an_identity_is_looked_up_within_its_tenant),
		with_store(tenants_have_separate_rows_for_a_named_frame),
		with_store(the_name_of_a_frame_may_arrive_after_its_stack),
		with_store(later_definitions_add_missing_attributes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
