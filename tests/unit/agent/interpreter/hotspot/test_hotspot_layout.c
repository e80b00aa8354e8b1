/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/hotspot/hotspot_layout.h"

#include "bpf/abi/jvm.h"
#include "tests/unit/agent/interpreter/hotspot/jvm_image.h"

#define BASE     0x7f0000000000ULL
#define RECORDED RECORDED_FOLDER "/jdk17.txt"

static int read_layout(struct image *image, struct hotspot_layout *ret_layout,
		       struct abi_jvm *ret_jvm)
{
	const struct hotspot_memory memory = { .read = read_image, .arg = image };

	return hotspot_layout_read(&memory, image->symbols, ret_layout, ret_jvm);
}

/* What the tables of each version describe, by the recorded tables. */
struct version {
	const char *path;
	uint32_t vm_major; /* JDK 8 has the version of HotSpot */
	uint16_t excludes_zero;
	uint16_t flags, name, pool_file, class_file, symbol_body; /* offsets of fields */
	struct hotspot_place code, deopt, methods, scopes, pcs_end;
	uint16_t frame_size, frame_complete;
	uint16_t places_are_relative, byte_code_below_fp;
	size_t n_heaps;
};

#define NONE      HOTSPOT_BASE_NONE
#define BLOB      HOTSPOT_BASE_BLOB
#define IMMUTABLE HOTSPOT_BASE_IMMUTABLE
#define MUTABLE   HOTSPOT_BASE_MUTABLE

static const struct version versions[] = {
	{ RECORDED_FOLDER "/jdk8.txt",
	  25,
	  0,
	  28,
	  34,
	  0,
	  258,
	  8,
	  { BLOB, 32 },
	  { BLOB, 148 },
	  { BLOB, 172 },
	  { BLOB, 176 },
	  { BLOB, 184 },
	  44,
	  36,
	  1,
	  56,
	  1 },
	{ RECORDED_FOLDER "/jdk11.txt",
	  11,
	  0,
	  36,
	  42,
	  0,
	  298,
	  6,
	  { NONE, 32 },
	  { NONE, 128 },
	  { BLOB, 292 },
	  { NONE, 120 },
	  { BLOB, 304 },
	  28,
	  20,
	  0,
	  64,
	  2 },
	{ RECORDED,
	  17,
	  0,
	  28,
	  34,
	  54,
	  0,
	  6,
	  { NONE, 32 },
	  { NONE, 128 },
	  { BLOB, 260 },
	  { NONE, 120 },
	  { BLOB, 272 },
	  28,
	  20,
	  0,
	  64,
	  2 },
	{ RECORDED_FOLDER "/jdk21.txt",
	  21,
	  1,
	  28,
	  36,
	  54,
	  0,
	  6,
	  { NONE, 8 },
	  { NONE, 128 },
	  { BLOB, 268 },
	  { NONE, 120 },
	  { BLOB, 280 },
	  88,
	  80,
	  0,
	  64,
	  2 },
	{ RECORDED_FOLDER "/jdk25.txt",
	  25,
	  1,
	  28,
	  36,
	  62,
	  0,
	  6,
	  { BLOB, 36 },
	  { BLOB, 176 },
	  { MUTABLE, 28 },
	  { IMMUTABLE, 200 },
	  { IMMUTABLE, 200 },
	  44,
	  54,
	  1,
	  64,
	  2 },
};

static void expect_place(const struct hotspot_layout *layout, enum hotspot_place_id id,
			 const struct hotspot_place *expected)
{
	assert_int_equal(layout->place[id].base, expected->base);
	assert_int_equal(layout->place[id].offset, expected->offset);
}

static void expect_layout(const struct hotspot_layout *layout, const struct version *version)
{
	assert_int_equal(layout->excludes_zero, version->excludes_zero);
	assert_int_equal(layout->offset[HOTSPOT_METHOD_CONST], 8);
	assert_int_equal(layout->offset[HOTSPOT_CONST_FLAGS], version->flags);
	assert_int_equal(layout->offset[HOTSPOT_CONST_NAME], version->name);
	assert_int_equal(layout->offset[HOTSPOT_POOL_FILE], version->pool_file);
	assert_int_equal(layout->offset[HOTSPOT_CLASS_FILE], version->class_file);
	assert_int_equal(layout->offset[HOTSPOT_SYMBOL_BODY], version->symbol_body);
	expect_place(layout, HOTSPOT_PLACE_CODE, &version->code);
	expect_place(layout, HOTSPOT_PLACE_DEOPT, &version->deopt);
	expect_place(layout, HOTSPOT_PLACE_METHODS, &version->methods);
	expect_place(layout, HOTSPOT_PLACE_SCOPES, &version->scopes);
	expect_place(layout, HOTSPOT_PLACE_PCS_END, &version->pcs_end);
}

static void expect_walk(const struct abi_jvm *jvm, const struct version *version)
{
	assert_int_equal(jvm->layout.blob_code, version->code.offset);
	assert_int_equal(jvm->layout.nmethod_deopt, version->deopt.offset);
	assert_int_equal(jvm->layout.blob_frame_size, version->frame_size);
	assert_int_equal(jvm->layout.blob_frame_complete, version->frame_complete);
	assert_int_equal(jvm->layout.places_are_relative, version->places_are_relative);
	assert_int_equal(jvm->layout.byte_code_below_fp, version->byte_code_below_fp);
	assert_int_equal(jvm->heaps[0].low, 0x1000000);
	assert_int_equal(jvm->heaps[0].segment_map, 0x9000000);
	assert_int_equal(jvm->heaps[0].segment_shift, 7);
	assert_int_equal(jvm->heaps[1].high, version->n_heaps > 1 ? 0x3000000 : 0);
	assert_int_equal(jvm->heaps[2].high, 0);
	assert_int_equal(jvm->interpreter.start, 0x1008b80);
	assert_int_equal(jvm->interpreter.end, 0x1008b80 + 0x18000);
	assert_int_equal(jvm->call_stub_return, 0x1000cc9);
}

static void the_tables_of_each_version_give_its_layout(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		scoped_free struct image *image =
			image_new_of(versions[i].vm_major, versions[i].path, BASE, NULL);
		struct hotspot_layout layout;
		struct abi_jvm jvm;

		assert_int_equal(read_layout(image, &layout, &jvm), 1);
		expect_layout(&layout, &versions[i]);
		expect_walk(&jvm, &versions[i]);
	}
}

static void a_jvm_that_starts_is_asked_again(void **state)
{
	static const enum hotspot_static late[] = { HOTSPOT_STATIC_HEAPS,
						    HOTSPOT_STATIC_INTERPRETER,
						    HOTSPOT_STATIC_CALL_STUB_RETURN };
	struct hotspot_layout layout;
	struct abi_jvm jvm;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(late); i++) {
		scoped_free struct image *image = image_new(RECORDED, BASE, NULL);

		set_word(image, image->statics[late[i]], 0);
		assert_int_equal(read_layout(image, &layout, &jvm), 0);
	}
}

/* The buffer has an unused part until the interpreter is complete; JDK 8 leaves it there. */
static void a_jvm_that_generates_its_interpreter_is_asked_again(void **state)
{
	static const struct {
		const struct version *version;
		int expected;
	} cases[] = { { &versions[0], 1 }, { &versions[1], 0 }, { &versions[4], 0 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_free struct image *image = image_new_of(cases[i].version->vm_major,
							       cases[i].version->path, BASE, NULL);
		struct hotspot_layout layout;
		const uint32_t used = 0x12000;
		struct abi_jvm jvm;
		uint64_t queue;

		assert_ok(read_image(image, image->statics[HOTSPOT_STATIC_INTERPRETER], &queue,
				     sizeof(queue)));
		memcpy(image->bytes + (queue - BASE) + offset_of(image, "StubQueue", "_queue_end"),
		       &used, sizeof(used));
		assert_int_equal(read_layout(image, &layout, &jvm), cases[i].expected);
	}
}

static void a_jvm_without_a_field_is_not_supported(void **state)
{
	static const struct {
		const struct version *version;
		const char *field;
	} cases[] = {
		{ &versions[2], "_segmap" },
		{ &versions[2], "_constMethod" },
		{ &versions[2], "_heaps" },
		{ &versions[2], "_pc_offset" },
		{ &versions[2], "_metadata_offset" },
		{ &versions[2], "_source_file_name_index" },
		{ &versions[0], "_heap" },
		{ &versions[0], "_source_file_name_index" },
		{ &versions[4], "_mutable_data" },
		{ &versions[4], "_immutable_data" },
		{ &versions[4], "_deopt_handler_offset" },
	};
	struct hotspot_layout layout;
	struct abi_jvm jvm;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_free struct image *image = image_new_of(
			cases[i].version->vm_major, cases[i].version->path, BASE, cases[i].field);

		assert_int_equal(read_layout(image, &layout, &jvm), -ENOTSUP);
	}
}

/* JDK 23 and 24 have methods elsewhere, by a field of 16 bits with the name of that of JDK 22. */
static void a_field_of_another_type_is_another_field(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, BASE, NULL);
	struct hotspot_layout layout;
	struct abi_jvm jvm;
	const uint64_t text = entry_of(image, "nmethod", "_metadata_offset")[2];

	(void)state;
	memcpy(image->bytes + (text - BASE), "u2", sizeof("u2"));
	assert_int_equal(read_layout(image, &layout, &jvm), -ENOTSUP);
}

static void tables_without_an_end_are_refused(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, BASE, NULL);
	struct hotspot_layout layout;
	struct abi_jvm jvm;

	(void)state;
	/* A stride of 0 repeats the first entry. */
	set_word(image, image->symbols[HOTSPOT_SYMBOL_TYPE_STRIDE], 0);
	assert_int_equal(read_layout(image, &layout, &jvm), -EBADMSG);
	set_word(image, image->symbols[HOTSPOT_SYMBOL_TYPE_STRIDE], UINT64_MAX);
	assert_int_equal(read_layout(image, &layout, &jvm), -EBADMSG);
	set_word(image, image->symbols[HOTSPOT_SYMBOL_STRUCTS], BASE + MEMORY_BYTES - 8);
	assert_int_equal(read_layout(image, &layout, &jvm), -EFAULT);
}

static void more_heaps_than_a_jvm_has_are_refused(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, BASE, NULL);
	struct hotspot_layout layout;
	struct abi_jvm jvm;
	uint64_t array;

	(void)state;
	assert_ok(read_image(image, image->statics[HOTSPOT_STATIC_HEAPS], &array, sizeof(array)));
	set_word(image, array, ABI_MAX_CODE_HEAPS + 1);
	assert_int_equal(read_layout(image, &layout, &jvm), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tables_of_each_version_give_its_layout),
		cmocka_unit_test(a_jvm_that_starts_is_asked_again),
		cmocka_unit_test(a_jvm_that_generates_its_interpreter_is_asked_again),
		cmocka_unit_test(a_jvm_without_a_field_is_not_supported),
		cmocka_unit_test(a_field_of_another_type_is_another_field),
		cmocka_unit_test(tables_without_an_end_are_refused),
		cmocka_unit_test(more_heaps_than_a_jvm_has_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
