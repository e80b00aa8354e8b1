/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/line_table/line_table.h"

static const struct {
	const char *language;
	uint32_t (*find)(const struct line_table *table, uint64_t position);
} languages[] = {
	{ "python", python_line_find },
	{ "java", java_line_find },
	{ "ruby", ruby_line_find },
	{ "lua", ruby_line_find },
};

bool line_table_is_known(const char *language)
{
	for (size_t i = 0; i < ARRAY_SIZE(languages); i++)
		if (strcmp(languages[i].language, language) == 0)
			return true;
	return false;
}

uint32_t line_table_find(const struct line_table *table, uint64_t position)
{
	for (size_t i = 0; i < ARRAY_SIZE(languages); i++)
		if (strcmp(languages[i].language, table->language) == 0)
			return languages[i].find(table, position);
	return table->first_line;
}
