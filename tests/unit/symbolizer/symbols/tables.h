/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Compiles symbol tables of files, and formats the location of an address as one line of text.
 */

#include "symbolizer/symbols/compile/symbol_compile.h"
#include "symbolizer/symbols/symbol_limits.h"
#include "symbolizer/symbols/table/symbol_file.h"
#include "symbolizer/symbols/table/symbol_pack.h"
#include "tests/unit/symbolizer/symbols/programs.h"

struct compiled {
	struct bytes flat;
	struct symbol_file *file;
	struct symbol_compile_report report;
};

static inline void compiled_release(struct compiled *compiled)
{
	compiled->file = symbol_file_free(compiled->file);
	bytes_release(&compiled->flat);
}

#define scoped_compiled scoped(compiled_release)

/* Compiles the files; @executable, @alt and @split may be NULL. */
static inline struct compiled compiled_with(const char *path, const char *executable,
					    const char *alt, const char *split)
{
	struct compiled compiled = { .flat = BYTES_INIT(SYMBOL_FLAT_MAX_BYTES) };
	scoped_fd int main_fd = open_file(path);
	scoped_fd int executable_fd = executable ? open_file(executable) : -1;
	scoped_fd int alt_fd = alt ? open_file(alt) : -1;
	scoped_fd int split_fd = split ? open_file(split) : -1;
	const struct symbol_compile_input input = { main_fd, executable_fd, alt_fd, split_fd };
	int r = symbol_compile_flat(&input, &compiled.flat, &compiled.report);

	if (r < 0)
		fail_msg("%s: %s: %s", path, strerror(-r), compiled.report.message);
	assert_ok(symbol_file_open_memory(bytes_view_of(&compiled.flat), &compiled.file));
	return compiled;
}

static inline struct compiled compiled_of(const char *path)
{
	return compiled_with(path, NULL, NULL, NULL);
}

/*
 * The location of an address as "inner a.c:3 < outer a.c:9": display names, paths without folders;
 * "-" for none. The caller frees it.
 */
static inline char *chain_at(const struct compiled *compiled, uint64_t elf_addr)
{
	struct bytes text = BYTES_INIT(MIB);
	uint32_t location;

	symbol_file_find(compiled->file, &elf_addr, 1, &location);
	if (location == SYMBOL_NO_LOCATION)
		assert_ok(bytes_append_text(&text, "-"));
	while (location != SYMBOL_NO_LOCATION) {
		struct symbol_frame frame;
		const char *slash;

		location = symbol_file_frame(compiled->file, location, &frame);
		slash = frame.path ? strrchr(frame.path, '/') : NULL;
		assert_ok(bytes_append_format(&text, "%s%s %s:%u", text.size > 0 ? " < " : "",
					      frame.function ? frame.function : "??",
					      slash        ? slash + 1
					      : frame.path ? frame.path
							   : "??",
					      frame.line));
	}
	assert_ok(bytes_append_byte(&text, 0));
	return (char *)text.data;
}

/* Returns whether a function with this display name has code. */
static inline bool has_function(const struct compiled *compiled, const char *name)
{
	const struct symbol_file_info *info = symbol_file_info(compiled->file);

	for (uint32_t i = 0; i < info->n_ranges; i++) {
		struct symbol_range range;
		struct symbol_frame frame;

		symbol_file_range(compiled->file, i, &range);
		while (range.location != SYMBOL_NO_LOCATION) {
			range.location = symbol_file_frame(compiled->file, range.location, &frame);
			if (frame.function && strcmp(frame.function, name) == 0)
				return true;
		}
	}
	return false;
}
