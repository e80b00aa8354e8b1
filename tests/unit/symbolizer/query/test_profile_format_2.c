/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of what format 2 of batches added, with the SQLite engine: code objects, kinds and event
 * types that this version does not know, and labels of series.
 */

#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/query/profile.h"
#include "symbolizer/store/sqlite/sqlite_store.h"
#include "tests/support/store_view.h"
#include "tests/support/table_helper.h"
#include "tests/support/unit.h"

/* 2024-02-21T03:12:00Z */
#define T0_WALL_NS (UINT64_C(1708485120) * NSEC_PER_SEC)
#define T0         (T0_WALL_NS / SLOT_NS)
#define PID        100

struct fixture {
	void *folder;
	struct store *store;
	struct store_view *view;
	struct debuginfo_store *debuginfo;
	struct resolver *resolver;
	struct arena *arena;
	struct event_type_info event;
	struct profile_request request;
};

static const struct batch_frame frames[] = {
	{ FRAME_KERNEL_CODE, FRAME_CODE_OBJECT | 1, 0 },
	{ FRAME_PYTHON, FRAME_CODE_OBJECT | 2, 42 },
	{ FRAME_PYTHON, FRAME_CODE_OBJECT | 3, 8 },
	{ 19, FRAME_CODE_OBJECT | 2, 7 },
	{ 19, 0, 0x2000 },
	{ FRAME_RUBY, 0, 3 },
	{ FRAME_JIT, FRAME_CODE_OBJECT | 4, 0 },
	{ FRAME_V8, FRAME_CODE_OBJECT | 5, 12 }, /* its line */
	{ FRAME_V8, FRAME_CODE_OBJECT | 5, 0 },
	{ FRAME_ANONYMOUS, 0, 0x1234 },
	{ FRAME_ANONYMOUS, 0, 0x5678 },
};

static struct batch_code_object objects[] = {
	{ .number = 1, .hash = { { 1 } }, .language = "bpf", .function = "bpf_prog_1" },
	{ .number = 2,
	  .hash = { { 2 } },
	  .language = "python",
	  .function = "step",
	  .qualified_name = "Model.step",
	  .file = "/app/model.py" },
	{ .number = 3, .hash = { { 3 } }, .language = "python", .first_line = 9 },
	{ .number = 4, .hash = { { 4 } }, .language = "jit", .file = "/tmp/perf-12.map" },
	{ .number = 5,
	  .hash = { { 5 } },
	  .language = "javascript",
	  .function = "price",
	  .file = "/app/shop.js",
	  .first_line = 10 },
};

static void write_batch(struct fixture *fixture)
{
	static const struct batch_event_type faults = { "page-faults", "events", EVENT_VALUE_SUM };
	static struct label labels[] = { { "device", "gpu0" }, { "device", "gpu1" } };
	struct batch_process process = {
		.number = 1, .pid = PID, .name = "app", .executable_path = "/usr/bin/app"
	};
	struct batch_series series[2];
	struct batch_stack stack = { .number = 1,
				     .n_frames = ARRAY_SIZE(frames),
				     .frames = frames };
	struct batch_row rows[] = {
		{ .series = 1, .stack = 1, .slot = T0, .value = 3 },
		{ .series = 2, .stack = 1, .slot = T0, .value = 40 },
	};
	struct batch batch = {
		.agent_id = { { 1 } },
		.epoch = 1,
		.sequence = 1,
		.opened_wall_ns = T0_WALL_NS,
		.closed_wall_ns = T0_WALL_NS + NSEC_PER_SEC,
		.host = { .name = "alpha",
			  .machine_id = "",
			  .boot_id = "",
			  .agent_version = "",
			  .kernel_release = "",
			  .architecture = "" },
		.processes = &process,
		.n_processes = 1,
		.series = series,
		.n_series = 2,
		.code_objects = objects,
		.n_code_objects = ARRAY_SIZE(objects),
		.stacks = &stack,
		.n_stacks = 1,
		.rows = rows,
		.n_rows = 2,
	};
	struct store_missing missing;

	for (uint32_t i = 0; i < 2; i++)
		series[i] = (struct batch_series){
			.number = i + 1,
			.process = 1,
			.tid = PID,
			.thread_name = "app",
			.cpu = -1,
			.described = &faults,
			.labels = &labels[i],
			.n_labels = 1,
		};
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		const char **texts[] = { &objects[i].function, &objects[i].qualified_name,
					 &objects[i].file };

		for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
			*texts[k] = *texts[k] ? *texts[k] : "";
	}
	assert_int_equal(store_write(fixture->store, "default", &batch, fixture->arena, &missing),
			 STORE_STORED);
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_int_equal(temp_folder_setup(&fixture->folder), 0);
	assert_ok(arena_new(64 * MIB, &fixture->arena));
	assert_ok(sqlite_store_open(fixture->folder, &system_clock, &fixture->store));
	assert_ok(debuginfo_store_open(fixture->folder, &system_clock, &fixture->debuginfo));
	fixture->resolver =
		table_helper_resolver(fixture->debuginfo, &system_clock, fixture->folder);
	write_batch(fixture);
	fixture->view = open_view(fixture->store, "default");
	assert_int_equal(store_find_event_type(fixture->view, "page-faults", fixture->arena,
					       &fixture->event),
			 1);
	fixture->request = (struct profile_request){ .type = fixture->event.type,
						     .event = &fixture->event,
						     .service = "app",
						     .from_slot = T0,
						     .to_slot = T0 + 100,
						     .max_kernel_stack_depth = -1 };
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	resolver_free(fixture->resolver);
	debuginfo_store_free(fixture->debuginfo);
	store_view_close(fixture->view);
	store_free(fixture->store);
	arena_free(fixture->arena);
	assert_int_equal(temp_folder_teardown(&fixture->folder), 0);
	free(fixture);
	return 0;
}

static struct tree *query(struct fixture *fixture, int expected, char message[PROFILE_MESSAGE_SIZE])
{
	struct tree *tree = NULL;
	struct profile_stats stats;
	int r;

	r = profile_query(fixture->view, fixture->resolver, &system_clock, &fixture->request, &tree,
			  &stats, message);
	if (r != expected)
		fail_msg("%d: %s", r, message);
	return tree;
}

static void code_objects_and_unknown_kinds_have_labels(void **state)
{
	/* From the outermost frame to the leaf. */
	static const char *const labels[] = {
		"app",
		"[p] app",
		"[unknown start_thread?]",
		"[unknown] 0x0000000000001234",
		"price (shop.js:10)",
		"price (shop.js:12)",
		"[/tmp/perf-12.map]",
		"[ruby]",
		"[kind 19]",
		"Model.step (model.py)",
		"[python]",
		"Model.step (model.py)",
		"[k] bpf_prog_1",
	};
	char message[PROFILE_MESSAGE_SIZE];
	scoped(tree_freep) struct tree *tree = query(*state, 1, message);
	const struct tree_node *nodes;
	uint32_t count;

	nodes = tree_nodes(tree, &count);
	assert_int_equal(count, ARRAY_SIZE(labels));
	for (uint32_t i = 0; i < count; i++) {
		assert_string_equal(tree_label(tree, i), labels[i]);
		assert_int_equal(nodes[i].total, 43);
	}
}

static void labels_of_series_filter_and_group(void **state)
{
	struct fixture *fixture = *state;
	char message[PROFILE_MESSAGE_SIZE];
	struct tree *tree;
	uint32_t count;

	fixture->request.tag_filter = "device = 'gpu1'";
	tree = query(fixture, 1, message);
	assert_int_equal(tree_nodes(tree, &count)[0].total, 40);
	(void)tree_free(tree);
	fixture->request.tag_filter = "profile_event_type = 'page-faults' AND "
				      "profile_value_unit = 'events' AND device = 'gpu0'";
	fixture->request.group_by = "device";
	tree = query(fixture, 1, message);
	assert_int_equal(tree_nodes(tree, &count)[0].total, 3);
	assert_string_equal(tree_label(tree, 1), "[g] device=gpu0");
	(void)tree_free(tree);
	fixture->request.tag_filter = "device = 'gpu7'";
	(void)query(fixture, 0, message);
	assert_string_equal(message, "tag_filter selects none of the 2 series with page-faults "
				     "samples between 2024-02-21T03:12:00Z and "
				     "2024-02-21T03:12:01Z");
}

static void a_service_is_listed_with_the_name_of_its_event_type(void **state)
{
	struct fixture *fixture = *state;
	struct service_summary *services;
	size_t count;

	assert_ok(profile_list_services(fixture->view, T0, T0 + 100, fixture->arena, &services,
					&count));
	assert_int_equal(count, 1);
	assert_string_equal(services[0].name, "app");
	assert_string_equal(services[0].event->name, "page-faults");
	assert_string_equal(services[0].event->unit, "events");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(code_objects_and_unknown_kinds_have_labels),
		TEST(labels_of_series_filter_and_group),
		TEST(a_service_is_listed_with_the_name_of_its_event_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
