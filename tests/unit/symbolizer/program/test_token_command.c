/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/token_command.h"

#include "symbolizer/http/auth.h"
#include "tests/support/unit.h"

static struct token_request asking(const char *name, const char *scopes, FILE *out)
{
	return (struct token_request){
		.name = name,
		.scopes = scopes,
		.tenant = "team-x",
		.path = "",
		.out = out,
		.hints = out,
	};
}

static char *printed_by(struct token_request request)
{
	char message[CONFIG_MESSAGE_SIZE] = "";
	char *printed = NULL;
	size_t size;
	FILE *out = open_memstream(&printed, &size);

	assert_non_null(out);
	request.out = out;
	if (token_command(&request, message) < 0)
		fail_msg("%s", message);
	(void)fclose(out);
	return printed;
}

static void printed_entries_can_be_pasted_into_one_file(void **state)
{
	scoped_free char *first = printed_by(asking("ci-1", "read,upload", NULL));
	scoped_free char *second = printed_by(asking("ci-2", "ingest", NULL));
	scoped_free char *file = NULL;
	char message[AUTH_MESSAGE_SIZE];
	const struct token *token;
	struct token_set set = {};
	const char *secret = strstr(first, "\nhearth_");

	(void)state;
	assert_non_null(secret);
	/* The secret is on one line only. */
	assert_null(strstr(secret + 2, "\nhearth_"));
	assert_true(asprintf(&file, "tokens:\n%s%s", strstr(first, "  - name:"),
			     strstr(second, "  - name:")) > 0);
	assert_ok(token_set_parse((struct bytes_view){ (const uint8_t *)file, strlen(file) },
				  "printed", &set, message));
	assert_int_equal(set.count, 2);
	token = token_set_find(&set, secret + 1, strcspn(secret + 1, "\n"));
	assert_non_null(token);
	assert_string_equal(token->name, "ci-1");
	assert_string_equal(token->tenant, "team-x");
	assert_int_equal(token->scopes, HTTP_SCOPE_READ | HTTP_SCOPE_UPLOAD);
	token_set_release(&set);
}

static void with_a_file_only_the_token_is_printed(void **state)
{
	scoped_free char *path = path_in(*state, "tokens.yaml");
	scoped_free char *hints = NULL, *printed = NULL;
	size_t size;
	FILE *hints_out = open_memstream(&hints, &size);
	struct token_request request = asking("agents", "ingest", NULL);
	scoped(auth_freep) struct auth *auth = NULL;
	char message[AUTH_MESSAGE_SIZE] = "", header[256];
	struct http_caller caller;

	request.path = path;
	request.hints = hints_out;
	printed = printed_by(request);
	(void)fclose(hints_out);

	assert_int_equal(strncmp(printed, "hearth_", 7), 0);
	assert_int_equal(strcspn(printed, "\n"), strlen(printed) - 1);
	assert_non_null(strstr(hints, path));
	assert_non_null(strstr(hints, "SIGHUP"));
	assert_null(strstr(hints, "hearth_"));
	assert_ok(auth_new(&auth));
	assert_ok(auth_load(auth, path, message));
	(void)snprintf(header, sizeof(header), "Bearer %.*s", (int)strlen(printed) - 1, printed);
	assert_int_equal(auth_check(auth, header, &caller), AUTH_OK);
}

static void errors_name_the_flag(void **state)
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
		struct token_request request = asking(cases[i].name, cases[i].scopes, stdout);
		char message[CONFIG_MESSAGE_SIZE] = "";

		request.tenant = cases[i].tenant;
		assert_errno(token_command(&request, message), -EINVAL);
		if (strncmp(message, cases[i].message, strlen(cases[i].message)) != 0)
			fail_msg("%s", message);
	}
}

static void a_token_that_cannot_be_written_is_an_error(void **state)
{
	scoped_free char *path = path_in(*state, "tokens.yaml");
	char message[CONFIG_MESSAGE_SIZE];
	scoped_file FILE *full = fopen("/dev/full", "we");
	struct token_request request;

	assert_non_null(full);
	request = asking("ci", "read", full);
	assert_errno(token_command(&request, message), -EIO);
	request.path = path;
	assert_errno(token_command(&request, message), -EIO);
	assert_non_null(strstr(message, "remove the entry 'ci'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(printed_entries_can_be_pasted_into_one_file),
		in_folder(with_a_file_only_the_token_is_printed),
		cmocka_unit_test(errors_name_the_flag),
		in_folder(a_token_that_cannot_be_written_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
