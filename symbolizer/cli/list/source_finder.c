/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/list/source_finder.h"

#include <string.h>
#include <sys/stat.h>

#include "common/file.h"
#include "common/scoped.h"

#define MAX_PATH_BYTES MIB

/* The largest text of a source file that is read. */
#define MAX_SOURCE_BYTES (64 * MIB)

void source_finder_release(struct source_finder *finder)
{
	for (size_t i = 0; i < finder->texts.count; i++)
		bytes_release(&finder->texts.items[i]);
	for (size_t i = 0; i < finder->names.count; i++)
		free(finder->names.items[i]);
	vec_release(&finder->texts);
	vec_release(&finder->names);
}

/* The path is one of the debuginfo: it may also name a device. */
static bool read_local(const char *path, struct bytes *text)
{
	struct stat status;

	bytes_clear(text);
	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && file_read(path, text) >= 0 &&
	       text->size > 0;
}

/* Tries the path and all its ends below the folder, the longest first. */
static bool read_below(const char *folder, const char *path, struct bytes *text)
{
	for (const char *rest = path; rest; rest = strchr(rest, '/')) {
		scoped_bytes struct bytes name = BYTES_INIT(MAX_PATH_BYTES);

		while (*rest == '/')
			rest++;
		(void)bytes_append_format(&name, "%s/%s", folder, rest);
		(void)bytes_append_byte(&name, '\0');
		if (*rest && bytes_error(&name) == 0 && read_local((const char *)name.data, text))
			return true;
	}
	return false;
}

/* Reads the file that was uploaded. Logs nothing: most are not. */
static bool read_uploaded(struct client *client, const char *build_id, const char *path,
			  struct bytes *text)
{
	scoped_bytes struct bytes name = BYTES_INIT(MAX_PATH_BYTES);
	scoped_bytes struct bytes escaped = BYTES_INIT(MAX_PATH_BYTES);
	struct client_request request = { .method = "GET" };
	struct client_answer answer = { .body = BYTES_INIT(MAX_SOURCE_BYTES) };
	bool found = false;

	if (!build_id[0] || path[0] != '/')
		return false;
	(void)bytes_append_format(&name, "/buildid/%s/source%s", build_id, path);
	(void)bytes_append_byte(&name, '\0');
	if (bytes_error(&name) == 0 &&
	    client_escape_path(client, &escaped, (const char *)name.data) == 0) {
		request.path = (const char *)escaped.data;
		found = client_exchange(client, &request, &answer) == 0 && answer.status == 200 &&
			answer.body.size > 0;
	}
	bytes_clear(text);
	if (found)
		(void)bytes_append(text, answer.body.data, answer.body.size);
	bytes_release(&answer.body);
	return found && bytes_error(text) == 0;
}

/* Takes the text, which may be empty: the file was looked for. */
static struct bytes_view remember(struct source_finder *finder, const char *path,
				  struct bytes *text)
{
	char *name = strdup(path);

	if (!name || vec_push(&finder->names, name) < 0) {
		free(name);
	} else if (vec_push(&finder->texts, *text) == 0) {
		return bytes_view_of(text);
	} else {
		finder->names.count--;
		free(name);
	}
	bytes_release(text);
	return (struct bytes_view){};
}

struct bytes_view source_finder_find(void *arg, const char *build_id, const char *path)
{
	struct source_finder *finder = arg;
	struct bytes text = BYTES_INIT(MAX_SOURCE_BYTES);

	for (size_t i = 0; i < finder->texts.count; i++)
		if (strcmp(finder->names.items[i], path) == 0)
			return bytes_view_of(&finder->texts.items[i]);
	if ((finder->folder && read_below(finder->folder, path, &text)) ||
	    read_uploaded(finder->client, build_id, path, &text) ||
	    (path[0] == '/' && read_local(path, &text)))
		return remember(finder, path, &text);
	bytes_clear(&text);
	return remember(finder, path, &text);
}
