/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/php/php_code.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/unit/agent/interpreter/php/php_file.h"

/* A process that executes functions.php. */
struct script {
	pid_t pid;
	uint64_t bias; /* of the program */
};

static int read_process(void *arg, uint64_t address, void *buffer, size_t size)
{
	const pid_t *pid = arg;
	struct iovec local = { .iov_base = buffer, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };
	ssize_t n = process_vm_readv(*pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : (size_t)n < size ? -EFAULT : 0;
}

static uint64_t read_word(struct script *script, uint64_t address)
{
	uint64_t word = 0;

	assert_ok(read_process(&script->pid, address, &word, sizeof(word)));
	return word;
}

/* The script sleeps at its end. */
static bool is_asleep(pid_t pid)
{
	char path[64], text[256] = {};
	scoped_fd int fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/wchan", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return false;
	return strstr(text, "nanosleep") != NULL;
}

/* The address of the first mapping of the program. */
static uint64_t find_bias(pid_t pid)
{
	char path[64], line[512];
	uint64_t start = 0;
	FILE *maps;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	assert_non_null(maps);
	assert_non_null(fgets(line, sizeof(line), maps));
	assert_non_null(strstr(line, "/php"));
	start = strtoull(line, NULL, 16);
	(void)fclose(maps);
	return start;
}

static int start(void **state)
{
	static struct script script;

	*state = &script;
	script.pid = access(PHP, X_OK) == 0 ? fork() : 0;
	if (script.pid == 0 && access(PHP, X_OK) == 0) {
		(void)execl(PHP, PHP, "-n", SCRIPT, NULL);
		_exit(EXIT_FAILURE);
	}
	return 0;
}

static int stop(void **state)
{
	struct script *script = *state;

	if (script->pid > 0) {
		(void)kill(script->pid, SIGKILL);
		(void)waitpid(script->pid, NULL, 0);
	}
	return 0;
}

static void expect_text(const uint8_t *content, size_t size, const char *expected)
{
	assert_int_equal(size, strlen(expected));
	assert_memory_equal(content, expected, size);
}

struct expected {
	const char *name, *qualified_name, *file;
	uint32_t first_line;
};

static void expect_function(const struct php_memory *memory, uint64_t function,
			    const struct expected *expected)
{
	static uint8_t content[CODE_CONTENT_BYTES];
	struct read_code code, again;
	const uint8_t *at = content;

	assert_int_equal(php_code_read(memory, function, 0, &code, content), 1);
	expect_text(at, code.function_bytes, expected->name);
	at += code.function_bytes;
	expect_text(at, code.qualified_name_bytes, expected->qualified_name);
	at += code.qualified_name_bytes;
	if (expected->file)
		expect_text(at, code.file_bytes, expected->file);
	assert_int_equal(code.first_line, expected->first_line);
	assert_int_equal(code.line_table_bytes, 0);
	assert_int_equal(php_code_read(memory, function, code.mark, &again, content), 0);
	assert_int_equal(php_code_read(memory, function, code.mark + 1, &again, content), 1);
}

static void names_of_a_live_process_are_read(void **state)
{
	/* Functions of the script, innermost first. */
	static const struct expected functions[] = {
		{ "wait", "Shop\\Prices::wait", SCRIPT, 8 },
		{ "{eval}", "{eval}", SCRIPT "(23) : eval()'d code", 1 },
		{ "{closure}", "class@anonymous::{closure}", SCRIPT, 22 },
		{ "Shop\\caf\u00e9", "Shop\\caf\u00e9", SCRIPT, 14 },
		{ "run", "class@anonymous::run", SCRIPT, 20 },
		{ "{closure}", "{closure}", SCRIPT, 27 },
		{ "{main}", "{main}", SCRIPT, 1 },
	};
	const struct interpreter_facts facts = installed_php();
	const struct php_layout *layout = php_layout_of(facts.version);
	struct script *script = *state;
	const struct php_memory memory = { &layout->code, read_process, &script->pid };
	uint64_t frame;
	size_t n_found = 0;

	while (!is_asleep(script->pid))
		assert_int_equal(waitpid(script->pid, NULL, WNOHANG), 0);
	frame = read_word(script, facts.runtime_addr + find_bias(script->pid) +
					  layout->walk.globals_current);
	for (; frame != 0; frame = read_word(script, frame + 48)) {
		const uint64_t function = read_word(script, frame + 24);
		static uint8_t content[CODE_CONTENT_BYTES];
		struct read_code code;

		if (function != 0 && (read_word(script, function) & 0xff) == 1) {
			/* An internal function has no file. */
			assert_int_equal(php_code_read(&memory, function, 0, &code, content),
					 -EBADMSG);
			continue;
		}
		if (function == 0)
			continue;
		assert_true(n_found < ARRAY_SIZE(functions));
		expect_function(&memory, function, &functions[n_found++]);
	}
	assert_int_equal(n_found, ARRAY_SIZE(functions));
}

/* A made-up process: its memory begins at MEMORY_START. */
#define MEMORY_START 0x10000
#define MEMORY_WORDS 512

struct made_up {
	uint64_t words[MEMORY_WORDS];
};

static int read_made_up(void *arg, uint64_t address, void *buffer, size_t size)
{
	const struct made_up *process = arg;

	if (address < MEMORY_START || address - MEMORY_START > sizeof(process->words) ||
	    sizeof(process->words) - (address - MEMORY_START) < size)
		return -EFAULT;
	memcpy(buffer, (const uint8_t *)process->words + (address - MEMORY_START), size);
	return 0;
}

static uint64_t address_of(size_t index)
{
	return MEMORY_START + 8 * (uint64_t)index;
}

static void put_string(struct made_up *process, size_t index, const char *text, size_t size)
{
	process->words[index] = (uint64_t)6 << 32 | 1; /* a string */
	process->words[index + 2] = size;
	memcpy(&process->words[index + 3], text, size);
}

/* Indexes of words. */
enum {
	FUNCTION = 0,
	NAME = 64,
	CLASS = 128,
	CLASS_NAME_TEXT = 160,
	FILE_NAME = 256,
};

/* The function "price" of the class "Shop". */
static void make_function(struct made_up *process, const struct php_code_layout *layout)
{
	*process = (struct made_up){};
	process->words[FUNCTION] = 2;
	process->words[FUNCTION + 1] = address_of(NAME);
	process->words[FUNCTION + 2] = address_of(CLASS);
	process->words[layout->function_file / 8] = address_of(FILE_NAME);
	process->words[layout->function_first_line / 8] = (uint64_t)20 << 32 | 10;
	process->words[CLASS] = 2;
	process->words[CLASS + 1] = address_of(CLASS_NAME_TEXT);
	put_string(process, NAME, "price", 5);
	put_string(process, CLASS_NAME_TEXT, "Shop", 4);
	put_string(process, FILE_NAME, "/app/shop.php", 13);
}

static void all_versions_are_read(void **state)
{
	static const struct expected price = { "price", "Shop::price", "/app/shop.php", 10 };

	(void)state;
	for (uint32_t version = 0x0700; version < 0x0900; version++) {
		const struct php_layout *layout = php_layout_of(version);
		struct made_up process;
		const struct php_memory memory = { layout ? &layout->code : NULL, read_made_up,
						   &process };

		if (!layout)
			continue;
		make_function(&process, &layout->code);
		expect_function(&memory, MEMORY_START, &price);
	}
}

static void names_are_made_readable(void **state)
{
	const struct php_code_layout *layout = &php_layout_of(0x0804)->code;
	static const struct {
		const char *name;
		size_t name_bytes;
		const char *class;
		size_t class_bytes;
		struct expected expected;
	} cases[] = {
#define CASE(name, class) name, sizeof(name) - 1, class, sizeof(class) - 1
		{ CASE("{closure:/app/shop.php:12}", "Shop"),
		  { "{closure}", "Shop::{closure}", NULL, 10 } },
		{ CASE("run", "class@anonymous\0/app/shop.php:12$0"),
		  { "run", "class@anonymous::run", NULL, 10 } },
		{ CASE("caf\xe9", "Shop"),
		  { "caf\xef\xbf\xbd", "Shop::caf\xef\xbf\xbd", NULL, 10 } },
	};
	struct made_up process;
	const struct php_memory memory = { layout, read_made_up, &process };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make_function(&process, layout);
		put_string(&process, NAME, cases[i].name, cases[i].name_bytes);
		put_string(&process, CLASS_NAME_TEXT, cases[i].class, cases[i].class_bytes);
		expect_function(&memory, MEMORY_START, &cases[i].expected);
	}
}

static void long_names_are_cut_at_a_character(void **state)
{
	const struct php_code_layout *layout = &php_layout_of(0x0804)->code;
	static uint8_t content[CODE_CONTENT_BYTES];
	char name[CODE_NAME_BYTES + 100];
	struct made_up process;
	const struct php_memory memory = { layout, read_made_up, &process };
	struct read_code code;

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	make_function(&process, layout);
	process.words[FUNCTION + 1] = address_of(300);
	put_string(&process, 300, name, sizeof(name));
	assert_int_equal(php_code_read(&memory, MEMORY_START, 0, &code, content), 1);
	assert_int_equal(code.function_bytes, CODE_NAME_BYTES);
	assert_int_equal(code.qualified_name_bytes, CODE_NAME_BYTES);
	assert_memory_equal(content + code.function_bytes, "Shop::", 6);
	assert_memory_equal(content + code.function_bytes + CODE_NAME_BYTES - 2, "\xc3\xa9", 2);
}

/* What PHP or the process may have put there after the function was freed. */
static void what_is_no_function_is_not_read(void **state)
{
	const struct php_code_layout *layout = &php_layout_of(0x0802)->code;
	const struct {
		size_t word;
		uint64_t value;
	} cases[] = {
		{ FUNCTION, 1 },                                              /* internal */
		{ FUNCTION, 0 },                                              /* no type */
		{ FUNCTION + 1, address_of(NAME) + 4 },                       /* not aligned */
		{ FUNCTION + 1, address_of(CLASS) },                          /* no string */
		{ FUNCTION + 1, 16 },                                         /* no memory */
		{ FUNCTION + 2, address_of(NAME) },                           /* no class */
		{ FUNCTION + 2, UINT64_MAX - 7 },                             /* no memory */
		{ layout->function_file / 8, 0 },                             /* no file */
		{ layout->function_first_line / 8, (uint64_t)10 << 32 | 20 }, /* negative */
		{ layout->function_first_line / 8, UINT64_MAX },              /* too many lines */
		{ NAME + 2, 0 },                                              /* empty */
		{ NAME + 2, UINT64_MAX },                                     /* too long */
		{ NAME + 3, 0 },                                              /* a NUL */
		{ FILE_NAME, 1 },                                             /* no string */
		{ FILE_NAME + 2, 60000 },                                     /* ends outside */
	};
	static uint8_t content[CODE_CONTENT_BYTES];
	struct made_up process;
	const struct php_memory memory = { layout, read_made_up, &process };
	struct read_code code;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make_function(&process, layout);
		process.words[cases[i].word] = cases[i].value;
		assert_true(php_code_read(&memory, MEMORY_START, 0, &code, content) < 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_of_a_live_process_are_read, start, stop),
		cmocka_unit_test(all_versions_are_read),
		cmocka_unit_test(names_are_made_readable),
		cmocka_unit_test(long_names_are_cut_at_a_character),
		cmocka_unit_test(what_is_no_function_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
