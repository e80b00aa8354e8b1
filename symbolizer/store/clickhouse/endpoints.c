/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/clickhouse/endpoints.h"

#include <stdlib.h>
#include <string.h>

#define SEPARATORS ", "

size_t endpoints_parse(const char **list, const char **ret_url)
{
	const char *begin = *list + strspn(*list, SEPARATORS);
	size_t length = strcspn(begin, SEPARATORS);

	*list = begin + length;
	*ret_url = begin;
	return length;
}

static int add(struct endpoints *endpoints, const char *url, size_t length)
{
	char *copy;
	int r;

	while (length > 0 && url[length - 1] == '/')
		length--;
	copy = strndup(url, length);
	if (!copy)
		return -ENOMEM;
	r = vec_push(&endpoints->urls, copy);
	if (r < 0)
		free(copy);
	return r;
}

int endpoints_init(struct endpoints *endpoints, const char *list, uint64_t random)
{
	const char *url;
	size_t length;
	int r = 0;

	*endpoints = (struct endpoints){};
	while (r == 0 && (length = endpoints_parse(&list, &url)) > 0)
		r = add(endpoints, url, length);
	if (r == 0 && endpoints->urls.count == 0)
		r = -EINVAL;
	if (r < 0)
		endpoints_release(endpoints);
	else
		endpoints->current = random % endpoints->urls.count;
	return r;
}

void endpoints_release(struct endpoints *endpoints)
{
	for (size_t i = 0; i < endpoints->urls.count; i++)
		free(endpoints->urls.items[i]);
	vec_release(&endpoints->urls);
}

const char *endpoints_current(const struct endpoints *endpoints)
{
	return endpoints->urls.items[endpoints->current];
}

void endpoints_next(struct endpoints *endpoints)
{
	endpoints->current = (endpoints->current + 1) % endpoints->urls.count;
}
