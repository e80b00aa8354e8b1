/* SPDX-License-Identifier: Apache-2.0 */

/*
 * POST /v1/symbolize: the functions at addresses of one executable. The body is {"build_id":
 * "4a5a...", "addresses": ["0x1139", 4409], "kernel": false}.
 */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/json_writer.h"
#include "common/log.h"
#include "symbolizer/api/api.h"
#include "symbolizer/query/profile.h"

/* As many hexadecimal addresses as fit the body limit. No stack or listing has more. */
#define MAX_ADDRESSES 100000

/* Memory for the names of these addresses, some hundred bytes each. */
#define SYMBOLIZE_ARENA_BYTES (256 * MIB)

struct symbolize_request {
	struct executable_id id;
	bool kernel_image;
	uint64_t *addresses;
	size_t n_addresses;
};

/* Accepts "0x1139", "1139" (hexadecimal too, as tools print addresses), or a JSON number. */
static bool read_address(const json_t *value, uint64_t *ret_address)
{
	const char *text = json_string_value(value);
	char *end;

	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*ret_address = (uint64_t)json_integer_value(value);
		return true;
	}
	if (!text || !*text || !strchr("0123456789abcdefABCDEF", *text))
		return false;
	errno = 0;
	*ret_address = strtoull(text, &end, 16);
	return errno == 0 && *end == '\0';
}

static bool read_addresses(const json_t *list, struct arena *arena,
			   struct symbolize_request *parsed, struct http_response *response)
{
	size_t count = json_array_size(list);

	if (!json_is_array(list) || count == 0 || count > MAX_ADDRESSES) {
		http_response_error(response, 400,
				    "addresses: a list of 1 to %d addresses is expected",
				    MAX_ADDRESSES);
		return false;
	}
	parsed->addresses = arena_alloc_array(arena, count, sizeof(parsed->addresses[0]));
	if (!parsed->addresses) {
		http_response_error(response, 503, "out of memory; ask for fewer addresses");
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (!read_address(json_array_get(list, i), &parsed->addresses[i])) {
			http_response_error(response, 400,
					    "addresses[%zu]: hex text such as \"0x1139\" or a "
					    "number is expected",
					    i);
			return false;
		}
	}
	parsed->n_addresses = count;
	return true;
}

static bool parse_request(const struct http_request *request, struct arena *arena,
			  struct symbolize_request *parsed, struct http_response *response)
{
	scoped(json_decrefp) json_t *root = NULL;
	const char *build_id;
	json_error_t error;

	root = json_loadb((const char *)request->body.data, request->body.size, 0, &error);
	if (!json_is_object(root)) {
		http_response_error(response, 400, "the body is no JSON object: %s",
				    root ? "it is something else" : error.text);
		return false;
	}
	build_id = json_string_value(json_object_get(root, "build_id"));
	if (!build_id || executable_id_parse(build_id, &parsed->id) < 0) {
		http_response_error(response, 400,
				    "build_id: the hex digits that readelf -n prints are expected");
		return false;
	}
	parsed->kernel_image = json_is_true(json_object_get(root, "kernel"));
	return read_addresses(json_object_get(root, "addresses"), arena, parsed, response);
}

static void write_text_or_null(struct json_writer *json, const char *key, const char *text)
{
	json_key(json, key);
	if (text)
		json_text(json, text);
	else
		json_null_value(json);
}

static void write_place(struct json_writer *json, const struct symbol_place *place)
{
	static const struct symbol_place unknown;

	place = place ? place : &unknown;
	write_text_or_null(json, "function", place->function);
	write_text_or_null(json, "linkage_name", place->linkage_name);
	write_text_or_null(json, "file", place->file);
	json_key_uint(json, "line", place->line);
}

/* Writes the function at the address, and the functions that it is inlined into, innermost
 * first. */
static void write_frame(struct json_writer *json, uint64_t address, const struct symbol *symbol,
			const struct symbol_place *places)
{
	const struct symbol_place *place =
		symbol->place == RESOLVE_NO_PLACE ? NULL : &places[symbol->place];
	char text[sizeof("0x") + 16];

	(void)snprintf(text, sizeof(text), "0x%" PRIx64, address);
	json_object_begin(json);
	json_key_text(json, "address", text);
	json_key_text(json, "status", resolve_status_name(symbol->status));
	write_place(json, place);
	json_key(json, "inlined_into");
	json_array_begin(json);
	while (place && place->caller != RESOLVE_NO_PLACE) {
		place = &places[place->caller];
		json_object_begin(json);
		write_place(json, place);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void write_answer(const struct symbolize_request *parsed,
			 const struct resolve_answer *answer, struct http_response *response)
{
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key(&json, "frames");
	json_array_begin(&json);
	for (size_t i = 0; i < parsed->n_addresses; i++)
		write_frame(&json, parsed->addresses[i], &answer->symbols[i], answer->places);
	json_array_end(&json);
	json_key(&json, "pending");
	json_bool(&json, answer->pending);
	json_key_text(&json, "why", answer->why);
	json_object_end(&json);
}

void api_symbolize(struct api_context *context, const struct http_request *request,
		   struct http_response *response)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct symbolize_request parsed = {};
	struct resolve_answer answer;
	int r;

	if (arena_new(SYMBOLIZE_ARENA_BYTES, &arena) < 0) {
		http_response_error(response, 503, "out of memory; try again in a moment");
		return;
	}
	if (!parse_request(request, arena, &parsed, response))
		return;
	r = resolver_resolve(context->resolver,
			     &(struct resolve_request){ .id = &parsed.id,
							.kernel_image = parsed.kernel_image,
							.addresses = parsed.addresses,
							.count = parsed.n_addresses,
							.patience_ns = PROFILE_PATIENCE_NS },
			     arena, &answer);
	if (r < 0) {
		http_response_error(response, 500, "cannot look up the addresses: %s",
				    strerror(-r));
		(void)log_error_errno(r,
				      "cannot look up %zu addresses, answering with an error: %m",
				      parsed.n_addresses);
		return;
	}
	write_answer(&parsed, &answer, response);
}
