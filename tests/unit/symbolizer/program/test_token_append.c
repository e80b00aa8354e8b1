/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/token_append.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/file.h"
#include "tests/support/unit.h"

#define WAIT_NS (60 * NSEC_PER_SEC)

#define HASH_A "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"

static struct token made(const char *name, uint8_t first_byte)
{
	struct token token = { .tenant = "default", .scopes = HTTP_SCOPE_INGEST };

	(void)snprintf(token.name, sizeof(token.name), "%s", name);
	token.hash[0] = first_byte;
	return token;
}

static char *content_of(const char *path)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);

	assert_ok(file_read(path, &text));
	assert_ok(bytes_append_byte(&text, 0));
	return strdup((const char *)text.data);
}

static size_t count_in(const char *path)
{
	scoped_free char *text = content_of(path);
	char message[AUTH_MESSAGE_SIZE] = "";
	struct token_set set = {};
	size_t count;

	if (token_set_parse((struct bytes_view){ (const uint8_t *)text, strlen(text) }, path, &set,
			    message) < 0)
		fail_msg("%s", message);
	count = set.count;
	token_set_release(&set);
	return count;
}

static void a_missing_file_is_created_for_its_owner_only(void **state)
{
	scoped_free char *path = path_in(*state, "tokens.yaml");
	struct token first = made("agents", 1), second = made("people", 2);
	char message[AUTH_MESSAGE_SIZE];
	struct stat status;

	assert_ok(token_append(path, &first, WAIT_NS, message));
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_ok(token_append(path, &second, WAIT_NS, message));
	assert_int_equal(count_in(path), 2);
}

static void the_entry_follows_the_unchanged_text(void **state)
{
	static const char *const texts[] = {
		"",
		"# nobody yet\n",
		"tokens:\n",
		"tokens: # nobody yet",
		"# who\ntokens:\n  # the agents\n  - name: a\n    sha256: " HASH_A
		"\n    scopes: [ingest]\n  # - no more\n",
		"tokens:\n- name: a\n  sha256: " HASH_A "\n  scopes: [ingest]",
		"---\ntokens:\n      - scopes: [read, upload] # not ingest\n        name: a\n      "
		"  "
		"sha256: " HASH_A "\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		scoped_free char *path =
			write_file_in(*state, "t.yaml", texts[i], strlen(texts[i]));
		bool had_one = strstr(texts[i], HASH_A) != NULL;
		struct token token = made("new", 1);
		char message[AUTH_MESSAGE_SIZE] = "";
		scoped_free char *text = NULL;

		if (token_append(path, &token, WAIT_NS, message) < 0)
			fail_msg("%zu: %s", i, message);
		text = content_of(path);
		assert_int_equal(strncmp(text, texts[i], strlen(texts[i])), 0);
		assert_int_equal(count_in(path), had_one ? 2 : 1);
	}
}

static void a_file_in_another_form_is_refused_and_unchanged(void **state)
{
	static const struct {
		const char *text, *reason;
		int error;
	} cases[] = {
		{ "tokens:\n  - name: new\n    sha256: " HASH_A "\n    scopes: [read]\n",
		  "has a token named 'new' already: choose another name, or remove that entry",
		  -EEXIST },
		{ "tokens:\n  - name: a\n    sha256: 12\n", "sha256 must be", -EINVAL },
		{ "tokens: [{name: a, sha256: " HASH_A ", scopes: [read]}]\n", "cannot append",
		  -EINVAL },
		{ "listen: 1\n", "expected one key 'tokens'", -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_free char *path =
			write_file_in(*state, "t.yaml", cases[i].text, strlen(cases[i].text));
		struct token token = made("new", 1);
		char message[AUTH_MESSAGE_SIZE] = "";
		scoped_free char *text = NULL;

		assert_errno(token_append(path, &token, WAIT_NS, message), cases[i].error);
		if (!strstr(message, cases[i].reason))
			fail_msg("no '%s' in '%s'", cases[i].reason, message);
		text = content_of(path);
		assert_string_equal(text, cases[i].text);
	}
}

static void the_message_for_a_missing_folder_has_the_remedy(void **state)
{
	scoped_free char *path = path_in(*state, "none/tokens.yaml");
	struct token token = made("new", 1);
	char message[AUTH_MESSAGE_SIZE] = "";

	assert_errno(token_append(path, &token, WAIT_NS, message), -ENOENT);
	assert_non_null(strstr(message, "/none'"));
	assert_non_null(strstr(message, "mkdir -p"));
}

static void owner_mode_and_symbolic_link_are_kept(void **state)
{
	scoped_free char *path = write_file_in(*state, "real.yaml", "tokens:\n", 8);
	scoped_free char *link = path_in(*state, "link.yaml");
	struct token token = made("new", 1);
	char message[AUTH_MESSAGE_SIZE];
	struct stat status;
	bool as_root = geteuid() == 0;

	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(symlink("real.yaml", link), 0);
	if (as_root)
		assert_int_equal(chown(path, 65534, 65534), 0);

	assert_ok(token_append(link, &token, WAIT_NS, message));

	assert_int_equal(lstat(link, &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0640);
	assert_int_equal(status.st_uid, as_root ? 65534 : geteuid());
	assert_int_equal(count_in(path), 1);
}

static void other_than_regular_files_are_refused_and_unchanged(void **state)
{
	scoped_free char *folder = path_in(*state, "folder");
	scoped_free char *fifo = path_in(*state, "fifo");
	scoped_free char *link = path_in(*state, "link");
	const struct {
		const char *path, *reason;
		mode_t type;
	} cases[] = {
		{ folder, "not a regular file", S_IFDIR },
		{ fifo, "not a regular file", S_IFIFO },
		{ link, "a symbolic link to a file that does not exist", S_IFLNK },
	};
	struct token token = made("new", 1);

	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("none", link), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char message[AUTH_MESSAGE_SIZE] = "";
		struct stat status;

		assert_errno(token_append(cases[i].path, &token, WAIT_NS, message), -EINVAL);
		if (!strstr(message, cases[i].reason))
			fail_msg("no '%s' in '%s'", cases[i].reason, message);
		assert_int_equal(lstat(cases[i].path, &status), 0);
		assert_int_equal(status.st_mode & S_IFMT, cases[i].type);
	}
}

static void the_wait_for_a_locked_folder_is_limited(void **state)
{
	scoped_free char *path = path_in(*state, "tokens.yaml");
	scoped_fd int lock = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct token token = made("new", 1);
	char message[AUTH_MESSAGE_SIZE] = "";

	assert_true(lock >= 0);
	assert_int_equal(flock(lock, LOCK_EX), 0);
	assert_errno(token_append(path, &token, 0, message), -EBUSY);
	assert_non_null(strstr(message, "another program has locked the folder"));
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(flock(lock, LOCK_UN), 0);
	assert_ok(token_append(path, &token, 0, message));
}

static void the_message_for_a_file_that_would_be_too_large_names_it(void **state)
{
	const size_t size = MIB - 20;
	scoped_free char *text = malloc(size);
	scoped_free char *path = NULL;
	struct token token = made("new", 1);
	char message[AUTH_MESSAGE_SIZE] = "";

	assert_non_null(text);
	memset(text, '#', size);
	path = write_file_in(*state, "t.yaml", text, size);
	assert_errno(token_append(path, &token, WAIT_NS, message), -EFBIG);
	assert_non_null(strstr(message, "would be larger than 1024 KiB"));
}

static void concurrent_programs_lose_no_entry(void **state)
{
	enum { PROGRAMS = 8, ENTRIES = 8 };
	scoped_free char *path = path_in(*state, "tokens.yaml");
	pid_t pids[PROGRAMS];

	for (int i = 0; i < PROGRAMS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] > 0)
			continue;
		for (int j = 0; j < ENTRIES; j++) {
			char name[32], message[AUTH_MESSAGE_SIZE];
			struct token token;

			(void)snprintf(name, sizeof(name), "p%d-%d", i, j);
			token = made(name, (uint8_t)(i * ENTRIES + j));
			if (token_append(path, &token, WAIT_NS, message) < 0)
				_exit(1);
		}
		_exit(0);
	}
	for (int i = 0; i < PROGRAMS; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(count_in(path), PROGRAMS * ENTRIES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_missing_file_is_created_for_its_owner_only),
		in_folder(the_entry_follows_the_unchanged_text),
		in_folder(a_file_in_another_form_is_refused_and_unchanged),
		in_folder(the_message_for_a_missing_folder_has_the_remedy),
		in_folder(owner_mode_and_symbolic_link_are_kept),
		in_folder(other_than_regular_files_are_refused_and_unchanged),
		in_folder(the_wait_for_a_locked_folder_is_limited),
		in_folder(the_message_for_a_file_that_would_be_too_large_names_it),
		in_folder(concurrent_programs_lose_no_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
