/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/hotspot/hotspot_layout.h"

#include "bpf/abi/jvm.h"
#include "tests/unit/agent/interpreter/hotspot/jvm_image.h"

#define BASE 0x7f0000000000ULL

static int read_layout(struct image *image, struct hotspot_layout *ret_layout,
		       struct abi_jvm *ret_jvm)
{
	const struct hotspot_memory memory = { .read = read_image, .arg = image };

	return hotspot_layout_read(&memory, image->symbols, ret_layout, ret_jvm);
}

static void the_tables_of_jdk_17_give_its_layout(void **state)
{
	scoped_free struct image *image = image_new(RECORDED, BASE, NULL);
	struct hotspot_layout layout;
	struct abi_jvm jvm;

	(void)state;
	assert_int_equal(read_layout(image, &layout, &jvm), 1);
	assert_int_equal(layout.version, 17);
	assert_int_equal(layout.offset[HOTSPOT_METHOD_CONST], 8);
	assert_int_equal(layout.offset[HOTSPOT_NMETHOD_METHOD], 112);
	assert_int_equal(layout.offset[HOTSPOT_POOL_FILE], 54);
	assert_int_equal(layout.offset[HOTSPOT_SYMBOL_BODY], 6);
	assert_int_equal(layout.size[HOTSPOT_SIZE_CONSTANT_POOL], 72);
	assert_int_equal(jvm.heaps[0].low, 0x1000000);
	assert_int_equal(jvm.heaps[1].high, 0x3000000);
	assert_int_equal(jvm.heaps[1].segment_map, 0x9800000);
	assert_int_equal(jvm.heaps[0].segment_shift, 7);
	assert_int_equal(jvm.heaps[2].high, 0);
	assert_int_equal(jvm.interpreter.start, 0x1008b80);
	assert_int_equal(jvm.interpreter.end, 0x1008b80 + 0x18000);
	assert_int_equal(jvm.call_stub_return, 0x1000cc9);
	assert_int_equal(jvm.layout.blob_frame_size, 28);
	assert_int_equal(jvm.layout.const_method_bytes, 48);
}

static void the_tables_of_jdk_21_give_its_layout(void **state)
{
	scoped_free struct image *image = image_new_of(21, RECORDED_21, BASE, NULL);
	struct hotspot_layout layout;
	struct abi_jvm jvm;

	(void)state;
	assert_int_equal(read_layout(image, &layout, &jvm), 1);
	assert_int_equal(layout.version, 21);
	assert_int_equal(layout.offset[HOTSPOT_CONST_FLAGS], 28); /* "_flags._flags" */
	assert_int_equal(layout.offset[HOTSPOT_CONST_NAME], 36);
	assert_int_equal(layout.offset[HOTSPOT_BLOB_NAME], 64);
	assert_int_equal(jvm.heaps[0].low, 0x1000000);
	assert_int_equal(jvm.heaps[1].high, 0x3000000);
	assert_int_equal(jvm.heaps[1].segment_map, 0x9800000);
	assert_int_equal(jvm.heaps[0].segment_shift, 7);
	assert_int_equal(jvm.layout.blob_frame_size, 88);
	assert_int_equal(jvm.layout.blob_frame_complete, 80);
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

static void a_jvm_without_a_field_is_not_supported(void **state)
{
	static const char *const fields[] = { "_segmap", "_constMethod", "_heaps", "_pc_offset" };
	struct hotspot_layout layout;
	struct abi_jvm jvm;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		scoped_free struct image *image = image_new(RECORDED, BASE, fields[i]);

		assert_int_equal(read_layout(image, &layout, &jvm), -ENOTSUP);
	}
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
		cmocka_unit_test(the_tables_of_jdk_17_give_its_layout),
		cmocka_unit_test(the_tables_of_jdk_21_give_its_layout),
		cmocka_unit_test(a_jvm_that_starts_is_asked_again),
		cmocka_unit_test(a_jvm_without_a_field_is_not_supported),
		cmocka_unit_test(tables_without_an_end_are_refused),
		cmocka_unit_test(more_heaps_than_a_jvm_has_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
