/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/python/python_code.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/support/unit.h"

/*
 * Prints for each function the address of its code object and what is expected there. Versions
 * before 3.11 have no qualified names, and a mark before the line table.
 */
#define SCRIPT                                                                                     \
	"import sys, time\n"                                                                       \
	"def plain(): pass\n"                                                                      \
	"class C:\n"                                                                               \
	"  def method(self): return lambda: 1\n"                                                   \
	"def caf\u00e9(): pass\n"                                                                  \
	"def \u51fd\u6570(): pass\n"                                                               \
	"exec('def \U0001d518nicode(): pass')\n"                                                   \
	"long = {}\n"                                                                              \
	"exec('def ' + 'x' * 2000 + '(): pass', long)\n"                                           \
	"functions = [plain, C.method, C().method(), caf\u00e9, \u51fd\u6570,\n"                   \
	"  locals()['Unicode'], long['x' * 2000]]\n"                                               \
	"sys.stdout.reconfigure(encoding='utf-8')\n"                                               \
	"minor = sys.version_info[1]\n"                                                            \
	"for f in functions:\n"                                                                    \
	"  c = f.__code__\n"                                                                       \
	"  table = c.co_linetable if minor >= 10 else c.co_lnotab\n"                               \
	"  qualified_name = c.co_qualname if minor >= 11 else c.co_name\n"                         \
	"  size = len(table) + (minor < 11 and len(table) > 0)\n"                                  \
	"  print(id(c), c.co_firstlineno, size, c.co_name[:1024], qualified_name[:1024],\n"        \
	"    c.co_filename)\n"                                                                     \
	"print(id('text'), flush=True)\n"                                                          \
	"time.sleep(60)\n"

struct script {
	const char *python;
	uint32_t version;
	pid_t pid;
	FILE *output;
};

static int start(void **state)
{
	struct script *script = *state;
	int pipe_fds[2];

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -1;
	script->pid = access(script->python, X_OK) == 0 ? fork() : 0;
	if (script->pid == 0 && access(script->python, X_OK) == 0) {
		(void)dup2(pipe_fds[1], STDOUT_FILENO);
		(void)execl(script->python, script->python, "-X", "utf8", "-c", SCRIPT, NULL);
		_exit(EXIT_FAILURE);
	}
	(void)close(pipe_fds[1]);
	script->output = fdopen(pipe_fds[0], "r");
	return script->output ? 0 : -1;
}

static int stop(void **state)
{
	struct script *script = *state;

	if (script->pid > 0) {
		(void)kill(script->pid, SIGKILL);
		(void)waitpid(script->pid, NULL, 0);
	}
	(void)fclose(script->output);
	return 0;
}

static int read_process(void *arg, uint64_t address, void *buffer, size_t size)
{
	const pid_t *pid = arg;
	struct iovec local = { .iov_base = buffer, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };
	ssize_t n = process_vm_readv(*pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : (size_t)n < size ? -EFAULT : 0;
}

static void assert_text(const uint8_t **content, size_t size, const char *expected)
{
	assert_int_equal(size, strlen(expected));
	assert_memory_equal(*content, expected, size);
	*content += size;
}

static void check_function(const struct python_memory *memory, const char *line)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	char name[1100], qualified_name[1100], file[1100];
	const uint8_t *next = content;
	struct read_code code, again;
	unsigned int first_line, table_bytes;
	uint64_t address;

	assert_int_equal(sscanf(line, "%" SCNu64 " %u %u %1099s %1099s %1099s", &address,
				&first_line, &table_bytes, name, qualified_name, file),
			 6);
	assert_int_equal(python_code_read(memory, address, 0, &code, content), 1);
	assert_int_equal(code.first_line, first_line);
	assert_int_equal(code.line_table_bytes, table_bytes);
	assert_text(&next, code.function_bytes, name);
	assert_text(&next, code.qualified_name_bytes, qualified_name);
	assert_text(&next, code.file_bytes, file);
	assert_int_equal(python_code_read(memory, address, code.mark, &again, content), 0);
	assert_int_equal(python_code_read(memory, address, code.mark + 1, &again, content), 1);
}

static void names_of_a_live_process_are_read(void **state)
{
	struct script *script = *state;
	struct python_memory memory = {
		.layout = &python_layout_of(script->version)->code,
		.read = read_process,
		.arg = &script->pid,
	};
	static uint8_t content[CODE_CONTENT_BYTES];
	struct read_code code;
	char line[8192];
	int n_functions = 0;

	if (script->pid == 0)
		skip();
	while (fgets(line, sizeof(line), script->output) && strchr(line, ' ')) {
		check_function(&memory, line);
		n_functions++;
	}
	assert_int_equal(n_functions, 7);
	/* A str is no code object, and there is no memory at 4096. */
	assert_true(python_code_read(&memory, strtoull(line, NULL, 10), 0, &code, content) < 0);
	assert_int_equal(python_code_read(&memory, 4096, 0, &code, content), -EFAULT);
}

/* A made-up process: its memory begins at MEMORY_START. */
#define MEMORY_START 0x10000

static void put(uint8_t *memory, size_t at, uint64_t value)
{
	memcpy(memory + at, &value, sizeof(value));
}

static void put_text(uint8_t *memory, const struct python_code_layout *layout, size_t at,
		     const char *text)
{
	put(memory, at + layout->text_length, strlen(text));
	/* 1 byte per character, compact, ASCII */
	put(memory, at + layout->text_state, 1 << 2 | 1 << 5 | 1 << 6);
	memcpy(memory + at + layout->text_ascii, text, strlen(text));
}

static int read_made_up(void *arg, uint64_t address, void *buffer, size_t size)
{
	const uint8_t *memory = arg;

	memcpy(buffer, memory + (address - MEMORY_START), size);
	return 0;
}

static void the_mark_of_an_older_version_is_before_its_line_table(void **state)
{
	static const struct {
		uint32_t version;
		const char *content;
	} cases[] = { { 0x0308, "namename/file\x08table" },
		      { 0x0309, "namename/file\x09table" },
		      { 0x030a, "namename/file\x0atable" },
		      { 0x030b, "namename/filetable" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct python_code_layout *layout = &python_layout_of(cases[i].version)->code;
		static uint8_t content[CODE_CONTENT_BYTES], memory[4096];
		const struct python_memory reader = { layout, read_made_up, memory };
		struct read_code code;

		put(memory, layout->code_name, MEMORY_START + 1024);
		put(memory, layout->code_qualified_name, MEMORY_START + 1024);
		put(memory, layout->code_file, MEMORY_START + 2048);
		put(memory, layout->code_line_table, MEMORY_START + 3072);
		put_text(memory, layout, 1024, "name");
		put_text(memory, layout, 2048, "/file");
		put(memory, 3072 + layout->bytes_data - 2 * sizeof(uint64_t), strlen("table"));
		memcpy(memory + 3072 + layout->bytes_data, "table", strlen("table"));
		assert_int_equal(python_code_read(&reader, MEMORY_START, 0, &code, content), 1);
		assert_int_equal(read_code_content_bytes(&code), strlen(cases[i].content));
		assert_memory_equal(content, cases[i].content, strlen(cases[i].content));
		/* A table that is too large. */
		put(memory, 3072 + layout->bytes_data - 2 * sizeof(uint64_t), UINT64_MAX);
		assert_int_equal(python_code_read(&reader, MEMORY_START, 0, &code, content), 1);
		assert_int_equal(code.line_table_bytes, 0);
	}
}

/* Memory that has the same byte everywhere. */
static int read_filled(void *arg, uint64_t address, void *buffer, size_t size)
{
	(void)address;
	memset(buffer, *(const int *)arg, size);
	return 0;
}

static void any_memory_is_read_within_bounds(void **state)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	struct read_code code;
	int n_read = 0;

	(void)state;
	for (int byte = 0; byte < 256; byte++) {
		const struct python_memory memory = {
			.layout = &python_layout_of(3 << 8 | 11)->code,
			.read = read_filled,
			.arg = &byte,
		};
		int r = python_code_read(&memory, 0x1000, 0, &code, content);

		assert_true(r == 1 || r == -EBADMSG);
		if (r != 1)
			continue;
		n_read++;
		assert_true(read_code_content_bytes(&code) <= sizeof(content));
		assert_true(code.function_bytes <= CODE_NAME_BYTES);
		assert_true(code.file_bytes <= CODE_FILE_BYTES);
	}
	assert_true(n_read > 0);
}

int main(void)
{
	struct script scripts[] = { { .python = "/usr/bin/python3.8", .version = 0x0308 },
				    { .python = "/usr/bin/python3.9", .version = 0x0309 },
				    { .python = "/usr/bin/python3.10", .version = 0x030a },
				    { .python = "/usr/bin/python3.11", .version = 0x030b } };
#define READ_WITH(script)                                                                          \
	cmocka_unit_test_prestate_setup_teardown(names_of_a_live_process_are_read, start, stop,    \
						 script)
	const struct CMUnitTest tests[] = {
		READ_WITH(&scripts[0]),
		READ_WITH(&scripts[1]),
		READ_WITH(&scripts[2]),
		READ_WITH(&scripts[3]),
		cmocka_unit_test(the_mark_of_an_older_version_is_before_its_line_table),
		cmocka_unit_test(any_memory_is_read_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
