/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compilers write "/build/obj/../src/main.c". Some clients send that path, and others resolve the
 * ".." literally. Both get the same key.
 */

#include "symbolizer/debuginfo/debuginfo_store.h"

#include <string.h>

/* Returns the length without the last segment: "/a/b" becomes "/a". */
static size_t parent_length(const char *path, size_t length)
{
	while (length > 0 && path[length - 1] != '/')
		length--;
	return length > 0 ? length - 1 : 0;
}

int debuginfo_canonical_path(const char *path, char ret_path[DEBUGINFO_MAX_PATH])
{
	char canonical[DEBUGINFO_MAX_PATH];
	size_t length = 0;

	while (*path) {
		size_t segment;

		path += strspn(path, "/");
		segment = strcspn(path, "/");
		if (segment == 2 && path[0] == '.' && path[1] == '.') {
			length = parent_length(canonical, length);
		} else if (segment > 0 && !(segment == 1 && path[0] == '.')) {
			if (length + 1 + segment >= sizeof(canonical))
				return -EINVAL;
			canonical[length++] = '/';
			memcpy(canonical + length, path, segment);
			length += segment;
		}
		path += segment;
	}
	if (length == 0)
		return -EINVAL;
	canonical[length] = '\0';
	memcpy(ret_path, canonical, length + 1);
	return 0;
}
