/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/import/imported.h"

#include "proto/push.pb-c.h"

/* A request with the same profile for two services. */
static void pack_push(struct bytes_view profile, struct bytes *out)
{
	static char names[][16] = { "__name__", "service_name", "process_cpu", "cart", "billing" };
	Push__PushLabel labels[4] = { PUSH__PUSH_LABEL__INIT, PUSH__PUSH_LABEL__INIT,
				      PUSH__PUSH_LABEL__INIT, PUSH__PUSH_LABEL__INIT };
	Push__PushLabel *label_list[4];
	Push__PushSample sample = PUSH__PUSH_SAMPLE__INIT, *samples[] = { &sample };
	Push__PushSeries series[2] = { PUSH__PUSH_SERIES__INIT, PUSH__PUSH_SERIES__INIT };
	Push__PushSeries *series_list[2] = { &series[0], &series[1] };
	Push__PushRequest request = PUSH__PUSH_REQUEST__INIT;

	for (size_t i = 0; i < 4; i++) {
		labels[i].name = names[i % 2];
		labels[i].value = i % 2 ? names[3 + i / 2] : names[2];
		label_list[i] = &labels[i];
	}
	sample.raw_profile =
		(ProtobufCBinaryData){ .data = (uint8_t *)profile.data, .len = profile.size };
	for (size_t i = 0; i < 2; i++) {
		series[i].n_labels = 2;
		series[i].labels = &label_list[2 * i];
		series[i].n_samples = 1;
		series[i].samples = samples;
	}
	request.n_series = 2;
	request.series = series_list;
	*out = BYTES_INIT(MIB);
	assert_ok(bytes_reserve(out, push__push_request__get_packed_size(&request)));
	out->size = push__push_request__pack(&request, out->data);
}

static int read_push(struct bytes_view body, struct imported *imported)
{
	const struct import_request request = { .now_ns = TEST_NOW_NS };

	return import_push(&request, body, &imported->result);
}

static void each_series_is_a_profile_of_its_service(void **state)
{
	scoped(bytes_release) struct bytes profile = {}, body = {};
	scoped(imported_release) struct imported imported = {};

	(void)state;
	read_corpus("import_pprof/go-cpu.pb.gz", &profile);
	pack_push(bytes_view_of(&profile), &body);
	assert_ok(read_push(bytes_view_of(&body), &imported));
	decode_imported(&imported);
	assert_int_equal(imported.result.batches.count, 2);
	assert_string_equal(imported.batches[0].processes[0].name, "cart");
	assert_string_equal(imported.batches[1].processes[0].name, "billing");
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(sum_of(&imported.batches[i], "on-cpu"), 90000000);
	assert_true(imported.batches[0].epoch != imported.batches[1].epoch);
}

static void a_wrong_profile_refuses_the_whole_request(void **state)
{
	scoped(bytes_release) struct bytes body = {};
	scoped(imported_release) struct imported imported = {}, cut = {};

	(void)state;
	pack_push(text_view("\x0a\xff\xff\xff\xff\x0f"), &body);
	assert_errno(read_push(bytes_view_of(&body), &imported), -EBADMSG);
	assert_int_equal(imported.result.batches.count, 0);
	assert_errno(read_push((struct bytes_view){ body.data, body.size - 1 }, &cut), -EBADMSG);
	assert_non_null(strstr(cut.result.reason, "push.v1.PushRequest"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_series_is_a_profile_of_its_service),
		cmocka_unit_test(a_wrong_profile_refuses_the_whole_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
