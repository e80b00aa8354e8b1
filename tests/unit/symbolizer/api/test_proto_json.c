/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/api/proto_json.h"

#include "common/file.h"
#include "common/limits.h"
#include "proto/otlp.pb-c.h"
#include "proto/push.pb-c.h"
#include "symbolizer/import/import_limits.h"
#include "tests/support/unit.h"

/* The build defines the absolute path. */
#ifndef CORPUS
#define CORPUS "tests/fuzz/corpus/"
#endif

static int pack(const char *json, const ProtobufCMessageDescriptor *descriptor, struct bytes *out,
		char reason[PROTO_JSON_REASON_SIZE])
{
	*out = BYTES_INIT(MIB);
	reason[0] = '\0';
	return proto_json_pack((struct bytes_view){ (const uint8_t *)json, strlen(json) },
			       descriptor, out, reason);
}

static void each_type_of_field_is_converted_from_json(void **state)
{
	static const char json[] =
		"{\"sampleType\":{\"type_strindex\":1,\"unitStrindex\":\"2\"},"
		"\"samples\":[{\"stackIndex\":5,\"values\":[\"-3\",4.0],\"unknown\":{},"
		"\"timestampsUnixNano\":[\"18446744073709551615\",7]},null,{}],"
		"\"timeUnixNano\":\"1795780795000000000\",\"durationNano\":10,\"period\":null}";
	scoped(bytes_release) struct bytes packed = {};
	char reason[PROTO_JSON_REASON_SIZE];
	Otlp__Profile *profile;

	(void)state;
	assert_errno(pack(json, &otlp__profile__descriptor, &packed, reason), -EBADMSG);
	assert_string_equal(reason, "Profile.samples has a wrong type or value");
	bytes_release(&packed);
	assert_ok(pack("{\"sampleType\":{\"type_strindex\":1,\"unitStrindex\":\"2\"},"
		       "\"samples\":[{\"stackIndex\":5,\"values\":[\"-3\",4.0],\"unknown\":{},"
		       "\"timestampsUnixNano\":[\"18446744073709551615\",7]},{}],"
		       "\"timeUnixNano\":\"1795780795000000000\",\"durationNano\":10,"
		       "\"period\":null}",
		       &otlp__profile__descriptor, &packed, reason));
	profile = otlp__profile__unpack(NULL, packed.size, packed.data);
	assert_non_null(profile);
	assert_int_equal(profile->sample_type->type_strindex, 1);
	assert_int_equal(profile->sample_type->unit_strindex, 2);
	assert_int_equal(profile->n_samples, 2);
	assert_int_equal(profile->samples[0]->stack_index, 5);
	assert_int_equal(profile->samples[0]->n_values, 2);
	assert_true(profile->samples[0]->values[0] == -3 && profile->samples[0]->values[1] == 4);
	assert_true(profile->samples[0]->timestamps_unix_nano[0] == UINT64_MAX);
	assert_int_equal(profile->samples[0]->timestamps_unix_nano[1], 7);
	assert_int_equal(profile->time_unix_nano, UINT64_C(1795780795000000000));
	assert_int_equal(profile->duration_nano, 10);
	otlp__profile__free_unpacked(profile, NULL);
}

static void bytes_are_base64_of_either_alphabet(void **state)
{
	static const char *const forms[] = {
		"{\"samples\":[{\"rawProfile\":\"AP8-_w==\"}]}",
		"{\"samples\":[{\"raw_profile\":\"AP8+/w\"}]}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		scoped(bytes_release) struct bytes packed = {};
		char reason[PROTO_JSON_REASON_SIZE];
		Push__PushSeries *series;

		assert_ok(pack(forms[i], &push__push_series__descriptor, &packed, reason));
		series = push__push_series__unpack(NULL, packed.size, packed.data);
		assert_non_null(series);
		assert_int_equal(series->samples[0]->raw_profile.len, 4);
		assert_memory_equal(series->samples[0]->raw_profile.data, "\0\xff\x3e\xff", 4);
		push__push_series__free_unpacked(series, NULL);
	}
}

static void the_reason_names_the_field_with_a_wrong_value(void **state)
{
	static const struct {
		const char *json, *reason;
	} cases[] = {
		{ "", "no JSON object" },
		{ "[]", "no JSON object" },
		{ "{\"dictionary\":{}", "no JSON object" },
		{ "{\"dictionary\":[]}", "Request.dictionary" },
		{ "{\"resourceProfiles\":{}}", "Request.resource_profiles" },
		{ "{\"dictionary\":{\"stringTable\":[1]}}", "Dictionary.string_table" },
		{ "{\"dictionary\":{\"mappingTable\":[{\"memoryStart\":-1}]}}",
		  "Mapping.memory_start" },
		{ "{\"dictionary\":{\"mappingTable\":[{\"memoryStart\":\"x\"}]}}",
		  "Mapping.memory_start" },
		{ "{\"dictionary\":{\"mappingTable\":[{\"filenameStrindex\":2147483648}]}}",
		  "Mapping.filename_strindex" },
		{ "{\"dictionary\":{\"attributeTable\":[{\"value\":{\"boolValue\":1}}]}}",
		  "AnyValue.bool_value" },
		{ "{\"dictionary\":{\"stackTable\":[{\"locationIndices\":[true]}]}}",
		  "Stack.location_indices" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes packed = {};
		char reason[PROTO_JSON_REASON_SIZE];

		assert_errno(pack(cases[i].json, &otlp__request__descriptor, &packed, reason),
			     -EBADMSG);
		if (!strstr(reason, cases[i].reason))
			fail_msg("case %zu: %s", i, reason);
	}
}

static void otlp_field_names_before_1_9_are_accepted(void **state)
{
	scoped(bytes_release) struct bytes before = {}, after = {};
	char reason[PROTO_JSON_REASON_SIZE];

	(void)state;
	assert_ok(pack("{\"sample\":[{\"stackIndex\":1}]}", &otlp__profile__descriptor, &before,
		       reason));
	assert_ok(pack("{\"samples\":[{\"stackIndex\":1}]}", &otlp__profile__descriptor, &after,
		       reason));
	assert_int_equal(before.size, after.size);
	assert_memory_equal(before.data, after.data, after.size);
}

/* The two files of the corpus are the same OTLP request, in JSON and in protobuf. */
static void a_request_in_json_equals_the_request_in_protobuf(void **state)
{
	scoped(bytes_release) struct bytes json = BYTES_INIT(MIB), proto = BYTES_INIT(MIB),
					   packed = BYTES_INIT(MIB);
	char reason[PROTO_JSON_REASON_SIZE];
	Otlp__Request *from_json, *from_proto;
	uint8_t first[8192], second[8192];
	size_t size;

	(void)state;
	assert_ok(file_read(CORPUS "proto_json/otlp-v1.11.json", &json));
	assert_ok(file_read(CORPUS "import_otlp/v1.11.pb", &proto));
	assert_ok(
		proto_json_pack(bytes_view_of(&json), &otlp__request__descriptor, &packed, reason));
	from_json = otlp__request__unpack(NULL, packed.size, packed.data);
	from_proto = otlp__request__unpack(NULL, proto.size, proto.data);
	assert_non_null(from_json);
	assert_non_null(from_proto);
	size = otlp__request__get_packed_size(from_json);
	assert_true(size <= sizeof(first));
	assert_int_equal(size, otlp__request__get_packed_size(from_proto));
	(void)otlp__request__pack(from_json, first);
	(void)otlp__request__pack(from_proto, second);
	assert_memory_equal(first, second, size);
	otlp__request__free_unpacked(from_json, NULL);
	otlp__request__free_unpacked(from_proto, NULL);
}

static void json_beyond_the_maximum_size_is_refused(void **state)
{
	scoped(bytes_release) struct bytes json = BYTES_INIT(16 * MIB), packed = BYTES_INIT(MIB);
	char reason[PROTO_JSON_REASON_SIZE];

	(void)state;
	assert_ok(bytes_reserve(&json, PROTO_JSON_MAX_BYTES + 1));
	json.size = PROTO_JSON_MAX_BYTES + 1;
	memset(json.data, ' ', json.size);
	assert_errno(
		proto_json_pack(bytes_view_of(&json), &otlp__request__descriptor, &packed, reason),
		-EFBIG);
	assert_non_null(strstr(reason, "send protobuf"));
}

static void messages_are_written_as_json_and_as_protobuf(void **state)
{
	scoped(bytes_release) struct bytes json = BYTES_INIT(KIB), packed = BYTES_INIT(KIB);
	Otlp__PartialSuccess partial = OTLP__PARTIAL_SUCCESS__INIT;
	Otlp__Response message = OTLP__RESPONSE__INIT, *unpacked;
	char reason[] = "why";

	(void)state;
	partial.rejected_profiles = 2;
	partial.error_message = reason;
	message.partial_success = &partial;
	assert_ok(proto_write(&message.base, true, &json));
	assert_bytes_equal_text(&json, "{\"partialSuccess\":{\"rejectedProfiles\":\"2\","
				       "\"errorMessage\":\"why\"}}");
	assert_ok(proto_write(&message.base, false, &packed));
	unpacked = otlp__response__unpack(NULL, packed.size, packed.data);
	assert_non_null(unpacked);
	assert_int_equal(unpacked->partial_success->rejected_profiles, 2);
	otlp__response__free_unpacked(unpacked, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_of_field_is_converted_from_json),
		cmocka_unit_test(bytes_are_base64_of_either_alphabet),
		cmocka_unit_test(the_reason_names_the_field_with_a_wrong_value),
		cmocka_unit_test(otlp_field_names_before_1_9_are_accepted),
		cmocka_unit_test(a_request_in_json_equals_the_request_in_protobuf),
		cmocka_unit_test(json_beyond_the_maximum_size_is_refused),
		cmocka_unit_test(messages_are_written_as_json_and_as_protobuf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
