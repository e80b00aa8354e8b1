/* SPDX-License-Identifier: Apache-2.0 */
/* Methods and blocks of a running Ruby (functions.rb), and any memory. */
#include "agent/interpreter/ruby/ruby_code.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/unit/agent/interpreter/ruby/ruby_file.h"

struct script {
	struct ruby_memory memory;
	pid_t pid;
	FILE *output;
};

static int read_process(void *arg, uint64_t address, void *buffer, size_t size)
{
	const pid_t *pid = arg;
	struct iovec local = { .iov_base = buffer, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };
	ssize_t n = process_vm_readv(*pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : (size_t)n < size ? -EFAULT : 0;
}

static struct script *start(void)
{
	struct script *script = calloc(1, sizeof(*script));
	struct interpreter_facts facts = {};
	int pipe_fds[2];

	if (access(RUBY, X_OK) != 0)
		skip();
	assert_non_null(script);
	assert_int_equal(find_ruby_in(RUBY_LIBRARY, &facts), 1);
	assert_ok(pipe2(pipe_fds, O_CLOEXEC));
	script->pid = fork();
	if (script->pid == 0) {
		/* A failed assertion leaves the program running until the test ends. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(pipe_fds[1], STDOUT_FILENO);
		(void)execl(RUBY, RUBY, "-EUTF-8:UTF-8", "-Ku", SCRIPT, NULL);
		_exit(EXIT_FAILURE);
	}
	(void)close(pipe_fds[1]);
	script->output = fdopen(pipe_fds[0], "r");
	assert_non_null(script->output);
	script->memory = (struct ruby_memory){ .layout = ruby_layout_of(facts.version),
					       .read = read_process,
					       .arg = &script->pid };
	return script;
}

static void stop(struct script *script)
{
	(void)kill(script->pid, SIGKILL);
	(void)waitpid(script->pid, NULL, 0);
	(void)fclose(script->output);
	free(script);
}

static const uint8_t *read_number(const uint8_t *table, uint64_t *ret_number)
{
	unsigned int shift = 0;

	*ret_number = 0;
	do
		*ret_number |= (uint64_t)(*table & 0x7f) << shift;
	while (shift += 7, *table++ & 0x80);
	return table;
}

/* As ruby_line_find() of the server. */
static int64_t line_at(const uint8_t *table, size_t size, uint64_t position)
{
	const uint8_t *end = table + size;
	uint64_t distance, change, at = 0;
	int64_t line = 0;

	while (table < end) {
		table = read_number(table, &distance);
		table = read_number(table, &change);
		at += distance;
		if (at > position)
			break;
		line += change & 1 ? -(int64_t)((change + 1) / 2) : (int64_t)(change / 2);
	}
	return line;
}

/* Compares what was read with what the script printed about the function. */
static unsigned int check_lines(struct script *script, const uint8_t *table, size_t size)
{
	unsigned int position, line, n_lines = 0;
	int64_t before = 0;
	char text[256];

	while (fgets(text, sizeof(text), script->output) && strcmp(text, "END\n") != 0) {
		assert_int_equal(sscanf(text, "LINE %u %u", &position, &line), 2);
		assert_int_equal(line_at(table, size, position), line);
		if (position > 0)
			assert_int_equal(line_at(table, size, position - 1), before);
		before = line;
		n_lines++;
	}
	return n_lines;
}

static unsigned int check_function(struct script *script, uint64_t body, unsigned int first_line,
				   const char *name)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	const char *file = strcmp(name, "without_a_file") == 0 ? "(eval)" : SCRIPT;
	struct read_code code, again;
	const uint8_t *at = content;
	char label[256];

	assert_int_equal(ruby_code_read(&script->memory, body, 0, &code, content), 1);
	assert_non_null(fgets(label, sizeof(label), script->output));
	label[strcspn(label, "\n")] = '\0';
	assert_int_equal(code.first_line, first_line);
	assert_int_equal(code.function_bytes, strlen(name));
	assert_memory_equal(at, name, strlen(name));
	at += code.function_bytes;
	assert_int_equal(code.qualified_name_bytes, strlen(label));
	assert_memory_equal(at, label, strlen(label));
	at += code.qualified_name_bytes;
	assert_int_equal(code.file_bytes, strlen(file));
	assert_memory_equal(at, file, strlen(file));
	at += code.file_bytes;
	assert_int_equal(ruby_code_read(&script->memory, body, code.mark, &again, content), 0);
	return check_lines(script, at, code.line_table_bytes);
}

static void methods_of_a_running_program_are_read(void **state)
{
	struct script *script = start();
	unsigned int first_line, has_path, n_lines = 0, n_functions = 0;
	char text[256], name[128];
	uint64_t body;

	(void)state;
	while (fgets(text, sizeof(text), script->output) && strcmp(text, "READY\n") != 0) {
		assert_int_equal(sscanf(text, "FUNCTION %" SCNu64 " %u %u %127[^\n]", &body,
					&first_line, &has_path, name),
				 4);
		n_lines += check_function(script, body, first_line, name);
		n_functions++;
	}
	assert_int_equal(n_functions, 11);
	/* Those of longer() alone are 401. */
	assert_in_range(n_lines, 440, 1000);
	stop(script);
}

/* Memory that has the same byte everywhere. */
static int read_filled(void *arg, uint64_t address, void *buffer, size_t size)
{
	(void)address;
	memset(buffer, *(const int *)arg, size);
	return 0;
}

static const uint32_t versions[] = { 0x0207, 0x0300, 0x0301, 0x0302, 0x0303 };

static void any_memory_is_read_within_bounds(void **state)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	struct read_code code;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		for (int byte = 0; byte < 256; byte++) {
			const struct ruby_memory memory = {
				.layout = ruby_layout_of(versions[i]),
				.read = read_filled,
				.arg = &byte,
			};

			assert_non_null(memory.layout);
			if (ruby_code_read(&memory, 0x1000, 0, &code, content) == 1)
				assert_true(read_code_content_bytes(&code) <= sizeof(content));
		}
	assert_null(ruby_layout_of(2 << 8 | 6));
}

/*
 * Strings of any length, with and without a length in the object: 16 words at 0x1000 are a body, of
 * which all names are the String at 0x2000.
 */
struct text_case {
	uint32_t version;
	uint64_t string[5];
	const char *expected;
};

static int read_case(void *arg, uint64_t address, void *buffer, size_t size)
{
	const struct text_case *text = arg;
	uint64_t body[32] = {
		[0] = 4ULL << 32, [1] = 0x3000, [8] = 0x2000, [9] = 0x2000, [10] = 0x2000
	};
	static const char outside[] = "outside\xff";
	const uint8_t *from = address >= 0x3000   ? (const uint8_t *)outside
			      : address >= 0x2000 ? (const uint8_t *)text->string
						  : (const uint8_t *)body;
	const size_t from_bytes = address >= 0x3000   ? sizeof(outside)
				  : address >= 0x2000 ? sizeof(text->string)
						      : sizeof(body);
	const size_t offset = address & 0xfff;

	if (offset > from_bytes || size > from_bytes - offset)
		return -EFAULT;
	memcpy(buffer, from + offset, size);
	return 0;
}

static void strings_have_their_bytes_in_the_object_or_outside(void **state)
{
	static const uint64_t ab = 'a' | 'b' << 8;
	static const struct text_case cases[] = {
		{ 2 << 8 | 7, { 5 | 2 << 14, 0, ab }, "ab" },
		{ 3 << 8 | 1, { 5 | 2 << 14, 0, ab }, "ab" },
		{ 3 << 8 | 3, { 5, 0, 2, ab }, "ab" },
		{ 3 << 8 | 3, { 5, 0, 3, ab }, "ab?" },
		{ 3 << 8 | 1, { 5 | 1 << 13, 0, 7, 0x3000 }, "outside" },
		{ 3 << 8 | 3, { 5 | 1 << 13, 0, 8, 0x3000 }, "outside\xef\xbf\xbd" },
	};
	static uint8_t content[CODE_CONTENT_BYTES];
	struct read_code code;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct text_case text = cases[i];
		const struct ruby_memory memory = {
			.layout = ruby_layout_of(text.version),
			.read = read_case,
			.arg = &text,
		};

		assert_int_equal(ruby_code_read(&memory, 0x1000, 0, &code, content), 1);
		assert_int_equal(code.function_bytes, strlen(text.expected));
		assert_memory_equal(content, text.expected, strlen(text.expected));
		assert_int_equal(code.file_bytes, strlen(text.expected));
		/* Another type of object is no name. */
		text.string[0] ^= 1;
		assert_int_equal(ruby_code_read(&memory, 0x1000, 0, &code, content), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_of_a_running_program_are_read),
		cmocka_unit_test(any_memory_is_read_within_bounds),
		cmocka_unit_test(strings_have_their_bytes_in_the_object_or_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
