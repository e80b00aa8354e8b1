/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/agent/interpreter/v8/v8_image.h"

/* Instance types: representation, and the bit of one-byte characters. */
#define CONS_STRING     (0x08 | 1)
#define EXTERNAL_STRING (0x08 | 2)
#define UNCACHED_STRING (0x08 | 0x10 | 2)
#define SLICED_STRING   (0x08 | 3)
#define THIN_STRING     (0x08 | 5)
#define OTHER_OBJECT    0x83

static void expect_text(struct v8_image *image, uint64_t pointer, size_t max_bytes,
			const char *expected)
{
	const struct v8_memory memory = { .read = read_image, .arg = image };
	uint8_t text[64];
	uint32_t size = 0;

	assert_int_equal(v8_string_read(&memory, pointer, max_bytes, text, &size), 0);
	assert_int_equal(size, strlen(expected));
	assert_memory_equal(text, expected, size);
}

static void expect_error(struct v8_image *image, uint64_t pointer, int error)
{
	const struct v8_memory memory = { .read = read_image, .arg = image };
	struct v8_string string;

	assert_int_equal(v8_string_find(&memory, pointer, &string), error);
}

static void strings_of_each_representation_are_read(void **state)
{
	struct v8_image image = {};
	const uint64_t text = add_text(&image, "handler");
	const uint64_t empty = add_text(&image, "");
	const uint64_t thin[] = { smi(7), text };
	const uint64_t flat[] = { smi(7), text, empty };
	const uint64_t two[] = { smi(14), text, text };
	const uint64_t sliced[] = { smi(4), text, smi(3) };
	uint64_t external[] = { smi(7), 0, text - 1 + 16 };

	(void)state;
	expect_text(&image, text, 64, "handler");
	expect_text(&image, text, 4, "hand");
	expect_text(&image, empty, 64, "");
	expect_text(&image, add_object(&image, THIN_STRING, thin, 2), 64, "handler");
	expect_text(&image, add_object(&image, CONS_STRING, flat, 3), 64, "handler");
	expect_text(&image, add_object(&image, CONS_STRING, two, 3), 64, "handlerhandler");
	expect_text(&image, add_object(&image, SLICED_STRING, sliced, 3), 64, "dler");
	expect_text(&image, add_object(&image, EXTERNAL_STRING, external, 3), 64, "handler");
}

static void characters_become_utf8(void **state)
{
	/* "h\u00e9\u51fd\U0001d518", a half of a pair, NUL */
	static const uint16_t units[] = { 'h', 0xe9, 0x51fd, 0xd835, 0xdd18, 0xd835, 0 };
	uint64_t fields[3] = { smi(ARRAY_SIZE(units)) };
	struct v8_image image = {};
	uint64_t pointer;

	(void)state;
	memcpy(&fields[1], units, sizeof(units));
	pointer = add_object(&image, TWO_BYTE_SEQUENTIAL, fields, ARRAY_SIZE(fields));
	expect_text(&image, pointer, 64, "h\u00e9\u51fd\U0001d518??");
	/* A character is not cut. */
	expect_text(&image, pointer, 5, "h\u00e9");
	expect_text(&image, add_text(&image, "caf\xe9"), 64, "caf\u00e9");
}

static void other_objects_are_refused(void **state)
{
	struct v8_image image = {};
	const uint64_t text = add_text(&image, "a");
	const uint64_t fields[] = { smi(2), text, text };
	uint64_t self[] = { smi(2), 0 };
	const struct v8_memory memory = { .read = read_image, .arg = &image };
	uint8_t characters[64];
	uint64_t cycle;
	uint32_t size;

	(void)state;
	expect_error(&image, text - 1, -EBADMSG); /* no pointer */
	expect_error(&image, 0x7fff0001, -EFAULT);
	expect_error(&image, add_object(&image, OTHER_OBJECT, fields, 3), -EBADMSG);
	/* The characters of these are in two pieces, or not in the heap. */
	expect_error(&image, add_object(&image, CONS_STRING, fields, 3), -EBADMSG);
	expect_error(&image, add_object(&image, UNCACHED_STRING, fields, 3), -EBADMSG);
	/* A thin string that leads to itself. */
	cycle = add_object(&image, THIN_STRING, self, 2);
	image.words[(cycle - 1 - IMAGE_START) / 8 + 2] = cycle;
	expect_error(&image, cycle, -EBADMSG);
	/* A concatenation of itself with itself: not all of its pieces are read. */
	cycle = add_object(&image, CONS_STRING, fields, 3);
	image.words[(cycle - 1 - IMAGE_START) / 8 + 2] = cycle;
	image.words[(cycle - 1 - IMAGE_START) / 8 + 3] = cycle;
	assert_int_equal(v8_string_read(&memory, cycle, sizeof(characters), characters, &size),
			 -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_of_each_representation_are_read),
		cmocka_unit_test(characters_become_utf8),
		cmocka_unit_test(other_objects_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
