/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each field that is a sign removes the forms that do not have it from the set of possible forms.
 * Only one question can stay open: a sample that has just fields 2 and 5 has values and timestamps,
 * or attributes and timestamps.
 */
#include "symbolizer/import/otlp_form.h"

#include "symbolizer/import/wire_field.h"

#define FORM(form)   (1u << OTLP_##form)
#define STACK_TABLES (FORM(VALUES_FIRST) | FORM(CURRENT))
#define DICTIONARIES (FORM(RANGES) | STACK_TABLES)

enum message {
	REQUEST,
	RESOURCE_PROFILES,
	SCOPE_PROFILES,
	PROFILE,
	SAMPLE,
	DICTIONARY,
	LOCATION,
	ATTRIBUTE,
	N_MESSAGES,
};

static const char *const message_names[N_MESSAGES] = {
	"request",
	"resource_profiles",
	"scope_profiles",
	"profile",
	"sample",
	"dictionary",
	"dictionary.location_table",
	"dictionary.attribute_table",
};

/* Which fields have messages that are read too. */
static const struct {
	enum message parent;
	uint32_t number;
	enum message child;
} children[] = {
	{ REQUEST, 1, RESOURCE_PROFILES }, { RESOURCE_PROFILES, 2, SCOPE_PROFILES },
	{ SCOPE_PROFILES, 2, PROFILE },    { PROFILE, 2, SAMPLE },
	{ REQUEST, 2, DICTIONARY },        { DICTIONARY, 2, LOCATION },
	{ DICTIONARY, 6, ATTRIBUTE },
};

/* The forms with a dictionary in which a field has this wire type. */
static const struct {
	enum message message;
	uint32_t number;
	enum wire_type type;
	unsigned int forms;
} signs[] = {
	{ PROFILE, 3, WIRE_BYTES, FORM(RANGES) },   /* location_indices */
	{ PROFILE, 3, WIRE_VARINT, FORM(RANGES) },  /* the same, not packed */
	{ PROFILE, 3, WIRE_FIXED64, STACK_TABLES }, /* time_unix_nano */
	{ PROFILE, 5, WIRE_VARINT, FORM(RANGES) },  /* duration_nanos */
	{ PROFILE, 5, WIRE_BYTES, STACK_TABLES },   /* period_type */
	{ PROFILE, 6, WIRE_BYTES, FORM(RANGES) },   /* period_type */
	{ PROFILE, 6, WIRE_VARINT, STACK_TABLES },  /* period */
	{ SAMPLE, 2, WIRE_VARINT, FORM(RANGES) },   /* locations_length */
	{ SAMPLE, 2, WIRE_BYTES, STACK_TABLES },    /* values, attribute_indices */
	{ SAMPLE, 3, WIRE_VARINT, FORM(CURRENT) },  /* link_index */
	{ SAMPLE, 3, WIRE_BYTES, FORM(RANGES) | FORM(VALUES_FIRST) }, /* value, attribute_indices */
	{ SAMPLE, 4, WIRE_VARINT, FORM(VALUES_FIRST) },               /* link_index */
	{ SAMPLE, 4, WIRE_BYTES, FORM(RANGES) | FORM(CURRENT) }, /* attribute_indices, values */
	{ SAMPLE, 5, WIRE_VARINT, FORM(RANGES) },                /* link_index */
	{ SAMPLE, 5, WIRE_BYTES, STACK_TABLES },                 /* timestamps_unix_nano */
	{ SAMPLE, 6, WIRE_BYTES, FORM(RANGES) },                 /* timestamps_unix_nano */
	{ LOCATION, 4, WIRE_VARINT, FORM(RANGES) },              /* is_folded */
	{ LOCATION, 4, WIRE_BYTES, STACK_TABLES },               /* attribute_indices */
	{ LOCATION, 5, WIRE_BYTES, FORM(RANGES) },               /* attribute_indices */
	{ ATTRIBUTE, 1, WIRE_BYTES, FORM(RANGES) },              /* key */
	{ ATTRIBUTE, 1, WIRE_VARINT, STACK_TABLES },             /* key_strindex */
};

/* What a request shows. */
struct evidence {
	struct foreign_profile *profile;
	bool has_dictionary, has_profiles, has_string_table;
	unsigned int forms; /* still possible, if there is a dictionary */
	size_t n_attributes;
	/* Of field 2 of the samples that have neither field 3 nor 4. */
	bool is_alone;        /* there is no field 5 */
	bool differs;         /* from the number of timestamps */
	bool is_no_attribute; /* a number is beyond the table */
	/* What the field that left no form is, and the message that has it. */
	const char *odd_message;
	uint32_t odd_field;
};

static void apply_sign(struct evidence *evidence, enum message message,
		       const struct wire_field *field)
{
	unsigned int forms = evidence->forms;

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (signs[i].message == message && signs[i].number == field->number &&
		    signs[i].type == field->type)
			forms &= signs[i].forms;
	if (forms == 0 && evidence->forms != 0) {
		evidence->odd_message = message_names[message];
		evidence->odd_field = field->number;
	}
	evidence->forms = forms;
}

/* Counts the numbers of a packed field, and those that are @beyond or greater. */
static size_t count_numbers(struct bytes_view packed, uint64_t beyond, size_t *ret_n_beyond)
{
	struct bytes_reader reader = bytes_reader_of(packed);
	size_t count = 0;

	*ret_n_beyond = 0;
	while (reader.next < reader.end && !reader.error) {
		*ret_n_beyond += bytes_read_varint(&reader) >= beyond;
		count++;
	}
	return count;
}

/* Notes what the field 2 of a sample says that has no field which tells the forms apart. */
static void weigh_second(struct evidence *evidence, struct bytes_view second,
			 struct bytes_view timestamps)
{
	size_t n_beyond;
	const size_t count = count_numbers(second, evidence->n_attributes, &n_beyond);

	evidence->is_alone |= timestamps.size == 0 && count > 0;
	evidence->differs |= timestamps.size > 0 && timestamps.size != count * sizeof(uint64_t);
	evidence->is_no_attribute |= n_beyond > 0;
}

static int read_message(struct evidence *evidence, enum message message, struct bytes_view data);

static int read_child(struct evidence *evidence, enum message message,
		      const struct wire_field *field)
{
	int r = 0;

	if (field->type != WIRE_BYTES)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(children) && r == 0; i++)
		if (children[i].parent == message && children[i].number == field->number)
			r = read_message(evidence, children[i].child, field->content);
	return r;
}

/* Reads a message and those in it. There are at most four levels. */
static int read_message(struct evidence *evidence, enum message message, struct bytes_view data)
{
	struct bytes_reader reader = bytes_reader_of(data);
	struct bytes_view second = {}, fifth = {};
	bool is_clear = false;
	struct wire_field field;
	int r;

	while ((r = wire_next(&reader, data.data, &field)) > 0) {
		apply_sign(evidence, message, &field);
		evidence->has_dictionary |= message == REQUEST && field.number == 2;
		evidence->has_profiles |= message == SCOPE_PROFILES && field.number == 2;
		evidence->has_string_table |=
			message == PROFILE && field.number == 10 && field.type == WIRE_BYTES;
		if (message == SAMPLE && field.number == 2)
			second = field.content;
		if (message == SAMPLE && field.number == 5)
			fifth = field.content;
		is_clear |= message == SAMPLE && (field.number == 3 || field.number == 4);
		r = read_child(evidence, message, &field);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return foreign_bad(evidence->profile, "%s: no valid protobuf message, or cut short",
				   message_names[message]);
	if (message == SAMPLE && !is_clear)
		weigh_second(evidence, second, fifth);
	return 0;
}

/* The size of the table of attributes, which may follow the samples. */
static size_t count_attributes(struct bytes_view body)
{
	struct bytes_reader reader = bytes_reader_of(body);
	struct wire_field field;
	size_t count = 0;

	while (wire_next(&reader, body.data, &field) > 0) {
		struct bytes_reader inner = bytes_reader_of(field.content);
		struct wire_field item;

		if (field.number != 2 || field.type != WIRE_BYTES)
			continue;
		while (wire_next(&inner, field.content.data, &item) > 0)
			count += item.number == 6 && item.type == WIRE_BYTES;
	}
	return count;
}

static int refuse(const struct evidence *evidence)
{
	if (!evidence->has_dictionary)
		return foreign_bad(evidence->profile,
				   "dictionary is missing, and no profile has a string_table");
	return foreign_bad(
		evidence->profile,
		"%s: field %u has a type that no version of OTLP's profiles has together "
		"with the fields before it",
		evidence->odd_message, evidence->odd_field);
}

int otlp_form_find(struct foreign_profile *profile, struct bytes_view body,
		   enum otlp_form *ret_form)
{
	struct evidence evidence = { .profile = profile,
				     .forms = DICTIONARIES,
				     .n_attributes = count_attributes(body) };
	int r = read_message(&evidence, REQUEST, body);

	if (r < 0)
		return r;
	*ret_form = OTLP_CURRENT;
	if (!evidence.has_dictionary && evidence.has_profiles) {
		*ret_form = OTLP_TABLES_IN_PROFILES;
		return evidence.has_string_table ? 0 : refuse(&evidence);
	}
	if (evidence.forms == 0)
		return refuse(&evidence);
	if (evidence.forms == FORM(RANGES))
		*ret_form = OTLP_RANGES;
	else if (!(evidence.forms & FORM(CURRENT)) ||
		 ((evidence.forms & FORM(VALUES_FIRST)) && !evidence.differs &&
		  (evidence.is_alone || evidence.is_no_attribute)))
		*ret_form = OTLP_VALUES_FIRST;
	return 0;
}

/* Gives the fields 2, 3 and 4 of a sample the numbers 4, 2 and 3. A tag is one byte. */
static void renumber_sample(uint8_t *sample, size_t size)
{
	static const uint8_t numbers[] = { 0, 1, 4, 2, 3 };
	struct bytes_reader reader = bytes_reader_of((struct bytes_view){ sample, size });
	struct wire_field field;

	while (wire_next(&reader, sample, &field) > 0) {
		uint8_t *tag = &sample[field.tag_at];

		if (field.number < ARRAY_SIZE(numbers) && *tag < 0x80)
			*tag = (uint8_t)(numbers[field.number] << 3 | (*tag & 7));
	}
}

static void renumber(enum message message, uint8_t *data, size_t size)
{
	struct bytes_reader reader = bytes_reader_of((struct bytes_view){ data, size });
	struct wire_field field;

	if (message == SAMPLE) {
		renumber_sample(data, size);
		return;
	}
	while (wire_next(&reader, data, &field) > 0)
		for (size_t i = 0; i < ARRAY_SIZE(children); i++)
			if (children[i].parent == message && children[i].number == field.number &&
			    field.type == WIRE_BYTES)
				renumber(children[i].child, data + (field.content.data - data),
					 field.content.size);
}

void otlp_form_renumber(struct bytes *body)
{
	renumber(REQUEST, body->data, body->size);
}
