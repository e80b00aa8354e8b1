/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A request with OTLP's profiles, of any form (otlp_form.h), as one kind of tables, profiles and
 * samples. All memory is in the arena of the profile that reads it, or borrowed from the body.
 *
 * Nothing but the encoding is checked here: who reads an index checks it by the count beside it.
 */

#include "proto/otlp.pb-c.h"
#include "symbolizer/import/otlp_form.h"

struct otlp_indices {
	const int32_t *items;
	size_t count;
};

struct otlp_location {
	bool has_mapping;
	int32_t mapping; /* index */
	uint64_t address;
	Otlp__Line **lines; /* [n_lines] the innermost inlined function first */
	size_t n_lines;
	struct otlp_indices attributes;
};

struct otlp_attribute {
	const char *key; /* never NULL */
	const Otlp__AnyValue *value;
};

/* The tables of a dictionary, or of a profile. */
struct otlp_tables {
	char **strings;
	Otlp__Mapping **mappings;
	struct otlp_location *locations;
	Otlp__Function **functions;
	struct otlp_attribute *attributes;
	Otlp__Stack **stacks;
	size_t n_strings, n_mappings, n_locations, n_functions, n_attributes, n_stacks;
};

struct otlp_sample {
	struct otlp_indices locations; /* leaf first */
	uint64_t stack_key;            /* equal in samples of one profile with equal locations */
	struct otlp_indices attributes;
	const int64_t *values;
	const uint64_t *timestamps_ns;
	size_t n_values, n_timestamps;
	bool has_link;
};

struct otlp_profile {
	const struct otlp_tables *tables;
	Otlp__ValueType **types; /* [n_types] one for each value of a sample */
	size_t n_types;
	const Otlp__ValueType *period_type; /* may be NULL */
	int64_t period;
	uint64_t time_ns, duration_ns; /* 0: unknown */
	size_t n_samples;
	/* The source of otlp_sample_at(). */
	const void *samples;
	struct otlp_indices location_list; /* of the forms before the table of stacks */
	bool has_stacks;
};

struct otlp_resource {
	Otlp__KeyValue **attributes; /* [n_attributes] */
	size_t n_attributes;
	struct otlp_profile *profiles; /* [n_profiles] of all scopes */
	size_t n_profiles;
};

struct otlp_request {
	struct otlp_tables tables; /* of the dictionary */
	struct otlp_resource *resources;
	size_t n_resources, n_profiles, n_samples;
};

/*
 * 0, -EBADMSG, -EFBIG or -ENOMEM, with a reason in @profile. @body lives longer than the request.
 */
int otlp_request_read(struct foreign_profile *profile, struct bytes_view body,
		      struct otlp_request *ret_request);

/* Finds sample @index. -EBADMSG: its stack is not in the tables. */
int otlp_sample_at(struct foreign_profile *reader, const struct otlp_profile *profile, size_t index,
		   struct otlp_sample *ret_sample);

/* The timestamps of sample @index. */
const uint64_t *otlp_timestamps_at(const struct otlp_profile *profile, size_t index,
				   size_t *ret_count);

/* The text at an index of the strings, "" for 0 without a table. NULL: there is none. */
const char *otlp_string(const struct otlp_tables *tables, int64_t index);
