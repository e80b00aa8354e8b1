/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/api/deepflow_call.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/limits.h"
#include "common/log.h"
#include "symbolizer/api/envelope.h"
#include "symbolizer/query/filter/tags.h"
#include "symbolizer/query/selection.h"

/* The values of a tag are read from all series of a day. */
#define CALL_ARENA_BYTES (768 * MIB)

#define SLOTS_PER_SECOND (NSEC_PER_SEC / SLOT_NS)

/* As DeepFlow, which ignores the type of the body too. No form of these requests begins so. */
static bool is_object(struct bytes_view body)
{
	for (size_t i = 0; i < body.size; i++)
		if (!memchr(" \t\r\n", body.data[i], 4))
			return body.data[i] == '{';
	return false;
}

static int copy_text(struct arena *arena, const char *text, size_t length, const char **ret_copy)
{
	if (strlen(text) != length)
		return -EINVAL;
	*ret_copy = arena_copy_text(arena, text, length);
	return *ret_copy ? 0 : -ENOMEM;
}

/* Members that are no texts are ignored, as in DeepFlow. */
static int read_object(struct bytes_view body, struct arena *arena, struct form *form)
{
	scoped(json_decrefp) json_t *root =
		json_loadb((const char *)body.data, body.size, JSON_DISABLE_EOF_CHECK, NULL);
	const char *name;
	json_t *value;
	int r = root ? 0 : -EINVAL;

	json_object_foreach(root, name, value)
	{
		struct http_field *field = &form->fields[form->n_fields];

		if (r < 0 || !json_is_string(value))
			continue;
		if (form->n_fields == FORM_MAX_FIELDS)
			return -EINVAL;
		r = copy_text(arena, name, strlen(name), &field->name);
		if (r == 0)
			r = copy_text(arena, json_string_value(value), json_string_length(value),
				      &field->value);
		form->n_fields++;
	}
	return r;
}

static bool read_form(struct deepflow_call *call)
{
	const struct bytes_view body = call->request->body;
	int r = is_object(body) ? read_object(body, call->arena, &call->form)
				: form_parse(body, call->arena, &call->form);

	if (r == -EINVAL) {
		http_response_error(call->response, 400,
				    "the body is no form (application/x-www-form-urlencoded) and "
				    "no JSON object of at most %d texts",
				    FORM_MAX_FIELDS);
		return false;
	}
	if (r < 0) {
		http_response_error(call->response, 500, "cannot read the request: %s",
				    strerror(-r));
		return false;
	}
	call->sql = form_value(&call->form, "sql");
	if (!call->sql)
		http_response_error(call->response, 400,
				    "the field sql of the body is missing or empty");
	return call->sql != NULL;
}

bool deepflow_begin(struct deepflow_call *call)
{
	int r;

	if (!envelope_check_organization(call->request, call->response))
		return false;
	if (arena_new_in(CALL_ARENA_BYTES, call->context->memory, &call->arena) < 0) {
		http_response_error(call->response, 500, "out of memory");
		return false;
	}
	if (!read_form(call))
		return false;
	r = api_open_view(call->context, call->request, &call->view);
	if (r < 0)
		deepflow_fail(call, r);
	return r >= 0;
}

void deepflow_end(struct deepflow_call *call)
{
	call->filter = filter_free(call->filter);
	call->view = store_view_close(call->view);
	call->arena = arena_free(call->arena);
}

bool deepflow_set_conditions(struct deepflow_call *call, const char *text, size_t offset)
{
	struct tag_names names = { .view = call->view, .arena = call->arena };
	struct filter_error error;
	int r = filter_parse(text, tag_is_known, &names, &call->filter, &error);

	if (r == 0)
		r = filter_take_range(call->filter, &call->range, &error);
	if (names.error < 0)
		r = names.error;
	if (r == -EINVAL) {
		error.offset += offset;
		selection_describe_error("sql", call->sql, &error, &names, call->message);
	}
	if (r < 0) {
		deepflow_fail(call, r);
		return false;
	}
	call->profile = (struct profile_request){
		.any_services = true,
		.labels = call->filter,
		.max_kernel_stack_depth = -1,
		.from_slot = call->range.from_s * SLOTS_PER_SECOND,
		.to_slot = call->range.to_s < UINT64_MAX ? (call->range.to_s + 1) * SLOTS_PER_SECOND
							 : UINT64_MAX,
	};
	return true;
}

bool deepflow_range_is_empty(const struct deepflow_call *call)
{
	return call->range.from_s > call->range.to_s;
}

void deepflow_fail(struct deepflow_call *call, int error)
{
	if (answer_request_error(call->response, error, call->message))
		return;
	if (!call->message[0]) {
		api_count(call->context, API_METRIC_STORE_ERRORS, 1);
		(void)log_error_errno(error, "cannot answer '%s', answering with an error: %m",
				      call->request->path);
		(void)snprintf(call->message, sizeof(call->message), "the sample store failed: %s",
			       strerror(-error));
	}
	envelope_store_failed(call->response, call->message);
}
