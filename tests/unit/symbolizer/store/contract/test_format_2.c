/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What batches of format 2 add to the store: code objects, event types by name, labels of series
 * and frames of unknown kinds. And the conversion of a hearth.db without them.
 */
#include "tests/unit/symbolizer/store/contract/contract_fixture.h"

#include "symbolizer/store/sqlite/schema.h"

/* A kind that common/frame_kinds.def does not have. */
#define UNKNOWN_KIND 19

static const struct batch_event_type page_faults = { "page-faults", "events", EVENT_VALUE_SUM };

static const struct batch_code_object step = {
	.number = 1,
	.language = "python",
	.function = "step",
	.qualified_name = "Model.step",
	.file = "/app/model.py",
	.first_line = 17,
	.line_table = { (const uint8_t *)"\1\2\3", 3 },
};

static const struct batch_frame frames[] = {
	{ FRAME_PYTHON, FRAME_CODE_OBJECT | 1, 42 },
	{ UNKNOWN_KIND, 1, 0x2000 },
	{ UNKNOWN_KIND, FRAME_CODE_OBJECT | 1, 7 },
	{ FRAME_NATIVE, 1, 0x1000 },
};

static struct batch_builder *new_batch(uint8_t agent, uint64_t sequence)
{
	struct batch_builder *builder =
		batch_builder_new(agent, EPOCH, sequence, NOON - NSEC_PER_SEC, NOON);

	batch_builder_use_format_2(builder);
	return builder;
}

/* Defines executable 1, process 1, series 1 (page-faults), code object 1, stack 1. */
static void define(struct batch_builder *builder)
{
	struct executable_id id = test_build_id(1);

	batch_builder_executable(builder, 1, &id, "server", ROLE_USER);
	batch_builder_process(builder, 1, 4711, 99, "server", 1);
	batch_builder_described_series(builder, 1, 1, 4711, &page_faults);
	batch_builder_series_label(builder, "device", "gpu0");
	batch_builder_code_object(builder, &step);
	batch_builder_stack(builder, 1, STACK_CUT_NONE, frames, ARRAY_SIZE(frames));
}

static struct batch_builder *defined_batch(uint8_t agent, uint64_t sequence)
{
	struct batch_builder *builder = new_batch(agent, sequence);

	define(builder);
	batch_builder_row(builder, 1, 1, NOON - NSEC_PER_SEC, 3);
	return builder;
}

static void write_in(struct contract *contract, const char *tenant, struct batch_builder *builder)
{
	assert_int_equal(contract_write_in(contract, tenant, builder, NULL), STORE_STORED);
}

static void frames_of_unknown_kinds_and_in_code_objects_are_kept(void **state)
{
	struct contract *contract = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	struct store_stack stack;

	write_in(contract, "default", defined_batch(1, 1));
	view = open_view(contract->store, "default");
	(void)contract_last_stack(contract, view, &stack);
	assert_int_equal(stack.n_frames, ARRAY_SIZE(frames));
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		assert_int_equal(stack.frames[i].kind, frames[i].kind);
		assert_true(stack.frames[i].address == frames[i].address);
		assert_int_equal(stack.frames[i].object & FRAME_CODE_OBJECT,
				 frames[i].object & FRAME_CODE_OBJECT);
		assert_true((stack.frames[i].object & ~FRAME_CODE_OBJECT) != 0);
	}
}

static void a_code_object_is_loaded_with_all_its_content(void **state)
{
	struct contract *contract = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	struct store_code_object objects[2];
	struct store_stack stack;
	uint32_t ids[2];

	write_in(contract, "default", defined_batch(1, 1));
	view = open_view(contract->store, "default");
	(void)contract_last_stack(contract, view, &stack);
	ids[0] = stack.frames[0].object & ~FRAME_CODE_OBJECT;
	ids[1] = 1000;
	assert_ok(store_load_code_objects(view, ids, 2, contract->arena, objects));
	assert_int_equal(objects[0].id, ids[0]);
	assert_string_equal(objects[0].language, "python");
	assert_string_equal(objects[0].function, "step");
	assert_string_equal(objects[0].qualified_name, "Model.step");
	assert_string_equal(objects[0].file, "/app/model.py");
	assert_int_equal(objects[0].first_line, 17);
	assert_int_equal(objects[0].line_table.size, 3);
	assert_memory_equal(objects[0].line_table.data, step.line_table.data, 3);
	assert_int_equal(objects[1].id, 0);
	assert_string_equal(objects[1].function, "");
}

struct stacks_seen {
	uint64_t id;
	size_t n_rows;
};

static int expect_one_stack(void *arg, uint32_t series_index, uint64_t stack_id, uint64_t slot,
			    uint64_t value)
{
	struct stacks_seen *seen = arg;

	(void)series_index;
	(void)slot;
	(void)value;
	if (seen->n_rows++ == 0)
		seen->id = stack_id;
	assert_true(stack_id == seen->id);
	return 0;
}

static void equal_code_of_two_agents_gives_one_stack(void **state)
{
	struct contract *contract = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	struct store_range range = { .to_slot = UINT64_MAX };
	struct stacks_seen seen = {};
	struct store_series *series;
	uint64_t ids[2];

	for (uint8_t agent = 1; agent <= 2; agent++)
		write_in(contract, "shop", defined_batch(agent, 1));
	write_in(contract, "bank", defined_batch(1, 1));
	view = open_view(contract->store, "shop");
	series = contract_series(contract, view, &range.n_series);
	assert_int_equal(range.n_series, 2);
	for (size_t i = 0; i < 2; i++)
		ids[i] = series[i].id;
	range.series_ids = ids;
	assert_ok(store_scan(view, &range, expect_one_stack, &seen));
	assert_int_equal(seen.n_rows, 2);
}

static void a_code_object_without_a_definition_is_requested(void **state)
{
	struct contract *contract = *state;
	struct batch_builder *builder = new_batch(1, 1);
	const struct batch_frame frame = { FRAME_PYTHON, FRAME_CODE_OBJECT | 8, 1 };
	struct store_missing missing;

	batch_builder_stack(builder, 1, STACK_CUT_NONE, &frame, 1);
	assert_int_equal(contract_write_in(contract, "default", builder, &missing),
			 STORE_NEEDS_NUMBERS);
	assert_int_equal(missing.n_code_objects, 1);
	assert_int_equal(missing.code_objects[0], 8);
}

static void a_later_batch_may_refer_to_a_known_code_object(void **state)
{
	struct contract *contract = *state;
	struct batch_builder *builder = new_batch(1, 2);
	const struct batch_frame frame = { FRAME_PYTHON, FRAME_CODE_OBJECT | 1, 43 };
	scoped(store_view_closep) struct store_view *view = NULL;
	struct store_code_object object;
	struct store_stack stack;
	uint32_t id;

	write_in(contract, "default", defined_batch(1, 1));
	batch_builder_stack(builder, 2, STACK_CUT_NONE, &frame, 1);
	batch_builder_row(builder, 1, 2, NOON - NSEC_PER_SEC / 2, 1);
	write_in(contract, "default", builder);
	view = open_view(contract->store, "default");
	(void)contract_last_stack(contract, view, &stack);
	assert_int_equal(stack.n_frames, 1);
	assert_int_equal(stack.frames[0].address, 43);
	id = stack.frames[0].object & ~FRAME_CODE_OBJECT;
	assert_ok(store_load_code_objects(view, &id, 1, contract->arena, &object));
	assert_string_equal(object.function, "step");
}

static void an_unknown_event_type_is_found_by_its_name(void **state)
{
	struct contract *contract = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(store_view_closep) struct store_view *other = NULL;
	struct event_type_info info;
	struct store_series *series;
	size_t count;

	write_in(contract, "default", defined_batch(1, 1));
	view = open_view(contract->store, "default");
	other = open_view(contract->store, "bank");
	assert_int_equal(store_find_event_type(view, "page-faults", contract->arena, &info), 1);
	assert_true((unsigned int)info.type >= EVENT_FIRST_STORED);
	assert_string_equal(info.unit, "events");
	assert_int_equal(info.kind, EVENT_VALUE_SUM);
	series = contract_series(contract, view, &count);
	assert_int_equal(count, 1);
	assert_int_equal(series[0].type, info.type);
	assert_string_equal(series[0].event->name, "page-faults");
	assert_int_equal(store_find_event_type(other, "page-faults", contract->arena, &info), 0);
	assert_int_equal(store_find_event_type(other, "mem-inuse", contract->arena, &info), 1);
	assert_int_equal(info.type, EVENT_MEM_INUSE);
	assert_int_equal(info.kind, EVENT_VALUE_STATE);
}

static int find_event_type(struct contract *contract, const char *tenant, const char *name,
			   struct event_type_info *ret_info)
{
	scoped(store_view_closep) struct store_view *view = open_view(contract->store, tenant);

	return store_find_event_type(view, name, contract->arena, ret_info);
}

static void the_first_description_of_an_event_type_is_kept(void **state)
{
	static const struct batch_event_type other = { "page-faults", "bytes", EVENT_VALUE_STATE };
	struct contract *contract = *state;
	struct batch_builder *builder = new_batch(1, 2);
	struct event_type_info info;

	write_in(contract, "default", defined_batch(1, 1));
	batch_builder_process(builder, 1, 4711, 99, "server", 0);
	batch_builder_described_series(builder, 2, 1, 4712, &other);
	batch_builder_row(builder, 2, 0, NOON - NSEC_PER_SEC, 1);
	write_in(contract, "default", builder);
	assert_int_equal(find_event_type(contract, "default", "page-faults", &info), 1);
	assert_string_equal(info.unit, "events");
	assert_int_equal(info.kind, EVENT_VALUE_SUM);
}

static void too_many_event_types_of_a_tenant_are_only_counted(void **state)
{
	struct contract *contract = *state;
	struct event_type_info info;
	uint32_t number = 0;
	char name[32];

	for (uint32_t batch = 1; number <= STORE_MAX_EVENT_TYPES; batch++) {
		struct batch_builder *builder = new_batch(1, batch);

		batch_builder_process(builder, 1, 4711, 99, "server", 0);
		for (int i = 0; i < 205 && number <= STORE_MAX_EVENT_TYPES; i++) {
			const struct batch_event_type type = { name, "events", EVENT_VALUE_SUM };

			(void)snprintf(name, sizeof(name), "type-%u", ++number);
			batch_builder_described_series(builder, number, 1, 4711, &type);
			batch_builder_row(builder, number, 0, NOON - NSEC_PER_SEC, 1);
		}
		write_in(contract, "default", builder);
	}
	(void)snprintf(name, sizeof(name), "type-%d", STORE_MAX_EVENT_TYPES);
	assert_int_equal(find_event_type(contract, "default", name, &info), 1);
	(void)snprintf(name, sizeof(name), "type-%d", STORE_MAX_EVENT_TYPES + 1);
	assert_int_equal(find_event_type(contract, "default", name, &info), 0);
}

static void series_that_differ_in_a_label_are_two(void **state)
{
	struct contract *contract = *state;
	struct batch_builder *builder = defined_batch(1, 1);
	scoped(store_view_closep) struct store_view *view = NULL;
	struct store_series *series;
	const char **names;
	size_t count;

	batch_builder_described_series(builder, 2, 1, 4711, &page_faults);
	batch_builder_series_label(builder, "device", "gpu1");
	batch_builder_row(builder, 2, 1, NOON - NSEC_PER_SEC, 5);
	write_in(contract, "default", builder);
	view = open_view(contract->store, "default");
	series = contract_series(contract, view, &count);
	assert_int_equal(count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(series[i].n_labels, 1);
		assert_string_equal(series[i].labels[0].name, "device");
	}
	assert_string_not_equal(series[0].labels[0].value, series[1].labels[0].value);
	assert_ok(store_list_label_names(view, "device", 1, contract->arena, &names, &count));
	assert_int_equal(count, 1);
	assert_string_equal(names[0], "device");
}

/* The tables as format 2 of hearth.db had them, filled from those of format 3. */
static const char to_format_2[] =
	"ALTER TABLE node RENAME TO new_node;"
	"CREATE TABLE node(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL,"
	" frame INTEGER NOT NULL, address INTEGER NOT NULL, UNIQUE(parent, frame, address));"
	"INSERT INTO node SELECT id, parent, (frame & 255) | ((frame >> 8) << 3), address"
	" FROM new_node; DROP TABLE new_node;"
	"ALTER TABLE series RENAME TO new_series; DROP INDEX series_type;"
	"CREATE TABLE series(id INTEGER PRIMARY KEY, process INTEGER NOT NULL,"
	" type INTEGER NOT NULL, tid INTEGER NOT NULL, cpu INTEGER NOT NULL,"
	" period_ns INTEGER NOT NULL, thread_name TEXT NOT NULL, host INTEGER NOT NULL,"
	" UNIQUE(process, type, tid, cpu, period_ns, thread_name));"
	"CREATE INDEX series_type ON series(type);"
	"INSERT INTO series SELECT id, process, type, tid, cpu, period_ns, thread_name, host"
	" FROM new_series; DROP TABLE new_series;"
	"DROP TABLE code_object; DROP TABLE event_type; PRAGMA user_version=2;";

static void reopen_as_format_2(struct contract *contract)
{
	scoped(sqlite_db_freep) struct sqlite_db *hearth = NULL;

	contract->store = store_free(contract->store);
	assert_ok(hearth_db_open(contract->folder, true, &hearth));
	assert_ok(sqlite_db_run(hearth, to_format_2));
	hearth = sqlite_db_free(hearth);
	contract_reopen(contract);
}

static void load_stacks(struct contract *contract, const uint64_t *ids, size_t count,
			struct store_stack *ret_stacks)
{
	scoped(store_view_closep) struct store_view *view = open_view(contract->store, "default");

	assert_ok(store_load_stacks(view, ids, count, contract->arena, ret_stacks));
}

static void assert_same_frames(const struct store_stack *left, const struct store_stack *right)
{
	assert_int_equal(left->n_frames, right->n_frames);
	for (uint32_t i = 0; i < left->n_frames; i++) {
		assert_int_equal(left->frames[i].kind, right->frames[i].kind);
		assert_int_equal(left->frames[i].object, right->frames[i].object);
		assert_int_equal(left->frames[i].address, right->frames[i].address);
	}
}

/*
 * Executables 1 and 32 and kind 1: in an update in place, the new number of one frame would be the
 * old number of another frame with the same caller and address.
 */
static void a_database_of_format_2_is_converted_with_all_its_stacks(void **state)
{
	struct contract *contract = *state;
	struct batch_builder *builder = batch_at(1, NOON, true);
	const uint64_t name_key = batch_builder_named_frame(builder, "bpf_prog_7");
	struct store_stack before[40], after[40];
	uint64_t ids[40];

	for (uint32_t i = 2; i < 40; i++) {
		const struct batch_frame pair[] = { { FRAME_KERNEL_NAMED, 0, name_key },
						    { FRAME_NATIVE, i, 0x1000 } };
		struct executable_id id = test_build_id((uint8_t)i);

		batch_builder_executable(builder, i, &id, "lib", ROLE_USER);
		batch_builder_stack(builder, i + 1, STACK_CUT_NONE, pair, 2);
	}
	write_in(contract, "default", builder);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		ids[i] = i + 1;
	load_stacks(contract, ids, ARRAY_SIZE(ids), before);

	reopen_as_format_2(contract);
	load_stacks(contract, ids, ARRAY_SIZE(ids), after);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		assert_int_equal(after[i].cut, before[i].cut);
		assert_true(after[i].n_frames > 0);
		assert_same_frames(&after[i], &before[i]);
	}
	assert_totals(contract->store, NOON - 5 * NSEC_PER_SEC, NOON, 3, 7);
}

static void a_converted_database_knows_its_series_and_stacks_again(void **state)
{
	struct contract *contract = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	struct store_series *series;
	struct store_stats before, after;
	size_t count;

	assert_int_equal(write_batch(contract->store, batch_at(1, NOON, true)), STORE_STORED);
	assert_ok(store_stats(contract->store, &before));
	reopen_as_format_2(contract);
	/* The same definitions of another run of the agent. */
	assert_int_equal(write_batch(contract->store, batch_at(2, NOON, true)), STORE_STORED);
	assert_int_equal(write_batch(contract->store, batch_at(3, NOON, false)), STORE_STORED);
	assert_ok(store_stats(contract->store, &after));
	assert_int_equal(after.n_stacks, before.n_stacks);
	view = open_view(contract->store, "default");
	series = contract_series(contract, view, &count);
	assert_int_equal(count, 1);
	assert_int_equal(series[0].n_labels, 0);
	assert_totals(contract->store, NOON - 5 * NSEC_PER_SEC, NOON, 9, 21);
	/* And it takes format 2. */
	write_in(contract, "default", defined_batch(2, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_each_engine(frames_of_unknown_kinds_and_in_code_objects_are_kept),
		on_each_engine(a_code_object_is_loaded_with_all_its_content),
		on_each_engine(equal_code_of_two_agents_gives_one_stack),
		on_each_engine(a_code_object_without_a_definition_is_requested),
		on_each_engine(a_later_batch_may_refer_to_a_known_code_object),
		on_each_engine(an_unknown_event_type_is_found_by_its_name),
		on_sqlite(the_first_description_of_an_event_type_is_kept),
		on_sqlite(too_many_event_types_of_a_tenant_are_only_counted),
		on_each_engine(series_that_differ_in_a_label_are_two),
		on_sqlite(a_database_of_format_2_is_converted_with_all_its_stacks),
		on_sqlite(a_converted_database_knows_its_series_and_stacks_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
