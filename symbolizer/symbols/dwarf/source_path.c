/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/dwarf/source_path.h"

static int append_component(struct bytes *out, const char *name, size_t length)
{
	int r = 0;

	if (out->size > 0 && out->data[out->size - 1] != '/')
		r = bytes_append_byte(out, '/');
	return r < 0 ? r : bytes_append(out, name, length);
}

/* Appends "..": "a/b" becomes "a", "/" stays "/"; to "" and ".." the ".." is appended. */
static int go_up(struct bytes *out)
{
	const uint8_t *slash = out->size > 0 ? memrchr(out->data, '/', out->size) : NULL;
	const size_t last = slash ? (size_t)(slash - out->data) + 1 : 0;
	const size_t length = out->size - last;

	if (slash && length == 0)
		return 0;
	if (length == 0 || (length == 2 && memcmp(out->data + last, "..", 2) == 0))
		return append_component(out, "..", 2);
	out->size = last > 1 ? last - 1 : last;
	return 0;
}

int source_path_append(struct bytes *out, const char *text)
{
	int r = 0;

	if (text[0] == '/' && out->size == 0)
		r = bytes_append_byte(out, '/');
	while (r == 0 && *text) {
		const size_t length = strcspn(text, "/");

		if (length == 2 && strncmp(text, "..", 2) == 0)
			r = go_up(out);
		else if (length > 1 || (length == 1 && text[0] != '.'))
			r = append_component(out, text, length);
		text += length;
		text += strspn(text, "/");
	}
	return r;
}
