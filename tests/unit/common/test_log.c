/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"

#include <pthread.h>
#include <sys/stat.h>

#include "common/file.h"
#include "tests/support/unit.h"

/* Redirects standard error to a file in the test's folder, then restores it. */
struct captured_stderr {
	int saved_fd;
	char *path;
};

static struct captured_stderr capture_stderr(const char *folder)
{
	struct captured_stderr captured = {
		.saved_fd = dup(STDERR_FILENO),
		.path = write_file_in(folder, "stderr", "", 0),
	};
	scoped_fd int fd = open(captured.path, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_ok(dup2(fd, STDERR_FILENO));
	return captured;
}

static void end_capture(struct captured_stderr captured, struct bytes *ret_text)
{
	assert_ok(dup2(captured.saved_fd, STDERR_FILENO));
	close(captured.saved_fd);
	assert_ok(file_read(captured.path, ret_text));
	free(captured.path);
}

static void lines_begin_with_their_level(void **state)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);
	struct captured_stderr captured = capture_stderr(*state);

	log_set_level(LOG_LEVEL_DEBUG);
	log_error("cannot open '%s'", "x");
	log_warn("b");
	log_info("c");
	log_debug("d");
	end_capture(captured, &text);
	assert_bytes_equal_text(&text, "error cannot open 'x'\nwarn b\ninfo c\ndebug d\n");
}

static void levels_above_the_chosen_one_are_silent(void **state)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);
	struct captured_stderr captured = capture_stderr(*state);

	log_set_level(LOG_LEVEL_WARN);
	log_error("a");
	log_warn("b");
	log_info("c");
	assert_int_equal(log_info_errno(EPERM, "c"), -EPERM);
	assert_false(log_enabled(LOG_LEVEL_INFO));
	log_set_level(LOG_LEVEL_INFO);
	end_capture(captured, &text);
	assert_bytes_equal_text(&text, "error a\nwarn b\n");
}

static void errors_of_either_sign_are_printed_and_returned_negative(void **state)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);
	struct captured_stderr captured = capture_stderr(*state);

	errno = EPERM;
	assert_int_equal(log_error_errno(-ENOENT, "a: %m"), -ENOENT);
	assert_int_equal(log_error_errno(ENOENT, "b: %m"), -ENOENT);
	log_error("c: %m");
	assert_int_equal(errno, EPERM);
	end_capture(captured, &text);
	assert_bytes_equal_text(&text, "error a: No such file or directory\n"
				       "error b: No such file or directory\n"
				       "error c: Operation not permitted\n");
}

static void control_characters_cannot_forge_a_line(void **state)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);
	struct captured_stderr captured = capture_stderr(*state);

	log_info("'%s'", "a\nerror b\x1b[2J\x7f");
	end_capture(captured, &text);
	assert_bytes_equal_text(&text, "info 'a?error b?[2J?'\n");
}

static void an_overlong_message_is_cut_with_a_mark(void **state)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);
	struct captured_stderr captured = capture_stderr(*state);

	log_info("%09999d", 1);
	log_info("next");
	end_capture(captured, &text);
	assert_in_range(text.size, 4000, 4096 + 10);
	assert_memory_equal(text.data + text.size - 14, "...\ninfo next\n", 14);
}

static void the_journal_gets_the_level_as_a_prefix(void **state)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);
	struct captured_stderr captured = capture_stderr(*state);
	struct stat status;
	char stream[64];

	assert_ok(fstat(STDERR_FILENO, &status));
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)status.st_dev,
		 (uintmax_t)status.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_error("a");
	log_warn("b");
	/* The variable is inherited from a parent, but stderr is another file. */
	setenv("JOURNAL_STREAM", "1:1", 1);
	log_info("c");
	unsetenv("JOURNAL_STREAM");
	end_capture(captured, &text);
	assert_bytes_equal_text(&text, "<3>a\n<4>b\ninfo c\n");
}

static void *log_many_lines(void *letter)
{
	for (int i = 0; i < 500; i++)
		log_info("%.60s", (const char *)letter);
	return NULL;
}

static void lines_of_several_threads_do_not_mix(void **state)
{
	static char letters[4][64];
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);
	struct captured_stderr captured = capture_stderr(*state);
	pthread_t threads[4];

	for (int i = 0; i < 4; i++) {
		memset(letters[i], 'a' + i, 60);
		assert_int_equal(pthread_create(&threads[i], NULL, log_many_lines, letters[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	end_capture(captured, &text);
	assert_int_equal(text.size, 4 * 500 * (5 + 60 + 1));
	for (size_t at = 0; at < text.size; at += 66) {
		assert_memory_equal(text.data + at, "info ", 5);
		for (size_t i = 6; i < 65; i++)
			assert_int_equal(text.data[at + i], text.data[at + 5]);
		assert_int_equal(text.data[at + 65], '\n');
	}
}

static void levels_have_names(void **state)
{
	static const char *const names[] = { "error", "warn", "info", "debug" };
	enum log_level level;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		assert_true(log_level_from_name(names[i], &level));
		assert_int_equal(level, i);
	}
	assert_false(log_level_from_name("", &level));
	assert_false(log_level_from_name("warning", &level));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(lines_begin_with_their_level),
		in_folder(levels_above_the_chosen_one_are_silent),
		in_folder(errors_of_either_sign_are_printed_and_returned_negative),
		in_folder(control_characters_cannot_forge_a_line),
		in_folder(an_overlong_message_is_cut_with_a_mark),
		in_folder(the_journal_gets_the_level_as_a_prefix),
		in_folder(lines_of_several_threads_do_not_mix),
		cmocka_unit_test(levels_have_names),
	};

	unsetenv("JOURNAL_STREAM");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
