/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/gunzip.h"

#include <zlib.h>

#include "tests/unit/symbolizer/import/imported.h"

/* Appends a member that holds @size zeros. */
static void append_member(struct bytes *out, size_t size)
{
	scoped_free uint8_t *zeros = calloc(1, size + 1);
	z_stream stream = {};

	assert_non_null(zeros);
	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
			 Z_OK);
	assert_ok(bytes_reserve(out, deflateBound(&stream, size)));
	stream.next_in = zeros;
	stream.avail_in = (uInt)size;
	stream.next_out = out->data + out->size;
	stream.avail_out = (uInt)(out->capacity - out->size);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	out->size += stream.total_out;
	assert_int_equal(deflateEnd(&stream), Z_OK);
}

static void all_members_are_expanded(void **state)
{
	scoped(bytes_release) struct bytes file = BYTES_INIT(MIB), out = BYTES_INIT(MIB);

	(void)state;
	append_member(&file, 200000);
	append_member(&file, 5);
	assert_ok(gunzip(bytes_view_of(&file), &out));
	assert_int_equal(out.size, 200005);
}

static void a_cut_or_damaged_file_is_refused(void **state)
{
	scoped(bytes_release) struct bytes file = BYTES_INIT(MIB);

	(void)state;
	append_member(&file, 100000);
	for (size_t size = 0; size < file.size; size++) {
		scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);

		assert_errno(gunzip((struct bytes_view){ file.data, size }, &out), -EBADMSG);
	}
	file.data[file.size - 6] ^= 1; /* of the checksum */
	{
		scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);

		assert_errno(gunzip(bytes_view_of(&file), &out), -EBADMSG);
	}
}

static void content_beyond_the_ceiling_is_refused(void **state)
{
	scoped(bytes_release) struct bytes file = BYTES_INIT(128 * MIB), out = BYTES_INIT(MIB);

	(void)state;
	append_member(&file, 64 * MIB);
	assert_true(file.size < 100000);
	assert_errno(gunzip(bytes_view_of(&file), &out), -EFBIG);
	assert_true(out.capacity <= MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_members_are_expanded),
		cmocka_unit_test(a_cut_or_damaged_file_is_refused),
		cmocka_unit_test(content_beyond_the_ceiling_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
