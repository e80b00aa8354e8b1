/* SPDX-License-Identifier: Apache-2.0 */
/* Uses real helpers, which read code objects that the test has made in its own memory. */
#include "agent/interpreter/code_reader.h"

#include <poll.h>
#include <sys/wait.h>

#include "agent/interpreter/python/python_layout.h"
#include "agent/interpreter/v8/v8_layout.h"
#include "common/clock.h"
#include "tests/support/unit.h"

#define VERSION 0x030b

static struct nursery *nursery;

/* A str of ASCII, or bytes, with the content behind the head. */
struct text_object {
	uint8_t bytes[48 + 64];
};

struct code {
	uint8_t bytes[192];
	struct text_object name, file;
	uint8_t line_table[32 + 1024];
};

static void put_word(uint8_t *bytes, size_t offset, uint64_t value)
{
	memcpy(bytes + offset, &value, sizeof(value));
}

static void make_text(struct text_object *object, const char *text)
{
	const struct python_code_layout *layout = &python_layout_of(VERSION)->code;
	const uint32_t state = 1 << 2 | 1 << 5 | 1 << 6; /* one byte a character, compact, ASCII */

	put_word(object->bytes, layout->text_length, strlen(text));
	memcpy(object->bytes + layout->text_state, &state, sizeof(state));
	memcpy(object->bytes + layout->text_ascii, text, strlen(text));
}

static void make_code(struct code *code, const char *name, uint32_t first_line)
{
	const struct python_code_layout *layout = &python_layout_of(VERSION)->code;

	*code = (struct code){};
	make_text(&code->name, name);
	make_text(&code->file, "/srv/app.py");
	put_word(code->line_table, layout->bytes_data - 16, sizeof(code->line_table) - 32);
	put_word(code->bytes, layout->code_name, (uintptr_t)&code->name);
	put_word(code->bytes, layout->code_qualified_name, (uintptr_t)&code->name);
	put_word(code->bytes, layout->code_file, (uintptr_t)&code->file);
	put_word(code->bytes, layout->code_line_table, (uintptr_t)code->line_table);
	memcpy(code->bytes + layout->code_first_line, &first_line, sizeof(first_line));
}

struct fixture {
	struct helper_pool *pool;
	struct code_objects *objects;
	struct code_reader *reader;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct helper_pool_options options = { .nursery = nursery,
						     .width = { [HELPER_TOUCHER] = 2 } };

	assert_non_null(fixture);
	assert_ok(helper_pool_new(&options, &fixture->pool));
	assert_ok(code_objects_new(&fixture->objects));
	assert_ok(code_reader_new(fixture->pool, fixture->objects, &fixture->reader));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	helper_pool_free(fixture->pool);
	code_reader_free(fixture->reader);
	code_objects_free(fixture->objects);
	free(fixture);
	return 0;
}

static struct code_key key_of(const void *code)
{
	return (struct code_key){ .start_time_ns = 1,
				  .address = (uintptr_t)code,
				  .pid = (uint32_t)getpid() };
}

/* Waits until all of @keys[@count] are read in @window. */
static void read_from(struct fixture *fixture, const struct code_source *source,
		      const struct code_key *keys, size_t count, uint64_t window)
{
	struct pollfd polled = { .fd = helper_pool_fd(fixture->pool), .events = POLLIN };
	size_t n_ready = 0;

	while (n_ready < count) {
		uint64_t now_ns = clock_monotonic_ns(&system_clock);

		n_ready = 0;
		for (size_t i = 0; i < count; i++) {
			int r = code_reader_want(fixture->reader, &keys[i], source, window);

			assert_ok(r);
			n_ready += r == 1;
		}
		code_reader_flush(fixture->reader, now_ns);
		helper_pool_run(fixture->pool, now_ns);
		if (n_ready < count)
			(void)poll(&polled, 1, 5);
	}
}

static void read_all(struct fixture *fixture, const struct code_key *keys, size_t count,
		     uint64_t window)
{
	const struct code_source source = { .runtime = INTERPRETER_PYTHON, .version = VERSION };

	read_from(fixture, &source, keys, count, window);
}

static uint32_t number_of(struct fixture *fixture, const struct code_key *key)
{
	uint32_t number = 0;

	return code_reader_get(fixture->reader, key, &number) == 1 ? number : 0;
}

static void an_object_is_read_once_and_checked_in_each_window(void **state)
{
	struct fixture *fixture = *state;
	struct code_reader_stats stats;
	struct code code;
	struct code_key key = key_of(&code);
	const struct code_object *object;
	uint32_t number;

	make_code(&code, "handler", 12);
	assert_int_equal(number_of(fixture, &key), 0);
	read_all(fixture, &key, 1, 1);
	number = number_of(fixture, &key);
	object = code_objects_get(fixture->objects, number);
	assert_non_null(object);
	assert_string_equal(object->content.language, "python");
	assert_string_equal(object->content.function, "handler");
	assert_null(object->content.qualified_name); /* the same */
	assert_string_equal(object->content.file, "/srv/app.py");
	assert_int_equal(object->content.first_line, 12);
	assert_int_equal(object->content.line_table.size, 1024);

	read_all(fixture, &key, 1, 1);
	read_all(fixture, &key, 1, 2);
	code_reader_stats(fixture->reader, &stats);
	assert_int_equal(stats.read, 1);
	assert_int_equal(stats.unchanged, 1);
	assert_int_equal(number_of(fixture, &key), number);
}

static void another_object_at_the_same_address_is_noticed(void **state)
{
	struct fixture *fixture = *state;
	struct code code;
	struct code_key key = key_of(&code);
	uint32_t number;

	make_code(&code, "first", 1);
	read_all(fixture, &key, 1, 1);
	number = number_of(fixture, &key);
	make_code(&code, "second", 2);
	read_all(fixture, &key, 1, 2);
	assert_int_not_equal(number_of(fixture, &key), number);
	assert_string_equal(
		code_objects_get(fixture->objects, number_of(fixture, &key))->content.function,
		"second");
}

static void more_objects_than_a_message_holds_are_read(void **state)
{
	enum { COUNT = 700 };
	struct fixture *fixture = *state;
	struct code *codes = calloc(COUNT, sizeof(*codes));
	struct code_key keys[COUNT];

	assert_non_null(codes);
	for (uint32_t i = 0; i < COUNT; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "f%u", i);
		make_code(&codes[i], name, i + 1);
		keys[i] = key_of(&codes[i]);
	}
	read_all(fixture, keys, COUNT, 1);
	for (uint32_t i = 0; i < COUNT; i++) {
		const struct code_object *object =
			code_objects_get(fixture->objects, number_of(fixture, &keys[i]));

		assert_non_null(object);
		assert_int_equal(object->content.first_line, i + 1);
	}
	free(codes);
}

static void failures_are_counted_by_reason(void **state)
{
	struct fixture *fixture = *state;
	struct code_reader_stats stats;
	struct code code;
	struct code_key keys[] = { key_of(&code), key_of(NULL), key_of(&code) };
	pid_t pid = fork();

	if (pid == 0)
		_exit(EXIT_SUCCESS);
	(void)waitpid(pid, NULL, 0);
	keys[2].pid = (uint32_t)pid;
	code = (struct code){};
	read_all(fixture, keys, ARRAY_SIZE(keys), 1);
	code_reader_stats(fixture->reader, &stats);
	assert_int_equal(stats.read, 0);
	assert_int_equal(stats.failed, 2);
	assert_int_equal(stats.gone, 1);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_int_equal(number_of(fixture, &keys[i]), 0);
}

/* An object of V8: a map with its instance type, and words. */
struct v8_object {
	uint8_t map[16];
	uint64_t words[6];
};

static uint64_t make_v8(struct v8_object *object, uint16_t type)
{
	memcpy(object->map + 12, &type, sizeof(type));
	object->words[0] = (uintptr_t)object->map + 1;
	return (uintptr_t)object->words + 1;
}

static void builtin_functions_of_v8_have_no_object(void **state)
{
	const struct code_source source = { .runtime = INTERPRETER_V8, .version = 11 << 8 | 3 };
	const struct v8_layout *layout = v8_layout_of(source.version);
	struct v8_object shared = {}, name = {}, script = {};
	struct fixture *fixture = *state;
	struct code_reader_stats stats;
	struct code_key key = key_of(NULL);
	uint32_t number = 0;

	key.address = make_v8(&shared, layout->shared_type);
	shared.words[layout->shared_name / 8] = make_v8(&name, 8);
	name.words[1] = UINT64_C(3) << 32;
	memcpy(&name.words[2], "map", 3);
	shared.words[layout->shared_script / 8] = make_v8(&script, 131); /* undefined */
	read_from(fixture, &source, &key, 1, 1);
	assert_int_equal(code_reader_get(fixture->reader, &key, &number), CODE_IS_BUILTIN);
	/* The same address has a function of a script now, without a name of the file. */
	(void)make_v8(&script, layout->script_type);
	read_from(fixture, &source, &key, 1, 2);
	assert_int_equal(code_reader_get(fixture->reader, &key, &number), 1);
	assert_string_equal(code_objects_get(fixture->objects, number)->content.function, "map");
	assert_string_equal(code_objects_get(fixture->objects, number)->content.language,
			    "javascript");
	code_reader_stats(fixture->reader, &stats);
	assert_int_equal(stats.read, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_object_is_read_once_and_checked_in_each_window,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_object_at_the_same_address_is_noticed,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(more_objects_than_a_message_holds_are_read, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(failures_are_counted_by_reason, set_up, tear_down),
		cmocka_unit_test_setup_teardown(builtin_functions_of_v8_have_no_object, set_up,
						tear_down),
	};
	char *arguments[] = { (char[]){ "test" }, NULL };
	int status;

	if (nursery_start(1, arguments, &nursery) < 0)
		return EXIT_FAILURE;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	nursery = nursery_free(nursery);
	return status;
}
