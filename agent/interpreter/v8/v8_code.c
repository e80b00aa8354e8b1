/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A SharedFunctionInfo has a name or, once the function was compiled, a ScopeInfo. The fields of a
 * ScopeInfo (src/objects/scope-info.tq) are a word each:
 *
 *   map, flags, number of parameters, number of variables of the context, [positions: start, end,]
 *   [number of variables of the module,] names of the variables, or a table with them if there are
 *   many, a word for each variable, [a variable of the class,] [name of the function and an index,]
 *   [derived name,] [positions: start, end,] ...
 *
 * The flags say which fields are there. The positions are characters in the text of the script.
 */
#include "agent/interpreter/v8/v8_code.h"

#include <string.h>

#define SHARED_WORDS 6
#define SCOPE_WORDS  6

/* Flags of a ScopeInfo. */
#define SCOPE_TYPE(flags)              ((flags)&15)
#define SCOPE_HAS_CLASS_VARIABLE       (1U << 10)
#define SCOPE_FUNCTION_VARIABLE(flags) ((flags) >> 12 & 3)
#define SCOPE_HAS_INFERRED_NAME        (1U << 14)

/* From this number on, the names of variables are in a table. */
#define MAX_INLINED_NAMES 75

/* Functions with more variables in their context are not read. */
#define MAX_VARIABLES (1U << 20)

struct scope {
	uint64_t function_name, inferred_name; /* 0: none */
	bool has_start;
	uint32_t start;
};

/* Reads what follows the names of the variables: @skip words after the beginning of the object. */
static int read_names(const struct v8_memory *memory, uint64_t pointer, uint64_t skip,
		      uint32_t flags, struct scope *scope)
{
	/* class variable, function name and index, derived name, start, end */
	uint64_t words[6];
	size_t at = flags & SCOPE_HAS_CLASS_VARIABLE ? 1 : 0;
	int r = memory->read(memory->arg, pointer - 1 + skip * sizeof(uint64_t), words,
			     sizeof(words));

	if (r < 0)
		return r;
	if (SCOPE_FUNCTION_VARIABLE(flags) != 0) {
		scope->function_name = words[at];
		at += 2;
	}
	if (flags & SCOPE_HAS_INFERRED_NAME)
		scope->inferred_name = words[at++];
	if (!memory->layout->positions_first) {
		scope->has_start = v8_is_smi(words[at]);
		scope->start = v8_smi(words[at]);
	}
	return 0;
}

static int read_scope(const struct v8_memory *memory, uint64_t pointer, struct scope *ret_scope)
{
	const struct v8_layout *layout = memory->layout;
	uint64_t words[SCOPE_WORDS];
	uint32_t flags, n_variables;
	uint64_t skip = 4;
	uint16_t type;
	int r = v8_object_read(memory, pointer, words, ARRAY_SIZE(words), &type);

	if (r < 0)
		return r;
	if (type != layout->scope_type || !v8_is_smi(words[3]))
		return -EBADMSG;
	/* A Smi where the positions come last; then a number. */
	flags = layout->positions_first ? (uint32_t)words[1] : v8_smi(words[1]);
	n_variables = v8_smi(words[3]);
	if (n_variables > MAX_VARIABLES)
		return -EBADMSG;
	*ret_scope = (struct scope){};
	if (layout->positions_first) {
		ret_scope->has_start = v8_is_smi(words[4]);
		ret_scope->start = v8_smi(words[4]);
		skip += 2;
	}
	if (SCOPE_TYPE(flags) == layout->scope_of_module)
		skip++;
	skip += n_variables < MAX_INLINED_NAMES ? n_variables : 1;
	skip += n_variables;
	return read_names(memory, pointer, skip, flags, ret_scope);
}

/* Removes the beginning of the name of a file that was imported as a module. */
static uint32_t without_scheme(uint8_t *file, uint32_t size)
{
	static const char scheme[] = "file://";
	const uint32_t length = sizeof(scheme) - 1;

	if (size <= length || memcmp(file, scheme, length) != 0)
		return size;
	memmove(file, file + length, size - length);
	return size - length;
}

static int put_name(const struct v8_memory *memory, const struct scope *scope, uint8_t *to,
		    uint32_t *ret_bytes)
{
	uint64_t name = scope->function_name;

	if (v8_string_length(memory, name) == 0)
		name = scope->inferred_name;
	if (v8_string_length(memory, name) > 0)
		return v8_string_read(memory, name, CODE_NAME_BYTES, to, ret_bytes);
	*ret_bytes = read_code_put(
		scope->has_start && scope->start == 0 ? "(script)" : "(anonymous)", to);
	return 0;
}

/* Reads the name of the file of @script, and the first line of the function. */
static int put_file(const struct v8_memory *memory, struct v8_lines *lines,
		    const uint64_t script[V8_SCRIPT_WORDS], const struct scope *scope,
		    struct read_code *code, uint8_t *to)
{
	uint32_t line = 0;
	int r;

	code->file_bytes = 0;
	/* Code that eval() and the like compile has no name. */
	if (v8_string_length(memory, script[2]) > 0) {
		r = v8_string_read(memory, script[2], CODE_FILE_BYTES, to, &code->file_bytes);
		if (r < 0)
			return r;
		code->file_bytes = without_scheme(to, code->file_bytes);
	}
	if (scope->has_start)
		line = v8_script_line(memory, lines, script, scope->start);
	code->first_line = line;
	return 0;
}

/* The name, or the ScopeInfo with it, of the function. */
static int read_name(const struct v8_memory *memory, uint64_t pointer, struct scope *ret_scope)
{
	int r = read_scope(memory, pointer, ret_scope);

	if (r != -EBADMSG)
		return r;
	*ret_scope = (struct scope){ .function_name = pointer };
	return v8_string_length(memory, pointer) > 0 ? 0 : -EBADMSG;
}

static uint64_t mark_of(uint64_t name, uint64_t script)
{
	const uint64_t parts[] = { name, script };

	return read_code_mark(parts, sizeof(parts));
}

int v8_code_read(const struct v8_memory *memory, struct v8_lines *lines, uint64_t pointer,
		 uint64_t known_mark, struct read_code *ret_code, uint8_t *content)
{
	const struct v8_layout *layout = memory->layout;
	uint64_t shared[SHARED_WORDS], script[V8_SCRIPT_WORDS], name, script_pointer;
	struct read_code code = {};
	struct scope scope;
	uint16_t type;
	int r = v8_object_read(memory, pointer, shared, ARRAY_SIZE(shared), &type);

	if (r < 0)
		return r;
	if (type != layout->shared_type)
		return -EBADMSG;
	name = shared[layout->shared_name / sizeof(uint64_t)];
	script_pointer = shared[layout->shared_script / sizeof(uint64_t)];
	code.mark = mark_of(name, script_pointer);
	if (code.mark == known_mark)
		return 0;
	*ret_code = code;
	r = v8_object_read(memory, script_pointer, script, ARRAY_SIZE(script), &type);
	if (r < 0)
		return r;
	if (type != layout->script_type)
		return 1; /* undefined: a built-in function */
	r = read_name(memory, name, &scope);
	if (r == 0)
		r = put_name(memory, &scope, content, &code.function_bytes);
	if (r < 0)
		return r;
	memcpy(content + code.function_bytes, content, code.function_bytes);
	code.qualified_name_bytes = code.function_bytes;
	r = put_file(memory, lines, script, &scope, &code, content + 2 * code.function_bytes);
	if (r < 0)
		return r;
	*ret_code = code;
	return 1;
}
