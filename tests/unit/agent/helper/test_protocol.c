/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/protocol.h"

#include <limits.h>

#include "tests/support/unit.h"

static struct helper_message *new_message(enum finder_operation operation)
{
	struct helper_message *message = calloc(1, sizeof(*message));
	const struct finder_request request = { .operation = operation };

	assert_non_null(message);
	memcpy(message->bytes, &request, sizeof(request));
	message->size = sizeof(request);
	return message;
}

static void items_are_read_as_they_were_added(void **state)
{
	scoped_free struct helper_message *message = new_message(FINDER_LOOK);
	struct finder_item item;
	const char *path;
	size_t offset = 0;

	(void)state;
	assert_true(finder_request_add(message, &(struct finder_item){ .pid = 1, .start = 0x1000 },
				       "/a"));
	assert_true(finder_request_add(message, &(struct finder_item){ .pid = 2, .start = 0x2000 },
				       "/bc/def"));
	assert_true(finder_request_next(message, &offset, &item, &path));
	assert_int_equal(item.pid, 1);
	assert_string_equal(path, "/a");
	assert_true(finder_request_next(message, &offset, &item, &path));
	assert_int_equal(item.start, 0x2000);
	assert_string_equal(path, "/bc/def");
	assert_false(finder_request_next(message, &offset, &item, &path));
}

static void sixteen_items_with_the_longest_paths_fit(void **state)
{
	scoped_free struct helper_message *message = new_message(FINDER_LOOK);
	char path[PATH_MAX];

	(void)state;
	memset(path, 'x', sizeof(path));
	path[PATH_MAX - 1] = '\0';
	for (int i = 0; i < FINDER_MAX_ITEMS; i++)
		assert_true(finder_request_add(message, &(struct finder_item){}, path));
	assert_false(finder_request_add(message, &(struct finder_item){}, "/a"));
}

static void a_truncated_item_is_not_read(void **state)
{
	scoped_free struct helper_message *message = new_message(FINDER_LOOK);
	size_t whole;

	(void)state;
	assert_true(finder_request_add(message, &(struct finder_item){}, "/some/path"));
	whole = message->size;
	for (message->size = 0; message->size < whole - 6; message->size++) {
		struct finder_item item;
		const char *path;
		size_t offset = 0;

		assert_false(finder_request_next(message, &offset, &item, &path));
	}
}

static void put_answer(struct helper_message *message, const struct parser_identity *answer)
{
	memcpy(message->bytes, answer, sizeof(*answer));
	message->size = sizeof(*answer);
}

static struct parser_identity valid_answer(void)
{
	struct parser_identity answer = { .header.result = 1, .n_segments = 1 };

	assert_ok(executable_id_set(&answer.id, EXECUTABLE_ID_GNU, "0123456789", 10));
	answer.segments[0] =
		(struct load_segment){ .vaddr = 0x1000, .file_size = 0x500, .flags = 5 };
	return answer;
}

static void a_valid_answer_is_decoded(void **state)
{
	scoped_free struct helper_message *message = new_message(FINDER_LOOK);
	struct parser_identity answer = valid_answer();
	struct file_identity identity = {};

	(void)state;
	put_answer(message, &answer);
	assert_int_equal(parser_identity_decode(message, &identity), 1);
	assert_true(executable_id_equal(&identity.id, &answer.id));
	assert_int_equal(identity.n_segments, 1);
	assert_int_equal(identity.segments[0].vaddr, 0x1000);
	file_identity_release(&identity);
}

/* A parser under the control of a hostile file may send any answer. */
static void a_malformed_answer_is_refused(void **state)
{
	scoped_free struct helper_message *message = new_message(FINDER_LOOK);
	struct parser_identity answers[7];
	struct file_identity identity = {};
	struct executable_id id;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		answers[i] = valid_answer();
	answers[0].header.result = 0;
	answers[1].n_segments = MAX_LOAD_SEGMENTS + 1;
	answers[2].id.kind = 99;
	answers[3].id.size = 200;
	answers[4].id.bytes[50] = 1; /* beyond its size: a different hash key, the same identity */
	answers[5].segments[0].file_size = UINT64_MAX;
	answers[6].id.size = 2;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		put_answer(message, &answers[i]);
		assert_int_equal(parser_identity_decode(message, &identity), 0);
		assert_null(identity.segments);
	}
	put_answer(message, &answers[2]);
	assert_int_equal(parser_text_decode(message, &id), 0);
	assert_int_equal(id.kind, EXECUTABLE_ID_NONE);
	answers[0] = valid_answer();
	put_answer(message, &answers[0]);
	message->size--;
	assert_int_equal(parser_identity_decode(message, &identity), 0);
}

static void results_of_sources_and_tables_are_checked(void **state)
{
	scoped_free struct helper_message *message = calloc(1, sizeof(*message));
	struct parser_source source = { .header.result = 1, .key_result = 1 };
	struct parser_table table = { .header.result = -ENOSPC, .cpu_ns = 7 };
	uint64_t cpu_ns = 0;

	(void)state;
	assert_non_null(message);
	memcpy(message->bytes, &source, sizeof(source));
	message->size = sizeof(source);
	assert_int_equal(parser_source_decode(message, &source), 1);
	assert_int_equal(parser_table_decode(message, &cpu_ns), -EBADMSG);
	source.key_result = 2;
	memcpy(message->bytes, &source, sizeof(source));
	assert_int_equal(parser_source_decode(message, &source), 0);
	memcpy(message->bytes, &table, sizeof(table));
	message->size = sizeof(table);
	assert_int_equal(parser_table_decode(message, &cpu_ns), -ENOSPC);
	assert_int_equal(cpu_ns, 7);
	table.header.result = 2;
	memcpy(message->bytes, &table, sizeof(table));
	assert_int_equal(parser_table_decode(message, &cpu_ns), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_read_as_they_were_added),
		cmocka_unit_test(sixteen_items_with_the_longest_paths_fit),
		cmocka_unit_test(a_truncated_item_is_not_read),
		cmocka_unit_test(a_valid_answer_is_decoded),
		cmocka_unit_test(a_malformed_answer_is_refused),
		cmocka_unit_test(results_of_sources_and_tables_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
