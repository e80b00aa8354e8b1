/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbolizer_query_filter */
#include <string.h>

#include "symbolizer/query/filter/label_selector.h"
#include "tests/fuzz/allocation_failure.h"

static size_t look_up(void *arg, const char *name, const char *const **ret_values)
{
	static const char *const values[] = { "nginx", "web-1" };

	(void)arg;
	*ret_values = values;
	return strlen(name) % (ARRAY_SIZE(values) + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(label_selector_release) struct label_selector selector = {};
	scoped_free char *text = strndup((const char *)data, size);
	struct filter_error error;
	int r;

	if (!text)
		return 0;
	r = label_selector_parse(&text, 1, &selector, &error);
	if (r == 0)
		r = filter_matches(selector.filter, look_up, NULL);
	else
		assert((r == -EINVAL && error.offset <= strlen(text) && error.message[0]) ||
		       (r == -ENOMEM && allocation_failed()));
	return 0;
}
