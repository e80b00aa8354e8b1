/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbolizer_query_filter */
#include <string.h>

#include "symbolizer/query/filter/filter.h"
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
	*ret_values = values;
	return strlen(name) % (ARRAY_SIZE(values) + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(filter_freep) struct filter *filter = NULL;
	scoped_free char *text = strndup((const char *)data, size);
	struct filter_error error;
	int r;

	if (!text)
		return 0;
	r = filter_parse(text, every_name_is_known, NULL, &filter, &error);
	if (r == 0)
		r = filter_matches(filter, look_up, NULL);
	else
		assert((r == -EINVAL && error.offset <= strlen(text) && error.message[0]) ||
		       (r == -ENOMEM && allocation_failed()));
	return 0;
}
