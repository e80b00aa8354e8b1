/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A service with known stacks in a fake store, and functions that export it:
 *
 *   thread app     _start, main, work            70 ns, at two addresses
 *   thread worker  _start, main, [l] lib_entry, [k] do_syscall_64, [k] vfs_read   60 ns
 *   thread worker  a function with a hostile name, which only named frames can have   50 ns
 */

#include "symbolizer/export/export.h"
#include "tests/support/unit.h"
#include "tests/unit/symbolizer/query/profile_fixture.h"

#define HOSTILE_NAME "evil;\"<b>]]>\\\n\x01\xff\xc2\x9b,'"

/* The control characters and invalid bytes of HOSTILE_NAME: each is replaced by U+FFFD. */
#define REPLACED "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"

/* HOSTILE_NAME in a label. */
#define CLEANED_NAME "evil:\"<b>]]>\\" REPLACED ",'"

static const struct store_series export_series[] = { ON_CPU(1, P_APP, 100, "app"),
						     ON_CPU(2, P_APP, 101, "worker") };

static const struct stack_text export_stacks[] = {
	{ 1, 0, "native:app:0x1210 native:app:0x1110 native:app:0x1010" },
	{ 2, 0,
	  "kernel:kernel:0x210 kernel:kernel:0x110 native:lib:0x2010 native:app:0x1110 "
	  "native:app:0x1010" },
	{ 3, 0, "native:app:0x1220 native:app:0x1120 native:app:0x1020" },
	{ 4, 0, "named:none:4e native:app:0x1010" },
};

static const struct fake_row export_rows[] = {
	{ 1, 1, T0, 5 }, { 1, 3, T0 + 2, 2 }, { 2, 2, T0 + 3, 6 }, { 2, 4, T0 + 3, 5 }
};

static const struct fake_name hostile_names[] = { { 0x4e, HOSTILE_NAME } };

/* Compiles all symbol tables: a query waits for them for a few seconds only. */
static inline void make_tables(struct fixture *fixture)
{
	scoped(arena_freep) struct arena *arena = NULL;
	const uint64_t address = 0;

	assert_ok(arena_new(MIB, &arena));
	for (size_t i = 0; i < fixture->fake.n_executables; i++) {
		const struct resolve_request request = {
			.id = &fixture->executables[i].identity,
			.addresses = &address,
			.count = 1,
			.patience_ns = 120 * NSEC_PER_SEC,
		};
		struct resolve_answer answer;

		assert_ok(resolver_resolve(fixture->resolver, &request, arena, &answer));
		assert_false(answer.pending);
	}
}

static inline int export_setup(void **state)
{
	struct fixture *fixture;

	assert_int_equal(fixture_setup(state), 0);
	fixture = *state;
	make_tables(fixture);
	FAKE_SAMPLES(fixture, export_series, export_stacks, export_rows);
	FAKE_SET(fixture, names, hostile_names);
	return 0;
}

static inline int write_stacks_of(struct fixture *fixture, struct store_view *view,
				  const struct export_writer *writer,
				  const struct export_selection *selection, struct bytes *out)
{
	struct stack_visitor visitor = { .visit = writer->stacks->add };
	const struct export_result result = { .message = "a message",
					      .period_ns = 10,
					      .stats = &fixture->stats };
	struct profile_request request = fixture->request;
	int r;

	export_divide(writer, &request);
	r = writer->stacks->begin(selection, out, &visitor.arg);
	if (r < 0)
		return r;
	r = profile_visit_stacks(view, fixture->resolver, &system_clock, &request, &visitor,
				 &fixture->stats, fixture->message);
	if (r > 0)
		r = writer->stacks->end(visitor.arg, &result);
	writer->stacks->free(visitor.arg);
	return r;
}

/* Exports the fixture's profile. Returns 0 or the error of the writer. */
static inline int export_profile(struct fixture *fixture, const char *format, struct bytes *out)
{
	const struct export_writer *writer = export_format_find(format)->writer;
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(tree_freep) struct tree *tree = NULL;
	const struct export_result result = { .message = "a message", .stats = &fixture->stats };
	const struct export_selection selection = {
		.service = fixture->request.service,
		.event = profile_event(&fixture->request),
		.filter = fixture->request.tag_filter,
		.since_wall_ns = T0 * SLOT_NS,
		.until_wall_ns = (T0 + 60 * SECOND) * SLOT_NS,
	};

	assert_ok(store_view_open(fixture->store, &fixture->options, &view));
	if (writer->stacks)
		return write_stacks_of(fixture, view, writer, &selection, out);
	assert_int_equal(profile_query(view, fixture->resolver, &system_clock, &fixture->request,
				       &tree, &fixture->stats, fixture->message),
			 1);
	return writer->write_tree(&(struct export_tree){ &selection, &result, tree }, out);
}

/* The same as a text that the caller frees. */
static inline char *export_text(struct fixture *fixture, const char *format)
{
	struct bytes out = BYTES_INIT(MIB);

	assert_ok(export_profile(fixture, format, &out));
	assert_ok(bytes_append_byte(&out, 0));
	return (char *)out.data;
}

#define EXPORT_TEST(name) cmocka_unit_test_setup_teardown(name, export_setup, fixture_teardown)
