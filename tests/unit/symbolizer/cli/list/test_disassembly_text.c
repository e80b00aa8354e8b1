/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/list/disassembly_text.h"

#include "symbolizer/cli/print/scoped_json.h"
#include "tests/support/unit.h"

/* 14 instructions of 2 bytes; the second calls, the third is inlined, the last one is hot. */
static json_t *make_answer(void)
{
	json_t *rows = json_array(), *answer;

	for (int i = 0; i < 14; i++) {
		json_t *row = json_pack("{s:i, s:s, s:s, s:i}", "block", 0, "mnemonic", "nop",
					"operands", "", "place", i == 2 ? 1 : 0);

		(void)json_object_set_new(row, "address", json_sprintf("0x%x", 0x1000 + 2 * i));
		if (i == 1)
			(void)json_object_update_new(
				row, json_pack("{s:s, s:s, s:s, s:i, s:i}", "mnemonic", "call",
					       "operands", "0x2000", "target_function", "next",
					       "self_value", 0, "total_value", 1000000));
		if (i == 2 || i == 13)
			(void)json_object_update_new(row, json_pack("{s:i, s:i}", "self_value",
								    i == 2 ? 1000000 : 3000000,
								    "total_value",
								    i == 2 ? 1000000 : 3000000));
		(void)json_array_append_new(rows, row);
	}
	answer = json_pack("{s:s, s:i, s:i, s:i, s:[{s:s, s:s, s:s, s:s, s:[{s:s, s:s, s:i},"
			   " {s:s, s:s, s:i}], s:o}]}",
			   "function", "[l] work", "self_value", 3000000, "inlined_value", 1000000,
			   "total_value", 5000000, "files", "file", "libx.so", "build_id", "aabb",
			   "machine", "x86-64", "message", "", "places", "function", "work", "file",
			   "/src/a.c", "line", 2, "function", "helper", "file", "/src/a.c", "line",
			   7, "instructions", rows);
	assert_non_null(answer);
	return answer;
}

static struct bytes_view find(void *arg, const char *build_id, const char *file)
{
	assert_string_equal(build_id, "aabb");
	assert_string_equal(file, "/src/a.c");
	return (struct bytes_view){ arg, strlen(arg) };
}

static void expect(struct disassembly_text_options options, const char *source, json_t *answer,
		   const char *expected)
{
	struct bytes out = BYTES_INIT(16 * KIB);

	options.event = EVENT_ON_CPU;
	options.width = 80;
	options.find = find;
	options.find_arg = (void *)(uintptr_t)source;
	assert_ok(disassembly_text_write(answer, &options, &out));
	assert_bytes_equal_text(&out, expected);
	bytes_release(&out);
}

#define HEADING                                                                                    \
	"self 3.00 s, total 5.00 s, self of inlined functions 1.00 s\n"                            \
	"\n"                                                                                       \
	"libx.so, build ID aabb, x86-64\n"                                                         \
	"  self %        self       total  address and instruction\n"

static void instructions_stand_below_their_source_lines(void **state)
{
	scoped(json_decrefp) json_t *answer = make_answer();

	(void)state;
	expect((struct disassembly_text_options){}, "l1\n\tl2\nl3", answer,
	       HEADING "                                  a.c:2      l2\n"
		       "                                  0x1000:  nop\n"
		       "                          1.00 s  0x1002:  call 0x2000  <next>\n"
		       "                                  helper, a.c:7\n"
		       "  25.0 %      1.00 s      1.00 s  0x1004:  nop\n"
		       "                                  a.c:2      l2\n"
		       "                                  0x1006:  nop\n"
		       "                                  0x1008:  nop\n"
		       "                                  0x100a:  nop\n"
		       "                                  0x100c:  nop\n"
		       "                                  ...\n"
		       "                                  a.c:2      l2\n"
		       "                                  0x1012:  nop\n"
		       "                                  0x1014:  nop\n"
		       "                                  0x1016:  nop\n"
		       "                                  0x1018:  nop\n"
		       "  75.0 %      3.00 s      3.00 s  0x101a:  nop\n");
}

static void the_instructions_with_the_largest_values_can_be_chosen(void **state)
{
	scoped(json_decrefp) json_t *answer = make_answer();

	(void)state;
	expect((struct disassembly_text_options){ .rows = 1 }, "", answer,
	       HEADING "                                  ...\n"
		       "                                  a.c:2\n"
		       "                                  0x1012:  nop\n"
		       "                                  0x1014:  nop\n"
		       "                                  0x1016:  nop\n"
		       "                                  0x1018:  nop\n"
		       "  75.0 %      3.00 s      3.00 s  0x101a:  nop\n");
}

static void all_code_can_be_shown(void **state)
{
	scoped(json_decrefp) json_t *answer = make_answer();
	struct bytes out = BYTES_INIT(16 * KIB);
	const struct disassembly_text_options options = { .event = EVENT_ON_CPU,
							  .width = 80,
							  .all = true,
							  .find = find,
							  .find_arg = (void *)"" };

	(void)state;
	assert_ok(disassembly_text_write(answer, &options, &out));
	assert_ok(bytes_append_byte(&out, '\0'));
	assert_null(strstr((const char *)out.data, "..."));
	assert_non_null(strstr((const char *)out.data, "0x100e:  nop\n"));
	bytes_release(&out);
}

static void without_code_the_reason_and_the_addresses_are_printed(void **state)
{
	scoped(json_decrefp) json_t *answer =
		json_pack("{s:s, s:i, s:i, s:[{s:s, s:s, s:s, s:[], s:[{s:s, s:i, s:i}]}]}",
			  "function", "work", "self_value", 5, "total_value", 5, "files", "file",
			  "", "build_id", "", "message", "The server has no file.", "places",
			  "instructions", "address", "0x10", "self_value", 5, "total_value", 5);

	(void)state;
	expect((struct disassembly_text_options){}, "", answer,
	       "self 5 us, total 5 us\n"
	       "\n"
	       "unknown file, build ID \n"
	       "The server has no file.\n"
	       "  self %        self       total  address and instruction\n"
	       " 100.0 %        5 us        5 us  0x10:\n");
}

static void other_answers_are_refused(void **state)
{
	const struct disassembly_text_options options = { .width = 80 };
	struct bytes out = BYTES_INIT(16 * KIB);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		static const char *const texts[] = { "{}", "{\"files\":[{}]}",
						     "{\"files\":[{\"instructions\":[]}]}" };
		scoped(json_decrefp) json_t *answer = json_loads(texts[i], 0, NULL);

		assert_errno(disassembly_text_write(answer, &options, &out), -EBADMSG);
	}
	bytes_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_stand_below_their_source_lines),
		cmocka_unit_test(the_instructions_with_the_largest_values_can_be_chosen),
		cmocka_unit_test(all_code_can_be_shown),
		cmocka_unit_test(without_code_the_reason_and_the_addresses_are_printed),
		cmocka_unit_test(other_answers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
