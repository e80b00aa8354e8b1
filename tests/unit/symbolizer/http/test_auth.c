/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/auth.h"

#include "common/hash.h"
#include "tests/support/unit.h"

/* SHA-256 of "secret-a" and "secret-b", by sha256sum. */
#define HASH_A "8766b9cb08e6040b704f1e3ee1e186efccf2635b1d2634d6525333007e6aeae1"
#define HASH_B "ff492ef788c89b555e6f738b33d2422f57dbb6656af2402155672c5f123a90af"

#define TWO_TOKENS                                                                                 \
	"tokens:\n"                                                                                \
	"  - name: agents\n"                                                                       \
	"    sha256: " HASH_A "\n"                                                                 \
	"    scopes: [ingest]\n"                                                                   \
	"  - {name: ci, sha256: " HASH_B ", scopes: [upload, read], tenant: team-x}\n"

static struct bytes_view view_of(const char *text)
{
	return (struct bytes_view){ .data = (const uint8_t *)text, .size = strlen(text) };
}

static void a_file_of_tokens_is_read(void **state)
{
	char message[AUTH_MESSAGE_SIZE] = "";
	struct token_set set = {};

	(void)state;
	if (token_set_parse(view_of(TWO_TOKENS), "t", &set, message) < 0)
		fail_msg("%s", message);
	assert_int_equal(set.count, 2);
	assert_string_equal(set.items[0].name, "agents");
	assert_string_equal(set.items[0].tenant, "default");
	assert_int_equal(set.items[0].scopes, HTTP_SCOPE_INGEST);
	assert_string_equal(set.items[1].tenant, "team-x");
	assert_int_equal(set.items[1].scopes, HTTP_SCOPE_UPLOAD | HTTP_SCOPE_READ);
	token_set_release(&set);
}

static void a_secret_finds_its_token_and_no_other(void **state)
{
	char message[AUTH_MESSAGE_SIZE];
	struct token_set set = {};

	(void)state;
	assert_ok(token_set_parse(view_of(TWO_TOKENS), "t", &set, message));
	assert_ptr_equal(token_set_find(&set, "secret-a", 8), &set.items[0]);
	assert_ptr_equal(token_set_find(&set, "secret-b", 8), &set.items[1]);
	assert_null(token_set_find(&set, "secret-c", 8));
	assert_null(token_set_find(&set, "secret-a", 7));
	assert_null(token_set_find(&set, "", 0));
	/* A hash does not authenticate. */
	assert_null(token_set_find(&set, HASH_A, strlen(HASH_A)));
	token_set_release(&set);
}

static void a_mistake_in_the_file_is_refused_with_line_and_column(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} cases[] = {
		{ "", "'t':1:1: expected one key 'tokens' with a list of tokens" },
		{ "tokens:\n", "'t':1:1: expected one key 'tokens' with a list of tokens" },
		{ "tokens: []\n",
		  "'t':1:9: the list of tokens is empty: nobody would have access" },
		{ "tokens: [x]\n", "'t':1:10: a token must be a map with name, sha256 and scopes" },
		{ "token: [x]\n", "'t':1:1: expected one key 'tokens' with a list of tokens" },
		{ "tokens: [{name: a, scopes: [read]}]\n",
		  "'t':1:10: a token needs name, sha256 and at least one scope" },
		{ "tokens: [{name: a, sha256: " HASH_A "}]\n",
		  "'t':1:10: a token needs name, sha256 and at least one scope" },
		{ "tokens: [{name: a, sha256: " HASH_A ", scopes: []}]\n",
		  "'t':1:10: a token needs name, sha256 and at least one scope" },
		{ "tokens: [{name: a, sha256: " HASH_A ", scopes: read}]\n",
		  "'t':1:102: scopes must be a list, such as [read, upload]" },
		{ "tokens: [{name: a, sha256: " HASH_A ", scopes: [write]}]\n",
		  "'t':1:103: unknown scope 'write'; the scopes are ingest, upload, read, admin" },
		{ "tokens: [{name: a, sha256: abcd, scopes: [read]}]\n",
		  "'t':1:28: sha256 must be the 64 hex digits of the token's SHA-256" },
		{ "tokens: [{name: 'a b', sha256: " HASH_A ", scopes: [read]}]\n",
		  "'t':1:17: a name has 1 to 63 letters, digits, '.', '_' or '-'" },
		{ "tokens: [{name: a, sha: " HASH_A ", scopes: [read]}]\n",
		  "'t':1:20: unknown key 'sha'; a token has name, sha256, scopes and tenant" },
		{ "tokens:\n  - {name: a, sha256: " HASH_A ", scopes: [read]}\n"
		  "  - {name: a, sha256: " HASH_B ", scopes: [read]}\n",
		  "'t':3:5: a second token is named 'a'" },
		{ "tokens:\n  - {name: a, sha256: " HASH_A ", scopes: [read]}\n"
		  "  - {name: b, sha256: " HASH_A ", scopes: [read]}\n",
		  "'t':3:5: token 'b' has the same sha256 as 'a'" },
		{ "tokens: [\n", "'t':2:1: did not find expected node content" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char message[AUTH_MESSAGE_SIZE] = "";
		struct token_set set = {};

		assert_errno(token_set_parse(view_of(cases[i].text), "t", &set, message), -EINVAL);
		assert_string_equal(message, cases[i].message);
		assert_null(set.items);
	}
}

static void a_new_secret_is_random_and_has_the_returned_hash(void **state)
{
	char first[TOKEN_SECRET_SIZE], second[TOKEN_SECRET_SIZE];
	struct token tokens[1] = { { .name = "x" } };
	const struct token_set set = { .items = tokens, .count = 1 };
	uint8_t hash[TOKEN_HASH_SIZE];

	(void)state;
	assert_ok(token_generate(first, hash));
	assert_ok(token_generate(second, tokens[0].hash));
	assert_string_not_equal(first, second);
	assert_int_equal(strlen(first), TOKEN_SECRET_SIZE - 1);
	assert_int_equal(strncmp(first, "hearth_", 7), 0);
	assert_memory_not_equal(hash, tokens[0].hash, sizeof(hash));
	assert_ptr_equal(token_set_find(&set, second, strlen(second)), &tokens[0]);
	assert_null(token_set_find(&set, first, strlen(first)));
}

static void names_of_tokens_have_only_letters_digits_and_some_marks(void **state)
{
	static const char *const good[] = { "a", "build-farm_2.x", "A9" };
	static const char *const bad[] = {
		"",  "a b", "a\n",
		"ä", "a/b", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(token_name_is_valid(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(token_name_is_valid(bad[i]));
}

static void without_tokens_every_caller_has_all_scopes(void **state)
{
	scoped(auth_freep) struct auth *auth = NULL;
	struct http_caller caller = {};

	(void)state;
	assert_ok(auth_new(&auth));
	assert_false(auth_has_tokens(auth));
	assert_int_equal(auth_check(auth, NULL, &caller), AUTH_OK);
	assert_true(caller.anonymous);
	assert_int_equal(caller.scopes, HTTP_SCOPE_ALL);
	assert_string_equal(caller.tenant, "default");
}

static void with_tokens_the_header_must_have_a_known_one(void **state)
{
	static const struct {
		const char *header;
		enum auth_result result;
		const char *name;
	} cases[] = {
		{ NULL, AUTH_MISSING, NULL },
		{ "", AUTH_MALFORMED, NULL },
		{ "Bearer", AUTH_MALFORMED, NULL },
		{ "Bearer ", AUTH_MALFORMED, NULL },
		{ "Bearersecret-a", AUTH_MALFORMED, NULL },
		{ "Basic c2VjcmV0LWE=", AUTH_MALFORMED, NULL },
		{ "Bearer secret-a secret-b", AUTH_MALFORMED, NULL },
		{ "Bearer secret-c", AUTH_UNKNOWN, NULL },
		{ "Bearer secret-a", AUTH_OK, "agents" },
		{ "bearer   secret-b", AUTH_OK, "ci" },
	};
	scoped(auth_freep) struct auth *auth = NULL;
	char message[AUTH_MESSAGE_SIZE];
	scoped_free char *path = write_file_in(*state, "tokens", TWO_TOKENS, strlen(TWO_TOKENS));

	assert_ok(auth_new(&auth));
	assert_ok(auth_load(auth, path, message));
	assert_true(auth_has_tokens(auth));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_caller caller = {};

		assert_int_equal(auth_check(auth, cases[i].header, &caller), cases[i].result);
		assert_string_equal(caller.name, cases[i].name ? cases[i].name : "");
		assert_false(caller.anonymous);
	}
}

static void an_invalid_file_does_not_replace_the_tokens(void **state)
{
	scoped(auth_freep) struct auth *auth = NULL;
	char message[AUTH_MESSAGE_SIZE];
	struct http_caller caller;
	scoped_free char *path = write_file_in(*state, "tokens", TWO_TOKENS, strlen(TWO_TOKENS));
	scoped_free char *broken = write_file_in(*state, "broken", "tokens: 7", 9);
	scoped_free char *other = NULL;

	assert_ok(auth_new(&auth));
	assert_ok(auth_load(auth, path, message));
	assert_errno(auth_load(auth, broken, message), -EINVAL);
	assert_errno(auth_load(auth, "/nonexistent/tokens", message), -ENOENT);
	assert_non_null(strstr(message, "'/nonexistent/tokens'"));
	assert_non_null(strstr(message, "--make-token"));
	assert_int_equal(auth_check(auth, "Bearer secret-a", &caller), AUTH_OK);

	other = write_file_in(*state, "other",
			      "tokens: [{name: new, sha256: " HASH_B ", scopes: [read]}]",
			      strlen("tokens: [{name: new, sha256: " HASH_B ", scopes: [read]}]"));
	assert_ok(auth_load(auth, other, message));
	assert_int_equal(auth_check(auth, "Bearer secret-a", &caller), AUTH_UNKNOWN);
	assert_int_equal(auth_check(auth, "Bearer secret-b", &caller), AUTH_OK);
	assert_string_equal(caller.name, "new");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_tokens_is_read),
		cmocka_unit_test(a_secret_finds_its_token_and_no_other),
		cmocka_unit_test(a_mistake_in_the_file_is_refused_with_line_and_column),
		cmocka_unit_test(a_new_secret_is_random_and_has_the_returned_hash),
		cmocka_unit_test(names_of_tokens_have_only_letters_digits_and_some_marks),
		cmocka_unit_test(without_tokens_every_caller_has_all_scopes),
		in_folder(with_tokens_the_header_must_have_a_known_one),
		in_folder(an_invalid_file_does_not_replace_the_tokens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
