/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of one tenant's agents do not affect another tenant, even if both run the same files
 * and one sends false names.
 */

#include "tests/unit/symbolizer/store/contract/contract_fixture.h"

/* Writes executable 1 as @name and @role with a segment at @vaddr (0: none), and one sample. */
static void write_executable(struct contract *contract, const char *tenant, uint64_t sequence,
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
	assert_int_equal(contract_write_in(contract, tenant, builder, NULL), STORE_STORED);
	/* An engine may show a new definition of a number once the rows before it are in files. */
	contract_settle(contract);
}

/* The executable in the stack of write_executable(). */
static struct store_executable executable_of(struct contract *contract, const char *tenant)
{
	struct store_view *view = contract_view(contract, tenant);
	struct store_executable executable;
	struct store_stack stack;

	(void)contract_last_stack(contract, view, &stack);
	assert_int_equal(stack.n_frames, 2);
	assert_ok(store_load_executables(view, &stack.frames[1].object, 1, contract->arena,
					 &executable));
	return executable;
}

static void a_tenant_cannot_rename_an_executable_of_another(void **state)
{
	struct store_executable executables[2];
	struct contract *contract = *state;

	write_executable(contract, "liar", 1, "nothing to see", ROLE_KERNEL_MODULE, 0x7000);
	write_executable(contract, "shop", 1, "[kernel]", ROLE_KERNEL, 0x400000);
	executables[0] = executable_of(contract, "liar");
	executables[1] = executable_of(contract, "shop");
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
	struct contract *contract = *state;

	write_executable(contract, "liar", 1, "nothing to see", ROLE_USER, 0x7000);
	before = open_view(contract->store, "shop");
	assert_int_equal(store_find_executable(before, &id, contract->arena, &executable), 0);
	write_executable(contract, "shop", 1, "server", ROLE_USER, 0x400000);
	after = open_view(contract->store, "shop");
	assert_int_equal(store_find_executable(after, &id, contract->arena, &executable), 1);
	assert_string_equal(executable.name, "server");
}

static void the_name_of_a_frame_is_found_in_its_tenant(void **state)
{
	static const char *const tenants[] = { "liar", "shop" };
	struct contract *contract = *state;
	struct store_stack stack;

	for (int i = 0; i < 2; i++)
		write_executable(contract, tenants[i], 1, "server", ROLE_USER, 0);
	for (int i = 0; i < 2; i++) {
		scoped(store_view_closep) struct store_view *view =
			open_view(contract->store, tenants[i]);
		uint64_t addresses[] = { 1000, 0 };
		const char *names[2];

		(void)contract_last_stack(contract, view, &stack);
		assert_int_equal(stack.frames[0].kind, FRAME_KERNEL_NAMED);
		addresses[1] = stack.frames[0].address;
		assert_ok(store_named_frames(view, addresses, 2, contract->arena, names));
		assert_null(names[0]);
		assert_string_equal(names[1], "bpf_prog_7");
	}
}

static const char *name_of_first_frame(struct contract *contract)
{
	struct store_view *view = contract_view(contract, "default");
	struct store_stack stack;
	const char *name;

	(void)contract_last_stack(contract, view, &stack);
	assert_int_equal(stack.frames[0].kind, FRAME_KERNEL_NAMED);
	assert_ok(store_named_frames(view, &stack.frames[0].address, 1, contract->arena, &name));
	return name;
}

static void the_name_of_a_frame_may_arrive_after_its_stack(void **state)
{
	struct contract *contract = *state;
	struct batch_builder *builder = batch_at(1, NOON, true);
	struct batch_builder *later = batch_builder_new(1, EPOCH, 2, NOON, NOON + 5 * NSEC_PER_SEC);
	const uint64_t key = batch_builder_named_frame(later, "late");
	const struct batch_frame frame = { FRAME_KERNEL_NAMED, 0, key };

	batch_builder_stack(builder, 9, STACK_CUT_NONE, &frame, 1);
	/* contract_last_stack() finds the stack of the last row. */
	batch_builder_row(builder, 1, 9, NOON - NSEC_PER_SEC / 2, 1);
	assert_int_equal(contract_write(contract, builder), STORE_STORED);
	assert_null(name_of_first_frame(contract));
	assert_int_equal(contract_write(contract, later), STORE_STORED);
	assert_string_equal(name_of_first_frame(contract), "late");
}

static void later_definitions_add_missing_attributes(void **state)
{
	struct contract *contract = *state;
	struct store_executable executable;

	write_executable(contract, "shop", 1, "", ROLE_USER, 0);
	executable = executable_of(contract, "shop");
	assert_int_equal(executable.n_segments, 0);

	write_executable(contract, "shop", 2, "[kernel]", ROLE_KERNEL, 0x400000);
	executable = executable_of(contract, "shop");
	assert_string_equal(executable.name, "[kernel]");
	assert_int_equal(executable.role, ROLE_KERNEL);
	assert_int_equal(executable.n_segments, 1);
	assert_int_equal(executable.segments[0].vaddr, 0x400000);

	/* A process that maps the file of the kernel does not reset the role. */
	write_executable(contract, "shop", 3, "vmlinux", ROLE_USER, 0x9000);
	executable = executable_of(contract, "shop");
	assert_string_equal(executable.name, "[kernel]");
	assert_int_equal(executable.role, ROLE_KERNEL);
	assert_int_equal(executable.segments[0].vaddr, 0x400000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_each_engine(a_tenant_cannot_rename_an_executable_of_another),
		on_each_engine(an_identity_is_looked_up_within_its_tenant),
		on_each_engine(the_name_of_a_frame_is_found_in_its_tenant),
		on_sqlite(the_name_of_a_frame_may_arrive_after_its_stack),
		on_each_engine(later_definitions_add_missing_attributes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
