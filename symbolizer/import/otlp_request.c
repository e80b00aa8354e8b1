/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/otlp_request.h"

#include "proto/otlp_early.pb-c.h"
#include "symbolizer/import/foreign_unpack.h"

/* clang-format off */
/* Fields of struct otlp_tables that all generations of the format have alike. */
#define TABLES_OF(message)                                                                         \
	.strings = (message)->string_table, .n_strings = (message)->n_string_table,                \
	.mappings = (message)->mapping_table, .n_mappings = (message)->n_mapping_table,            \
	.functions = (message)->function_table, .n_functions = (message)->n_function_table

/* Fields of struct otlp_profile that the generations of otlp_early.proto have alike. */
#define EARLY_PROFILE(message)                                                                     \
	.types = (message)->sample_type, .n_types = (message)->n_sample_type,                      \
	.period_type = (message)->period_type, .period = (message)->period,                        \
	.time_ns = time_of((message)->time_nanos),                                                 \
	.duration_ns = time_of((message)->duration_nanos),                                         \
	.samples = (message)->sample, .n_samples = (message)->n_sample,                            \
	.location_list = { (message)->location_indices, (message)->n_location_indices }
/* clang-format on */

struct reading {
	struct foreign_profile *profile;
	struct otlp_request *request;
	enum otlp_form form;
};

static void *array_of(struct reading *reading, size_t count, size_t size)
{
	return arena_alloc_array(reading->profile->arena, count + 1, size);
}

const char *otlp_string(const struct otlp_tables *tables, int64_t index)
{
	if (index == 0 && tables->n_strings == 0)
		return "";
	return index >= 0 && (uint64_t)index < tables->n_strings ? tables->strings[index] : NULL;
}

/* A negative time means nothing: the profile has none. */
static uint64_t time_of(int64_t time_ns)
{
	return time_ns > 0 ? (uint64_t)time_ns : 0;
}

static int read_locations(struct reading *reading, Otlp__Location **items, size_t count,
			  struct otlp_tables *tables)
{
	tables->n_locations = count;
	tables->locations = array_of(reading, count, sizeof(*tables->locations));
	if (!tables->locations)
		return foreign_no_room(reading->profile);
	for (size_t i = 0; i < count; i++)
		tables->locations[i] = (struct otlp_location){
			.has_mapping = items[i]->mapping_index != 0,
			.mapping = items[i]->mapping_index,
			.address = items[i]->address,
			.lines = items[i]->lines,
			.n_lines = items[i]->n_lines,
			.attributes = { items[i]->attribute_indices,
					items[i]->n_attribute_indices },
		};
	return 0;
}

static int read_early_locations(struct reading *reading, OtlpEarly__Location **items, size_t count,
				struct otlp_tables *tables)
{
	tables->n_locations = count;
	tables->locations = array_of(reading, count, sizeof(*tables->locations));
	if (!tables->locations)
		return foreign_no_room(reading->profile);
	for (size_t i = 0; i < count; i++)
		tables->locations[i] = (struct otlp_location){
			.has_mapping = items[i]->has_mapping_index,
			.mapping = items[i]->mapping_index,
			.address = items[i]->address,
			.lines = items[i]->line,
			.n_lines = items[i]->n_line,
			.attributes = { items[i]->attribute_indices,
					items[i]->n_attribute_indices },
		};
	return 0;
}

static int read_attributes(struct reading *reading, Otlp__Attribute **items, size_t count,
			   struct otlp_tables *tables)
{
	tables->n_attributes = count;
	tables->attributes = array_of(reading, count, sizeof(*tables->attributes));
	if (!tables->attributes)
		return foreign_no_room(reading->profile);
	for (size_t i = 0; i < count; i++) {
		const char *key = otlp_string(tables, items[i]->key_strindex);

		if (!key)
			return foreign_bad(reading->profile,
					   "attribute_table[%zu].key_strindex: string %d of %zu", i,
					   items[i]->key_strindex, tables->n_strings);
		tables->attributes[i] = (struct otlp_attribute){ key, items[i]->value };
	}
	return 0;
}

static int read_early_attributes(struct reading *reading, Otlp__KeyValue **items, size_t count,
				 struct otlp_tables *tables)
{
	tables->n_attributes = count;
	tables->attributes = array_of(reading, count, sizeof(*tables->attributes));
	if (!tables->attributes)
		return foreign_no_room(reading->profile);
	for (size_t i = 0; i < count; i++)
		tables->attributes[i] = (struct otlp_attribute){ items[i]->key, items[i]->value };
	return 0;
}

static int read_dictionary(struct reading *reading, const Otlp__Dictionary *dictionary)
{
	struct otlp_tables *tables = &reading->request->tables;
	int r;

	*tables = (struct otlp_tables){
		TABLES_OF(dictionary),
		.stacks = dictionary->stack_table,
		.n_stacks = dictionary->n_stack_table,
	};
	r = read_locations(reading, dictionary->location_table, dictionary->n_location_table,
			   tables);
	return r < 0 ? r
		     : read_attributes(reading, dictionary->attribute_table,
				       dictionary->n_attribute_table, tables);
}

static int read_early_dictionary(struct reading *reading, const OtlpEarly__Dictionary *dictionary)
{
	struct otlp_tables *tables = &reading->request->tables;
	int r;

	*tables = (struct otlp_tables){
		TABLES_OF(dictionary),
	};
	r = read_early_locations(reading, dictionary->location_table, dictionary->n_location_table,
				 tables);
	return r < 0 ? r
		     : read_early_attributes(reading, dictionary->attribute_table,
					     dictionary->n_attribute_table, tables);
}

static int read_profile(struct reading *reading, const Otlp__Profile *message,
			struct otlp_profile *ret_profile)
{
	Otlp__ValueType **types = array_of(reading, 1, sizeof(Otlp__ValueType *));

	if (!types)
		return foreign_no_room(reading->profile);
	types[0] = message->sample_type;
	*ret_profile = (struct otlp_profile){
		.tables = &reading->request->tables,
		.types = types,
		.n_types = message->sample_type != NULL,
		.period_type = message->period_type,
		.period = message->period,
		.time_ns = message->time_unix_nano,
		.duration_ns = message->duration_nano,
		.samples = message->samples,
		.n_samples = message->n_samples,
		.has_stacks = true,
	};
	return 0;
}

static int read_profile_of_dictionary(struct reading *reading, struct bytes_view data,
				      struct otlp_profile *ret_profile)
{
	const OtlpEarly__ProfileOfDictionary *message;
	int r = foreign_unpack(reading->profile, &otlp_early__profile_of_dictionary__descriptor,
			       data, "scope_profiles.profiles", &message);

	if (r < 0)
		return r;
	*ret_profile = (struct otlp_profile){
		.tables = &reading->request->tables,
		EARLY_PROFILE(message),
	};
	return 0;
}

static int read_profile_with_tables(struct reading *reading, struct bytes_view data,
				    struct otlp_profile *ret_profile)
{
	struct otlp_tables *tables = array_of(reading, 1, sizeof(*tables));
	const OtlpEarly__ProfileWithTables *message;
	int r;

	if (!tables)
		return foreign_no_room(reading->profile);
	r = foreign_unpack(reading->profile, &otlp_early__profile_with_tables__descriptor, data,
			   "scope_profiles.profiles", &message);
	if (r < 0)
		return r;
	*tables = (struct otlp_tables){
		TABLES_OF(message),
	};
	*ret_profile = (struct otlp_profile){
		.tables = tables,
		EARLY_PROFILE(message),
	};
	r = read_early_locations(reading, message->location_table, message->n_location_table,
				 tables);
	return r < 0 ? r
		     : read_early_attributes(reading, message->attribute_table,
					     message->n_attribute_table, tables);
}

static int begin_resource(struct reading *reading, const Otlp__Resource *message, size_t n_profiles,
			  struct otlp_resource *ret_resource)
{
	ret_resource->attributes = message ? message->attributes : NULL;
	ret_resource->n_attributes = message ? message->n_attributes : 0;
	ret_resource->profiles = array_of(reading, n_profiles, sizeof(*ret_resource->profiles));
	return ret_resource->profiles ? 0 : foreign_no_room(reading->profile);
}

static struct otlp_profile *next_profile(struct otlp_resource *resource)
{
	return &resource->profiles[resource->n_profiles++];
}

static int read_resource(struct reading *reading, const Otlp__ResourceProfiles *message,
			 struct otlp_resource *ret_resource)
{
	size_t n_profiles = 0;
	int r;

	for (size_t i = 0; i < message->n_scope_profiles; i++)
		n_profiles += message->scope_profiles[i]->n_profiles;
	r = begin_resource(reading, message->resource, n_profiles, ret_resource);
	for (size_t i = 0; i < message->n_scope_profiles && r == 0; i++) {
		const Otlp__ScopeProfiles *scope = message->scope_profiles[i];

		for (size_t k = 0; k < scope->n_profiles && r == 0; k++)
			r = read_profile(reading, scope->profiles[k], next_profile(ret_resource));
	}
	return r;
}

static int read_early_resource(struct reading *reading, const OtlpEarly__ResourceProfiles *message,
			       struct otlp_resource *ret_resource)
{
	size_t n_profiles = 0;
	int r;

	for (size_t i = 0; i < message->n_scope_profiles; i++)
		n_profiles += message->scope_profiles[i]->n_profiles;
	r = begin_resource(reading, message->resource, n_profiles, ret_resource);
	for (size_t i = 0; i < message->n_scope_profiles && r == 0; i++) {
		const OtlpEarly__ScopeProfiles *scope = message->scope_profiles[i];

		for (size_t k = 0; k < scope->n_profiles && r == 0; k++) {
			const struct bytes_view data = { scope->profiles[k].data,
							 scope->profiles[k].len };

			if (reading->form == OTLP_RANGES)
				r = read_profile_of_dictionary(reading, data,
							       next_profile(ret_resource));
			else
				r = read_profile_with_tables(reading, data,
							     next_profile(ret_resource));
		}
	}
	return r;
}

static int make_resources(struct reading *reading, size_t count)
{
	reading->request->n_resources = count;
	reading->request->resources = array_of(reading, count, sizeof(struct otlp_resource));
	return reading->request->resources ? 0 : foreign_no_room(reading->profile);
}

static int read_message(struct reading *reading, struct bytes_view body)
{
	const Otlp__Request *message;
	int r = foreign_unpack(reading->profile, &otlp__request__descriptor, body,
			       "ExportProfilesServiceRequest", &message);

	if (r == 0 && message->dictionary)
		r = read_dictionary(reading, message->dictionary);
	if (r == 0)
		r = make_resources(reading, message->n_resource_profiles);
	for (size_t i = 0; r == 0 && i < message->n_resource_profiles; i++)
		r = read_resource(reading, message->resource_profiles[i],
				  &reading->request->resources[i]);
	return r;
}

static int read_early_message(struct reading *reading, struct bytes_view body)
{
	const OtlpEarly__Request *message;
	int r = foreign_unpack(reading->profile, &otlp_early__request__descriptor, body,
			       "ExportProfilesServiceRequest", &message);

	if (r == 0 && message->dictionary)
		r = read_early_dictionary(reading, message->dictionary);
	if (r == 0)
		r = make_resources(reading, message->n_resource_profiles);
	for (size_t i = 0; r == 0 && i < message->n_resource_profiles; i++)
		r = read_early_resource(reading, message->resource_profiles[i],
					&reading->request->resources[i]);
	return r;
}

static int read_renumbered(struct reading *reading, struct bytes_view body)
{
	struct bytes copy = { .data = arena_copy(reading->profile->arena, body.data, body.size),
			      .size = body.size };

	if (!copy.data)
		return foreign_no_room(reading->profile);
	otlp_form_renumber(&copy);
	return read_message(reading, bytes_view_of(&copy));
}

int otlp_request_read(struct foreign_profile *profile, struct bytes_view body,
		      struct otlp_request *ret_request)
{
	struct otlp_request request = {};
	struct reading reading = { .profile = profile, .request = ret_request };
	int r = otlp_form_find(profile, body, &reading.form);

	/* Profiles refer to the tables of the result. */
	*ret_request = request;
	if (r < 0)
		return r;
	if (reading.form == OTLP_CURRENT)
		r = read_message(&reading, body);
	else if (reading.form == OTLP_VALUES_FIRST)
		r = read_renumbered(&reading, body);
	else
		r = read_early_message(&reading, body);
	for (size_t i = 0; r == 0 && i < ret_request->n_resources; i++) {
		const struct otlp_resource *resource = &ret_request->resources[i];

		ret_request->n_profiles += resource->n_profiles;
		for (size_t k = 0; k < resource->n_profiles; k++)
			ret_request->n_samples += resource->profiles[k].n_samples;
	}
	return r;
}

static int read_stack_sample(struct foreign_profile *reader, const struct otlp_profile *profile,
			     size_t index, struct otlp_sample *ret_sample)
{
	const Otlp__Sample *sample = ((Otlp__Sample *const *)profile->samples)[index];
	const struct otlp_tables *tables = profile->tables;
	const Otlp__Stack *stack = NULL;

	if (sample->stack_index < 0 ||
	    (sample->stack_index > 0 && (uint32_t)sample->stack_index >= tables->n_stacks))
		return foreign_bad(reader, "samples[%zu].stack_index: stack %d of %zu", index,
				   sample->stack_index, tables->n_stacks);
	if ((size_t)sample->stack_index < tables->n_stacks)
		stack = tables->stacks[sample->stack_index];
	*ret_sample = (struct otlp_sample){
		.stack_key = (uint64_t)sample->stack_index,
		.attributes = { sample->attribute_indices, sample->n_attribute_indices },
		.values = sample->values,
		.n_values = sample->n_values,
		.timestamps_ns = sample->timestamps_unix_nano,
		.n_timestamps = sample->n_timestamps_unix_nano,
		.has_link = sample->link_index > 0,
	};
	if (stack)
		ret_sample->locations =
			(struct otlp_indices){ stack->location_indices, stack->n_location_indices };
	return 0;
}

static int read_range_sample(struct foreign_profile *reader, const struct otlp_profile *profile,
			     size_t index, struct otlp_sample *ret_sample)
{
	const OtlpEarly__Sample *sample = ((OtlpEarly__Sample *const *)profile->samples)[index];
	const int64_t start = sample->locations_start_index, length = sample->locations_length;

	if (start < 0 || length < 0 ||
	    (uint64_t)start + (uint64_t)length > profile->location_list.count)
		return foreign_bad(reader,
				   "sample[%zu].locations_start_index: locations %lld to %lld of "
				   "%zu",
				   index, (long long)start, (long long)start + length,
				   profile->location_list.count);
	*ret_sample = (struct otlp_sample){
		.stack_key = (uint64_t)start << 32 | (uint64_t)length,
		.attributes = { sample->attribute_indices, sample->n_attribute_indices },
		.values = sample->value,
		.n_values = sample->n_value,
		.timestamps_ns = sample->timestamps_unix_nano,
		.n_timestamps = sample->n_timestamps_unix_nano,
		.has_link = sample->has_link_index,
	};
	if (length > 0)
		ret_sample->locations = (struct otlp_indices){
			profile->location_list.items + start,
			(size_t)length,
		};
	return 0;
}

int otlp_sample_at(struct foreign_profile *reader, const struct otlp_profile *profile, size_t index,
		   struct otlp_sample *ret_sample)
{
	return profile->has_stacks ? read_stack_sample(reader, profile, index, ret_sample)
				   : read_range_sample(reader, profile, index, ret_sample);
}

const uint64_t *otlp_timestamps_at(const struct otlp_profile *profile, size_t index,
				   size_t *ret_count)
{
	const void *item = ((const void *const *)profile->samples)[index];
	const OtlpEarly__Sample *early = item;
	const Otlp__Sample *sample = item;

	*ret_count = profile->has_stacks ? sample->n_timestamps_unix_nano
					 : early->n_timestamps_unix_nano;
	return profile->has_stacks ? sample->timestamps_unix_nano : early->timestamps_unix_nano;
}
