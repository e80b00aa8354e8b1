/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A small fleet in a fake store, with real ELF files that have symbols at these addresses:
 *
 *   host alpha (10.1.1.1, fe80::1; label zone=a)   app 100 (threads main, worker), shop 300,
 *                                                  hidden 400 (without stacks), kworker/0:1 5 (a
 *                                                  kernel thread, without stacks)
 *   host beta (10.2.2.2; label zone=b)             app 200
 */

#include <stdarg.h>

#include "common/limits.h"
#include "symbolizer/query/profile.h"
#include "symbolizer/store/store.h"
#include "tests/support/command.h"
#include "tests/support/fake_debuginfo.h"
#include "tests/support/fake_store.h"
#include "tests/support/store_view.h"
#include "tests/support/table_helper.h"

/* 2024-02-21T03:12:00Z */
#define T0     (UINT64_C(1708485120) * NSEC_PER_SEC / SLOT_NS)
#define SECOND (NSEC_PER_SEC / SLOT_NS)

enum {
	EXE_APP = 1,
	EXE_LIB,
	EXE_KERNEL,
	EXE_MODULE,
	EXE_VDSO,
	EXE_STRIPPED,
	EXE_DAMAGED,
	EXE_GONE,
	EXE_SHOP
};

static const char app_s[] = "	.globl _start, main, work, recurse, _ZN3app4sortEi\n"
			    "	.type _start,@function\n	.type main,@function\n"
			    "	.type work,@function\n	.type recurse,@function\n"
			    "	.type _ZN3app4sortEi,@function\n"
			    "_start = 0x1000\nmain = 0x1100\nwork = 0x1200\nrecurse = "
			    "0x1300\n_ZN3app4sortEi = 0x1400\n";
static const char lib_s[] = "	.globl lib_entry, fast_copy\n	.type lib_entry,@function\n	"
			    ".type fast_copy,@function\n"
			    "lib_entry = 0x2000\nfast_copy = 0x2100\n";
static const char kernel_s[] = "	.globl _text, do_syscall_64, vfs_read, schedule\n	"
			       ".type do_syscall_64,@function\n	.type vfs_read,@function\n"
			       "	.type schedule,@function\n_text = 0xffffffff81000000\n"
			       "do_syscall_64 = 0xffffffff81000100\nvfs_read = 0xffffffff81000200\n"
			       "schedule = 0xffffffff81000300\n";

static const char *const alpha_ips[] = { "10.1.1.1", "fe80::1" };
static const char *const beta_ips[] = { "10.2.2.2" };
static struct label alpha_labels[] = { { "zone", "a" }, { "color", "host" } };
static struct label beta_labels[] = { { "zone", "b" }, { "rack", "7" } };
static struct label app_labels[] = { { "service", "frontend" },   { "az", "west" },
				     { "version", "v1" },         { "k8s.label.app", "app" },
				     { "pod", "app-1" },          { "color", "red" },
				     { "container_id", "c0ffee" } };
static struct label shop_labels[] = { { "service", "checkout" }, { "version", "v2" } };

static const struct store_host hosts[] = {
	{ .id = 1,
	  .name = "alpha",
	  .agent_id = "aa01",
	  .kernel_release = "6.1.0",
	  .architecture = "x86_64",
	  .ips = (const char **)alpha_ips,
	  .n_ips = 2,
	  .labels = alpha_labels,
	  .n_labels = 2 },
	{ .id = 2,
	  .name = "beta",
	  .agent_id = "bb02",
	  .kernel_release = "6.18.0",
	  .architecture = "aarch64",
	  .ips = (const char **)beta_ips,
	  .n_ips = 1,
	  .labels = beta_labels,
	  .n_labels = 2 },
};

enum { P_APP, P_APP_BETA, P_SHOP, P_HIDDEN, P_KWORKER, N_PROCESSES };

static const struct store_process processes[N_PROCESSES] = {
	[P_APP] = { .id = 11,
		    .host = &hosts[0],
		    .name = "app",
		    .executable_path = "/usr/bin/app",
		    .pid = 100,
		    .main_executable = EXE_APP,
		    .labels = app_labels,
		    .n_labels = ARRAY_SIZE(app_labels) },
	[P_APP_BETA] = { .id = 12,
			 .host = &hosts[1],
			 .name = "app",
			 .executable_path = "/usr/bin/app",
			 .pid = 200,
			 .main_executable = EXE_APP },
	[P_SHOP] = { .id = 13,
		     .host = &hosts[0],
		     .name = "shop",
		     .executable_path = "/usr/bin/shop",
		     .pid = 300,
		     .main_executable = EXE_SHOP,
		     .labels = shop_labels,
		     .n_labels = 2 },
	[P_HIDDEN] = { .id = 14,
		       .host = &hosts[0],
		       .name = "hidden",
		       .pid = 400,
		       .without_stacks = true },
	[P_KWORKER] = { .id = 15,
			.host = &hosts[0],
			.name = "kworker",
			.pid = 5,
			.kernel_thread = true,
			.without_stacks = true },
};

#define ON_CPU(id_, process_, tid_, name_)                                                         \
	{                                                                                          \
		.id = (id_), .tenant = "default", .process = &processes[process_], .tid = (tid_),  \
		.thread_name = (name_), .type = EVENT_ON_CPU, .cpu = -1, .period_ns = 10,          \
		.first_slot = T0, .last_slot = T0 + 10                                             \
	}

/* All threads of the fleet. */
static const struct store_series on_cpu_series[] = {
	ON_CPU(1, P_APP, 100, "app"),      ON_CPU(2, P_APP, 101, "worker"),
	ON_CPU(3, P_APP, 102, "worker"),   ON_CPU(4, P_APP_BETA, 200, "app"),
	ON_CPU(5, P_SHOP, 300, "shop"),    ON_CPU(6, P_HIDDEN, 400, "hidden"),
	ON_CPU(7, P_HIDDEN, 401, "hider"), ON_CPU(8, P_KWORKER, 5, "kworker/0:1"),
};

static const struct fake_path paths[] = {
	{ 11, EXE_APP, "/usr/bin/app" },       { 11, EXE_LIB, "/lib/libx.so" },
	{ 11, EXE_STRIPPED, "/opt/stripped" }, { 11, EXE_DAMAGED, "/opt/damaged" },
	{ 12, EXE_LIB, "/lib64/libx.so" },
};

static const struct fake_name names[] = { { 77, "bpf_prog_1234_filter" } };

static struct load_segment app_segments[] = {
	{ .file_offset = 0x200, .vaddr = 0x1200, .file_size = 0x1000, .memory_size = 0x1000 },
};

#define FIXTURE_MAX_STACKS 64
#define FIXTURE_MAX_FRAMES 16

struct fixture {
	void *folder;
	struct debuginfo_store debuginfo;
	struct resolver *resolver;
	struct fake_store fake;
	struct store *store;
	struct store_view_options options; /* of the view that query() opens */
	struct store_executable executables[9];
	struct fake_stack stacks[FIXTURE_MAX_STACKS];
	struct store_frame frames[FIXTURE_MAX_STACKS][FIXTURE_MAX_FRAMES];
	struct profile_request request;
	struct profile_stats stats;
	char message[PROFILE_MESSAGE_SIZE];
};

static inline void add_file(struct fixture *fixture, const struct executable_id *id,
			    const char *name, const char *source)
{
	scoped_free char *path = path_in(fixture->folder, name);
	scoped_free char *source_path = path_in(fixture->folder, "source.s");
	struct bytes output = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	char command[1024];

	free(write_file_in(fixture->folder, "source.s", source, strlen(source)));
	(void)snprintf(command, sizeof(command), "gcc -nostdlib -static -Wl,-e,0 -o %s %s 2>&1",
		       path, source_path);
	assert_int_equal(command_output(command, &output), 0);
	bytes_release(&output);
	fake_debuginfo_put(&fixture->debuginfo, id, path);
}

static inline void add_executables(struct fixture *fixture)
{
	static const struct {
		uint32_t id;
		const char *identity, *name;
		enum executable_role role;
	} rows[] = {
		{ EXE_APP, "app1", "app", ROLE_USER },
		{ EXE_LIB, "libx", "libx.so", ROLE_USER },
		{ EXE_KERNEL, "kern", "vmlinux", ROLE_KERNEL },
		{ EXE_MODULE, "modu", "nf_tables", ROLE_KERNEL_MODULE },
		{ EXE_VDSO, "vdso", "[vdso]", ROLE_VDSO },
		{ EXE_STRIPPED, "stri", "stripped", ROLE_USER },
		{ EXE_DAMAGED, "dama", "damaged", ROLE_USER },
		{ EXE_SHOP, "shop", "shop", ROLE_USER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fixture->executables[i] = (struct store_executable){ .id = rows[i].id,
								     .name = rows[i].name,
								     .role = rows[i].role };
		assert_ok(executable_id_set(&fixture->executables[i].identity, EXECUTABLE_ID_GNU,
					    rows[i].identity, 4));
	}
	fixture->executables[0].segments = app_segments;
	fixture->executables[0].n_segments = 1;
	add_file(fixture, &fixture->executables[0].identity, "app", app_s);
	add_file(fixture, &fixture->executables[1].identity, "lib", lib_s);
	add_file(fixture, &fixture->executables[2].identity, "kernel", kernel_s);
	add_file(fixture, &fixture->executables[4].identity, "vdso", lib_s);
	free(write_file_in(fixture->folder, "damaged", "no ELF file", 11));
	{
		scoped_free char *damaged = path_in(fixture->folder, "damaged");

		fake_debuginfo_put(&fixture->debuginfo, &fixture->executables[6].identity, damaged);
	}
	fixture->fake.executables = fixture->executables;
	fixture->fake.n_executables = ARRAY_SIZE(rows);
}

static inline int fixture_setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_int_equal(temp_folder_setup(&fixture->folder), 0);
	fake_debuginfo_init(&fixture->debuginfo);
	add_executables(fixture);
	fixture->resolver =
		table_helper_resolver(&fixture->debuginfo, &system_clock, fixture->folder);
	fixture->store = fake_store_init(&fixture->fake);
	fixture->fake.hosts = hosts;
	fixture->fake.n_hosts = ARRAY_SIZE(hosts);
	fixture->fake.paths = paths;
	fixture->fake.n_paths = ARRAY_SIZE(paths);
	fixture->fake.names = names;
	fixture->fake.n_names = ARRAY_SIZE(names);
	fixture->options = (struct store_view_options){ .tenant = "default" };
	fixture->request = (struct profile_request){ .type = EVENT_ON_CPU,
						     .service = "app",
						     .from_slot = T0,
						     .to_slot = T0 + 60 * SECOND,
						     .max_kernel_stack_depth = -1 };
	*state = fixture;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	struct fixture *fixture = *state;

	resolver_free(fixture->resolver);
	assert_int_equal(temp_folder_teardown(&fixture->folder), 0);
	free(fixture);
	return 0;
}

/* Frames, leaf first: "kind:executable:address", separated by blanks. */
struct stack_text {
	uint64_t id;
	uint8_t cut;
	const char *frames;
};

static inline uint8_t number_of(const char *name, const char *const *known, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (known[i] && strcmp(known[i], name) == 0)
			return (uint8_t)i;
	}
	fail_msg("'%s' is not known", name);
	return 0;
}

static inline uint32_t read_frames(const char *text, struct store_frame frames[FIXTURE_MAX_FRAMES])
{
	static const char *const kinds[] = { [FRAME_NATIVE] = "native",
					     [FRAME_KERNEL] = "kernel",
					     [FRAME_NATIVE_FILE_OFFSET] = "offset",
					     [FRAME_KERNEL_NAMED] = "named" };
	static const char *const executables[] = { "none",
						   [EXE_APP] = "app",
						   [EXE_LIB] = "lib",
						   [EXE_KERNEL] = "kernel",
						   [EXE_MODULE] = "module",
						   [EXE_VDSO] = "vdso",
						   [EXE_STRIPPED] = "stripped",
						   [EXE_DAMAGED] = "damaged",
						   [EXE_GONE] = "gone",
						   [EXE_SHOP] = "shop" };
	uint32_t count = 0;

	while (*text) {
		char kind[16], executable[16];
		unsigned long long address;
		int length;

		assert_int_equal(
			sscanf(text, "%15[^:]:%15[^:]:%llx%n", kind, executable, &address, &length),
			3);
		assert_in_range(count, 0, FIXTURE_MAX_FRAMES - 1);
		frames[count++] =
			(struct store_frame){ .kind = number_of(kind, kinds, ARRAY_SIZE(kinds)),
					      .object = number_of(executable, executables,
								  ARRAY_SIZE(executables)),
					      .address = address };
		text += length;
		text += *text == ' ';
	}
	return count;
}

static inline void set_stacks(struct fixture *fixture, const struct stack_text *texts, size_t count)
{
	assert_in_range(count, 0, FIXTURE_MAX_STACKS);
	for (size_t i = 0; i < count; i++) {
		fixture->stacks[i] = (struct fake_stack){
			.id = texts[i].id,
			.stack = { .cut = texts[i].cut,
				   .n_frames = read_frames(texts[i].frames, fixture->frames[i]),
				   .frames = fixture->frames[i] },
		};
	}
	fixture->fake.stacks = fixture->stacks;
	fixture->fake.n_stacks = count;
}

/* Sets the array of this name of the fake store to a static array. */
#define FAKE_SET(fixture, field, array)                                                            \
	((fixture)->fake.field = (array), (fixture)->fake.n_##field = ARRAY_SIZE(array))

/* Static arrays of series, of stacks as texts, and of rows. */
#define FAKE_SAMPLES(fixture, series_, stacks_, rows_)                                             \
	(FAKE_SET(fixture, series, series_), FAKE_SET(fixture, rows, rows_),                       \
	 set_stacks(fixture, stacks_, ARRAY_SIZE(stacks_)))

static inline int query(struct fixture *fixture, struct tree **ret_tree)
{
	scoped(store_view_closep) struct store_view *view = NULL;

	assert_ok(store_view_open(fixture->store, &fixture->options, &view));
	return profile_query(view, fixture->resolver, &system_clock, &fixture->request, ret_tree,
			     &fixture->stats, fixture->message);
}

static inline int print_self(void *arg, const struct tree *tree, uint32_t node)
{
	struct bytes *out = arg;
	uint32_t count, path[64];
	const struct tree_node *nodes = tree_nodes(tree, &count);
	size_t depth = 0;

	if (nodes[node].self == 0)
		return 0;
	for (uint32_t i = node; i != TREE_NO_PARENT; i = nodes[i].parent)
		path[depth++] = i;
	while (depth-- > 0)
		assert_ok(bytes_append_format(out, "%s%s", tree_label(tree, path[depth]),
					      depth > 0 ? ";" : ""));
	return bytes_append_format(out, "=%llu\n", (unsigned long long)nodes[node].self);
}

/* Writes a line "root;...;leaf=self" for each node with a value, in the tree's order. The caller
 * frees it. */
static inline char *folded(const struct tree *tree)
{
	struct bytes out = BYTES_INIT(MIB);

	assert_ok(tree_walk(tree, &(struct tree_visitor){ .enter = print_self, .arg = &out }));
	assert_ok(bytes_append_byte(&out, 0));
	return (char *)out.data;
}

/* Asserts that the folded tree of the query is @expected. */
static inline void assert_profile(struct fixture *fixture, const char *expected)
{
	scoped(tree_freep) struct tree *tree = NULL;
	scoped_free char *text = NULL;
	int r = query(fixture, &tree);

	if (r <= 0)
		fail_msg("%d: %s", r, fixture->message);
	text = folded(tree);
	assert_string_equal(text, expected);
}

static inline void assert_message(struct fixture *fixture, int result, const char *message)
{
	scoped(tree_freep) struct tree *tree = NULL;

	assert_int_equal(query(fixture, &tree), result);
	assert_null(tree);
	assert_string_equal(fixture->message, message);
}
