/* SPDX-License-Identifier: Apache-2.0 */
#include "common/config.h"

#include "common/config_value.h"
#include "common/scoped.h"

int config_print(const struct config_table *table, const void *config, struct bytes *out)
{
	for (size_t i = 0; i < table->n_keys; i++) {
		bytes_append_format(out, "%s: ", table->keys[i].name);
		config_value_print(&table->keys[i], config, out);
		bytes_append_byte(out, '\n');
	}
	return bytes_error(out);
}

int config_print_default_file(const struct config_table *table, const char *title,
			      struct bytes *out)
{
	bytes_append_format(
		out,
		"# %s\n"
		"#\n"
		"# All keys with their defaults. Remove the '#' to change a value. Sections may\n"
		"# also be written as nested maps. %s* variables and flags override this file.\n",
		title, table->environment_prefix);
	for (size_t i = 0; i < table->n_keys; i++) {
		const struct config_key *key = &table->keys[i];
		char expected[CONFIG_EXPECTED_SIZE];

		config_value_expected(key, expected);
		bytes_append_format(out, "\n# %s\n# Takes %s.\n#%s: ", key->help, expected,
				    key->name);
		config_value_print_default(key, out);
		bytes_append_byte(out, '\n');
	}
	return bytes_error(out);
}

/* Escapes '|', which ends a cell of the table. */
static void print_cell(const char *text, struct bytes *out)
{
	for (; *text; text++) {
		if (*text == '|')
			bytes_append_byte(out, '\\');
		bytes_append_byte(out, *text == '\n' ? ' ' : (uint8_t)*text);
	}
}

int config_print_markdown(const struct config_table *table, const char *title, struct bytes *out)
{
	scoped(bytes_release) struct bytes value = BYTES_INIT(64 * KIB);

	bytes_append_format(out,
			    "# %s\n\n"
			    "| key | default | takes | meaning |\n"
			    "| --- | --- | --- | --- |\n",
			    title);
	for (size_t i = 0; i < table->n_keys; i++) {
		const struct config_key *key = &table->keys[i];
		char expected[CONFIG_EXPECTED_SIZE];

		bytes_clear(&value);
		config_value_print_default(key, &value);
		bytes_append_byte(&value, '\0');
		if (bytes_error(&value))
			return bytes_error(&value);
		config_value_expected(key, expected);

		bytes_append_format(out, "| `%s` | `", key->name);
		print_cell((const char *)value.data, out);
		bytes_append_text(out, "` | ");
		print_cell(expected, out);
		bytes_append_text(out, " | ");
		print_cell(key->help, out);
		bytes_append_text(out, " |\n");
	}
	return bytes_error(out);
}
