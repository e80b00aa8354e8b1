/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/listen.h"

#include "tests/support/unit.h"

static void addresses_are_numbers_with_a_port(void **state)
{
	static const struct {
		const char *text;
		const char *canonical;
		bool loopback;
	} cases[] = {
		{ "127.0.0.1:20416", "127.0.0.1:20416", true },
		{ "localhost:1", "127.0.0.1:1", true },
		{ "127.9.9.9:0", "127.9.9.9:0", true },
		{ "0.0.0.0:80", "0.0.0.0:80", false },
		{ "10.1.2.3:65535", "10.1.2.3:65535", false },
		{ "[::1]:20416", "[::1]:20416", true },
		{ "[0:0::1]:2", "[::1]:2", true },
		{ "[::]:20416", "[::]:20416", false },
		{ "[fe80::7]:1", "[fe80::7]:1", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char message[LISTEN_MESSAGE_SIZE], text[LISTEN_TEXT_SIZE];
		struct listen_address address;

		assert_ok(listen_address_parse(cases[i].text, strlen(cases[i].text), &address,
					       message));
		listen_address_format(&address, text);
		assert_string_equal(text, cases[i].canonical);
		assert_int_equal(listen_address_is_loopback(&address), cases[i].loopback);
	}
}

static void other_texts_are_refused_and_quoted(void **state)
{
	static const char *const cases[] = { "",
					     "127.0.0.1",
					     ":80",
					     "127.0.0.1:",
					     "127.0.0.1:x",
					     "127.0.0.1:65536",
					     "127.0.0.1:-1",
					     "::1:80",
					     "[::1]80",
					     "[::1:80",
					     "[]:80",
					     "example.com:80",
					     "256.0.0.1:80",
					     "127.1:80",
					     "[127.0.0.1]:80" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char message[LISTEN_MESSAGE_SIZE] = "";
		struct listen_address address;

		assert_errno(listen_address_parse(cases[i], strlen(cases[i]), &address, message),
			     -EINVAL);
		assert_non_null(strstr(message, cases[i]));
		assert_non_null(strstr(message, "127.0.0.1:20416"));
	}
}

static void the_message_for_a_port_in_use_has_the_remedy(void **state)
{
	char message[LISTEN_MESSAGE_SIZE] = "", text[64];
	scoped_fd int first = -1;
	struct listen_address address;
	int second, port;

	(void)state;
	assert_ok(listen_address_parse("127.0.0.1:0", 11, &address, message));
	assert_ok(listen_open(&address, &first, message));
	port = listen_port(first);
	assert_in_range(port, 1, 65535);

	(void)snprintf(text, sizeof(text), "127.0.0.1:%d", port);
	assert_ok(listen_address_parse(text, strlen(text), &address, message));
	assert_errno(listen_open(&address, &second, message), -EADDRINUSE);
	assert_non_null(strstr(message, text));
	assert_non_null(strstr(message, "--port"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_numbers_with_a_port),
		cmocka_unit_test(other_texts_are_refused_and_quoted),
		cmocka_unit_test(the_message_for_a_port_in_use_has_the_remedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
