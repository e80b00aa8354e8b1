/* SPDX-License-Identifier: Apache-2.0 */

/*
 * GET /v1/debuginfo/BUILDID/status: explains why the functions of an executable have names or not.
 * The answer lists the stored files, the state of the symbol table, and where debuginfo was looked
 * for.
 */

#include "symbolizer/api/debuginfo_answer.h"

#include <stdio.h>

#include "symbolizer/api/remedy_answer.h"
#include "symbolizer/symbols/table/symbol_file.h"

/* Memory for the list of stored files of one executable ID. */
#define STATUS_ARENA_BYTES (4 * MIB)

static const struct source_row {
	enum symbol_source source;
	const char *name;
} source_rows[] = {
	{ SYMBOL_SOURCE_DWARF, "dwarf" },   { SYMBOL_SOURCE_LINES, "lines" },
	{ SYMBOL_SOURCE_SYMTAB, "symtab" }, { SYMBOL_SOURCE_DYNSYM, "dynsym" },
	{ SYMBOL_SOURCE_GO, "go" },         { SYMBOL_SOURCE_MINI_DEBUGINFO, "mini_debuginfo" },
	{ SYMBOL_SOURCE_PLT, "plt" },
};

/* Names of states. They are those of resolve_status_name() if the state is the same. */
static const char *state_name(const struct table_status *status)
{
	static const char *const names[] = {
		[TABLE_NONE] = "no debuginfo",
		[TABLE_FAILED] = "table failed",
		[TABLE_READY] = "ready",
	};

	return status->pending ? resolve_status_name(RESOLVE_PENDING) : names[status->state];
}

static void write_sources(struct json_writer *json, uint32_t sources)
{
	json_key(json, "sources");
	json_array_begin(json);
	for (size_t i = 0; i < ARRAY_SIZE(source_rows); i++) {
		if (sources & source_rows[i].source)
			json_text(json, source_rows[i].name);
	}
	json_array_end(json);
}

/*
 * Returns the reason why functions of the executable may have no names; FRAME_NAMED if there is no
 * such reason.
 */
static enum frame_status missing_names(const struct table_status *status)
{
	if (status->pending)
		return FRAME_TABLE_PENDING;
	if (status->state == TABLE_NONE)
		return FRAME_NO_DEBUGINFO;
	if (status->state == TABLE_FAILED)
		return FRAME_TABLE_FAILED;
	return status->row.symbol_sources & SYMBOL_SOURCES_OF_ALL ? FRAME_NAMED : FRAME_STRIPPED;
}

/* Writes the reason for missing names, and the message of the table compiler. */
static void write_why(struct json_writer *json, const struct stored_table *row,
		      enum frame_status missing, const struct remedy *remedy)
{
	char why[HELPER_WHY_SIZE + REMEDY_TEXT_SIZE + sizeof("; ")];
	bool lacks = missing == FRAME_NO_DEBUGINFO || missing == FRAME_STRIPPED;

	(void)snprintf(why, sizeof(why), "%s%s%s", lacks ? remedy->why : "",
		       lacks && row->why[0] ? "; " : "", row->why);
	json_key_text(json, "why", why);
}

static void write_table(struct json_writer *json, const struct table_status *status,
			const struct remedy *remedy)
{
	const struct stored_table *row = &status->row;
	char alt_id[EXECUTABLE_ID_TEXT_SIZE];

	json_key(json, "table");
	json_object_begin(json);
	json_key_text(json, "status", state_name(status));
	json_key_bool(json, "running", status->running);
	write_why(json, row, missing_names(status), remedy);
	write_sources(json, row->stored_bytes > 0 ? row->symbol_sources : 0);
	json_key_uint(json, "functions", row->n_functions);
	json_key_uint(json, "places", row->n_locations);
	json_key_uint(json, "stored_bytes", row->stored_bytes);
	json_key_uint(json, "made_time", row->made_wall_ns / NSEC_PER_SEC);
	json_key_uint(json, "tried_time", row->tried_wall_ns / NSEC_PER_SEC);
	json_key_uint(json, "deaths", row->n_deaths);
	executable_id_format(&row->alt_id, alt_id);
	json_key_text(json, "alternative", alt_id);
	json_object_end(json);
}

static void write_search(struct json_writer *json, const struct debuginfo_search *search,
			 const struct table_status *status)
{
	json_key(json, "looked_for");
	json_object_begin(json);
	json_key_uint(json, "here_time", status->checked_wall_ns / NSEC_PER_SEC);
	json_key_uint(json, "agents_again_time", search->agents_again_wall_ns / NSEC_PER_SEC);
	json_key_bool(json, "upstream", search->has_upstream);
	json_key_uint(json, "upstream_misses", search->n_upstream_misses);
	json_key_uint(json, "upstream_again_time", search->upstream_again_wall_ns / NSEC_PER_SEC);
	json_object_end(json);
}

/* Everything that the server knows about one executable ID. */
struct identity_status {
	struct executable_id id;
	struct debuginfo_entry *files;
	size_t n_files;
	struct table_status table;
	struct debuginfo_search search;
	struct store_executable executable; /* as reported by agents; its name may be NULL */
	struct remedy remedy;               /* empty if all functions have names */
};

/* Finds the remedy for missing names. @view is NULL if the sample store could not be opened. */
static int find_remedy(struct api_context *context, const struct http_request *request,
		       struct store_view *view, struct arena *arena,
		       struct identity_status *identity)
{
	struct remedy_subject subject = {
		.reason = missing_names(&identity->table),
		.executable = &identity->executable,
	};
	struct store_mapped_file file = {};
	const char *path = NULL;
	int r = 0;

	identity->executable.identity = identity->id;
	/* Ignores a failure: remedies do not require the name and the path of the file. */
	if (view)
		r = store_find_executable(view, &identity->id, arena, &identity->executable);
	subject.path = identity->executable.name ? identity->executable.name : "";
	if (subject.reason == FRAME_NAMED)
		return 0;
	file.executable = identity->executable.id;
	if (r > 0 && store_paths_of(view, &file, 1, arena, &path) == 0 && path)
		subject.path = path;
	return remedy_answer_find(context, request, &subject, &identity->remedy);
}

static int look_up(struct api_context *context, const struct http_request *request,
		   struct store_view *view, struct arena *arena, struct identity_status *identity)
{
	int r;

	r = debuginfo_list_of(context->debuginfo, &identity->id, arena, &identity->files,
			      &identity->n_files);
	if (r < 0)
		return r;
	r = debuginfo_search_of(context->debuginfo, &identity->id, &identity->search);
	if (r < 0)
		return r;
	r = resolver_status(context->resolver, &identity->id, &identity->table);
	return r < 0 ? r : find_remedy(context, request, view, arena, identity);
}

void api_debuginfo_status(struct api_context *context, const struct http_request *request,
			  struct http_response *response)
{
	/* Open until the answer is written: the view owns the names of executables. */
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct identity_status identity = {};
	char id_text[EXECUTABLE_ID_TEXT_SIZE];
	struct json_writer json;
	int r;

	if (!debuginfo_answer_id(request, response, &identity.id))
		return;
	r = arena_new(STATUS_ARENA_BYTES, &arena);
	if (r == 0) {
		/* Ignores a failure: @view stays NULL, and the answer has no name of the file. */
		(void)api_open_view(context, request, &view);
		r = look_up(context, request, view, arena, &identity);
	}
	if (r < 0) {
		debuginfo_answer_failure(response, r, "look up");
		return;
	}
	executable_id_format(&identity.id, id_text);
	json_writer_init(&json, &response->body);
	json_object_begin(&json);
	json_key_text(&json, "build_id", id_text);
	json_key_text(&json, "file", identity.executable.name ? identity.executable.name : "");
	debuginfo_answer_entries(&json, "files", identity.files, identity.n_files, NULL);
	write_table(&json, &identity.table, &identity.remedy);
	write_search(&json, &identity.search, &identity.table);
	json_key_text(&json, "remedy", identity.remedy.remedy);
	json_key_text(&json, "command", identity.remedy.command);
	json_object_end(&json);
}
