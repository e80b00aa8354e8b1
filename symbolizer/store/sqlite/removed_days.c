/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/sqlite/removed_days.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/file.h"

#define MAX_FILE_BYTES 64

static char *path_of(const char *folder)
{
	char *path;

	return asprintf(&path, "%s/" REMOVED_DAYS_FILE, folder) < 0 ? NULL : path;
}

day_number removed_days_load(const char *folder)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MAX_FILE_BYTES);
	scoped_free char *path = path_of(folder);
	char name[DAY_FILE_NAME_SIZE];
	day_number day;

	if (!path || file_read(path, &text) < 0 || text.size == 0 ||
	    text.data[text.size - 1] != '\n')
		return 0;
	(void)snprintf(name, sizeof(name), "samples-%.*s.db", (int)text.size - 1,
		       (const char *)text.data);
	return day_file_parse(name, &day) ? day : 0;
}

void removed_days_save(const char *folder, day_number first_day)
{
	scoped_free char *path = path_of(folder);
	char name[DAY_FILE_NAME_SIZE];
	char text[DAY_FILE_NAME_SIZE];
	int length;

	if (!path)
		return;
	day_file_name(first_day, name);
	/* The date of "samples-2026-01-31.db". */
	length = snprintf(text, sizeof(text), "%.10s\n", name + strlen("samples-"));
	(void)file_replace(path, text, (size_t)length, 0640);
}
