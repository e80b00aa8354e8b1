/* SPDX-License-Identifier: Apache-2.0 */

/*
 * /v1/debuginfo: lists, checks and removes stored files. Uploads are in debuginfo_upload.c and
 * debuginfo_session.c, downloads in debuginfod.c.
 */

#include "common/log.h"
#include "symbolizer/api/debuginfo_answer.h"

/* Memory for the entries of a hundred thousand files, and their executables. */
#define LIST_ARENA_BYTES (128 * MIB)

static void write_list(struct store_view *view, const struct debuginfo_entry *entries, size_t count,
		       struct arena *arena, struct json_writer *json)
{
	const char *file = "";

	json_key(json, "debuginfo");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++) {
		/* Entries of one identity are adjacent. */
		if (i == 0 || !executable_id_equal(&entries[i].id, &entries[i - 1].id))
			file = debuginfo_answer_file_name(view, &entries[i].id, arena);
		debuginfo_answer_entry(json, &entries[i], file);
	}
	json_array_end(json);
}

void api_debuginfo_list(struct api_context *context, const struct http_request *request,
			struct http_response *response)
{
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct debuginfo_entry *entries;
	struct json_writer json;
	size_t count;
	int r;

	r = arena_new(LIST_ARENA_BYTES, &arena);
	if (r == 0)
		r = debuginfo_list(context->debuginfo, arena, &entries, &count);
	if (r < 0) {
		debuginfo_answer_failure(response, r, "list");
		return;
	}
	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	/* Ignores a failure: the files are then listed without names. */
	(void)api_open_view(context, request, &view);
	write_list(view, entries, count, arena, &json);
	json_object_end(&json);
}

static void not_found(const struct http_request *request, struct http_response *response)
{
	http_response_error(response, 404,
			    "there is no debuginfo of build ID '%.200s'; upload it with PUT "
			    "/v1/debuginfo/BUILDID",
			    request->argument);
}

/* Writes the best file for symbols, then all files. */
static void write_identity(struct http_response *response, const struct debuginfo_entry *best,
			   const struct debuginfo_entry *entries, size_t count, const char *file)
{
	struct json_writer json;

	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	debuginfo_answer_members(&json, best, file);
	debuginfo_answer_entries(&json, "all", entries, count, file);
	json_object_end(&json);
}

void api_debuginfo_get(struct api_context *context, const struct http_request *request,
		       struct http_response *response)
{
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct debuginfo_entry *entries = NULL;
	struct debuginfo_entry best;
	struct executable_id id;
	size_t count = 0;
	int r;

	if (!debuginfo_answer_id(request, response, &id))
		return;
	/* Ignores a failure: the file then has no name. */
	(void)api_open_view(context, request, &view);
	r = arena_new(LIST_ARENA_BYTES, &arena);
	if (r == 0)
		r = debuginfo_list_of(context->debuginfo, &id, arena, &entries, &count);
	if (r == 0)
		r = debuginfo_find(context->debuginfo, &id, &best);
	if (r < 0)
		debuginfo_answer_failure(response, r, "look up");
	else if (count == 0)
		not_found(request, response);
	else
		write_identity(response, r > 0 ? &best : &entries[0], entries, count,
			       debuginfo_answer_file_name(view, &id, arena));
}

/*
 * Removes the symbol tables that were made of the removed files: of @id, and of the htlhashes that
 * found the files. A failure is logged.
 */
static void forget_tables(struct api_context *context, const struct executable_id *id,
			  const struct executable_id *aliases, size_t n_aliases)
{
	char text[EXECUTABLE_ID_TEXT_SIZE];
	int r = resolver_forget(context->resolver, id);

	for (size_t i = 0; i < n_aliases && r >= 0; i++)
		r = resolver_forget(context->resolver, &aliases[i]);
	executable_id_format(id, text);
	if (r < 0)
		log_warn("cannot remove the symbol table of '%s', its functions keep their names",
			 text);
}

void api_debuginfo_delete(struct api_context *context, const struct http_request *request,
			  struct http_response *response)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct executable_id *aliases;
	struct executable_id id;
	struct json_writer json;
	size_t n_aliases;
	int r;

	if (!debuginfo_answer_id(request, response, &id))
		return;
	r = arena_new(LIST_ARENA_BYTES, &arena);
	if (r == 0)
		r = debuginfo_list_aliases(context->debuginfo, &id, arena, &aliases, &n_aliases);
	if (r == 0)
		r = debuginfo_remove(context->debuginfo, &id);
	if (r > 0)
		forget_tables(context, &id, aliases, n_aliases);
	if (r < 0) {
		debuginfo_answer_failure(response, r, "remove");
	} else if (r == 0) {
		not_found(request, response);
	} else {
		json_writer_init(&json, &response->body);
		json_object_begin(&json);
		json_key_text(&json, "removed", request->argument);
		json_object_end(&json);
		log_info("removed the debuginfo of '%s', requested by %s%s", request->argument,
			 request->caller->anonymous ? "a client without token" : "token ",
			 request->caller->name);
	}
}

void api_debuginfo_check(struct api_context *context, const struct http_request *request,
			 struct http_response *response)
{
	struct debuginfo_check check;
	struct executable_id id;
	struct json_writer json;
	int r;

	if (!debuginfo_answer_id(request, response, &id))
		return;
	r = debuginfo_check(context->debuginfo, &id, &check);
	if (r < 0) {
		debuginfo_answer_failure(response, r, "check");
	} else if (r == 0) {
		not_found(request, response);
	} else {
		json_writer_init(&json, &response->body);
		json_object_begin(&json);
		json_key_text(&json, "build_id", request->argument);
		json_key_uint(&json, "files", check.n_files);
		json_key_uint(&json, "damaged", check.n_damaged);
		json_key_uint(&json, "size_bytes", check.size_bytes);
		json_object_end(&json);
	}
}
