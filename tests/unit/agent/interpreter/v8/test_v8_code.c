/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a running Node.js (functions.js), and any memory. */
#include "agent/interpreter/v8/v8_code.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/unit/agent/interpreter/v8/node_file.h"

struct script {
	struct v8_memory memory;
	struct v8_lines lines;
	pid_t pid;
	FILE *output;
	char folder[32];
	char path[64];
};

static int read_process(void *arg, uint64_t address, void *buffer, size_t size)
{
	const pid_t *pid = arg;
	struct iovec local = { .iov_base = buffer, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };
	ssize_t n = process_vm_readv(*pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : (size_t)n < size ? -EFAULT : 0;
}

/* Writes functions.js, with @filler at the mark, as a file of the script's own folder. */
static void write_script(struct script *script, const char *name, const char *filler)
{
	scoped_free char *source = NULL;
	size_t size = 0;
	FILE *from = fopen(SCRIPT, "r");
	FILE *to;
	char *mark;

	assert_non_null(from);
	assert_true(getdelim(&source, &size, '\0', from) > 0);
	(void)fclose(from);
	mark = strstr(source, "@FILLER@");
	assert_non_null(mark);
	*mark = '\0';
	(void)snprintf(script->folder, sizeof(script->folder), "/tmp/hearth-v8.XXXXXX");
	assert_non_null(mkdtemp(script->folder));
	(void)snprintf(script->path, sizeof(script->path), "%s/%s", script->folder, name);
	to = fopen(script->path, "w");
	assert_non_null(to);
	(void)fprintf(to, "%s%s%s", source, filler, mark + strlen("@FILLER@"));
	assert_int_equal(fclose(to), 0);
}

static struct script *start(const char *name, const char *filler)
{
	const struct interpreter_facts facts = installed_v8();
	struct script *script = calloc(1, sizeof(*script));
	int pipe_fds[2];

	if (access(NODE, X_OK) != 0)
		skip();
	assert_non_null(script);
	write_script(script, name, filler);
	assert_ok(pipe2(pipe_fds, O_CLOEXEC));
	script->pid = fork();
	if (script->pid == 0) {
		/* A failed assertion leaves the program running until the test ends. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(pipe_fds[1], STDOUT_FILENO);
		(void)execl(NODE, NODE, "--allow-natives-syntax", "--expose-gc", script->path,
			    NULL);
		_exit(EXIT_FAILURE);
	}
	(void)close(pipe_fds[1]);
	script->output = fdopen(pipe_fds[0], "r");
	assert_non_null(script->output);
	script->memory = (struct v8_memory){ .layout = v8_layout_of(facts.version),
					     .read = read_process,
					     .arg = &script->pid };
	return script;
}

static void stop(struct script *script)
{
	(void)kill(script->pid, SIGKILL);
	(void)waitpid(script->pid, NULL, 0);
	(void)fclose(script->output);
	(void)unlink(script->path);
	(void)rmdir(script->folder);
	free(script);
}

/* The address in a line of %DebugPrint(). */
static uint64_t printed_address(FILE *output)
{
	char line[4096];
	const char *digits;

	do
		assert_non_null(fgets(line, sizeof(line), output));
	while (!(digits = strstr(line, "0x")));
	return strtoull(digits, NULL, 16);
}

static void check_function(struct script *script, const char *name, unsigned int line)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	const uint64_t function = printed_address(script->output);
	const uint8_t *file = content;
	struct read_code code, again;
	uint64_t shared;

	assert_ok(read_process(&script->pid, function - 1 + script->memory.layout->function_shared,
			       &shared, sizeof(shared)));
	assert_int_equal(v8_code_read(&script->memory, &script->lines, shared, 0, &code, content),
			 1);
	if (strcmp(name, "[builtin]") == 0) {
		assert_int_equal(code.function_bytes, 0);
		return;
	}
	assert_memory_equal(content, name, strlen(name));
	assert_int_equal(code.function_bytes, strlen(name));
	assert_int_equal(code.qualified_name_bytes, strlen(name));
	assert_memory_equal(content + strlen(name), name, strlen(name));
	assert_int_equal(code.first_line, line);
	file += 2 * strlen(name);
	/* The function that new Function() compiled has no file. */
	if (strcmp(name, "hasManyVariables") == 0) {
		assert_int_equal(code.file_bytes, 0);
	} else {
		assert_int_equal(code.file_bytes, strlen(script->path));
		assert_memory_equal(file, script->path, strlen(script->path));
	}
	assert_int_equal(
		v8_code_read(&script->memory, &script->lines, shared, code.mark, &again, content),
		0);
	/* A JSFunction is no SharedFunctionInfo. */
	assert_int_equal(
		v8_code_read(&script->memory, &script->lines, function, 0, &again, content),
		-EBADMSG);
}

static void check_functions(struct script *script)
{
	unsigned int line, n_functions = 0;
	char text[256], name[128];

	while (fgets(text, sizeof(text), script->output) && strcmp(text, "end\n") != 0)
		if (sscanf(text, "FUNCTION %127s %u", name, &line) == 2) {
			check_function(script, name, line);
			n_functions++;
		}
	assert_int_equal(n_functions, 10);
	stop(script);
}

static void functions_of_a_running_program_are_read(void **state)
{
	(void)state;
	check_functions(start("plain.js", ""));
}

/* The characters of the text have two bytes, and the functions are in a later piece of it. */
static void lines_of_a_long_text_are_counted(void **state)
{
	const size_t size = 3 * V8_PIECE_CHARACTERS;
	scoped_free char *filler = malloc(size + 16);

	(void)state;
	assert_non_null(filler);
	for (size_t i = 0; i < size; i += 4)
		memcpy(filler + i, "\n// ", 4);
	(void)snprintf(filler + size, 16, "\u51fd\u6570\n");
	check_functions(start("\u51fd.js", filler));
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
	static const uint32_t versions[] = { 10 << 8 | 2, 11 << 8 | 3, 12 << 8 | 4, 13 << 8 | 6 };
	struct v8_lines lines = {};
	struct read_code code;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		for (int byte = 0; byte < 256; byte++) {
			const struct v8_memory memory = {
				.layout = v8_layout_of(versions[i]),
				.read = read_filled,
				.arg = &byte,
			};

			assert_non_null(memory.layout);
			if (v8_code_read(&memory, &lines, 0x1001, 0, &code, content) == 1)
				assert_true(read_code_content_bytes(&code) <= sizeof(content));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_a_running_program_are_read),
		cmocka_unit_test(lines_of_a_long_text_are_counted),
		cmocka_unit_test(any_memory_is_read_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
