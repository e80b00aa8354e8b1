/* SPDX-License-Identifier: Apache-2.0 */
#include "common/zstd_frame.h"

#include <zstd.h>

#include "tests/support/unit.h"

/* Compresses to about a third: neither constant nor random. */
static void fill(uint8_t *data, size_t size)
{
	uint32_t random = 1;

	for (size_t i = 0; i < size; i++) {
		random = random * 1664525 + 1013904223;
		data[i] = random >> 30 ? "profile"[i % 7] : (uint8_t)(random >> 16);
	}
}

static struct bytes_view view_of(const void *data, size_t size)
{
	return (struct bytes_view){ .data = data, .size = size };
}

static void compressed_content_is_decompressed_unchanged(void **state)
{
	static const size_t sizes[] = { 0, 1, 100, 65536, 131072, 131073, 3000000 };
	static uint8_t content[3000000];

	(void)state;
	fill(content, sizeof(content));
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		scoped(bytes_release) struct bytes packed = BYTES_INIT(4 * MIB);
		scoped(bytes_release) struct bytes out = BYTES_INIT(sizes[i]);

		assert_ok(zstd_compress(view_of(content, sizes[i]), 3, &packed));
		assert_ok(zstd_decompress(bytes_view_of(&packed), &out));
		assert_int_equal(out.size, sizes[i]);
		if (sizes[i] > 0)
			assert_memory_equal(out.data, content, sizes[i]);
	}
}

/* Compresses like a sender that does not know the size in advance. */
static size_t compress_without_size(const void *data, size_t size, void *out, size_t capacity)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	ZSTD_outBuffer out_buffer = { out, capacity, 0 };
	ZSTD_inBuffer first = { data, size / 2, 0 }, all = { data, size, size / 2 };

	while (first.pos < first.size)
		ZSTD_compressStream2(context, &out_buffer, &first, ZSTD_e_continue);
	while (ZSTD_compressStream2(context, &out_buffer, &all, ZSTD_e_end) > 0)
		;
	ZSTD_freeCCtx(context);
	return out_buffer.pos;
}

static void frames_without_a_content_size_are_decompressed(void **state)
{
	static uint8_t content[1000000], packed[1100000];
	scoped(bytes_release) struct bytes out = BYTES_INIT(sizeof(content));
	scoped(bytes_release) struct bytes too_small = BYTES_INIT(sizeof(content) - 1);
	size_t size;

	(void)state;
	fill(content, sizeof(content));
	size = compress_without_size(content, sizeof(content), packed, sizeof(packed));
	assert_int_equal(ZSTD_getFrameContentSize(packed, size), ZSTD_CONTENTSIZE_UNKNOWN);
	assert_ok(zstd_decompress(view_of(packed, size), &out));
	assert_int_equal(out.size, sizeof(content));
	assert_memory_equal(out.data, content, sizeof(content));
	assert_errno(zstd_decompress(view_of(packed, size), &too_small), -EFBIG);
}

static void several_frames_are_concatenated(void **state)
{
	scoped(bytes_release) struct bytes packed = BYTES_INIT(MIB);
	scoped(bytes_release) struct bytes out = BYTES_INIT(10);

	(void)state;
	assert_ok(zstd_compress(view_of("hello", 5), 3, &packed));
	/* An empty and a skippable frame (RFC 8878 §3.1.2) between them. */
	assert_ok(zstd_compress(view_of("", 0), 3, &packed));
	assert_ok(bytes_append(&packed, "\x50\x2a\x4d\x18\x03\x00\x00\x00xyz", 11));
	assert_ok(zstd_compress(view_of("world", 5), 3, &packed));
	assert_ok(zstd_decompress(bytes_view_of(&packed), &out));
	assert_bytes_equal_text(&out, "helloworld");
}

static void content_is_appended(void **state)
{
	scoped(bytes_release) struct bytes packed = BYTES_INIT(MIB);
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);

	(void)state;
	assert_ok(zstd_compress(view_of("world", 5), 3, &packed));
	assert_ok(bytes_append_text(&out, "hello"));
	assert_ok(zstd_decompress(bytes_view_of(&packed), &out));
	assert_bytes_equal_text(&out, "helloworld");
}

static void a_frame_truncated_anywhere_is_refused(void **state)
{
	static uint8_t content[5000];
	scoped(bytes_release) struct bytes packed = BYTES_INIT(MIB);

	(void)state;
	fill(content, sizeof(content));
	assert_ok(zstd_compress(view_of(content, sizeof(content)), 3, &packed));
	for (size_t size = 0; size < packed.size; size++) {
		/* The output is full at the end. A missing checksum must still be detected. */
		scoped(bytes_release) struct bytes out = BYTES_INIT(sizeof(content));
		/* A separate allocation, so that AddressSanitizer finds reads past the end. */
		scoped_free uint8_t *cut = malloc(size + 1);

		memcpy(cut, packed.data, size);
		assert_errno(zstd_decompress(view_of(cut, size), &out), -EBADMSG);
		assert_int_equal(out.size, 0);
	}
}

static void a_changed_byte_is_detected(void **state)
{
	static uint8_t content[3000];
	scoped(bytes_release) struct bytes packed = BYTES_INIT(MIB);

	(void)state;
	fill(content, sizeof(content));
	assert_ok(zstd_compress(view_of(content, sizeof(content)), 3, &packed));
	for (size_t i = 0; i < packed.size; i++) {
		scoped(bytes_release) struct bytes out = BYTES_INIT(64 * KIB);
		int r;

		packed.data[i] ^= 0x10;
		r = zstd_decompress(bytes_view_of(&packed), &out);
		/* Some bits of the header have no effect. Then the content must be correct. */
		if (r == 0)
			assert_memory_equal(out.data, content, sizeof(content));
		else
			assert_true(r == -EBADMSG || r == -EFBIG);
		packed.data[i] ^= 0x10;
	}
}

static void a_bomb_stops_at_the_ceiling(void **state)
{
	static uint8_t zeros[64 * 1024 * 1024];
	scoped(bytes_release) struct bytes packed = BYTES_INIT(MIB);
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);

	(void)state;
	assert_ok(zstd_compress(view_of(zeros, sizeof(zeros)), 3, &packed));
	assert_true(packed.size < 10000);
	assert_errno(zstd_decompress(bytes_view_of(&packed), &out), -EFBIG);
	assert_int_equal(out.size, 0);
	assert_true(out.capacity <= MIB);
}

static void a_window_beyond_our_limit_is_refused(void **state)
{
	/* No size, window of 2^31 bytes (descriptor 0xa8), an empty last block. */
	static const uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00 };
	scoped(bytes_release) struct bytes out = BYTES_INIT(SIZE_MAX);

	(void)state;
	assert_errno(zstd_decompress(view_of(frame, sizeof(frame)), &out), -EBADMSG);
}

static void other_bytes_than_zstd_are_refused(void **state)
{
	static const char *const cases[] = { "", "x", "hello, world", "\x28\xb5\x2f" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);

		assert_errno(zstd_decompress(view_of(cases[i], strlen(cases[i])), &out), -EBADMSG);
	}
}

static void garbage_after_a_frame_is_refused(void **state)
{
	scoped(bytes_release) struct bytes packed = BYTES_INIT(MIB);
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);

	(void)state;
	assert_ok(zstd_compress(view_of("hello", 5), 3, &packed));
	assert_ok(bytes_append_text(&packed, "garbage"));
	assert_errno(zstd_decompress(bytes_view_of(&packed), &out), -EBADMSG);
	assert_int_equal(out.size, 0);
}

static void compression_respects_the_ceiling(void **state)
{
	static uint8_t content[100000];
	scoped(bytes_release) struct bytes small = BYTES_INIT(1000);
	scoped(bytes_release) struct bytes zeros = BYTES_INIT(1000);

	(void)state;
	/* A ceiling below zstd's bound is no error if the result fits. */
	assert_ok(zstd_compress(view_of(content, sizeof(content)), 3, &zeros));
	fill(content, sizeof(content));
	assert_errno(zstd_compress(view_of(content, sizeof(content)), 3, &small), -EFBIG);
	assert_errno(bytes_error(&small), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compressed_content_is_decompressed_unchanged),
		cmocka_unit_test(frames_without_a_content_size_are_decompressed),
		cmocka_unit_test(several_frames_are_concatenated),
		cmocka_unit_test(content_is_appended),
		cmocka_unit_test(a_frame_truncated_anywhere_is_refused),
		cmocka_unit_test(a_changed_byte_is_detected),
		cmocka_unit_test(a_bomb_stops_at_the_ceiling),
		cmocka_unit_test(a_window_beyond_our_limit_is_refused),
		cmocka_unit_test(other_bytes_than_zstd_are_refused),
		cmocka_unit_test(garbage_after_a_frame_is_refused),
		cmocka_unit_test(compression_respects_the_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
