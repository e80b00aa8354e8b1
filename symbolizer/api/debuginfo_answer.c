/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/api/debuginfo_answer.h"

#include <string.h>

#include "common/hash.h"
#include "common/log.h"

bool debuginfo_answer_id(const struct http_request *request, struct http_response *response,
			 struct executable_id *ret_id)
{
	if (executable_id_parse(request->argument, ret_id) == 0)
		return true;
	http_response_error(response, 400,
			    "'%.200s' is no build ID; give the hex digits that readelf -n prints "
			    "(or text-... or go-...)",
			    request->argument);
	return false;
}

void debuginfo_answer_failure(struct http_response *response, int error, const char *attempt)
{
	(void)log_error_errno(error, "cannot %s debuginfo, answering with an error: %m", attempt);
	http_response_error(response, error == -ENOSPC ? 507 : 500, "cannot %s debuginfo: %s",
			    attempt, strerror(-error));
}

static void write_sha256(struct json_writer *json, const struct debuginfo_entry *entry)
{
	static const uint8_t unknown[DEBUGINFO_SHA256_BYTES];
	char hex[2 * DEBUGINFO_SHA256_BYTES + 1];

	json_key(json, "sha256");
	if (memcmp(entry->sha256, unknown, sizeof(unknown)) == 0) {
		json_null_value(json);
		return;
	}
	hex_encode(entry->sha256, sizeof(entry->sha256), hex);
	json_text(json, hex);
}

const char *debuginfo_answer_file_name(struct store_view *view, const struct executable_id *id,
				       struct arena *arena)
{
	struct store_executable executable = {};
	int r = 0;

	if (view)
		r = store_find_executable(view, id, arena, &executable);
	return r > 0 && executable.name ? executable.name : "";
}

void debuginfo_answer_members(struct json_writer *json, const struct debuginfo_entry *entry,
			      const char *file)
{
	char id[EXECUTABLE_ID_TEXT_SIZE];

	executable_id_format(&entry->id, id);
	json_key_text(json, "build_id", id);
	if (file)
		json_key_text(json, "file", file);
	json_key_text(json, "kind",
		      entry->is_source  ? "source"
		      : entry->is_split ? "split"
					: "elf");
	json_key_text(json, "origin", debuginfo_origin_name(entry->origin));
	json_key_text(json, "has", debuginfo_richness_name(entry->richness));
	json_key_bool(json, "executable", entry->has_code);
	json_key_uint(json, "files", entry->n_files);
	json_key_uint(json, "size_bytes", entry->size_bytes);
	json_key_uint(json, "stored_bytes", entry->stored_bytes);
	json_key_uint(json, "uploaded_time", entry->uploaded_wall_ns / NSEC_PER_SEC);
	json_key_uint(json, "first_used_time", entry->first_used_wall_ns / NSEC_PER_SEC);
	json_key_uint(json, "last_used_time", entry->last_used_wall_ns / NSEC_PER_SEC);
	write_sha256(json, entry);
}

void debuginfo_answer_entry(struct json_writer *json, const struct debuginfo_entry *entry,
			    const char *file)
{
	json_object_begin(json);
	debuginfo_answer_members(json, entry, file);
	json_object_end(json);
}

void debuginfo_answer_entries(struct json_writer *json, const char *key,
			      const struct debuginfo_entry *entries, size_t count, const char *file)
{
	json_key(json, key);
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		debuginfo_answer_entry(json, &entries[i], file);
	json_array_end(json);
}
