/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fixture for tests of handlers: a fake store with a few samples (api_fake_store.h), a constant
 * clock, and requests without a socket.
 */

#include <jansson.h>

#include "common/json_writer.h"
#include "common/limits.h"
#include "symbolizer/api/api.h"
#include "tests/support/table_helper.h"
#include "tests/support/unit.h"
#include "tests/unit/symbolizer/api/api_fake_store.h"

/* Parameters: the second that has samples. */
#define FIXTURE_RANGE                                                                              \
	{ "since", "1700000000" },                                                                 \
	{                                                                                          \
		"until", "1700000001"                                                              \
	}

static inline uint64_t fixture_monotonic_ns(const struct clock *clock)
{
	(void)clock;
	return 1000;
}

static inline uint64_t fixture_wall_ns(const struct clock *clock)
{
	(void)clock;
	return FIXTURE_NOW * NSEC_PER_SEC;
}

static const struct clock fixture_clock = { fixture_monotonic_ns, fixture_wall_ns };

struct api_fixture {
	char *folder;
	struct fake_store store;
	struct api_context context;
	struct http_caller caller;
	http_error_style error_style; /* of the route */
};

static inline int api_fixture_setup(void **state)
{
	struct api_fixture *fixture = calloc(1, sizeof(*fixture));
	void *folder = NULL;

	if (!fixture || temp_folder_setup(&folder) != 0)
		return -1;
	fixture->folder = folder;
	fixture->store.store.operations = &fake_operations;
	fixture->context.store = &fixture->store.store;
	fixture->context.clock = &fixture_clock;
	fixture->context.agents_may_upload = true;
	fixture->context.max_upload_bytes = 64 * MIB;
	fixture->caller = (struct http_caller){ .tenant = "default",
						.scopes = HTTP_SCOPE_ALL,
						.anonymous = true };
	assert_ok(
		debuginfo_store_open(fixture->folder, &fixture_clock, &fixture->context.debuginfo));
	fixture->context.resolver =
		table_helper_resolver(fixture->context.debuginfo, &fixture_clock, fixture->folder);
	assert_ok(api_start_readings(&fixture->context));
	*state = fixture;
	return 0;
}

static inline int api_fixture_teardown(void **state)
{
	struct api_fixture *fixture = *state;
	void *folder = fixture->folder;

	api_stop_readings(&fixture->context);
	(void)resolver_free(fixture->context.resolver);
	(void)debuginfo_store_free(fixture->context.debuginfo);
	free(fixture);
	return temp_folder_teardown(&folder);
}

#define API_TEST(name)                                                                             \
	cmocka_unit_test_setup_teardown(name, api_fixture_setup, api_fixture_teardown)

typedef void (*api_handler)(struct api_context *context, const struct http_request *request,
			    struct http_response *response);

/* Calls a handler. The caller calls http_response_release(). @parameters has up to 8 fields and
 * ends with a NULL name; it may be NULL. */
static inline void ask_handler(struct api_fixture *fixture, api_handler handler,
			       const struct http_field *parameters, const char *body,
			       struct http_response *response)
{
	struct http_request request = {
		.path = "/asked/for",
		.argument = "",
		.parameters = parameters,
		.caller = &fixture->caller,
	};

	while (parameters && parameters[request.n_parameters].name)
		request.n_parameters++;
	if (body)
		request.body =
			(struct bytes_view){ .data = (const uint8_t *)body, .size = strlen(body) };
	http_response_init(response);
	response->error_style = fixture->error_style;
	handler(&fixture->context, &request, response);
}

/* Returns the body as JSON; the caller calls json_decref(). */
static inline json_t *json_of(const struct http_response *response)
{
	json_error_t error;
	json_t *json =
		json_loadb((const char *)response->body.data, response->body.size, 0, &error);

	if (!json)
		fail_msg("%s: %.*s", error.text, (int)response->body.size,
			 (const char *)response->body.data);
	return json;
}

static inline const char *json_text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static inline json_int_t json_number_at(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("'%s' is no integer", key);
	return json_integer_value(value);
}

/* Asserts that the response is {"error": "..."} with this status and @part in the text. */
static inline void assert_error(const struct http_response *response, unsigned int status,
				const char *part)
{
	scoped(json_decrefp) json_t *json = json_of(response);

	if (response->status != status || !strstr(json_text_at(json, "error"), part))
		fail_msg("%u: %s", response->status, json_text_at(json, "error"));
	assert_int_equal(json_object_size(json), 1);
}

/* Asserts that a request with these parameters is answered with 400 and @part in the text. */
static inline void expect_bad_request(struct api_fixture *fixture, api_handler handler,
				      const struct http_field *parameters, const char *part)
{
	scoped(http_response_release) struct http_response response;

	ask_handler(fixture, handler, parameters, NULL, &response);
	assert_error(&response, 400, part);
}
