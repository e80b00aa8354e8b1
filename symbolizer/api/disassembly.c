/* SPDX-License-Identifier: Apache-2.0 */

/* GET /v1/disassembly: the values of a function by machine instruction. */

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/api/answer.h"
#include "symbolizer/api/profile_parameters.h"
#include "symbolizer/api/upstream_help.h"
#include "symbolizer/query/disassembly.h"

/* Rows with their texts: CODE_MAX_BYTES of code have at most as many rows of 250 bytes. */
#define ARENA_BYTES (256 * MIB)

/* Versions of a program or library whose code is shown, those with the largest values. */
#define MAX_FILES 8

#define FILE_MESSAGE_SIZE 640

struct disassembly_query {
	const char *function;
	enum code_syntax syntax;
	struct profile_parameters parameters;
	struct arena *arena;
	struct code_values *values;
	struct profile_stats stats;
	char message[PROFILE_MESSAGE_SIZE];
	/* Self values of rows are rounded so that they add up to the sums of the answer. */
	uint64_t own_before, inlined_before;
};

static void disassembly_query_release(struct disassembly_query *query)
{
	(void)code_values_free(query->values);
	(void)arena_free(query->arena);
}

/* Returns false after filling @response with an error. */
static bool read_request(struct api_context *context, struct store_view *view,
			 const struct http_request *request, struct http_response *response,
			 struct disassembly_query *query)
{
	const char *syntax = http_request_parameter(request, "syntax");

	query->function = http_request_parameter(request, "function");
	if (!query->function || !query->function[0]) {
		http_response_error(response, 400, "function is missing: take a name from /v1/top");
		return false;
	}
	if (syntax && strcmp(syntax, "intel") != 0 && strcmp(syntax, "att") != 0) {
		http_response_error(response, 400, "syntax: '%.40s' is neither intel nor att",
				    syntax);
		return false;
	}
	query->syntax = syntax && strcmp(syntax, "att") == 0 ? CODE_SYNTAX_ATT : CODE_SYNTAX_INTEL;
	return profile_parameters_read(context, view, request, response, &query->parameters);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A file of the answer. */
struct shown_file {
	const struct code_file *file;
	const struct code_value *values; /* [n_values] */
	size_t n_values;
	bool is_asked; /* upstream servers are asked for its code */
	struct disassembly code;
};

static int compare_files(const void *left, const void *right)
{
	const struct shown_file *a = left, *b = right;

	if (a->file->total != b->file->total)
		return a->file->total > b->file->total ? -1 : 1;
	return (a->file > b->file) - (a->file < b->file);
}

/* Lists the files with their values, those with the largest total first. */
static int list_files(const struct disassembly_query *query, struct shown_file **ret_files,
		      size_t *ret_count)
{
	size_t n_files, n_values, next = 0;
	const struct code_value *values = code_values_sorted(query->values, &n_values);
	const struct code_file *files = code_values_files(query->values, &n_files);
	struct shown_file *shown = arena_alloc_array(query->arena, n_files + 1, sizeof(*shown));

	if (!shown)
		return -ENOMEM;
	for (size_t i = 0; i < n_files; i++) {
		shown[i] = (struct shown_file){ .file = &files[i], .values = values + next };
		while (next < n_values && values[next].file == i)
			next++;
		shown[i].n_values = (size_t)(values + next - shown[i].values);
	}
	qsort(shown, n_files, sizeof(*shown), compare_files);
	*ret_files = shown;
	*ret_count = n_files;
	return 0;
}

/* Asks upstream servers for the executable, if no file with code is stored. */
static int fetch_code(struct api_context *context, const struct http_request *request,
		      struct shown_file *shown)
{
	const struct debuginfo_key key = { .id = shown->file->identity,
					   .kind = DEBUGINFO_KIND_EXECUTABLE,
					   .path = "" };
	struct debuginfo_entry entry;
	int r;

	if (key.id.kind == EXECUTABLE_ID_NONE)
		return 0;
	r = debuginfo_find_kind(context->debuginfo, &key, &entry);
	if (r == 0)
		shown->is_asked = upstream_help_ask(context, request, &key) != UPSTREAM_NONE;
	return MIN(r, 0);
}

static int disassemble(struct api_context *context, const struct http_request *request,
		       const struct disassembly_query *query, struct shown_file *shown,
		       uint64_t *left_bytes)
{
	const struct disassembly_request disassembly = {
		.resolver = context->resolver,
		.function = code_values_name(query->values),
		.file = shown->file,
		.values = shown->values,
		.n_values = shown->n_values,
		.syntax = query->syntax,
		.max_bytes = *left_bytes,
	};
	int r = fetch_code(context, request, shown);

	if (r == 0)
		r = disassembly_make(&disassembly, query->arena, &shown->code);
	for (size_t i = 0; r == 0 && i < shown->code.n_blocks; i++)
		*left_bytes -= shown->code.blocks[i].size;
	return r;
}

/* ---- answer ---------------------------------------------------------------------------------- */

static const char *outcome_name(const struct disassembly *code)
{
	if (code->n_blocks == 0)
		return "no_symbols";
	switch (code->outcome) {
	case CODE_DECODED:
		return "decoded";
	case CODE_NO_FILE:
		return "no_file";
	case CODE_NO_BYTES:
		return "no_code";
	case CODE_REFUSED:
		break;
	}
	return "refused";
}

static const char *machine_name(uint16_t machine)
{
	return machine == EM_X86_64 ? "x86-64" : machine == EM_AARCH64 ? "aarch64" : "";
}

/* Why instructions are missing, and what helps; "" if none are. */
static void describe(const struct shown_file *shown, char message[FILE_MESSAGE_SIZE])
{
	const struct disassembly *code = &shown->code;
	const char *name = shown->file->name[0] ? shown->file->name : "the file";
	char build_id[EXECUTABLE_ID_TEXT_SIZE];

	message[0] = '\0';
	executable_id_format(&shown->file->identity, build_id);
	if (code->n_blocks == 0 && code->left_out_bytes == 0)
		(void)snprintf(
			message, FILE_MESSAGE_SIZE,
			"The symbol table of %.120s is missing or does not have this code, so that "
			"the code of the function is not known: hearth why %.120s",
			name, name);
	else if (code->n_blocks > 0 && code->outcome == CODE_NO_FILE)
		(void)snprintf(
			message, FILE_MESSAGE_SIZE,
			"The server has no file with the code of %.120s (build ID %.192s), because "
			"agents upload symbols only. %s",
			name, build_id,
			shown->is_asked
				? "The upstream servers are asked for it: ask again in a moment"
			: shown->file->kernel_image
				? "Upload this kernel's vmlinux: hearth upload FILE"
				: "Upload the executable itself: hearth upload FILE");
	else if (code->outcome == CODE_NO_BYTES)
		(void)snprintf(
			message, FILE_MESSAGE_SIZE,
			"The file of %.120s that the server has does not have this code: upload "
			"the executable itself: hearth upload FILE",
			name);
	else if (code->outcome == CODE_REFUSED)
		(void)snprintf(message, FILE_MESSAGE_SIZE, "The code of %.120s was not decoded: %s",
			       name, code->why);
	else if (code->left_out_bytes > 0)
		(void)snprintf(message, FILE_MESSAGE_SIZE,
			       "%" PRIu64
			       " bytes of code are not decoded, because an answer has at "
			       "most %d KiB; instructions of them are shown by address only",
			       code->left_out_bytes, (int)(CODE_MAX_BYTES / KIB));
}

static void write_hex(struct json_writer *json, const char *key, uint64_t value)
{
	char text[20];

	(void)snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_key_text(json, key, text);
}

static void write_index(struct json_writer *json, const char *key, uint32_t index)
{
	if (index != UINT32_MAX)
		json_key_uint(json, key, index);
}

/* Rounds a sum of self values in steps, so that the rounded steps add up to the rounded sum. */
static uint64_t round_step(const struct event_type_info *event, uint64_t *before, uint64_t value)
{
	const uint64_t rounded_before = answer_value(event, *before);

	*before += value;
	return answer_value(event, *before) - rounded_before;
}

static void write_values(struct json_writer *json, struct disassembly_query *query,
			 const struct disassembly_row *row)
{
	const struct event_type_info *event = profile_event(&query->parameters.profile);
	const uint64_t self = round_step(
		event, row->inlined ? &query->inlined_before : &query->own_before, row->self);

	if (row->total == 0)
		return;
	json_key_uint(json, "self_value", self);
	json_key_uint(json, "total_value", MAX(self, answer_value(event, row->total)));
}

static void write_code(struct json_writer *json, const struct disassembly_row *row)
{
	char hex[2 * CODE_INSTRUCTION_MAX_BYTES + 1];

	hex_encode(row->bytes.data, row->bytes.size, hex);
	json_key_text(json, "bytes", hex);
	json_key_text(json, "mnemonic", row->mnemonic);
	json_key_text(json, "operands", row->operands);
	if (row->is_data)
		json_key_bool(json, "is_data", true);
	if (row->target != CODE_NO_TARGET)
		write_hex(json, "target", row->target);
	if (row->target_function)
		json_key_text(json, "target_function", row->target_function);
}

static void write_row(struct json_writer *json, struct disassembly_query *query,
		      const struct disassembly_row *row)
{
	json_object_begin(json);
	write_hex(json, "address", row->elf_addr);
	write_index(json, "block", row->block);
	if (row->bytes.size > 0)
		write_code(json, row);
	write_index(json, "place", row->place);
	write_values(json, query, row);
	json_object_end(json);
}

static void write_places(struct json_writer *json, const struct disassembly *code)
{
	json_key(json, "places");
	json_array_begin(json);
	for (size_t i = 0; i < code->n_places; i++) {
		const struct symbol_place *place = &code->places[i];

		json_object_begin(json);
		json_key_text(json, "function", place->function ? place->function : "");
		json_key_text(json, "file", place->file ? place->file : "");
		json_key_uint(json, "line", place->line);
		write_index(json, "caller", place->caller);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_blocks(struct json_writer *json, const struct disassembly *code)
{
	json_key(json, "blocks");
	json_array_begin(json);
	for (size_t i = 0; i < code->n_blocks; i++) {
		json_object_begin(json);
		write_hex(json, "address", code->blocks[i].elf_addr);
		json_key_uint(json, "size", code->blocks[i].size);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_file(struct json_writer *json, struct disassembly_query *query,
		       const struct shown_file *shown)
{
	char build_id[EXECUTABLE_ID_TEXT_SIZE], message[FILE_MESSAGE_SIZE];

	executable_id_format(&shown->file->identity, build_id);
	describe(shown, message);
	json_object_begin(json);
	json_key_text(json, "file", shown->file->name);
	json_key_text(json, "build_id", build_id);
	json_key_text(json, "machine", machine_name(shown->code.machine));
	json_key_text(json, "code", outcome_name(&shown->code));
	json_key_text(json, "message", message);
	json_key_uint(json, "left_out_bytes", shown->code.left_out_bytes);
	write_blocks(json, &shown->code);
	write_places(json, &shown->code);
	json_key(json, "instructions");
	json_array_begin(json);
	for (size_t i = 0; i < shown->code.n_rows; i++)
		write_row(json, query, &shown->code.rows[i]);
	json_array_end(json);
	json_object_end(json);
}

static void write_answer(struct disassembly_query *query, const struct shown_file *files,
			 size_t n_files, size_t n_left_out, struct http_response *response)
{
	const struct event_type_info *event = profile_event(&query->parameters.profile);
	const struct code_sums sums = code_values_sums(query->values);
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_text(&json, "function", query->function);
	json_key_uint(&json, "self_value", answer_value(event, sums.self));
	json_key_uint(&json, "inlined_value", answer_value(event, sums.inlined));
	json_key_uint(&json, "total_value", answer_value(event, sums.total));
	json_key_uint(&json, "without_code_value", answer_value(event, sums.without_code));
	json_key_uint(&json, "files_left_out", n_left_out);
	json_key(&json, "files");
	json_array_begin(&json);
	for (size_t i = 0; i < n_files; i++)
		write_file(&json, query, &files[i]);
	json_array_end(&json);
	json_key_text(&json, "event", event->name);
	json_key_text(&json, "unit", answer_unit_name(event));
	json_key_uint(&json, "since", query->parameters.range.since_wall_ns / NSEC_PER_SEC);
	json_key_uint(&json, "until", query->parameters.range.until_wall_ns / NSEC_PER_SEC);
	json_key_text(&json, "message", query->message);
	json_key(&json, "stats");
	answer_stats(&json, event, &query->stats);
	json_object_end(&json);
}

/* Answers a failure after the query. */
static void answer_failure(struct api_context *context, int error, uint64_t refused,
			   struct http_response *response)
{
	if (answer_refused_memory(context, error, refused, response))
		return;
	if (error == -EBUSY) {
		http_response_header(response, "Retry-After", "1");
		http_response_error(response, 503,
				    "too many requests decode code; try again in a moment");
		return;
	}
	http_response_error(response, 500, "cannot decode the code: %s", strerror(-error));
}

static void answer_code(struct api_context *context, const struct http_request *request,
			struct disassembly_query *query, struct http_response *response)
{
	const uint64_t refused = memory_budget_refused(context->memory);
	uint64_t left_bytes = CODE_MAX_BYTES;
	struct shown_file *files = NULL;
	size_t count = 0;
	int r;

	r = list_files(query, &files, &count);
	for (size_t i = 0; i < MIN(count, (size_t)MAX_FILES) && r == 0; i++)
		r = disassemble(context, request, query, &files[i], &left_bytes);
	if (r < 0)
		answer_failure(context, r, refused, response);
	else if (count == 0)
		http_response_error(
			response, 404,
			"function: '%.100s' has no machine code in a file: its frames are those of "
			"an interpreter, or of code that was generated at run time; see /v1/source",
			query->function);
	else
		write_answer(query, files, MIN(count, (size_t)MAX_FILES),
			     count - MIN(count, (size_t)MAX_FILES), response);
}

static int make_values(struct api_context *context, struct disassembly_query *query)
{
	int r = arena_new_in(ARENA_BYTES, context->memory, &query->arena);

	return r < 0 ? r : code_values_new(query->function, query->arena, &query->values);
}

void api_disassembly(struct api_context *context, const struct http_request *request,
		     struct http_response *response)
{
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(disassembly_query_release) struct disassembly_query query = {};
	struct stack_visitor visitor;
	int r;

	if (!answer_open_view(context, request, response, &view) ||
	    !read_request(context, view, request, response, &query))
		return;
	r = make_values(context, &query);
	if (r == 0) {
		visitor = code_values_visitor(query.values);
		r = answer_stacks(context, view, &query.parameters.profile, &visitor, &query.stats,
				  query.message);
	}
	if (r == -EFBIG) {
		http_response_error(response, 400,
				    "function: '%.100s' was sampled at more than %d addresses",
				    query.function, CODE_VALUES_MAX);
		return;
	}
	answer_headers(response, profile_event(&query.parameters.profile), &query.stats);
	if (r < 0)
		answer_query_error(response, r, query.message);
	else if (r == 0)
		http_response_error(response, 404, "%s", query.message);
	else if (code_values_sums(query.values).total == 0)
		http_response_error(response, 404,
				    "function: no stack of the selection has '%.100s'; take a name "
				    "from /v1/top",
				    query.function);
	else
		answer_code(context, request, &query, response);
}
