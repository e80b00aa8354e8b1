/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tests the whole server in a folder of the test: the messages of a failed start, and serving.
 */

#include "symbolizer/symbolizer.h"

#include <curl/curl.h>
#include <sys/stat.h>

#include "tests/support/unit.h"

/* Makes a configuration with a free port and data in @folder/data. */
static void make_config(const char *folder, struct symbolizer_config *config)
{
	scoped_free char *data = path_in(folder, "data");
	char message[CONFIG_MESSAGE_SIZE];

	*config = (struct symbolizer_config){};
	assert_ok(config_set_defaults(&symbolizer_config_table, config));
	assert_ok(config_set(&symbolizer_config_table, "listen", "127.0.0.1:0", "test", config,
			     message));
	assert_ok(config_set(&symbolizer_config_table, "data", data, "test", config, message));
}

static void set(struct symbolizer_config *config, const char *name, const char *value)
{
	char message[CONFIG_MESSAGE_SIZE];

	if (config_set(&symbolizer_config_table, name, value, "test", config, message) < 0)
		fail_msg("%s", message);
}

static size_t collect(char *data, size_t size, size_t count, void *arg)
{
	return bytes_append(arg, data, size * count) < 0 ? 0 : size * count;
}

/* Returns the status and fills @body. */
static long get(const struct symbolizer *symbolizer, const char *path, const char *header,
		struct bytes *body)
{
	struct curl_slist *headers = curl_slist_append(NULL, header ? header : "X-None: 1");
	CURL *curl = curl_easy_init();
	char url[256];
	long status = 0;

	assert_non_null(curl);
	*body = BYTES_INIT(MIB);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", symbolizer_port(symbolizer),
		       path);
	(void)curl_easy_setopt(curl, CURLOPT_URL, url);
	(void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	(void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, 20L);
	(void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	(void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
	(void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
	assert_int_equal(curl_easy_perform(curl), CURLE_OK);
	(void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	assert_ok(bytes_append_byte(body, '\0'));
	return status;
}

static void a_new_server_is_ready_and_makes_its_folder(void **state)
{
	static const struct {
		const char *path, *part;
	} cases[] = {
		/* First in the list, because the server detects a moment later that a client has
		 * disconnected. */
		{ "/metrics", "hearth_symbolizer_http_open_connections 1" },
		{ "/readyz", "ok" },
		{ "/v1/services", "{\"services\":[]" },
		{ "/v1/hosts", "{\"hosts\":[]}" },
		{ "/v1/debuginfo", "{\"debuginfo\":[]}" },
		{ "/v1/flame?service=x", "\"result\":null" },
		{ "/", "<!doctype html>" },
	};
	scoped(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	scoped(symbolizer_config_release) struct symbolizer_config config;
	char message[SYMBOLIZER_MESSAGE_SIZE];
	struct stat status;

	make_config(*state, &config);
	if (symbolizer_start(&config, &system_clock, &symbolizer, message) < 0)
		fail_msg("%s", message);
	assert_int_equal(stat(config.data, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0750);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes body;

		assert_int_equal(get(symbolizer, cases[i].path, NULL, &body), 200);
		if (!strstr((const char *)body.data, cases[i].part))
			fail_msg("%s: %s", cases[i].path, (const char *)body.data);
	}
	symbolizer_prune(symbolizer);
}

static void a_second_server_on_the_same_data_is_refused(void **state)
{
	scoped(symbolizer_freep) struct symbolizer *first = NULL;
	scoped(symbolizer_config_release) struct symbolizer_config config;
	char message[SYMBOLIZER_MESSAGE_SIZE];
	struct symbolizer *second = NULL;

	make_config(*state, &config);
	assert_ok(symbolizer_start(&config, &system_clock, &first, message));
	assert_errno(symbolizer_start(&config, &system_clock, &second, message), -EBUSY);
	assert_non_null(strstr(message, config.data));
	assert_non_null(strstr(message, "another hearth-symbolizer uses it"));
	assert_non_null(strstr(message, "--data"));

	/* When the first one has ended, its folder is free. */
	first = symbolizer_free(first);
	assert_ok(symbolizer_start(&config, &system_clock, &first, message));
}

static void a_failed_start_has_one_message_with_the_remedy(void **state)
{
	scoped_free char *file = write_file_in(*state, "file", "x", 1);
	scoped_free char *tokens = write_file_in(*state, "tokens", "tokens: []", 10);
	scoped_free char *below_file = NULL;
	const struct {
		const char *key, *value, *part;
	} cases[] = {
		{ "data", "FILE/data", "--data" },
		{ "listen", "0.0.0.0:0", "--tokens" },
		{ "listen", "192.0.2.1:0", "--tokens" },
		{ "tokens", tokens, "the list of tokens is empty" },
	};

	assert_true(asprintf(&below_file, "%s/data", file) > 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(symbolizer_config_release) struct symbolizer_config config;
		char message[SYMBOLIZER_MESSAGE_SIZE] = "";
		struct symbolizer *symbolizer = NULL;

		make_config(*state, &config);
		set(&config, cases[i].key, i == 0 ? below_file : cases[i].value);
		assert_true(symbolizer_start(&config, &system_clock, &symbolizer, message) < 0);
		assert_null(symbolizer);
		if (!strstr(message, cases[i].part))
			fail_msg("no '%s' in '%s'", cases[i].part, message);
	}
}

/* SHA-256 of "secret-a" and of "secret-b". */
#define TOKENS_A                                                                                   \
	"tokens: [{name: a, sha256: "                                                              \
	"8766b9cb08e6040b704f1e3ee1e186efccf2635b1d2634d6525333007e6aeae1, scopes: [read]}]"
#define TOKENS_B                                                                                   \
	"tokens: [{name: b, sha256: "                                                              \
	"ff492ef788c89b555e6f738b33d2422f57dbb6656af2402155672c5f123a90af, scopes: [read]}]"

static void a_reload_applies_the_new_tokens(void **state)
{
	scoped_free char *tokens = write_file_in(*state, "tokens", TOKENS_A, strlen(TOKENS_A));
	scoped(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	scoped(symbolizer_config_release) struct symbolizer_config config;
	char message[SYMBOLIZER_MESSAGE_SIZE];
	struct bytes body;

	make_config(*state, &config);
	set(&config, "tokens", tokens);
	assert_ok(symbolizer_start(&config, &system_clock, &symbolizer, message));
	assert_int_equal(get(symbolizer, "/v1/hosts", NULL, &body), 401);
	bytes_release(&body);
	assert_int_equal(get(symbolizer, "/v1/hosts", "Authorization: Bearer secret-a", &body),
			 200);
	bytes_release(&body);

	free(write_file_in(*state, "tokens", TOKENS_B, strlen(TOKENS_B)));
	symbolizer_reload(symbolizer, &config);
	assert_int_equal(get(symbolizer, "/v1/hosts", "Authorization: Bearer secret-a", &body),
			 401);
	bytes_release(&body);
	assert_int_equal(get(symbolizer, "/v1/hosts", "Authorization: Bearer secret-b", &body),
			 200);
	bytes_release(&body);

	free(write_file_in(*state, "tokens", "tokens: 7", 9));
	symbolizer_reload(symbolizer, &config);
	assert_int_equal(get(symbolizer, "/v1/hosts", "Authorization: Bearer secret-b", &body),
			 200);
	bytes_release(&body);
}

static void a_changed_file_is_loaded_unless_it_has_a_mistake(void **state)
{
	scoped_free char *tokens = write_file_in(*state, "tokens", TOKENS_A, strlen(TOKENS_A));
	scoped_free char *next = write_file_in(*state, "next", TOKENS_B, strlen(TOKENS_B));
	scoped(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	scoped(symbolizer_config_release) struct symbolizer_config config;
	char message[SYMBOLIZER_MESSAGE_SIZE];
	struct bytes body;

	make_config(*state, &config);
	set(&config, "tokens", tokens);
	assert_ok(symbolizer_start(&config, &system_clock, &symbolizer, message));
	symbolizer_check_tokens(symbolizer);
	assert_int_equal(get(symbolizer, "/v1/hosts", "Authorization: Bearer secret-a", &body),
			 200);
	bytes_release(&body);

	assert_int_equal(rename(next, tokens), 0);
	symbolizer_check_tokens(symbolizer);
	assert_int_equal(get(symbolizer, "/v1/hosts", "Authorization: Bearer secret-b", &body),
			 200);
	bytes_release(&body);

	free(write_file_in(*state, "tokens", "tokens: 7", 9));
	symbolizer_check_tokens(symbolizer);
	assert_int_equal(unlink(tokens), 0);
	symbolizer_check_tokens(symbolizer);
	assert_int_equal(get(symbolizer, "/v1/hosts", "Authorization: Bearer secret-b", &body),
			 200);
	bytes_release(&body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_new_server_is_ready_and_makes_its_folder),
		in_folder(a_second_server_on_the_same_data_is_refused),
		in_folder(a_failed_start_has_one_message_with_the_remedy),
		in_folder(a_reload_applies_the_new_tokens),
		in_folder(a_changed_file_is_loaded_unless_it_has_a_mistake),
	};

	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
