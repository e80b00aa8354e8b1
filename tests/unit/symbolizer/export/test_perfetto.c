/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traces are read field by field, without the messages of proto/perfetto.proto: the numbers of
 * fields are those of Perfetto's own .proto files.
 */
#include "tests/unit/symbolizer/export/export_fixture.h"

/* Wire types. */
enum { VARINT = 0, LENGTH = 2 };

/* Fields of TracePacket. */
enum { PROCESS_TREE = 2, CLOCKS = 6, TIMESTAMP = 8, INTERNED = 12, DEFAULTS = 59, SAMPLE = 135 };

struct field {
	uint64_t number;
	unsigned int wire_type;
	uint64_t value;          /* of a VARINT */
	struct bytes_view bytes; /* of a LENGTH */
};

static bool next_field(struct bytes_reader *reader, struct field *field)
{
	uint64_t tag;

	if (reader->next == reader->end)
		return false;
	tag = bytes_read_varint(reader);
	*field = (struct field){ .number = tag >> 3, .wire_type = tag & 7 };
	field->value = bytes_read_varint(reader);
	assert_int_equal(reader->error, 0);
	if (field->wire_type == VARINT)
		return true;
	assert_int_equal(field->wire_type, LENGTH);
	assert_true(field->value <= (size_t)(reader->end - reader->next));
	field->bytes = (struct bytes_view){ reader->next, (size_t)field->value };
	reader->next += field->value;
	return true;
}

/* Prints "number:value" and "number=text", and messages down to @depth levels in braces. */
static void print_fields(struct bytes_view message, unsigned int depth, struct bytes *out)
{
	struct bytes_reader reader = bytes_reader_of(message);
	struct field field;

	while (next_field(&reader, &field)) {
		assert_ok(bytes_append_format(out, "%llu", (unsigned long long)field.number));
		if (field.wire_type == VARINT) {
			assert_ok(bytes_append_format(out, ":%llu ",
						      (unsigned long long)field.value));
		} else if (depth > 0) {
			assert_ok(bytes_append_text(out, "{ "));
			print_fields(field.bytes, depth - 1, out);
			assert_ok(bytes_append_text(out, "} "));
		} else {
			assert_ok(bytes_append_format(out, "=%.*s ", (int)field.bytes.size,
						      (const char *)field.bytes.data));
		}
	}
}

/* Prints a line for each message at the end of @path, a list of fields that ends with 0. */
static void print_at(struct bytes_view message, const uint64_t *path, unsigned int depth,
		     struct bytes *out)
{
	struct bytes_reader reader = bytes_reader_of(message);
	struct field field;

	if (!path[0]) {
		print_fields(message, depth, out);
		assert_ok(bytes_append_byte(out, '\n'));
		return;
	}
	while (next_field(&reader, &field))
		if (field.number == path[0])
			print_at(field.bytes, path + 1, depth, out);
}

static void assert_at(const struct bytes *trace, const uint64_t *path, unsigned int depth,
		      const char *expected)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);

	print_at(bytes_view_of(trace), path, depth, &out);
	assert_ok(bytes_append_byte(&out, 0));
	assert_string_equal((const char *)out.data, expected);
}

#define PATH(...) ((const uint64_t[]){ 1, __VA_ARGS__, 0 })

/* Prints "slot after T0: stack sample" for each packet with a sample. */
static void assert_samples(const struct bytes *trace, const char *expected)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
	struct bytes_reader packets = bytes_reader_of(bytes_view_of(trace));
	struct field packet, field;

	while (next_field(&packets, &packet)) {
		struct bytes_reader reader = bytes_reader_of(packet.bytes);
		struct bytes_view sample = {};
		uint64_t wall_ns = 0;

		while (next_field(&reader, &field)) {
			wall_ns = field.number == TIMESTAMP ? field.value : wall_ns;
			sample = field.number == SAMPLE ? field.bytes : sample;
		}
		if (sample.size == 0)
			continue;
		assert_int_equal(wall_ns % SLOT_NS, 0);
		assert_ok(bytes_append_format(&out, "%llu ",
					      (unsigned long long)(wall_ns / SLOT_NS - T0)));
		print_at(sample, (const uint64_t[]){ 0 }, 0, &out);
	}
	assert_ok(bytes_append_byte(&out, 0));
	assert_string_equal((const char *)out.data, expected);
}

static void samples_have_a_thread_a_stack_and_the_value_as_weight(void **state)
{
	scoped(bytes_release) struct bytes trace = BYTES_INIT(MIB);

	assert_ok(export_profile(*state, "perfetto", &trace));
	assert_samples(&trace, "0 2:1 6:1 11:50 \n"
			       "0 2:2 6:2 11:60 \n"
			       "0 2:1 6:3 11:20 \n"
			       "0 2:2 6:4 11:50 \n");
	/* Outermost first. */
	assert_at(&trace, PATH(INTERNED, 7), 0,
		  "1:1 2:1 2:2 2:3 \n1:2 2:1 2:2 2:4 2:5 2:6 \n1:3 2:7 2:8 2:9 \n1:4 2:1 2:10 \n");
	assert_at(&trace, PATH(INTERNED, 5), 0,
		  "1:1 2=_start \n1:2 2=main \n1:3 2=work \n1:4 2=lib_entry \n"
		  "1:5 2=do_syscall_64 \n1:6 2=vfs_read \n1:7 2=" CLEANED_NAME " \n");
}

static void frames_have_the_mapping_and_the_kind_of_their_code(void **state)
{
	scoped(bytes_release) struct bytes trace = BYTES_INIT(MIB);

	assert_ok(export_profile(*state, "perfetto", &trace));
	assert_at(&trace, PATH(INTERNED, 6), 0,
		  "1:1 2:1 3:1 4:4112 7:1 \n1:2 2:2 3:1 4:4368 7:1 \n1:3 2:3 3:1 4:4624 7:1 \n"
		  "1:4 2:4 3:2 4:8208 7:1 \n1:5 2:5 3:3 4:272 7:2 \n1:6 2:6 3:3 4:528 7:2 \n"
		  "1:7 2:1 3:1 4:4128 7:1 \n1:8 2:2 3:1 4:4384 7:1 \n1:9 2:3 3:1 4:4640 7:1 \n"
		  "1:10 2:7 7:2 \n");
	assert_at(&trace, PATH(INTERNED, 17), 0,
		  "1:1 2=/usr/bin/app \n1:2 2=/lib/libx.so \n1:3 2=[kernel.kallsyms] \n");
	assert_at(&trace, PATH(INTERNED, 16), 0, "1:1 2=app1 \n1:2 2=libx \n1:3 2=kern \n");
	assert_at(&trace, PATH(INTERNED, 19), 0, "1:1 2:1 7:1 \n1:2 2:2 7:2 \n1:3 2:3 7:3 \n");
}

/* Perfetto finds the file offset of an address with it. The segment of app is at the file offset
 * 0x200 and the ELF address 0x1200. */
static void a_mapping_has_the_load_bias_of_its_code(void **state)
{
	static const struct stack_text stack = { 1, 0, "native:app:0x1210" };
	static const struct fake_row rows[] = { { 1, 1, T0, 5 } };
	scoped(bytes_release) struct bytes trace = BYTES_INIT(MIB);
	struct fixture *fixture = *state;

	set_stacks(fixture, &stack, 1);
	FAKE_SET(fixture, rows, rows);
	assert_ok(export_profile(fixture, "perfetto", &trace));
	assert_at(&trace, PATH(INTERNED, 19), 0, "1:1 2:1 6:4096 7:1 \n");
}

static void the_head_has_the_clocks_and_the_unit(void **state)
{
	scoped(bytes_release) struct bytes trace = BYTES_INIT(MIB);

	assert_ok(export_profile(*state, "perfetto", &trace));
	assert_at(&trace, PATH(CLOCKS), 1,
		  "1{ 1:1 2:1708485120000000000 } 1{ 1:6 2:1708485120000000000 } \n");
	assert_at(&trace, PATH(DEFAULTS, 100), 0, "1=hearth 2=\x12\x06on-cpu\x18\x01 \n");
}

static void threads_belong_to_the_process_of_the_service(void **state)
{
	scoped(bytes_release) struct bytes trace = BYTES_INIT(MIB);

	assert_ok(export_profile(*state, "perfetto", &trace));
	assert_at(&trace, PATH(PROCESS_TREE, 1), 0, "1:1 3=app 3= \n");
	assert_at(&trace, PATH(PROCESS_TREE, 2), 0, "1:1 2=app 3:1 \n1:2 2=worker 3:1 \n");
	assert_at(&trace, PATH(INTERNED, 48), 0, "1:1 2:1 3:1 \n1:2 2:1 3:2 \n");
}

static void groups_are_processes(void **state)
{
	scoped(bytes_release) struct bytes trace = BYTES_INIT(MIB);
	struct fixture *fixture = *state;

	fixture->request.group_by = "host";
	assert_ok(export_profile(fixture, "perfetto", &trace));
	assert_at(&trace, PATH(PROCESS_TREE, 1), 0, "1:1 3=app host=alpha 3= \n");
}

/* The range of a minute has 60 blocks of a second. */
static void a_stack_has_a_sample_in_each_block_of_time(void **state)
{
	static const struct fake_row rows[] = { { 1, 1, T0, 5 },
						{ 1, 1, T0 + 2 * SECOND + 99, 3 },
						{ 1, 1, T0 + 2 * SECOND, 1 },
						{ 1, 1, T0 + 3 * SECOND, 2 } };
	scoped(bytes_release) struct bytes trace = BYTES_INIT(MIB);
	struct fixture *fixture = *state;

	FAKE_SET(fixture, rows, rows);
	assert_ok(export_profile(fixture, "perfetto", &trace));
	assert_samples(&trace, "0 2:1 6:1 11:50 \n200 2:1 6:1 11:40 \n300 2:1 6:1 11:20 \n");
}

static void stacks_of_whole_hosts_are_processes_and_threads(void **state)
{
	scoped(bytes_release) struct bytes trace = BYTES_INIT(MIB);
	struct fixture *fixture = *state;

	fixture->request.service = "Total";
	assert_ok(export_profile(fixture, "perfetto", &trace));
	assert_samples(&trace, "0 2:1 6:1 11:70 \n0 2:2 6:2 11:110 \n");
	assert_at(&trace, PATH(PROCESS_TREE, 1), 0, "1:1 3=app 3= \n");
	assert_at(&trace, PATH(PROCESS_TREE, 2), 0, "1:1 2=app 3:1 \n1:2 2=worker 3:1 \n");
	assert_at(&trace, PATH(INTERNED, 5), 0, "1:1 2=[p] app \n1:2 2=[t] worker \n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXPORT_TEST(samples_have_a_thread_a_stack_and_the_value_as_weight),
		EXPORT_TEST(frames_have_the_mapping_and_the_kind_of_their_code),
		EXPORT_TEST(a_mapping_has_the_load_bias_of_its_code),
		EXPORT_TEST(the_head_has_the_clocks_and_the_unit),
		EXPORT_TEST(threads_belong_to_the_process_of_the_service),
		EXPORT_TEST(groups_are_processes),
		EXPORT_TEST(a_stack_has_a_sample_in_each_block_of_time),
		EXPORT_TEST(stacks_of_whole_hosts_are_processes_and_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
