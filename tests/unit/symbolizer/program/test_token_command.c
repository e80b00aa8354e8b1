/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/token_command.h"

#include "symbolizer/http/auth.h"
#include "tests/support/unit.h"

static void the_entry_that_is_printed_lets_the_token_in(void **state)
{
	scoped_free char *printed = NULL;
	char message[AUTH_MESSAGE_SIZE];
	const struct token *token;
	struct token_set set = {};
	const char *secret, *entry;
	size_t size;
	FILE *out;

	(void)state;
	out = open_memstream(&printed, &size);
	assert_non_null(out);
	assert_ok(token_command("ci-1", "read,upload", "team-x", out, message));
	(void)fclose(out);

	secret = strstr(printed, "\nhearth_");
	entry = strstr(printed, "\ntokens:\n");
	assert_non_null(secret);
	assert_non_null(entry);
	assert_ok(token_set_parse((struct bytes_view){ (const uint8_t *)entry, strlen(entry) },
				  "printed", &set, message));
	token = token_set_find(&set, secret + 1, strcspn(secret + 1, "\n"));
	assert_non_null(token);
	assert_string_equal(token->name, "ci-1");
	assert_string_equal(token->tenant, "team-x");
	assert_int_equal(token->scopes, HTTP_SCOPE_READ | HTTP_SCOPE_UPLOAD);
	/* The secret stands in its own line only. */
	assert_null(strstr(secret + 2, "hearth_"));
	token_set_release(&set);
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *name, *scopes, *tenant, *message;
	} cases[] = {
		{ "ci", "", "default", "--make-token needs --scopes" },
		{ "ci", "read,write", "default",
		  "--scopes: 'write' is none of ingest, upload, read, admin" },
		{ "ci", "read,,upload", "default", "--scopes: '' is none of" },
		{ "c i", "read", "default", "--make-token: 'c i' must have" },
		{ "ci", "read", "a/b", "--tenant: 'a/b' must have" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char message[CONFIG_MESSAGE_SIZE] = "";

		assert_errno(token_command(cases[i].name, cases[i].scopes, cases[i].tenant, stdout,
					   message),
			     -EINVAL);
		if (strncmp(message, cases[i].message, strlen(cases[i].message)) != 0)
			fail_msg("%s", message);
	}
}

static void a_token_that_cannot_be_written_is_an_error(void **state)
{
	char message[CONFIG_MESSAGE_SIZE];
	scoped_file FILE *full = fopen("/dev/full", "we");

	(void)state;
	assert_non_null(full);
	assert_errno(token_command("ci", "read", "default", full, message), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_entry_that_is_printed_lets_the_token_in),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(a_token_that_cannot_be_written_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
