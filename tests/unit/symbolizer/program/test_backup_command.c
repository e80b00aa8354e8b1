/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include <sys/stat.h>

#include "common/clock.h"
#include "symbolizer/backup_command.h"
#include "symbolizer/store/sqlite/sqlite_store.h"

static char *make_data(const char *folder)
{
	char *data = path_in(folder, "data");
	struct store *store;

	assert_ok(sqlite_store_open(data, &system_clock, &store));
	(void)store_free(store);
	return data;
}

static void a_backup_is_a_data_folder(void **state)
{
	scoped_free char *data = make_data(*state);
	scoped_free char *target = path_in(*state, "backup");
	scoped_free char *clock = path_in(*state, "backup/retention-clock");
	scoped_free char *partial = path_in(*state, "backup.partial");
	char message[BACKUP_MESSAGE_SIZE];
	struct store *store;

	assert_ok(backup_command(data, true, target, message));
	assert_ok(access(clock, F_OK));
	assert_true(access(partial, F_OK) < 0);
	assert_ok(sqlite_store_open(target, &system_clock, &store));
	(void)store_free(store);

	assert_errno(backup_command(data, true, target, message), -EEXIST);
	assert_non_null(strstr(message, "choose a folder that does not exist"));
}

static void a_missing_data_folder_is_named_in_the_message(void **state)
{
	scoped_free char *data = path_in(*state, "nowhere");
	scoped_free char *target = path_in(*state, "backup");
	char message[BACKUP_MESSAGE_SIZE];

	assert_errno(backup_command(data, true, target, message), -ENOENT);
	assert_non_null(strstr(message, data));
	assert_true(access(target, F_OK) < 0);
}

static void an_interrupted_backup_is_not_overwritten(void **state)
{
	scoped_free char *data = make_data(*state);
	scoped_free char *target = path_in(*state, "backup");
	scoped_free char *partial = path_in(*state, "backup.partial");
	char message[BACKUP_MESSAGE_SIZE];

	assert_ok(mkdir(partial, 0700));
	assert_errno(backup_command(data, true, target, message), -EEXIST);
	assert_non_null(strstr(message, "interrupted"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_backup_is_a_data_folder),
		in_folder(a_missing_data_folder_is_named_in_the_message),
		in_folder(an_interrupted_backup_is_not_overwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
