/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/lua/lua_code.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "agent/interpreter/lua/lua_names.h"
#include "agent/interpreter/lua/lua_object.h"
#include "tests/unit/agent/interpreter/lua/lua_file.h"

#define N_FUNCTIONS 11
#define MAX_LINES   1024

struct function {
	char name[32];
	uint64_t closure;
	unsigned int n_lines;
	uint32_t lines[MAX_LINES]; /* in ascending order */
};

/* A process that executes functions.lua, and what it has printed. */
struct script {
	pid_t pid;
	FILE *output;
	int input;
	struct lua_memory memory;
	size_t n_functions;
	struct function functions[N_FUNCTIONS];
};

static int read_process(void *arg, uint64_t address, void *buffer, size_t size)
{
	const pid_t *pid = arg;
	struct iovec local = { .iov_base = buffer, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };
	ssize_t n = process_vm_readv(*pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : (size_t)n < size ? -EFAULT : 0;
}

static void read_function(struct script *script)
{
	struct function *function = &script->functions[script->n_functions++];

	assert_true(script->n_functions <= N_FUNCTIONS);
	assert_int_equal(fscanf(script->output, "%31s %" SCNx64 " %u", function->name,
				&function->closure, &function->n_lines),
			 3);
	assert_in_range(function->n_lines, 0, MAX_LINES);
	for (unsigned int i = 0; i < function->n_lines; i++)
		assert_int_equal(fscanf(script->output, "%" SCNu32, &function->lines[i]), 1);
}

static void start(struct script *script, const char *lua, const struct interpreter_facts *facts)
{
	int from[2], to[2];

	*script = (struct script){};
	assert_ok(pipe(from));
	assert_ok(pipe(to));
	script->pid = fork();
	if (script->pid == 0) {
		(void)dup2(from[1], STDOUT_FILENO);
		(void)dup2(to[0], STDIN_FILENO);
		(void)close(from[0]);
		(void)close(from[1]);
		(void)close(to[0]);
		(void)close(to[1]);
		(void)execl(lua, lua, SCRIPT, (char *)NULL);
		_exit(127);
	}
	assert_true(script->pid > 0);
	(void)close(from[1]);
	(void)close(to[0]);
	script->input = to[1];
	script->output = fdopen(from[0], "r");
	assert_non_null(script->output);
	while (script->n_functions < N_FUNCTIONS)
		read_function(script);
	script->memory = (struct lua_memory){
		.layout = lua_layout_of(facts->version),
		.read = read_process,
		.arg = &script->pid,
	};
}

static void stop(struct script *script)
{
	(void)kill(script->pid, SIGKILL);
	(void)waitpid(script->pid, NULL, 0);
	(void)fclose(script->output);
	(void)close(script->input);
}

static const struct function *function_of(const struct script *script, const char *name)
{
	for (size_t i = 0; i < script->n_functions; i++)
		if (strcmp(script->functions[i].name, name) == 0)
			return &script->functions[i];
	fail_msg("the script has no %s", name);
	return NULL;
}

static uint64_t code_of(const struct script *script, const char *name)
{
	uint64_t code;

	assert_ok(script->memory.read(script->memory.arg,
				      function_of(script, name)->closure +
					      script->memory.layout->walk.closure_code,
				      &code, sizeof(code)));
	return code;
}

static uint64_t read_number(const uint8_t **at)
{
	uint64_t value = 0;

	for (unsigned int shift = 0;; shift += 7) {
		const uint8_t byte = *(*at)++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
}

static bool has_line(const struct function *function, uint32_t line)
{
	for (unsigned int i = 0; i < function->n_lines; i++)
		if (function->lines[i] == line)
			return true;
	return false;
}

/* All lines of the table have instructions, and all lines with instructions are in the table. */
static void expect_lines(const struct function *function, const uint8_t *table, size_t size,
			 uint32_t other_line)
{
	const uint8_t *at = table;
	bool seen[MAX_LINES] = {};
	uint64_t line = 0;

	while (at < table + size) {
		uint64_t change;

		(void)read_number(&at);
		change = read_number(&at);
		line = change & 1 ? line - (change + 1) / 2 : line + change / 2;
		assert_true(line < MAX_LINES);
		seen[line] = true;
		if (line != other_line)
			assert_true(has_line(function, (uint32_t)line));
	}
	assert_ptr_equal(at, table + size);
	for (unsigned int i = 0; i < function->n_lines; i++)
		assert_true(seen[function->lines[i]]);
}

static void expect_code(const struct script *script, const char *function, const char *name,
			const char *file, uint32_t first_line)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	const struct lua_caller none = {};
	const uint64_t address = code_of(script, function);
	const uint8_t *at = content;
	struct read_code code;

	assert_int_equal(lua_code_read(&script->memory, address, &none, 0, &code, content), 1);
	assert_int_equal(code.function_bytes, strlen(name));
	assert_memory_equal(at, name, code.function_bytes);
	at += code.function_bytes;
	assert_int_equal(code.qualified_name_bytes, strlen(name));
	assert_memory_equal(at, name, code.qualified_name_bytes);
	at += code.qualified_name_bytes;
	assert_int_equal(code.file_bytes, strlen(file));
	assert_memory_equal(at, file, code.file_bytes);
	assert_int_equal(code.first_line, first_line);
	/* The first instruction of a main chunk is of line 0 or 1. */
	expect_lines(function_of(script, function), at + code.file_bytes, code.line_table_bytes,
		     first_line == 0 ? 1 : 0);
	assert_true(code.mark != 0);
	assert_int_equal(lua_code_read(&script->memory, address, &none, code.mark, &code, content),
			 0);
}

/* Runs @check with each installed version. */
static void with_each(void (*check)(const struct script *script))
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lua_programs); i++) {
		struct interpreter_facts facts = {};
		struct script script;

		if (find_lua_in(lua_programs[i].path, &facts) != 1)
			continue;
		start(&script, lua_programs[i].path, &facts);
		check(&script);
		stop(&script);
		n++;
	}
	if (n == 0)
		skip();
}

static void check_functions(const struct script *script)
{
	expect_code(script, "upvalue", "function <functions.lua:4>", SCRIPT, 4);
	expect_code(script, "global", "function <functions.lua:10>", SCRIPT, 10);
	expect_code(script, "field", "function <functions.lua:18>", SCRIPT, 18);
	expect_code(script, "method", "function <functions.lua:20>", SCRIPT, 20);
	expect_code(script, "far", "main chunk", "far.lua", 0);
	expect_code(script, "evaluated", "main chunk", "[string \"return 1\"]", 0);
	expect_code(script, "main", "main chunk", SCRIPT, 0);
}

static void functions_have_the_files_and_lines_of_debug_getinfo(void **state)
{
	(void)state;
	with_each(check_functions);
}

/* The calls in a function have these names, in their order. "": none. */
static void expect_names(const struct script *script, const char *function,
			 const char *const names[], size_t n_names)
{
	struct lua_caller caller = { .code = code_of(script, function) };
	const struct lua_opcodes *opcodes = &script->memory.layout->opcodes;
	uint8_t proto[LUA_PROTO_BYTES];
	size_t n_calls = 0;

	assert_ok(lua_proto_read(&script->memory, caller.code, proto));
	for (; caller.position < lua_proto_instructions(&script->memory, proto);
	     caller.position++) {
		char name[CODE_NAME_BYTES] = "";
		uint32_t instruction;
		size_t size = 0;
		int r;

		assert_ok(script->memory.read(
			script->memory.arg,
			word_at(proto, script->memory.layout->walk.code_instructions) +
				caller.position * sizeof(instruction),
			&instruction, sizeof(instruction)));
		r = lua_name_read(&script->memory, &caller, sizeof(name) - 1, name, &size);
		if ((instruction & ((1U << opcodes->bits) - 1)) != opcodes->call) {
			assert_int_equal(r, 0);
			continue;
		}
		assert_true(n_calls < n_names);
		assert_string_equal(name, names[n_calls]);
		assert_int_equal(r, names[n_calls][0] != '\0');
		n_calls++;
	}
	assert_int_equal(n_calls, n_names);
	assert_int_equal(lua_name_read(&script->memory, &caller, 1, (char[1]){}, &n_calls),
			 -EBADMSG);
}

static void check_names(const struct script *script)
{
	static const char *const of_caller[] = { "upvalue",  "global", "upvalue", "field", "method",
						 "variable", "",       "global",  "",      "" };
	static const char *const of_first[] = { "global" }, *const of_many[] = { "" };

	expect_names(script, "caller", of_caller, ARRAY_SIZE(of_caller));
	expect_names(script, "first", of_first, ARRAY_SIZE(of_first));
	expect_names(script, "many", of_many, ARRAY_SIZE(of_many));
}

static void functions_have_the_names_that_calls_have_for_them(void **state)
{
	(void)state;
	with_each(check_names);
}

/* The name is read once, and kept when another caller has none. */
static void check_mark(const struct script *script)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	const struct lua_caller none = {};
	struct lua_caller caller = { .code = code_of(script, "caller") };
	struct read_code first, named;
	int r = 0;

	assert_int_equal(lua_code_read(&script->memory, code_of(script, "global"), &none, 0, &first,
				       content),
			 1);
	/* The first instruction of caller() that gives it a name. */
	for (; r == 0; caller.position++) {
		r = lua_code_read(&script->memory, code_of(script, "global"), &caller, first.mark,
				  &named, content);
		assert_in_range(caller.position, 0, 100);
	}
	assert_int_equal(r, 1);
	assert_int_equal(named.function_bytes, strlen("upvalue"));
	assert_memory_equal(content, "upvalue", named.function_bytes);
	assert_int_not_equal(named.mark, first.mark);
	assert_int_equal(lua_code_read(&script->memory, code_of(script, "global"), &none,
				       named.mark, &named, content),
			 0);
}

static void a_function_keeps_its_name(void **state)
{
	(void)state;
	with_each(check_mark);
}

static void check_others(const struct script *script)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	const struct lua_caller none = {};
	const uint64_t addresses[] = {
		function_of(script, "text")->closure,
		function_of(script, "global")->closure,
		code_of(script, "global") + 4,
		0,
		8,
	};
	struct read_code code;

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		assert_true(lua_code_read(&script->memory, addresses[i], &none, 0, &code, content) <
			    0);
}

static void what_is_not_code_of_lua_is_not_read(void **state)
{
	(void)state;
	with_each(check_others);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_the_files_and_lines_of_debug_getinfo),
		cmocka_unit_test(functions_have_the_names_that_calls_have_for_them),
		cmocka_unit_test(a_function_keeps_its_name),
		cmocka_unit_test(what_is_not_code_of_lua_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
