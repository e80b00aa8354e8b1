/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/data_folder/removed_days.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/file.h"
#include "common/scoped.h"

#define MAX_FILE_BYTES 64

/* "2026-01-31\n" and the end of the text. */
#define DATE_SIZE 12

static char *path_of(const char *folder)
{
	char *path;

	return asprintf(&path, "%s/" REMOVED_DAYS_FILE, folder) < 0 ? NULL : path;
}

static void write_date(uint32_t day, char ret_text[DATE_SIZE])
{
	const time_t time = (time_t)day * 24 * 3600;
	struct tm tm = {};

	(void)gmtime_r(&time, &tm);
	(void)strftime(ret_text, DATE_SIZE, "%Y-%m-%d\n", &tm);
}

uint32_t removed_days_load(const char *folder)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MAX_FILE_BYTES);
	scoped_free char *path = path_of(folder);
	char copy[DATE_SIZE] = "", again[DATE_SIZE];
	struct tm tm = {};
	time_t time;

	if (!path || file_read(path, &text) < 0 || text.size != DATE_SIZE - 1)
		return 0;
	memcpy(copy, text.data, text.size);
	if (sscanf(copy, "%4d-%2d-%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday) != 3)
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	time = timegm(&tm);
	if (time <= 0)
		return 0;
	/* A date that does not exist, as February 31, is another one when it is written. */
	write_date((uint32_t)(time / (24 * 3600)), again);
	return strcmp(copy, again) == 0 ? (uint32_t)(time / (24 * 3600)) : 0;
}

void removed_days_save(const char *folder, uint32_t first_day)
{
	scoped_free char *path = path_of(folder);
	char text[DATE_SIZE];

	if (!path)
		return;
	write_date(first_day, text);
	(void)file_replace(path, text, strlen(text), 0640);
}
