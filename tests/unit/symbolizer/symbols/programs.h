/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes real ELF files with the compiler and binutils while a test runs, and reads nm's output.
 */

#include "tests/support/command.h"
#include "tests/support/test_seed.h"

/* Runs a command, which must succeed. Returns its output; the caller frees it. */
static inline char *command_text(const char *format, ...) printf_like(1, 2);
static inline char *command_text(const char *format, ...)
{
	struct bytes out = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	char command[4096];
	va_list arguments;

	va_start(arguments, format);
	assert_in_range(vsnprintf(command, sizeof(command), format, arguments), 1,
			(int)sizeof(command) - 1);
	va_end(arguments);
	if (command_output(command, &out) != 0)
		fail_msg("failed: %s", command);
	return (char *)out.data;
}

#define run_command(...) free(command_text(__VA_ARGS__))

static inline int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* The line after @line, or NULL if @line is the last one. */
static inline const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end && end[1] ? end + 1 : NULL;
}

/* The value of @symbol in nm's output; fails the test if it is not there. */
static inline uint64_t address_in(const char *nm, const char *symbol)
{
	size_t length = strlen(symbol);

	for (const char *line = nm; line; line = next_line(line)) {
		const char *end = strchrnul(line, '\n');
		const char *name = end;

		while (name > line && name[-1] != ' ')
			name--;
		if ((size_t)(end - name) == length && strncmp(name, symbol, length) == 0)
			return strtoull(line, NULL, 16);
	}
	fail_msg("no symbol '%s'", symbol);
	return 0;
}

/* Has static functions, inlining, recursion, an alias, a weak alias, an ifunc, a destructor. */
static const char program_c[] =
	"#include <stdio.h>\n"
	"#include <string.h>\n"
	"volatile int sink;\n"
	"static int __attribute__((noinline)) helper(int x) { sink = x; return x * 3; }\n"
	"int public_work(int x) { return helper(x) + helper(x + 1); }\n"
	"extern int _alias_of_work(int) __attribute__((alias(\"public_work\")));\n"
	"extern int weak_alias_of_work(int) __attribute__((weak, alias(\"public_work\")));\n"
	"static int one(int x) { return x; }\n"
	"static int (*choose(void))(int) { return one; }\n"
	"int chosen(int) __attribute__((ifunc(\"choose\")));\n"
	"static int __attribute__((noinline)) deep(int n) { return n ? deep(n - 1) + 1 : "
	"helper(n); }\n"
	"__attribute__((destructor)) static void done(void) { sink = 1; }\n"
	"int main(int argc, char **argv) { (void)argv; return public_work(argc) + deep(argc) + "
	"chosen(argc); }\n";

static const char program_cpp[] =
	"#include <algorithm>\n"
	"#include <functional>\n"
	"#include <string>\n"
	"#include <vector>\n"
	"namespace app {\n"
	"template <class T> struct box { T value; T get(int n) const; };\n"
	"template <class T> T __attribute__((noinline)) box<T>::get(int n) const { return value + "
	"T(n); }\n"
	"namespace { int __attribute__((noinline)) hidden(int n) { return n * 7; } }\n"
	"int lambda(int n) {\n"
	"	std::vector<int> v{n, 2, 3};\n"
	"	std::function<int(int)> f = [&](int x) __attribute__((noinline)) { return x + v[0] "
	"+ hidden(x); };\n"
	"	std::sort(v.begin(), v.end(), [](int a, int b) __attribute__((noinline)) { return "
	"a > b; });\n"
	"	return f(n);\n"
	"}\n"
	"}\n"
	"int main(int argc, char **) {\n"
	"	app::box<double> b{1.5}; app::box<std::string> *none = nullptr; (void)none;\n"
	"	return app::lambda(argc) + int(b.get(argc));\n"
	"}\n";

/* Compiles @source to @folder/@name. Returns the path; the caller frees it. */
static inline char *compile(const char *folder, const char *name, const char *compiler,
			    const char *suffix, const char *source, const char *flags)
{
	char *path = path_in(folder, name);
	scoped_free char *source_path = NULL;
	char source_name[64];

	(void)snprintf(source_name, sizeof(source_name), "%s.%s", name, suffix);
	source_path = write_file_in(folder, source_name, source, strlen(source));
	assert_non_null(path);
	run_command("%s %s -o %s %s 2>&1", compiler, flags, path, source_path);
	return path;
}

static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}
