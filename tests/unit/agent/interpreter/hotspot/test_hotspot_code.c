/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a method and compiled code from memory that has the layout of JDK 17, or of another one. */
#include "agent/interpreter/hotspot/hotspot_code.h"
#include "bpf/abi/jvm.h"

#include "tests/support/unit.h"

#define BASE         0x10000ULL
#define MEMORY_BYTES 8192

/* Where the objects are. */
enum {
	METHOD = 0x10000,
	CONST_METHOD = 0x10100,
	POOL = 0x10200,
	KLASS = 0x10300,
	CLASS_NAME = 0x10400,
	NAME = 0x10480,
	DESCRIPTOR = 0x10500,
	FILE_NAME = 0x10580,
	NMETHOD = 0x10800,
	OTHER_METHOD = 0x10f00,
	BLOB_NAME = 0x11000,
};

static const struct hotspot_layout layout_17 = {
	.offset = {
		[HOTSPOT_BLOB_NAME] = 96, [HOTSPOT_NMETHOD_METHOD] = 112,
		[HOTSPOT_PC_OFFSET] = 0, [HOTSPOT_PC_SCOPE] = 4, [HOTSPOT_METHOD_CONST] = 8,
		[HOTSPOT_CONST_POOL] = 8, [HOTSPOT_CONST_SIZE] = 24, [HOTSPOT_CONST_FLAGS] = 28,
		[HOTSPOT_CONST_CODE_SIZE] = 32, [HOTSPOT_CONST_NAME] = 34,
		[HOTSPOT_CONST_SIGNATURE] = 36, [HOTSPOT_POOL_HOLDER] = 24,
		[HOTSPOT_POOL_FILE] = 54, [HOTSPOT_POOL_LENGTH] = 60, [HOTSPOT_KLASS_NAME] = 24,
		[HOTSPOT_SYMBOL_LENGTH] = 4, [HOTSPOT_SYMBOL_BODY] = 6,
	},
	.size = {
		[HOTSPOT_SIZE_HEAP_BLOCK] = 16, [HOTSPOT_SIZE_CONST_METHOD] = 48,
		[HOTSPOT_SIZE_CONSTANT_POOL] = 72, [HOTSPOT_SIZE_PC_DESC] = 16,
	},
	.place = {
		[HOTSPOT_PLACE_METHODS] = { HOTSPOT_BASE_BLOB, 260 },
		[HOTSPOT_PLACE_SCOPES] = { HOTSPOT_BASE_NONE, 120 },
		[HOTSPOT_PLACE_PCS] = { HOTSPOT_BASE_BLOB, 268 },
		[HOTSPOT_PLACE_PCS_END] = { HOTSPOT_BASE_BLOB, 272 },
	},
};

/* Lines 7 at 0 and 9 at 3. */
static const uint8_t line_table[] = { 0 << 3 | 7, 3 << 3 | 2, 0 };

/*
 * The scopes: at 1 that of the method itself at the index 11; at 4 that of the other method at 2,
 * inlined into it. Numbers are caller, method, index + 1.
 */
static const uint8_t scopes[] = { 0, 0, 1, 12, 1, 2, 3 };

struct memory {
	uint8_t bytes[MEMORY_BYTES];
};

static int read_memory(void *arg, uint64_t address, void *buffer, size_t size)
{
	const struct memory *memory = arg;

	if (address < BASE || address - BASE > MEMORY_BYTES ||
	    size > MEMORY_BYTES - (address - BASE))
		return -EFAULT;
	memcpy(buffer, memory->bytes + (address - BASE), size);
	return 0;
}

static void put(struct memory *memory, uint64_t address, const void *bytes, size_t size)
{
	memcpy(memory->bytes + (address - BASE), bytes, size);
}

static void put_number(struct memory *memory, uint64_t address, uint64_t number, size_t size)
{
	put(memory, address, &number, size);
}

static void put_symbol(struct memory *memory, uint64_t address, const char *text)
{
	put_number(memory, address + 4, strlen(text), 2);
	put(memory, address + 6, text, strlen(text));
}

static void put_method(struct memory *memory)
{
	put_number(memory, METHOD + 8, CONST_METHOD, 8);
	put_number(memory, CONST_METHOD + 8, POOL, 8);
	put_number(memory, CONST_METHOD + 24, 8, 4); /* words */
	put_number(memory, CONST_METHOD + 28, 1, 2); /* it has a line table */
	put_number(memory, CONST_METHOD + 32, 5, 2); /* bytes of code */
	put_number(memory, CONST_METHOD + 34, 1, 2);
	put_number(memory, CONST_METHOD + 36, 2, 2);
	put(memory, CONST_METHOD + 48 + 5, line_table, sizeof(line_table));
	put_number(memory, POOL + 24, KLASS, 8);
	put_number(memory, POOL + 54, 3, 2);
	put_number(memory, POOL + 60, 4, 4);
	put_number(memory, POOL + 72 + 8, NAME, 8);
	put_number(memory, POOL + 72 + 16, DESCRIPTOR, 8);
	put_number(memory, POOL + 72 + 24, FILE_NAME, 8);
	put_number(memory, KLASS + 24, CLASS_NAME, 8);
	put_symbol(memory, CLASS_NAME, "com/example/Shop");
	put_symbol(memory, NAME, "price");
	put_symbol(memory, DESCRIPTOR, "(I)V");
	put_symbol(memory, FILE_NAME, "Shop.java");
}

/*
 * PcDescs at the offsets -1 (a sentinel), 16, 40, and a last one; the scopes, and two methods: at
 * the distances 0x200, 0x300 and 0x400.
 */
static void put_compiled(struct memory *memory)
{
	static const struct {
		int32_t pc;
		uint32_t scope;
	} descs[] = { { -1, 0 }, { 16, 1 }, { 40, 4 }, { INT32_MAX, 0 } };

	put_number(memory, NMETHOD + 96, BLOB_NAME, 8);
	put_number(memory, NMETHOD + 112, METHOD, 8);
	put_number(memory, NMETHOD + 120, NMETHOD + 0x300, 8);
	put_number(memory, NMETHOD + 260, 0x400, 4);
	put_number(memory, NMETHOD + 268, 0x200, 4);
	put_number(memory, NMETHOD + 272, 0x200 + 16 * ARRAY_SIZE(descs), 4);
	for (size_t i = 0; i < ARRAY_SIZE(descs); i++)
		put(memory, NMETHOD + 0x200 + 16 * i, &descs[i], sizeof(descs[i]));
	put(memory, NMETHOD + 0x300, scopes, sizeof(scopes));
	put_number(memory, NMETHOD + 0x400, METHOD, 8);
	put_number(memory, NMETHOD + 0x408, OTHER_METHOD, 8);
	put(memory, BLOB_NAME, "StubRoutines (2)", sizeof("StubRoutines (2)"));
}

static struct memory *memory_new(void)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	assert_non_null(memory);
	put_method(memory);
	put_compiled(memory);
	return memory;
}

static struct hotspot_memory reader_of(struct memory *memory)
{
	return (struct hotspot_memory){ .layout = &layout_17, .read = read_memory, .arg = memory };
}

static void a_method_has_names_file_and_lines(void **state)
{
	static const char texts[] = "pricecom.example.Shop.price(int)com/example/Shop.java";
	static uint8_t content[CODE_CONTENT_BYTES];
	scoped_free struct memory *memory = memory_new();
	const struct hotspot_memory reader = reader_of(memory);
	struct read_code code, again;

	(void)state;
	assert_int_equal(hotspot_code_read(&reader, METHOD, 0, &code, content), 1);
	assert_int_equal(code.function_bytes, strlen("price"));
	assert_int_equal(code.qualified_name_bytes, strlen("com.example.Shop.price(int)"));
	assert_int_equal(code.file_bytes, strlen("com/example/Shop.java"));
	assert_int_equal(code.line_table_bytes, 1 + sizeof(line_table));
	assert_memory_equal(content, texts, sizeof(texts) - 1);
	assert_int_equal(content[sizeof(texts) - 1], 0);
	assert_memory_equal(content + sizeof(texts), line_table, sizeof(line_table));
	assert_int_equal(hotspot_code_read(&reader, METHOD, code.mark, &again, content), 0);
}

static void a_stub_has_its_name(void **state)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	scoped_free struct memory *memory = memory_new();
	const struct hotspot_memory reader = reader_of(memory);
	struct read_code code;

	(void)state;
	assert_int_equal(hotspot_code_read(&reader, NMETHOD | ABI_HOTSPOT_STUB, 0, &code, content),
			 1);
	assert_int_equal(read_code_content_bytes(&code), strlen("StubRoutines"));
	assert_memory_equal(content, "StubRoutines", strlen("StubRoutines"));
}

static void a_method_whose_memory_was_used_again_is_refused(void **state)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	static const struct {
		uint64_t address, number;
		size_t size;
		int expected;
	} cases[] = {
		{ METHOD + 8, 0, 8, -EFAULT },
		{ CONST_METHOD + 8, UINT64_MAX - 7, 8, -EFAULT },
		{ CONST_METHOD + 34, 0, 2, -EBADMSG }, /* no name */
		{ CONST_METHOD + 36, 4, 2, -EBADMSG }, /* beyond the pool */
		{ POOL + 72 + 8, 0, 8, -EFAULT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_free struct memory *memory = memory_new();
		const struct hotspot_memory reader = reader_of(memory);
		struct read_code code;

		put_number(memory, cases[i].address, cases[i].number, cases[i].size);
		assert_int_equal(hotspot_code_read(&reader, METHOD, 0, &code, content),
				 cases[i].expected);
	}
}

static void compiled_code_has_the_methods_inlined_at_each_address(void **state)
{
	static const struct {
		uint32_t pc_offset;
		int n_frames;
		uint64_t innermost;
		uint32_t index, outermost_index;
	} cases[] = {
		/* Up to 16 the method itself, up to 40 the inlined one, then no description. */
		{ 0, 1, METHOD, 11, 11 },       { 16, 1, METHOD, 11, 11 },
		{ 17, 2, OTHER_METHOD, 2, 11 }, { 40, 2, OTHER_METHOD, 2, 11 },
		{ 41, 1, METHOD, 0, 0 },
	};
	scoped_free struct memory *memory = memory_new();
	const struct hotspot_memory reader = reader_of(memory);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct compiled_frame frames[COMPILED_MAX_INLINED];
		int n = hotspot_frames_read(&reader, NMETHOD, cases[i].pc_offset, frames);

		assert_int_equal(n, cases[i].n_frames);
		assert_int_equal(frames[0].function, cases[i].innermost);
		assert_int_equal(frames[0].position, cases[i].index);
		assert_int_equal(frames[n - 1].function, METHOD);
		assert_int_equal(frames[n - 1].position, cases[i].outermost_index);
	}
}

static void expect_inlined(const struct memory *memory, const struct hotspot_layout *layout)
{
	const struct hotspot_memory reader = { .layout = layout,
					       .read = read_memory,
					       .arg = (void *)memory };
	struct compiled_frame frames[COMPILED_MAX_INLINED];

	assert_int_equal(hotspot_frames_read(&reader, NMETHOD, 40, frames), 2);
	assert_int_equal(frames[0].function, OTHER_METHOD);
	assert_int_equal(frames[0].position, 2);
	assert_int_equal(frames[1].function, METHOD);
	assert_int_equal(frames[1].position, 11);
}

/* Since JDK 20 each byte of a number is larger by 1, so that none is 0. */
static const uint8_t scopes_without_zero[] = { 1, 1, 2, 13, 2, 3, 4 };

static void numbers_of_jdk_21_are_read(void **state)
{
	struct hotspot_layout layout = layout_17;
	scoped_free struct memory *memory = memory_new();

	(void)state;
	layout.excludes_zero = 1;
	put(memory, NMETHOD + 0x300, scopes_without_zero, sizeof(scopes_without_zero));
	expect_inlined(memory, &layout);
}

/* JDK 8 has the distances of all parts from the beginning of the code. */
static void compiled_code_of_jdk_8_is_read(void **state)
{
	struct hotspot_layout layout = layout_17;
	scoped_free struct memory *memory = memory_new();

	(void)state;
	layout.place[HOTSPOT_PLACE_SCOPES] = (struct hotspot_place){ HOTSPOT_BASE_BLOB, 264 };
	put_number(memory, NMETHOD + 120, 0, 8);
	put_number(memory, NMETHOD + 264, 0x300, 4);
	expect_inlined(memory, &layout);
}

/*
 * In JDK 25 the descriptions are elsewhere; and the methods, behind relocation entries, whose size
 * need not be a multiple of a word.
 */
static void compiled_code_of_jdk_25_is_read(void **state)
{
	enum { IMMUTABLE = NMETHOD + 0x180, MUTABLE = NMETHOD + 0x3f0, RELOCATION_BYTES = 14 };
	struct hotspot_layout layout = layout_17;
	scoped_free struct memory *memory = memory_new();

	(void)state;
	layout.excludes_zero = 1;
	layout.base[HOTSPOT_BASE_IMMUTABLE] = 96;
	layout.base[HOTSPOT_BASE_MUTABLE] = 16;
	layout.place[HOTSPOT_PLACE_METHODS] = (struct hotspot_place){ HOTSPOT_BASE_MUTABLE, 28 };
	layout.place[HOTSPOT_PLACE_SCOPES] = (struct hotspot_place){ HOTSPOT_BASE_IMMUTABLE, 200 };
	layout.place[HOTSPOT_PLACE_PCS] = (struct hotspot_place){ HOTSPOT_BASE_IMMUTABLE, 196 };
	layout.place[HOTSPOT_PLACE_PCS_END] = (struct hotspot_place){ HOTSPOT_BASE_IMMUTABLE, 200 };
	put_number(memory, NMETHOD + 96, IMMUTABLE, 8);
	put_number(memory, NMETHOD + 16, MUTABLE, 8);
	put_number(memory, NMETHOD + 28, RELOCATION_BYTES, 4);
	put_number(memory, NMETHOD + 196, NMETHOD + 0x200 - IMMUTABLE, 4);
	put_number(memory, NMETHOD + 200, NMETHOD + 0x240 - IMMUTABLE, 4);
	put(memory, NMETHOD + 0x240, scopes_without_zero, sizeof(scopes_without_zero));
	expect_inlined(memory, &layout);
	/* The code that calls a native method has no descriptions. */
	put_number(memory, NMETHOD + 200, NMETHOD + 0x200 - IMMUTABLE, 4);
	{
		const struct hotspot_memory reader = { .layout = &layout,
						       .read = read_memory,
						       .arg = memory };
		struct compiled_frame frames[COMPILED_MAX_INLINED];

		assert_int_equal(hotspot_frames_read(&reader, NMETHOD, 40, frames), 1);
		assert_int_equal(frames[0].function, METHOD);
	}
}

/* JDK 8 and 11 have the index of the name of the file in the class. */
static void the_file_of_a_class_of_jdk_11_is_read(void **state)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	struct hotspot_layout layout = layout_17;
	scoped_free struct memory *memory = memory_new();
	struct hotspot_memory reader = reader_of(memory);
	struct read_code code;
	size_t names;

	(void)state;
	layout.offset[HOTSPOT_POOL_FILE] = 0;
	layout.offset[HOTSPOT_CLASS_FILE] = 58;
	reader.layout = &layout;
	put_number(memory, KLASS + 58, 3, 2);
	assert_int_equal(hotspot_code_read(&reader, METHOD, 0, &code, content), 1);
	names = (size_t)code.function_bytes + code.qualified_name_bytes;
	assert_int_equal(code.file_bytes, strlen("com/example/Shop.java"));
	assert_memory_equal(content + names, "com/example/Shop.java", code.file_bytes);
	/* A class may be compiled without the name of its file. */
	put_number(memory, KLASS + 58, 0, 2);
	assert_int_equal(hotspot_code_read(&reader, METHOD, 0, &code, content), 1);
	assert_int_equal(code.file_bytes, 0);
}

static void scopes_that_call_each_other_in_a_cycle_end(void **state)
{
	/* The scope at 1 names that at 4 as its caller, and the reverse. */
	static const uint8_t cycle[] = { 0, 4, 1, 12, 1, 2, 3 };
	scoped_free struct memory *memory = memory_new();
	const struct hotspot_memory reader = reader_of(memory);
	struct compiled_frame frames[COMPILED_MAX_INLINED];

	(void)state;
	put(memory, NMETHOD + 0x300, cycle, sizeof(cycle));
	assert_int_equal(hotspot_frames_read(&reader, NMETHOD, 40, frames), 1);
	assert_int_equal(frames[0].function, OTHER_METHOD);
	put_number(memory, NMETHOD + 112, 0, 8);
	assert_int_equal(hotspot_frames_read(&reader, NMETHOD, 40, frames), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_method_has_names_file_and_lines),
		cmocka_unit_test(a_stub_has_its_name),
		cmocka_unit_test(a_method_whose_memory_was_used_again_is_refused),
		cmocka_unit_test(compiled_code_has_the_methods_inlined_at_each_address),
		cmocka_unit_test(numbers_of_jdk_21_are_read),
		cmocka_unit_test(compiled_code_of_jdk_8_is_read),
		cmocka_unit_test(compiled_code_of_jdk_25_is_read),
		cmocka_unit_test(the_file_of_a_class_of_jdk_11_is_read),
		cmocka_unit_test(scopes_that_call_each_other_in_a_cycle_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
