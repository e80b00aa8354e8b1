/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "tests/support/unit.h"

/* Opens a service manager's socket at @path; '@' starts an abstract one. */
static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memcpy(address.sun_path, path, strlen(path));
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (const struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))),
			 0);
	return fd;
}

static void assert_arrives(const char *path)
{
	scoped_fd int fd = listen_at(path);
	char text[32] = "";

	assert_ok(service_manager_notify(path, "READY=1"));
	assert_int_equal(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT), strlen("READY=1"));
	assert_string_equal(text, "READY=1");
}

static void a_state_reaches_the_managers_socket(void **state)
{
	scoped_free char *path = path_in(*state, "notify");
	char abstract[64];

	assert_arrives(path);
	(void)snprintf(abstract, sizeof(abstract), "@hearth-test-%d", (int)getpid());
	assert_arrives(abstract);
}

static void without_a_manager_nothing_happens(void **state)
{
	(void)state;
	assert_int_equal(service_manager_notify(NULL, "READY=1"), 0);
	assert_int_equal(service_manager_notify("", "READY=1"), 0);
}

static void a_missing_socket_is_an_error(void **state)
{
	scoped_free char *path = path_in(*state, "nobody");
	char longer[200];

	assert_errno(service_manager_notify(path, "READY=1"), -ENOENT);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_errno(service_manager_notify(longer, "READY=1"), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_state_reaches_the_managers_socket),
		cmocka_unit_test(without_a_manager_nothing_happens),
		in_folder(a_missing_socket_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
