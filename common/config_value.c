/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers with units are parsed and printed from one table per type, so that every printed number
 * can be parsed again. A number is printed in the largest unit that divides it.
 */

#include "common/config_value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/config_printed.h"
#include "common/json_writer.h"
#include "common/scoped.h"

struct unit {
	const char *suffix;
	uint64_t factor;
};

/* In descending order. */
static const struct unit duration_units[] = {
	{ "d", 24 * 3600 * NSEC_PER_SEC },
	{ "h", 3600 * NSEC_PER_SEC },
	{ "m", 60 * NSEC_PER_SEC },
	{ "s", NSEC_PER_SEC },
	{ "ms", NSEC_PER_MSEC },
	{ "us", NSEC_PER_USEC },
	{ "ns", 1 },
};

static const struct unit size_units[] = {
	{ "TiB", 1024 * GIB }, { "GiB", GIB }, { "MiB", MIB }, { "KiB", KIB }, { "B", 1 },
};

static const struct unit plain_unit[] = {
	{ "", 1 },
};

struct number_format {
	const struct unit *units;
	size_t n_units;
	uint64_t plain_factor; /* of a number without a unit */
};

static struct number_format number_format_of(enum config_type type)
{
	switch (type) {
	case CONFIG_DURATION:
		return (struct number_format){ duration_units, ARRAY_SIZE(duration_units),
					       NSEC_PER_SEC };
	case CONFIG_SIZE:
		return (struct number_format){ size_units, ARRAY_SIZE(size_units), 1 };
	default:
		return (struct number_format){ plain_unit, ARRAY_SIZE(plain_unit), 1 };
	}
}

static void *field_of(const struct config_key *key, void *config)
{
	return (char *)config + key->offset;
}

static const void *const_field_of(const struct config_key *key, const void *config)
{
	return (const char *)config + key->offset;
}

/* max 0: no limit. */
static uint64_t max_of(const struct config_key *key)
{
	return key->max ? key->max : UINT64_MAX;
}

static int parse_bool(const char *text, bool *ret_value)
{
	static const struct {
		const char *text;
		bool value;
	} words[] = {
		{ "true", true },   { "yes", true }, { "on", true },   { "1", true },
		{ "false", false }, { "no", false }, { "off", false }, { "0", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcasecmp(words[i].text, text) != 0)
			continue;
		*ret_value = words[i].value;
		return 0;
	}
	return -EINVAL;
}

static int unit_factor(const struct number_format *format, const char *suffix, uint64_t *ret_factor)
{
	if (*suffix == '\0') {
		*ret_factor = format->plain_factor;
		return 0;
	}
	for (size_t i = 0; i < format->n_units; i++) {
		if (strcmp(format->units[i].suffix, suffix) != 0)
			continue;
		*ret_factor = format->units[i].factor;
		return 0;
	}
	return -EINVAL;
}

static int parse_number(const struct config_key *key, const char *text, uint64_t *ret_value)
{
	struct number_format format = number_format_of(key->type);
	uint64_t value = 0, factor = 0;
	const char *next = text;
	int r;

	for (; *next >= '0' && *next <= '9'; next++)
		if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*next - '0'), &value))
			return -EINVAL;
	if (next == text)
		return -EINVAL;
	while (*next == ' ')
		next++;
	r = unit_factor(&format, next, &factor);
	if (r < 0)
		return r;
	if (__builtin_mul_overflow(value, factor, &value) || value < key->min ||
	    value > max_of(key))
		return -EINVAL;
	*ret_value = value;
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Changes "a, b,,c" to "a\nb\nc", in place. */
static void split_at_commas(char *list)
{
	char *out = list;
	const char *next = list;

	while (*next) {
		const char *end = next + strcspn(next, ",");
		const char *last = end;

		while (next < end && is_blank(*next))
			next++;
		while (last > next && is_blank(last[-1]))
			last--;
		if (last > next) {
			if (out > list)
				*out++ = '\n';
			memmove(out, next, (size_t)(last - next));
			out += last - next;
		}
		next = *end ? end + 1 : end;
	}
	*out = '\0';
}

void config_value_take_text(const struct config_key *key, char *text, void *config)
{
	char **field = field_of(key, config);

	assert(key->type == CONFIG_TEXT || key->type == CONFIG_LIST);
	free(*field);
	*field = text;
}

static int parse_text(const struct config_key *key, const char *text, void *config)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	config_value_take_text(key, copy, config);
	return 0;
}

/*
 * A text that begins with "[" and a quote is meant as a printed list, even if its end is missing.
 * Without the quote it may be an IPv6 address, or a regular expression that begins with a class.
 */
static bool begins_a_quoted_list(const char *text)
{
	text += strspn(text, " ");
	if (*text != '[')
		return false;
	text += 1 + strspn(text + 1, " ");
	return *text == '"' || *text == '\'';
}

static int parse_list(const struct config_key *key, const char *text, void *config)
{
	char *items = NULL;
	int r;

	/* A line feed separates the items of a list. */
	if (strchr(text, '\n'))
		return -EINVAL;
	r = config_printed_list(text, &items);
	if (r == -EINVAL && !begins_a_quoted_list(text)) {
		items = strdup(text);
		r = items ? 0 : -ENOMEM;
		if (items)
			split_at_commas(items);
	}
	if (r < 0)
		return r;
	config_value_take_text(key, items, config);
	return 0;
}

int config_value_parse(const struct config_key *key, const char *text, void *config)
{
	switch (key->type) {
	case CONFIG_BOOL:
		return parse_bool(text, field_of(key, config));
	case CONFIG_UINT:
	case CONFIG_DURATION:
	case CONFIG_SIZE:
		return parse_number(key, text, field_of(key, config));
	case CONFIG_TEXT:
		return parse_text(key, text, config);
	case CONFIG_LIST:
		return parse_list(key, text, config);
	}
	return -EINVAL;
}

static void print_number(const struct config_key *key, uint64_t value, struct bytes *out)
{
	struct number_format format = number_format_of(key->type);
	size_t i = 0;

	/* Print 0 in the default unit: seconds or bytes. */
	while (i + 1 < format.n_units && (value ? value % format.units[i].factor != 0
						: format.units[i].factor != format.plain_factor))
		i++;
	bytes_append_format(out, "%" PRIu64 "%s", value / format.units[i].factor,
			    format.units[i].suffix);
}

static void append_range(const struct config_key *key, struct bytes *out)
{
	if (key->min > 0 || key->max > 0) {
		bytes_append_text(out, " from ");
		print_number(key, key->min, out);
	}
	if (key->max > 0) {
		bytes_append_text(out, " to ");
		print_number(key, key->max, out);
	} else if (key->min > 0) {
		bytes_append_text(out, " up");
	}
}

void config_value_expected(const struct config_key *key, char ret_text[CONFIG_EXPECTED_SIZE])
{
	static const struct {
		const char *what;
		const char *examples;
	} types[] = {
		[CONFIG_BOOL] = { "true or false (also yes, no, on, off, 1, 0)", "" },
		[CONFIG_UINT] = { "a whole number", "" },
		[CONFIG_DURATION] = { "a duration", ", such as '500ms', '5s', '10m', '1h', '7d'" },
		[CONFIG_SIZE] = { "a size", ", such as '64KiB', '32MiB', '1GiB'" },
		[CONFIG_TEXT] = { "a text", "" },
		[CONFIG_LIST] = { "a list of texts without line feeds",
				  ", such as 'a,b' or '[\"a\", \"b\"]'" },
	};
	scoped(bytes_release) struct bytes text = BYTES_INIT(CONFIG_EXPECTED_SIZE - 1);

	bytes_append_text(&text, types[key->type].what);
	if (key->type == CONFIG_UINT || key->type == CONFIG_DURATION || key->type == CONFIG_SIZE)
		append_range(key, &text);
	bytes_append_text(&text, types[key->type].examples);
	(void)snprintf(ret_text, CONFIG_EXPECTED_SIZE, "%.*s", (int)text.size,
		       text.data ? (const char *)text.data : "");
}

/* Words that YAML parsers do not read as texts. */
static bool is_yaml_word(const char *text)
{
	static const char *const words[] = { "true", "false", "yes", "no",  "on",
					     "off",  "y",     "n",   "null" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(words[i], text) == 0)
			return true;
	return false;
}

static bool is_plain_yaml(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./-";
	bool starts_plain = *text == '/' || *text == '_' || (*text >= 'a' && *text <= 'z') ||
			    (*text >= 'A' && *text <= 'Z');

	return starts_plain && text[strspn(text, plain)] == '\0' && !is_yaml_word(text);
}

/* A JSON text is a double-quoted YAML text. */
static void print_text(const char *text, size_t length, struct bytes *out)
{
	scoped_free char *copy = strndup(text, length);
	struct json_writer json;

	if (copy && is_plain_yaml(copy)) {
		bytes_append_text(out, copy);
		return;
	}
	json_writer_init(&json, out);
	json_text_sized(&json, text, length);
}

static void print_list(const char *list, struct bytes *out)
{
	bytes_append_byte(out, '[');
	while (*list) {
		size_t length = strcspn(list, "\n");

		print_text(list, length, out);
		list += length;
		if (*list == '\n') {
			list++;
			bytes_append_text(out, ", ");
		}
	}
	bytes_append_byte(out, ']');
}

void config_value_print(const struct config_key *key, const void *config, struct bytes *out)
{
	const void *field = const_field_of(key, config);
	const char *text;

	switch (key->type) {
	case CONFIG_BOOL:
		bytes_append_text(out, *(const bool *)field ? "true" : "false");
		break;
	case CONFIG_UINT:
	case CONFIG_DURATION:
	case CONFIG_SIZE:
		print_number(key, *(const uint64_t *)field, out);
		break;
	case CONFIG_TEXT:
		text = *(char *const *)field;
		print_text(text ? text : "", text ? strlen(text) : 0, out);
		break;
	case CONFIG_LIST:
		text = *(char *const *)field;
		print_list(text ? text : "", out);
		break;
	}
}

/* Parses the default and prints it, so that it has the form of other printed values. */
void config_value_print_default(const struct config_key *key, struct bytes *out)
{
	struct config_key alone = *key;
	union {
		bool flag;
		uint64_t number;
		char *text;
	} value = {};
	int r;

	alone.offset = 0;
	r = config_value_parse(&alone, key->default_text, &value);
	assert(r != -EINVAL);
	if (r < 0) {
		out->error = r;
		return;
	}
	config_value_print(&alone, &value, out);
	if (key->type == CONFIG_TEXT || key->type == CONFIG_LIST)
		free(value.text);
}
