/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A request of OTLP with one sample and one item in each table, which tests change. */

#include "proto/otlp.pb-c.h"
#include "tests/unit/symbolizer/import/imported.h"

/* Indices of the texts. */
enum {
	TEXT_NONE,
	TEXT_CPU,
	TEXT_NANOSECONDS,
	TEXT_WORK,
	TEXT_PATH,
	TEXT_BUILD_ID,
	TEXT_BUILD_ID_KEY,
	TEXT_USER,
	TEXT_TYPE_KEY,
	TEXT_TYPE,
	TEXT_SAMPLES,
	TEXT_COUNT,
	N_TEXTS,
};

/* Indices of the attributes. */
enum { ATTRIBUTE_NONE, ATTRIBUTE_BUILD_ID, ATTRIBUTE_USER, ATTRIBUTE_TYPE, N_ATTRIBUTES };

struct small_request {
	Otlp__Request request;
	Otlp__ResourceProfiles resource_profiles, *resource_profiles_list[1];
	Otlp__Resource resource;
	Otlp__KeyValue service, *attributes[1];
	Otlp__AnyValue service_name;
	Otlp__ScopeProfiles scope, *scopes[1];
	Otlp__Profile profile[2], *profiles[2];
	Otlp__ValueType type, period_type;
	Otlp__Sample sample[2], *samples[2];
	Otlp__Dictionary dictionary;
	Otlp__Mapping mapping[2], *mappings[2];
	Otlp__Location location[2], *locations[2];
	Otlp__Line line, *lines[1];
	Otlp__Function function[2], *functions[2];
	Otlp__Attribute attribute[N_ATTRIBUTES], *attribute_table[N_ATTRIBUTES];
	Otlp__AnyValue value[N_ATTRIBUTES];
	Otlp__Stack stack[2], *stacks[2];
	int32_t of_sample[1], of_mapping[1], of_location[1], of_stack[1];
	int64_t values[3];
	uint64_t timestamps[3];
	char *strings[N_TEXTS];
};

static inline void make_small_tables(struct small_request *small)
{
	static const int32_t keys[] = { TEXT_NONE, TEXT_BUILD_ID_KEY, TEXT_USER, TEXT_TYPE_KEY };
	static const int32_t values[] = { TEXT_NONE, TEXT_BUILD_ID, TEXT_WORK, TEXT_TYPE };
	Otlp__Dictionary *dictionary = &small->dictionary;

	for (size_t i = 0; i < 2; i++) {
		small->mapping[i] = (Otlp__Mapping)OTLP__MAPPING__INIT;
		small->location[i] = (Otlp__Location)OTLP__LOCATION__INIT;
		small->function[i] = (Otlp__Function)OTLP__FUNCTION__INIT;
		small->stack[i] = (Otlp__Stack)OTLP__STACK__INIT;
		small->mappings[i] = &small->mapping[i];
		small->locations[i] = &small->location[i];
		small->functions[i] = &small->function[i];
		small->stacks[i] = &small->stack[i];
	}
	for (size_t i = 0; i < N_ATTRIBUTES; i++) {
		small->attribute[i] = (Otlp__Attribute)OTLP__ATTRIBUTE__INIT;
		small->value[i] = (Otlp__AnyValue)OTLP__ANY_VALUE__INIT;
		small->attribute[i].key_strindex = keys[i];
		small->attribute[i].value = &small->value[i];
		small->value[i].value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX;
		small->value[i].string_value_strindex = values[i];
		small->attribute_table[i] = &small->attribute[i];
	}
	*dictionary = (Otlp__Dictionary)OTLP__DICTIONARY__INIT;
	dictionary->n_mapping_table = dictionary->n_location_table = dictionary->n_function_table =
		dictionary->n_stack_table = 2;
	dictionary->mapping_table = small->mappings;
	dictionary->location_table = small->locations;
	dictionary->function_table = small->functions;
	dictionary->stack_table = small->stacks;
	dictionary->n_attribute_table = N_ATTRIBUTES;
	dictionary->attribute_table = small->attribute_table;
	dictionary->n_string_table = N_TEXTS;
	dictionary->string_table = small->strings;
}

static inline void make_small_stack(struct small_request *small)
{
	small->function[1].name_strindex = TEXT_WORK;
	small->line = (Otlp__Line)OTLP__LINE__INIT;
	small->line.function_index = 1;
	small->line.line = 12;
	small->lines[0] = &small->line;
	small->mapping[1].memory_start = 0x7f0000000000;
	small->mapping[1].memory_limit = 0x7f0000100000;
	small->mapping[1].file_offset = 0x2000;
	small->mapping[1].filename_strindex = TEXT_PATH;
	small->mapping[1].n_attribute_indices = 1;
	small->mapping[1].attribute_indices = small->of_mapping;
	small->of_mapping[0] = ATTRIBUTE_BUILD_ID;
	small->location[1].mapping_index = 1;
	small->location[1].address = 0x7f0000000010;
	small->location[1].n_lines = 1;
	small->location[1].lines = small->lines;
	small->location[1].n_attribute_indices = 1;
	small->location[1].attribute_indices = small->of_location;
	small->of_location[0] = ATTRIBUTE_TYPE;
	small->stack[1].n_location_indices = 1;
	small->stack[1].location_indices = small->of_stack;
	small->of_stack[0] = 1;
}

static inline void make_small_sample(struct small_request *small)
{
	small->type = small->period_type = (Otlp__ValueType)OTLP__VALUE_TYPE__INIT;
	small->type.type_strindex = TEXT_CPU;
	small->type.unit_strindex = TEXT_NANOSECONDS;
	for (size_t i = 0; i < 2; i++) {
		small->profile[i] = (Otlp__Profile)OTLP__PROFILE__INIT;
		small->sample[i] = (Otlp__Sample)OTLP__SAMPLE__INIT;
		small->profile[i].sample_type = &small->type;
		small->profile[i].n_samples = 1;
		small->profile[i].samples = &small->samples[i];
		small->profile[i].time_unix_nano = TEST_NOW_NS - NSEC_PER_SEC;
		small->profile[i].duration_nano = NSEC_PER_SEC;
		small->samples[i] = &small->sample[i];
		small->sample[i].stack_index = 1;
		small->sample[i].n_values = 1;
		small->sample[i].values = small->values;
		small->sample[i].n_attribute_indices = 1;
		small->sample[i].attribute_indices = small->of_sample;
		small->profiles[i] = &small->profile[i];
	}
	small->of_sample[0] = ATTRIBUTE_USER;
	small->values[0] = 1000;
}

/* The request has one profile; the second one is ready. */
static inline void make_small(struct small_request *small)
{
	static char texts[][32] = { "",
				    "cpu",
				    "nanoseconds",
				    "work",
				    "/bin/app",
				    "0102030405",
				    "process.executable.build_id.gnu",
				    "user",
				    "profile.frame.type",
				    "native",
				    "samples",
				    "count" };
	static char service[] = "service.name", name[] = "app";

	*small = (struct small_request){ .request = OTLP__REQUEST__INIT,
					 .resource_profiles = OTLP__RESOURCE_PROFILES__INIT,
					 .resource = OTLP__RESOURCE__INIT,
					 .service = OTLP__KEY_VALUE__INIT,
					 .service_name = OTLP__ANY_VALUE__INIT,
					 .scope = OTLP__SCOPE_PROFILES__INIT };
	for (size_t i = 0; i < N_TEXTS; i++)
		small->strings[i] = texts[i];
	make_small_tables(small);
	make_small_stack(small);
	make_small_sample(small);
	small->service_name.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	small->service_name.string_value = name;
	small->service.key = service;
	small->service.value = &small->service_name;
	small->attributes[0] = &small->service;
	small->resource.n_attributes = 1;
	small->resource.attributes = small->attributes;
	small->scope.n_profiles = 1;
	small->scope.profiles = small->profiles;
	small->scopes[0] = &small->scope;
	small->resource_profiles.resource = &small->resource;
	small->resource_profiles.n_scope_profiles = 1;
	small->resource_profiles.scope_profiles = small->scopes;
	small->resource_profiles_list[0] = &small->resource_profiles;
	small->request.n_resource_profiles = 1;
	small->request.resource_profiles = small->resource_profiles_list;
	small->request.dictionary = &small->dictionary;
}

static inline int read_small(const struct small_request *small, struct imported *imported)
{
	const struct import_request request = { .now_ns = TEST_NOW_NS };
	size_t size = otlp__request__get_packed_size(&small->request);
	uint8_t *packed = malloc(size);
	int r;

	assert_non_null(packed);
	(void)otlp__request__pack(&small->request, packed);
	r = import_otlp(&request, (struct bytes_view){ packed, size }, &imported->result);
	free(packed);
	if (r == 0)
		decode_imported(imported);
	return r;
}
