/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbolizer_query_filter */

/* Parses the input as a statement, and its condition as a filter with a range of time. */

#include <string.h>

#include "symbolizer/query/filter/deepflow_statement.h"
#include "symbolizer/query/filter/filter_take.h"
#include "tests/fuzz/allocation_failure.h"

static bool every_name_is_known(void *arg, const char *name)
{
	(void)arg;
	return name[0] != '!';
}

static size_t look_up(void *arg, const char *name, const char *const **ret_values)
{
	static const char *const values[] = { "10.1.2.3", "web-1", "42" };

	(void)arg;
	/* All comparisons of this tag are taken out of the filter. */
	assert(strcmp(name, "time") != 0);
	*ret_values = values;
	return strlen(name) % (ARRAY_SIZE(values) + 1);
}

static void check_condition(const char *text)
{
	scoped(filter_freep) struct filter *filter = NULL;
	struct filter_error error;
	struct filter_range range;
	const char *values[3];
	const char *value;
	size_t count;

	if (filter_parse(text, every_name_is_known, NULL, &filter, &error) < 0 ||
	    filter_take_range(filter, &range, &error) < 0)
		return;
	count = filter_list_values(filter, "host", values, ARRAY_SIZE(values));
	for (size_t i = 0; i < MIN(count, ARRAY_SIZE(values)); i++)
		assert(strlen(values[i]) <= strlen(text));
	value = filter_take_value(filter, "host");
	assert(!value || strlen(value) <= strlen(text));
	(void)filter_matches(filter, look_up, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(arena_freep) struct arena *arena = NULL;
	scoped_free char *text = strndup((const char *)data, size);
	struct deepflow_statement statement;
	struct filter_error error;
	int r;

	if (!text || arena_new(4 * MIB, &arena) < 0)
		return 0;
	r = deepflow_statement_parse(text, arena, &statement, &error);
	assert(r == 0 || (r == -EINVAL && error.offset <= strlen(text)) ||
	       (r == -ENOMEM && allocation_failed()));
	if (r < 0)
		return 0;
	assert(statement.count <= DEEPFLOW_MAX_VALUES);
	assert(statement.n_columns <= DEEPFLOW_MAX_COLUMNS &&
	       statement.n_groups <= DEEPFLOW_MAX_COLUMNS);
	for (size_t i = 0; i < statement.n_columns; i++)
		assert(statement.columns[i].group < statement.n_groups);
	assert(statement.condition_offset + strlen(statement.condition) <= strlen(text));
	check_condition(statement.condition);
	return 0;
}
