/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries with the real engines: the test writes batches into SQLite and debuginfo into its store,
 * and compares the answers with sums over the rows of the batches.
 */

#include <sys/stat.h>

#include "common/file.h"
#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/query/profile.h"
#include "symbolizer/store/sqlite/sqlite_store.h"
#include "tests/support/command.h"
#include "tests/support/store_view.h"
#include "tests/support/table_helper.h"
#include "tests/support/test_seed.h"

enum {
	N_FUNCTIONS = 6,
	N_STACKS = 80,
	N_ROWS = 600,
	MAX_DEPTH = 9,
	N_SERIES = 4,
	PERIOD_NS = 10101010,
	PATH_BYTES = 512,
	EXE_APP = 1,
	EXE_LIB = 2,
};

/* 2024-02-21T03:12:00Z */
#define T0_WALL_NS (UINT64_C(1708485120) * NSEC_PER_SEC)
#define T0         (T0_WALL_NS / SLOT_NS)
#define SECOND     (NSEC_PER_SEC / SLOT_NS)

struct fixture {
	void *folder;
	struct store *store;
	struct debuginfo_store *debuginfo;
	struct resolver *resolver;
	struct executable_id ids[3]; /* by index */
	struct batch batch;
	struct batch_executable executables[2];
	struct batch_process processes[2];
	struct batch_path paths[2][2];
	struct label labels[2];
	struct batch_series series[N_SERIES];
	struct batch_stack stacks[N_STACKS];
	struct batch_frame frames[N_STACKS][MAX_DEPTH];
	struct batch_row rows[N_ROWS];
	uint64_t seed;
};

static uint32_t random_below(struct fixture *fixture, uint32_t limit)
{
	fixture->seed ^= fixture->seed >> 12;
	fixture->seed ^= fixture->seed << 25;
	fixture->seed ^= fixture->seed >> 27;
	return (uint32_t)((fixture->seed * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % limit;
}

/* Functions f0.. of the program and g0.. of the library, 0x100 apart. */
static uint64_t address_of(uint32_t executable, uint32_t function)
{
	return 0x1000 * executable + 0x100 * function;
}

static void describe_fleet(struct fixture *fixture)
{
	static const char *const names[] = { "app", "libx.so" };

	for (uint32_t i = 0; i < 2; i++) {
		fixture->executables[i] = (struct batch_executable){ .number = i + 1,
								     .id = fixture->ids[i + 1],
								     .name = names[i],
								     .role = ROLE_USER };
		fixture->labels[i] = (struct label){ "color", i ? "blue" : "red" };
		for (uint32_t k = 0; k < 2; k++)
			fixture->paths[i][k] =
				(struct batch_path){ k + 1, k ? "/lib/libx.so" : "/usr/bin/app" };
		fixture->processes[i] = (struct batch_process){
			.number = i + 1,
			.pid = 100 * (i + 1),
			.start_time_ns = i + 1,
			.name = "app",
			.executable_path = "/usr/bin/app",
			.main_executable = EXE_APP,
			.paths = fixture->paths[i],
			.n_paths = 2,
			.labels = &fixture->labels[i],
			.n_labels = 1,
		};
	}
	for (uint32_t i = 0; i < N_SERIES; i++)
		fixture->series[i] = (struct batch_series){
			.number = i + 1,
			.process = i / 2 + 1,
			.tid = 100 * (i / 2 + 1) + i % 2,
			.thread_name = i % 2 ? "worker" : "app",
			.type = EVENT_ON_CPU,
			.cpu = -1,
			.period_ns = PERIOD_NS,
		};
}

static int compare_rows(const void *left, const void *right)
{
	const struct batch_row *a = left;
	const struct batch_row *b = right;

	if (a->series != b->series)
		return a->series < b->series ? -1 : 1;
	if (a->slot != b->slot)
		return a->slot < b->slot ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static void make_samples(struct fixture *fixture)
{
	for (uint32_t i = 0; i < N_STACKS; i++) {
		uint32_t depth = 1 + random_below(fixture, MAX_DEPTH);

		for (uint32_t k = 0; k < depth; k++) {
			uint32_t executable = 1 + random_below(fixture, 2);
			uint64_t address =
				address_of(executable, random_below(fixture, N_FUNCTIONS));

			fixture->frames[i][k] =
				(struct batch_frame){ FRAME_NATIVE, executable,
						      address + random_below(fixture, 3) };
		}
		fixture->stacks[i] = (struct batch_stack){ .number = i + 1,
							   .n_frames = depth,
							   .frames = fixture->frames[i] };
	}
	for (uint32_t i = 0; i < N_ROWS; i++)
		fixture->rows[i] =
			(struct batch_row){ .series = 1 + random_below(fixture, N_SERIES),
					    .stack = 1 + random_below(fixture, N_STACKS),
					    .slot = T0 + i, /* keeps rows distinct */
					    .value = 1 + random_below(fixture, 3) };
	qsort(fixture->rows, N_ROWS, sizeof(fixture->rows[0]), compare_rows);
}

static void write_batch(struct fixture *fixture)
{
	static const struct batch_host host = { .name = "alpha",
						.machine_id = "m",
						.boot_id = "b",
						.agent_version = "1",
						.kernel_release = "6.1",
						.architecture = "x86_64",
						.n_cpus = 2 };
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_missing missing;

	fixture->batch = (struct batch){
		.agent_id = { { 1 } },
		.epoch = 1,
		.sequence = 1,
		.opened_wall_ns = T0_WALL_NS,
		.closed_wall_ns = T0_WALL_NS + 6 * NSEC_PER_SEC,
		.host = host,
		.executables = fixture->executables,
		.n_executables = 2,
		.processes = fixture->processes,
		.n_processes = 2,
		.series = fixture->series,
		.n_series = N_SERIES,
		.stacks = fixture->stacks,
		.n_stacks = N_STACKS,
		.rows = fixture->rows,
		.n_rows = N_ROWS,
	};
	assert_ok(arena_new(MIB, &arena));
	assert_int_equal(store_write(fixture->store, "default", &fixture->batch, arena, &missing),
			 STORE_STORED);
}

static void upload(struct fixture *fixture, uint32_t executable)
{
	scoped(debuginfo_upload_freep) struct debuginfo_upload *pending = NULL;
	scoped(bytes_release) struct bytes content = BYTES_INIT(16 * MIB);
	scoped(bytes_release) struct bytes output = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	scoped_free char *path = path_in(fixture->folder, "file");
	struct bytes source = BYTES_INIT(64 * KIB);
	char message[DEBUGINFO_MESSAGE_SIZE] = "";
	char id_text[EXECUTABLE_ID_TEXT_SIZE], command[1024];
	struct debuginfo_entry entry;
	int r;

	for (uint32_t i = 0; i < N_FUNCTIONS; i++)
		assert_ok(bytes_append_format(
			&source, "	.globl %c%u\n	.type %c%u,@function\n%c%u = %#llx\n",
			executable == EXE_APP ? 'f' : 'g', i, executable == EXE_APP ? 'f' : 'g', i,
			executable == EXE_APP ? 'f' : 'g', i,
			(unsigned long long)address_of(executable, i)));
	free(write_file_in(fixture->folder, "file.s", source.data, source.size));
	bytes_release(&source);
	executable_id_format(&fixture->ids[executable], id_text);
	(void)snprintf(command, sizeof(command),
		       "gcc -nostdlib -static -Wl,-e,0 -Wl,--build-id=0x%s -o %s %s.s 2>&1",
		       id_text, path, path);
	assert_int_equal(command_output(command, &output), 0);
	assert_ok(file_read(path, &content));
	assert_ok(debuginfo_upload_begin(fixture->debuginfo, &fixture->ids[executable],
					 DEBUGINFO_FROM_PIPELINE, &pending, message));
	assert_ok(debuginfo_upload_append(pending, bytes_view_of(&content), message));
	r = debuginfo_upload_commit(pending, &entry, message);
	if (r != 1)
		fail_msg("%d: %s", r, message);
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->seed = test_seed();
	assert_int_equal(temp_folder_setup(&fixture->folder), 0);
	assert_ok(sqlite_store_open(fixture->folder, &system_clock, &fixture->store));
	assert_ok(debuginfo_store_open(fixture->folder, &system_clock, &fixture->debuginfo));
	fixture->resolver =
		table_helper_resolver(fixture->debuginfo, &system_clock, fixture->folder);
	assert_ok(executable_id_set(&fixture->ids[EXE_APP], EXECUTABLE_ID_GNU, "app1app1", 8));
	assert_ok(executable_id_set(&fixture->ids[EXE_LIB], EXECUTABLE_ID_GNU, "libxlibx", 8));
	describe_fleet(fixture);
	make_samples(fixture);
	write_batch(fixture);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	resolver_free(fixture->resolver);
	debuginfo_store_free(fixture->debuginfo);
	store_free(fixture->store);
	assert_int_equal(temp_folder_teardown(&fixture->folder), 0);
	free(fixture);
	return 0;
}

struct path_value {
	char path[PATH_BYTES];
	uint64_t value;
};

struct path_sums {
	struct path_value *items;
	size_t count;
};

static void add_path(struct path_sums *sums, const char *path, uint64_t value)
{
	for (size_t i = 0; i < sums->count; i++) {
		if (strcmp(sums->items[i].path, path) == 0) {
			sums->items[i].value += value;
			return;
		}
	}
	(void)snprintf(sums->items[sums->count].path, PATH_BYTES, "%s", path);
	sums->items[sums->count++].value = value;
}

/* Computes the expected tree: the path of each row, from the data of the test. */
static void brute_force(const struct fixture *fixture, uint64_t from_slot, uint64_t to_slot,
			bool app_named, bool lib_named, struct path_sums *sums)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		const struct batch_row *row = &fixture->rows[i];
		const struct batch_stack *stack = &fixture->stacks[row->stack - 1];
		char path[PATH_BYTES];
		size_t used;

		if (row->slot < from_slot || row->slot >= to_slot)
			continue;
		used = (size_t)snprintf(path, sizeof(path), "%s",
					row->series % 2 ? "[p] app" : "[t] worker");
		for (uint32_t k = stack->n_frames; k-- > 0;) {
			const struct batch_frame *frame = &stack->frames[k];
			unsigned int function =
				(unsigned int)(frame->address - 0x1000 * frame->object) / 0x100;

			if (frame->object == EXE_APP && app_named)
				used += (size_t)snprintf(path + used, sizeof(path) - used, ";f%u",
							 function);
			else if (frame->object == EXE_LIB && lib_named)
				used += (size_t)snprintf(path + used, sizeof(path) - used,
							 ";[l] g%u", function);
			else
				used += (size_t)snprintf(path + used, sizeof(path) - used, ";[%s]",
							 frame->object == EXE_APP ? "/usr/bin/app"
										  : "/lib/libx.so");
		}
		add_path(sums, path, row->value * PERIOD_NS);
	}
}

static void tree_paths(const struct tree *tree, struct path_sums *sums)
{
	uint32_t count;
	const struct tree_node *nodes = tree_nodes(tree, &count);

	for (uint32_t i = 1; i < count; i++) {
		char path[PATH_BYTES] = "";

		if (nodes[i].self == 0)
			continue;
		for (uint32_t node = i; node != 0; node = nodes[node].parent) {
			char longer[PATH_BYTES];

			assert_in_range(snprintf(longer, sizeof(longer), "%s%s%s",
						 tree_label(tree, node), path[0] ? ";" : "", path),
					1, PATH_BYTES - 1);
			memcpy(path, longer, sizeof(path));
		}
		add_path(sums, path, nodes[i].self);
	}
}

static int compare_paths(const void *left, const void *right)
{
	return strcmp(((const struct path_value *)left)->path,
		      ((const struct path_value *)right)->path);
}

static void assert_same(struct path_sums *actual, struct path_sums *expected)
{
	qsort(actual->items, actual->count, sizeof(*actual->items), compare_paths);
	qsort(expected->items, expected->count, sizeof(*expected->items), compare_paths);
	assert_int_equal(actual->count, expected->count);
	for (size_t i = 0; i < actual->count; i++) {
		assert_string_equal(actual->items[i].path, expected->items[i].path);
		assert_int_equal(actual->items[i].value, expected->items[i].value);
	}
}

static void compare_with_brute_force(struct fixture *fixture, uint64_t from_slot, uint64_t to_slot,
				     bool app_named, bool lib_named)
{
	struct profile_request request = { .type = EVENT_ON_CPU,
					   .service = "app",
					   .from_slot = from_slot,
					   .to_slot = to_slot,
					   .max_kernel_stack_depth = -1 };
	scoped_free struct path_value *actual_items = calloc(N_ROWS, sizeof(*actual_items));
	scoped_free struct path_value *expected_items = calloc(N_ROWS, sizeof(*expected_items));
	struct path_sums actual = { .items = actual_items }, expected = { .items = expected_items };
	scoped(store_view_closep) struct store_view *view = open_view(fixture->store, "default");
	scoped(tree_freep) struct tree *tree = NULL;
	char message[PROFILE_MESSAGE_SIZE];
	struct profile_stats stats;
	int r;

	assert_true(actual_items && expected_items);
	r = profile_query(view, fixture->resolver, &system_clock, &request, &tree, &stats, message);
	if (r != 1)
		fail_msg("%d: %s", r, message);
	tree_paths(tree, &actual);
	brute_force(fixture, from_slot, to_slot, app_named, lib_named, &expected);
	assert_same(&actual, &expected);
	assert_int_equal(stats.n_rows,
			 to_slot >= T0 + N_ROWS ? T0 + N_ROWS - from_slot : to_slot - from_slot);
}

static void a_query_equals_the_sum_of_its_rows_and_later_debuginfo_names_them(void **state)
{
	struct fixture *fixture = *state;

	compare_with_brute_force(fixture, T0, T0 + 60 * SECOND, false, false);
	upload(fixture, EXE_LIB);
	compare_with_brute_force(fixture, T0, T0 + 60 * SECOND, false, true);
	upload(fixture, EXE_APP);
	compare_with_brute_force(fixture, T0, T0 + 60 * SECOND, true, true);
	compare_with_brute_force(fixture, T0 + 100, T0 + 350, true, true);
	compare_with_brute_force(fixture, T0 + 599, T0 + 600, true, true);
}

static void tags_and_total_work_with_the_sqlite_engine(void **state)
{
	struct fixture *fixture = *state;
	struct profile_request request = { .type = EVENT_ON_CPU,
					   .service = "Total",
					   .tag_filter = "color = 'red' AND host = 'alpha'",
					   .from_slot = T0,
					   .to_slot = T0 + 60 * SECOND,
					   .max_kernel_stack_depth = -1 };
	scoped(store_view_closep) struct store_view *view = open_view(fixture->store, "default");
	scoped(tree_freep) struct tree *tree = NULL;
	char message[PROFILE_MESSAGE_SIZE];
	struct profile_stats stats;
	uint64_t expected = 0;
	uint32_t count;

	for (size_t i = 0; i < N_ROWS; i++)
		expected += fixture->rows[i].series <= 2 ? fixture->rows[i].value * PERIOD_NS : 0;
	assert_int_equal(profile_query(view, fixture->resolver, &system_clock, &request, &tree,
				       &stats, message),
			 1);
	assert_int_equal(tree_nodes(tree, &count)[0].total, expected);
	assert_int_equal(count, 3);

	request.service = "ap";
	assert_int_equal(profile_query(view, fixture->resolver, &system_clock, &request, &tree,
				       &stats, message),
			 0);
	assert_string_equal(message, "no service 'ap'; known services: app");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_query_equals_the_sum_of_its_rows_and_later_debuginfo_names_them, setup,
			teardown),
		cmocka_unit_test_setup_teardown(tags_and_total_work_with_the_sqlite_engine, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
