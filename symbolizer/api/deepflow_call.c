/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/api/deepflow_call.h"

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

static bool read_form(struct deepflow_call *call)
{
	int r = form_parse(call->request->body, call->arena, &call->form);

	if (r == -EINVAL) {
		http_response_error(call->response, 400,
				    "the body is no form (application/x-www-form-urlencoded) of "
				    "at most %d fields",
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
				    "the field sql of the form is missing or empty");
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
