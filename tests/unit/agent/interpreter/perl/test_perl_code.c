/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/perl/perl_code.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/unit/agent/interpreter/perl/perl_file.h"

#define MAX_VALUES 16

/* A process that executes functions.pl, and the addresses that it has printed. */
struct script {
	pid_t pid;
	FILE *output;
	struct perl_memory memory;
	size_t n_values;
	struct {
		char name[32];
		uint64_t address;
	} values[MAX_VALUES];
};

static int read_process(void *arg, uint64_t address, void *buffer, size_t size)
{
	const pid_t *pid = arg;
	struct iovec local = { .iov_base = buffer, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };
	ssize_t n = process_vm_readv(*pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : (size_t)n < size ? -EFAULT : 0;
}

static void start(struct script *script)
{
	const struct interpreter_facts facts = installed_perl();
	int ends[2];

	*script = (struct script){};
	assert_ok(pipe(ends));
	script->pid = fork();
	if (script->pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)close(ends[0]);
		(void)close(ends[1]);
		(void)execl(PERL, "perl", SCRIPT, (char *)NULL);
		_exit(127);
	}
	assert_true(script->pid > 0);
	(void)close(ends[1]);
	script->output = fdopen(ends[0], "r");
	assert_non_null(script->output);
	while (script->n_values < 10) {
		const size_t i = script->n_values++;

		assert_int_equal(fscanf(script->output, "%31s %" SCNu64, script->values[i].name,
					&script->values[i].address),
				 2);
	}
	script->memory = (struct perl_memory){
		.layout = perl_layout_of(facts.version),
		.has_threads = !(facts.version & PERL_VERSION_NO_THREADS),
		.read = read_process,
		.arg = &script->pid,
	};
}

static void stop(struct script *script)
{
	(void)kill(script->pid, SIGKILL);
	(void)waitpid(script->pid, NULL, 0);
	(void)fclose(script->output);
}

static uint64_t address_of(const struct script *script, const char *name)
{
	for (size_t i = 0; i < script->n_values; i++)
		if (strcmp(script->values[i].name, name) == 0)
			return script->values[i].address;
	fail_msg("the script has no %s", name);
	return 0;
}

static uint64_t word_of(const struct script *script, uint64_t address)
{
	uint64_t word;

	assert_ok(read_process((void *)(uintptr_t)&script->pid, address, &word, sizeof(word)));
	return word;
}

static void expect_code(const struct script *script, uint64_t address, const char *function,
			const char *qualified_name, const char *file, uint32_t first_line)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	const uint8_t *at = content;
	struct read_code code;

	assert_int_equal(perl_code_read(&script->memory, address, 0, &code, content), 1);
	assert_int_equal(code.function_bytes, strlen(function));
	assert_memory_equal(at, function, code.function_bytes);
	at += code.function_bytes;
	assert_int_equal(code.qualified_name_bytes, strlen(qualified_name));
	assert_memory_equal(at, qualified_name, code.qualified_name_bytes);
	at += code.qualified_name_bytes;
	assert_int_equal(code.file_bytes, strlen(file));
	assert_memory_equal(at, file, code.file_bytes);
	assert_int_equal(code.first_line, first_line);
	assert_int_equal(code.line_table_bytes, 0);
	/* The same code again. */
	assert_true(code.mark != 0);
	assert_int_equal(perl_code_read(&script->memory, address, code.mark, &code, content), 0);
}

static void subs_have_the_names_and_files_of_caller(void **state)
{
	static const struct {
		const char *name, *function, *qualified_name, *file;
		uint32_t first_line;
	} cases[] = {
		{ "top", "top", "main::top", SCRIPT, 8 },
		{ "price", "price", "Shop::Cart::price", SCRIPT, 12 },
		{ "lexical", "lexical", "lexical", SCRIPT, 20 },
		{ "anonymous", "__ANON__", "main::__ANON__", SCRIPT, 22 },
		{ "evaluated", "__ANON__", "Other::__ANON__", "(eval)", 1 },
		{ "closure", "__ANON__", "main::__ANON__", SCRIPT, 17 },
		{ "renamed", "renamed", "main::renamed", "renamed.pl", 300 },
	};
	struct script script;

	(void)state;
	start(&script);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_code(&script, address_of(&script, cases[i].name), cases[i].function,
			    cases[i].qualified_name, cases[i].file, cases[i].first_line);
	stop(&script);
}

static void code_without_a_sub_has_a_name_and_its_file(void **state)
{
	struct script script;
	uint64_t file, body;

	(void)state;
	start(&script);
	file = address_of(&script, "file");
	if (script.memory.has_threads) {
		expect_code(&script, file | ABI_PERL_MAIN, "{main}", "{main}", "/srv/shop/cart.pl",
			    0);
		expect_code(&script, file | ABI_PERL_BLOCK, "{block}", "{block}",
			    "/srv/shop/cart.pl", 0);
	}
	expect_code(&script, ABI_PERL_MAIN, "{main}", "{main}", "", 0);
	expect_code(&script, ABI_PERL_EVAL, "{eval}", "{eval}", "(eval)", 0);
	/* XPVCV.xcv_start */
	body = word_of(&script, address_of(&script, "closure"));
	expect_code(&script, word_of(&script, body + 40) | ABI_PERL_CLOSURE, "__ANON__", "__ANON__",
		    SCRIPT, 17);
	stop(&script);
}

static void what_is_not_code_of_perl_is_not_read(void **state)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	struct script script;
	struct read_code code;

	(void)state;
	start(&script);
	const uint64_t addresses[] = {
		address_of(&script, "native"),
		address_of(&script, "hash"),
		0,
		5,
		address_of(&script, "top") | 7,
		/* the name of a file in the head of a sub; a statement there */
		address_of(&script, "hash") | ABI_PERL_CLOSURE,
	};

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		assert_true(perl_code_read(&script.memory, addresses[i], 0, &code, content) < 0);
	stop(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(subs_have_the_names_and_files_of_caller),
		cmocka_unit_test(code_without_a_sub_has_a_name_and_its_file),
		cmocka_unit_test(what_is_not_code_of_perl_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
