/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/token_watch.h"

#include <sys/resource.h>

#include "tests/support/unit.h"

#define TOKENS                                                                                     \
	"tokens: [{name: a, sha256: "                                                              \
	"8766b9cb08e6040b704f1e3ee1e186efccf2635b1d2634d6525333007e6aeae1, scopes: [read]}]\n"

static void touch_with_time(const char *path, long nanoseconds)
{
	const struct timespec times[2] = { { .tv_sec = 1000, .tv_nsec = nanoseconds },
					   { .tv_sec = 1000, .tv_nsec = nanoseconds } };

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void a_change_is_reported_until_the_file_is_loaded(void **state)
{
	scoped_free char *path = write_file_in(*state, "tokens", TOKENS, strlen(TOKENS));
	scoped(token_watch_release) struct token_watch watch = {};
	scoped(auth_freep) struct auth *auth = NULL;
	char message[AUTH_MESSAGE_SIZE];

	assert_ok(auth_new(&auth));
	assert_false(token_watch_changed(&watch));
	assert_ok(token_watch_load(&watch, auth, path, message));
	assert_false(token_watch_changed(&watch));

	/* The new file has the same size and another time. */
	touch_with_time(path, 1);
	assert_true(token_watch_changed(&watch));
	assert_true(token_watch_changed(&watch));
	assert_ok(token_watch_load(&watch, auth, path, message));
	assert_false(token_watch_changed(&watch));
}

static void replacing_a_symbolic_link_is_a_change(void **state)
{
	scoped_free char *first = write_file_in(*state, "first", TOKENS, strlen(TOKENS));
	scoped_free char *second = write_file_in(*state, "second", TOKENS, strlen(TOKENS));
	scoped_free char *link = path_in(*state, "tokens");
	scoped(token_watch_release) struct token_watch watch = {};
	scoped(auth_freep) struct auth *auth = NULL;
	char message[AUTH_MESSAGE_SIZE];

	assert_ok(auth_new(&auth));
	assert_int_equal(symlink(first, link), 0);
	assert_ok(token_watch_load(&watch, auth, link, message));
	assert_int_equal(unlink(link), 0);
	assert_true(token_watch_changed(&watch));
	assert_int_equal(symlink(second, link), 0);
	assert_true(token_watch_changed(&watch));
}

static void an_invalid_file_is_loaded_again_only_after_a_change(void **state)
{
	scoped_free char *path = write_file_in(*state, "tokens", "tokens: 7\n", 10);
	scoped(token_watch_release) struct token_watch watch = {};
	scoped(auth_freep) struct auth *auth = NULL;
	char message[AUTH_MESSAGE_SIZE];

	assert_ok(auth_new(&auth));
	assert_errno(token_watch_load(&watch, auth, path, message), -EINVAL);
	assert_false(token_watch_changed(&watch));
	free(write_file_in(*state, "tokens", TOKENS, strlen(TOKENS)));
	assert_true(token_watch_changed(&watch));
}

static void an_unreadable_file_is_loaded_again(void **state)
{
	scoped_free char *path = write_file_in(*state, "tokens", TOKENS, strlen(TOKENS));
	scoped(token_watch_release) struct token_watch watch = {};
	scoped(auth_freep) struct auth *auth = NULL;
	char message[AUTH_MESSAGE_SIZE];
	struct rlimit files, none;

	assert_ok(auth_new(&auth));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = files;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_errno(token_watch_load(&watch, auth, path, message), -EMFILE);
	assert_true(token_watch_changed(&watch));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_ok(token_watch_load(&watch, auth, path, message));
	assert_false(token_watch_changed(&watch));
}

static void a_missing_file_is_loaded_when_it_is_created(void **state)
{
	scoped_free char *path = path_in(*state, "tokens");
	scoped(token_watch_release) struct token_watch watch = {};
	scoped(auth_freep) struct auth *auth = NULL;
	char message[AUTH_MESSAGE_SIZE];

	assert_ok(auth_new(&auth));
	assert_errno(token_watch_load(&watch, auth, path, message), -ENOENT);
	assert_false(token_watch_changed(&watch));
	free(write_file_in(*state, "tokens", TOKENS, strlen(TOKENS)));
	assert_true(token_watch_changed(&watch));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_change_is_reported_until_the_file_is_loaded),
		in_folder(replacing_a_symbolic_link_is_a_change),
		in_folder(an_invalid_file_is_loaded_again_only_after_a_change),
		in_folder(an_unreadable_file_is_loaded_again),
		in_folder(a_missing_file_is_loaded_when_it_is_created),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
