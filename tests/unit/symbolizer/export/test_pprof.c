/* SPDX-License-Identifier: Apache-2.0 */
#include <zlib.h>

#include "proto/profile.pb-c.h"
#include "tests/unit/symbolizer/export/export_fixture.h"

/* Exports the profile, and reads it back. The caller frees it. */
static Pprof__Profile *export_pprof_of(struct fixture *fixture)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
	static uint8_t plain[MIB];
	z_stream stream = {};
	Pprof__Profile *profile;

	assert_ok(export_profile(fixture, "pprof", &out));
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	stream.next_in = out.data;
	stream.avail_in = (uInt)out.size;
	stream.next_out = plain;
	stream.avail_out = sizeof(plain);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	profile = pprof__profile__unpack(NULL, stream.total_out, plain);
	assert_int_equal(inflateEnd(&stream), Z_OK);
	assert_non_null(profile);
	return profile;
}

static const char *text_of(const Pprof__Profile *profile, int64_t index)
{
	assert_in_range(index, 0, profile->n_string_table - 1);
	return profile->string_table[index];
}

static const Pprof__Location *location_of(const Pprof__Profile *profile, uint64_t id)
{
	assert_in_range(id, 1, profile->n_location);
	assert_int_equal(profile->location[id - 1]->id, id);
	return profile->location[id - 1];
}

static const Pprof__Function *function_of(const Pprof__Profile *profile,
					  const Pprof__Location *location)
{
	uint64_t id;

	assert_int_equal(location->n_line, 1);
	id = location->line[0]->function_id;
	assert_in_range(id, 1, profile->n_function);
	assert_int_equal(profile->function[id - 1]->id, id);
	return profile->function[id - 1];
}

/* "leaf<caller=value {key: text}". */
static void print_sample(const Pprof__Profile *profile, const Pprof__Sample *sample,
			 struct bytes *out)
{
	for (size_t i = 0; i < sample->n_location_id; i++)
		assert_ok(bytes_append_format(
			out, "%s%s", i > 0 ? "<" : "",
			text_of(profile,
				function_of(profile, location_of(profile, sample->location_id[i]))
					->name)));
	assert_int_equal(sample->n_value, 1);
	assert_ok(bytes_append_format(out, "=%lld", (long long)sample->value[0]));
	for (size_t i = 0; i < sample->n_label; i++)
		assert_ok(bytes_append_format(out, " %s:%s",
					      text_of(profile, sample->label[i]->key),
					      text_of(profile, sample->label[i]->str)));
	assert_ok(bytes_append_byte(out, '\n'));
}

static void assert_samples(const Pprof__Profile *profile, const char *expected)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);

	for (size_t i = 0; i < profile->n_sample; i++)
		print_sample(profile, profile->sample[i], &out);
	assert_ok(bytes_append_byte(&out, 0));
	assert_string_equal((const char *)out.data, expected);
}

static void samples_have_their_functions_values_and_labels(void **state)
{
	Pprof__Profile *profile = export_pprof_of(*state);

	assert_samples(profile,
		       "work<main<_start=50 thread:app service:app\n"
		       "vfs_read<do_syscall_64<lib_entry<main<_start=60 thread:worker service:app\n"
		       "work<main<_start=20 thread:app service:app\n" CLEANED_NAME "<_start=50 "
		       "thread:worker service:app\n");
	pprof__profile__free_unpacked(profile, NULL);
}

static void the_head_has_type_time_and_period(void **state)
{
	Pprof__Profile *profile = export_pprof_of(*state);

	assert_string_equal(profile->string_table[0], "");
	assert_int_equal(profile->n_sample_type, 1);
	assert_string_equal(text_of(profile, profile->sample_type[0]->type), "cpu");
	assert_string_equal(text_of(profile, profile->sample_type[0]->unit), "nanoseconds");
	assert_string_equal(text_of(profile, profile->period_type->type), "cpu");
	assert_int_equal(profile->period, 10);
	assert_int_equal(profile->time_nanos, T0 * SLOT_NS);
	assert_int_equal(profile->duration_nanos, 60 * NSEC_PER_SEC);
	assert_int_equal(profile->n_comment, 1);
	assert_string_equal(text_of(profile, profile->comment[0]), "a message");
	pprof__profile__free_unpacked(profile, NULL);
}

static void mappings_have_the_path_and_the_build_id_of_their_file(void **state)
{
	static const struct {
		const char *file, *build_id;
		uint64_t start, limit, offset;
	} expected[] = {
		{ "/usr/bin/app", "61707031", 0x1200, 0x2200, 0x200 },
		{ "[kernel.kallsyms]", "6b65726e", 0, 0, 0 },
		{ "/lib/libx.so", "6c696278", 0, 0, 0 },
	};
	Pprof__Profile *profile = export_pprof_of(*state);

	assert_int_equal(profile->n_mapping, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const Pprof__Mapping *mapping = profile->mapping[i];

		assert_int_equal(mapping->id, i + 1);
		assert_string_equal(text_of(profile, mapping->filename), expected[i].file);
		assert_string_equal(text_of(profile, mapping->build_id), expected[i].build_id);
		assert_int_equal(mapping->memory_start, expected[i].start);
		assert_int_equal(mapping->memory_limit, expected[i].limit);
		assert_int_equal(mapping->file_offset, expected[i].offset);
		assert_true(mapping->has_functions);
	}
	/* The leaf of the first sample. */
	assert_int_equal(location_of(profile, 1)->mapping_id, 1);
	assert_int_equal(location_of(profile, 1)->address, 0x1210);
	pprof__profile__free_unpacked(profile, NULL);
}

static void labels_of_groups_have_the_name_of_the_tag(void **state)
{
	struct fixture *fixture = *state;
	Pprof__Profile *profile;
	const Pprof__Sample *sample;

	fixture->request.group_by = "host";
	profile = export_pprof_of(fixture);
	sample = profile->sample[0];
	assert_int_equal(sample->n_label, 3);
	assert_string_equal(text_of(profile, sample->label[0]->key), "host");
	assert_string_equal(text_of(profile, sample->label[0]->str), "alpha");
	pprof__profile__free_unpacked(profile, NULL);
}

static void stacks_of_whole_hosts_are_processes_and_threads(void **state)
{
	struct fixture *fixture = *state;
	Pprof__Profile *profile;

	fixture->request.service = "Total";
	profile = export_pprof_of(fixture);
	assert_samples(profile, "[p] app=70 service:Total\n"
				"[t] worker<[p] app=110 service:Total\n");
	assert_int_equal(profile->n_mapping, 0);
	pprof__profile__free_unpacked(profile, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXPORT_TEST(samples_have_their_functions_values_and_labels),
		EXPORT_TEST(the_head_has_type_time_and_period),
		EXPORT_TEST(mappings_have_the_path_and_the_build_id_of_their_file),
		EXPORT_TEST(labels_of_groups_have_the_name_of_the_tag),
		EXPORT_TEST(stacks_of_whole_hosts_are_processes_and_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
