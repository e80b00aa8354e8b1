/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/request_fields.h"

#include <stdlib.h>

struct field_list {
	struct http_field *fields;
	size_t count;
	size_t capacity;
};

static enum MHD_Result collect_field(void *arg, enum MHD_ValueKind kind, const char *name,
				     const char *value)
{
	struct field_list *list = arg;

	(void)kind;
	if (list->count == list->capacity)
		return MHD_NO;
	list->fields[list->count++] =
		(struct http_field){ .name = name, .value = value ? value : "" };
	return MHD_YES;
}

int request_fields_collect(struct MHD_Connection *connection, enum MHD_ValueKind kind,
			   const struct http_field **ret_fields, size_t *ret_count)
{
	int count = MHD_get_connection_values(connection, kind, NULL, NULL);
	struct field_list list = { .capacity = count > 0 ? (size_t)count : 0 };

	if (list.capacity == 0)
		return 0;
	list.fields = calloc(list.capacity, sizeof(list.fields[0]));
	if (!list.fields)
		return -ENOMEM;
	(void)MHD_get_connection_values(connection, kind, collect_field, &list);
	*ret_fields = list.fields;
	*ret_count = list.count;
	return 0;
}
