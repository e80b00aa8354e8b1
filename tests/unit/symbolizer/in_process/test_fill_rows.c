/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/in_process/fill_rows.h"

#include "symbolizer/store/clickhouse/row_binary.h"
#include "tests/support/unit.h"

static struct label process_labels[] = { { "pod", "web-1" }, { "zone", "b" } };
static struct label host_labels[] = { { "rack", "r7" }, { "zone", "a" } };
static const char *ips[] = { "::1", "10.1.2.3", "10.9.9.9" };
static const struct store_host host = {
	.name = "node",
	.agent_id = "abcd",
	.ips = ips,
	.n_ips = ARRAY_SIZE(ips),
	.labels = host_labels,
	.n_labels = ARRAY_SIZE(host_labels),
};
static const struct store_process web = {
	.host = &host,
	.name = "web",
	.pid = 7,
	.labels = process_labels,
	.n_labels = ARRAY_SIZE(process_labels),
};
static const struct store_process other = { .name = "other", .pid = 8 };

static const struct event_type_info on_cpu = { .name = "on-cpu", .unit = "ns" };
static const struct event_type_info allocated = { .name = "mem-alloc", .unit = "bytes" };

/* A row as it was passed to flush(). */
struct row {
	uint32_t time, pid, unnamed_frames;
	uint64_t id, value, state;
	char text[10][64]; /* tenant, service, event, stack, unit, agent, host; pod, pod_ns, ... */
	char tags[128];
	uint8_t is_ipv4;
	uint32_t ip4;
	uint8_t ip6[16];
};

struct site {
	struct fill_rows rows;
	struct tree *tree;
	struct row received[8];
	size_t n_received, n_flushes;
};

static void read_text(struct bytes_reader *reader, char *text, size_t size)
{
	struct bytes_view view = row_read_string(reader);

	assert_true(view.size < size);
	if (view.size > 0)
		memcpy(text, view.data, view.size);
	text[view.size] = '\0';
}

/* "name=value" of all tags, each with a blank. */
static void read_tags(struct bytes_reader *reader, char *tags, size_t size)
{
	char names[4][16], value[16];
	size_t count = row_read_count(reader, 1), at = 0;

	assert_true(count <= ARRAY_SIZE(names));
	for (size_t i = 0; i < count; i++)
		read_text(reader, names[i], sizeof(names[i]));
	assert_int_equal(row_read_count(reader, 1), count);
	for (size_t i = 0; i < count; i++) {
		read_text(reader, value, sizeof(value));
		at += (size_t)snprintf(tags + at, size - at, "%s=%s ", names[i], value);
		assert_true(at < size);
	}
}

static void read_row(struct bytes_reader *reader, struct row *row)
{
	char skipped[64];

	*row = (struct row){ .time = row_read_u32(reader), .id = row_read_u64(reader) };
	for (size_t i = 0; i < 4; i++)
		read_text(reader, row->text[i], sizeof(row->text[i]));
	row->value = row_read_u64(reader);
	read_text(reader, row->text[4], sizeof(row->text[4]));
	row->pid = row_read_u32(reader);
	read_text(reader, row->text[5], sizeof(row->text[5]));
	read_text(reader, row->text[6], sizeof(row->text[6]));
	row->is_ipv4 = row_read_u8(reader);
	row->ip4 = row_read_u32(reader);
	for (size_t i = 0; i < sizeof(row->ip6); i++)
		row->ip6[i] = row_read_u8(reader);
	read_text(reader, row->text[7], sizeof(row->text[7]));
	for (size_t i = 0; i < 6; i++)
		read_text(reader, skipped, sizeof(skipped));
	read_tags(reader, row->tags, sizeof(row->tags));
	row->unnamed_frames = row_read_u32(reader);
	row->state = row_read_u64(reader);
	assert_int_equal(reader->error, 0);
}

static int receive(void *arg, struct bytes_view rows)
{
	struct bytes_reader reader = bytes_reader_of(rows);
	struct site *site = arg;

	site->n_flushes++;
	while (reader.next < reader.end) {
		assert_true(site->n_received < ARRAY_SIZE(site->received));
		read_row(&reader, &site->received[site->n_received++]);
	}
	return 0;
}

static void init_site(struct site *site)
{
	*site = (struct site){
		.rows = { .tenant = "default", .state = 99, .flush = receive, .arg = site },
	};
	assert_ok(fill_rows_init(&site->rows));
	assert_ok(tree_new("", 'P', 100, &site->tree));
	fill_rows_begin(&site->rows, &on_cpu, 1200);
}

static void release_site(struct site *site)
{
	fill_rows_release(&site->rows);
	(void)tree_free(site->tree);
}

static string_id intern(struct site *site, const char *text)
{
	string_id label;

	assert_ok(tree_intern_label(site->tree, text, strlen(text), &label));
	return label;
}

static void visit(struct site *site, const struct store_process *process, uint64_t value)
{
	const struct resolved_frame frames[] = {
		{ .label = intern(site, "[k] read") },
		{ .label = intern(site, "[/bin/web]"), .function = FRAME_NO_FUNCTION },
		{ .label = intern(site, "main") },
		{ .label = intern(site, "[truncated: x]"),
		  .frame = RESOLVED_NO_FRAME,
		  .function = FRAME_NO_FUNCTION },
	};
	const struct series_group group = {
		.process = process,
		.levels = { intern(site, "[t] io") },
		.n_levels = 1,
	};
	const struct resolved_stack stack = {
		.value = value,
		.group = &group,
		.frames = frames,
		.n_frames = ARRAY_SIZE(frames),
	};
	const struct resolved_stacks stacks = { .tree = site->tree };
	const struct stack_visitor visitor = fill_rows_visitor(&site->rows);

	assert_ok(visitor.visit(visitor.arg, &stacks, &stack));
}

static void a_row_has_the_stack_and_its_process(void **state)
{
	scoped(release_site) struct site site = {};
	const struct row *row = site.received;

	(void)state;
	init_site(&site);
	visit(&site, &web, 10101000);
	assert_ok(fill_rows_end(&site.rows));
	assert_int_equal(site.n_received, 1);
	assert_int_equal(row->time, 1200);
	assert_string_equal(row->text[0], "default");
	assert_string_equal(row->text[1], "web");
	assert_string_equal(row->text[2], "on-cpu");
	assert_string_equal(row->text[3], "[t] io;[truncated: x];main;[/bin/web];[k] read");
	assert_string_equal(row->text[4], "microseconds");
	assert_int_equal(row->value, 10101);
	assert_int_equal(row->pid, 7);
	assert_string_equal(row->text[5], "abcd");
	assert_string_equal(row->text[6], "node");
	assert_int_equal(row->is_ipv4, 1);
	assert_int_equal(row->ip4, 0x0a010203);
	assert_int_equal(row->ip6[15], 1);
	assert_string_equal(row->text[7], "web-1");
	assert_string_equal(row->tags, "pod=web-1 zone=b rack=r7 ");
	assert_int_equal(row->unnamed_frames, 1);
	assert_int_equal(row->state, 99);
}

static void the_values_of_a_service_sum_to_its_value(void **state)
{
	/* 1.5 us + 0.3 us, 0.3 us: the second row has none, the third has what was left. */
	static const uint64_t values[] = { 1500, 300, 300 };
	scoped(release_site) struct site site = {};

	(void)state;
	init_site(&site);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		visit(&site, &web, values[i]);
		visit(&site, &other, 400);
		assert_ok(fill_rows_end(&site.rows));
	}
	assert_int_equal(site.n_received, 3);
	assert_string_equal(site.received[0].text[1], "web");
	assert_int_equal(site.received[0].value, 1);
	assert_string_equal(site.received[1].text[1], "web");
	assert_int_equal(site.received[1].value, 1);
	assert_string_equal(site.received[2].text[1], "other");
	assert_int_equal(site.received[2].value, 1);
}

static void the_next_minute_and_type_begin_without_a_remainder(void **state)
{
	scoped(release_site) struct site site = {};

	(void)state;
	init_site(&site);
	visit(&site, &web, 999);
	fill_rows_begin(&site.rows, &allocated, 1260);
	visit(&site, &web, 5);
	assert_ok(fill_rows_end(&site.rows));
	assert_int_equal(site.n_received, 1);
	assert_int_equal(site.received[0].time, 1260);
	assert_int_equal(site.received[0].value, 5);
	assert_string_equal(site.received[0].text[4], "bytes");
}

static void rows_of_two_processes_have_different_ids(void **state)
{
	const struct store_process again = { .host = &host, .name = "web", .pid = 9 };
	scoped(release_site) struct site site = {};

	(void)state;
	init_site(&site);
	visit(&site, &web, 1000);
	visit(&site, &again, 1000);
	assert_ok(fill_rows_end(&site.rows));
	assert_int_equal(site.n_received, 2);
	assert_true(site.received[0].id != site.received[1].id);
}

static void the_rows_of_a_stack_have_the_same_ids_in_each_fill(void **state)
{
	uint64_t ids[2][3];

	(void)state;
	for (size_t fill = 0; fill < ARRAY_SIZE(ids); fill++) {
		scoped(release_site) struct site site = {};

		init_site(&site);
		/* Each is flushed: a unit with more rows than the buffer holds. */
		for (size_t i = 0; i < ARRAY_SIZE(ids[0]); i++) {
			visit(&site, &web, 1000);
			assert_ok(fill_rows_end(&site.rows));
			ids[fill][i] = site.received[i].id;
		}
		assert_int_equal(site.n_received, ARRAY_SIZE(ids[0]));
		assert_true(ids[fill][0] != ids[fill][1] && ids[fill][1] != ids[fill][2]);
		assert_true(ids[fill][0] != ids[fill][2]);
	}
	assert_memory_equal(ids[0], ids[1], sizeof(ids[0]));
}

static void stacks_with_one_text_have_one_row(void **state)
{
	scoped(release_site) struct site site = {};

	(void)state;
	init_site(&site);
	visit(&site, &other, 3000);
	visit(&site, &web, 1000);
	visit(&site, &other, 4000);
	visit(&site, &web, UINT64_C(1) << 40);
	assert_ok(fill_rows_end(&site.rows));
	assert_int_equal(site.n_received, 2);
	assert_int_equal(site.rows.n_rows, 2);
	assert_int_equal(site.received[0].value, 7);
	assert_int_equal(site.received[1].value, ((UINT64_C(1) << 40) + 1000) / 1000);
}

/* Keeps the length and the end of the first row's stack. */
struct long_stack {
	size_t size;
	char end[32];
};

static int receive_long(void *arg, struct bytes_view rows)
{
	struct bytes_reader reader = bytes_reader_of(rows);
	struct long_stack *stack = arg;
	struct bytes_view text;
	char skipped[64];

	(void)row_read_u32(&reader);
	(void)row_read_u64(&reader);
	for (size_t i = 0; i < 3; i++)
		read_text(&reader, skipped, sizeof(skipped));
	text = row_read_string(&reader);
	assert_int_equal(reader.error, 0);
	assert_true(text.size > sizeof(stack->end));
	stack->size = text.size;
	memcpy(stack->end, text.data + text.size - sizeof(stack->end) + 1, sizeof(stack->end) - 1);
	return 0;
}

static void a_stack_of_long_names_is_cut(void **state)
{
	static struct resolved_frame frames[1000];
	static char label[4096];
	scoped(release_site) struct site site = {};
	struct long_stack received = {};
	const struct series_group group = { .process = &web };
	const struct resolved_stack stack = {
		.value = 1000,
		.group = &group,
		.frames = frames,
		.n_frames = ARRAY_SIZE(frames),
	};
	struct resolved_stacks stacks = {};

	(void)state;
	init_site(&site);
	memset(label, 'x', sizeof(label) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		frames[i].label = intern(&site, label);
	stacks.tree = site.tree;
	site.rows.flush = receive_long;
	site.rows.arg = &received;
	assert_ok(fill_rows_visitor(&site.rows).visit(&site.rows, &stacks, &stack));
	assert_ok(fill_rows_end(&site.rows));
	assert_in_range(received.size, MIB - 2 * sizeof(label), MIB);
	assert_string_equal(strrchr(received.end, ';'), ";[more frames]");
}

static void nothing_is_flushed_without_rows(void **state)
{
	scoped(release_site) struct site site = {};

	(void)state;
	init_site(&site);
	assert_ok(fill_rows_end(&site.rows));
	assert_int_equal(site.n_flushes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_has_the_stack_and_its_process),
		cmocka_unit_test(the_values_of_a_service_sum_to_its_value),
		cmocka_unit_test(the_next_minute_and_type_begin_without_a_remainder),
		cmocka_unit_test(rows_of_two_processes_have_different_ids),
		cmocka_unit_test(the_rows_of_a_stack_have_the_same_ids_in_each_fill),
		cmocka_unit_test(stacks_with_one_text_have_one_row),
		cmocka_unit_test(a_stack_of_long_names_is_cut),
		cmocka_unit_test(nothing_is_flushed_without_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
