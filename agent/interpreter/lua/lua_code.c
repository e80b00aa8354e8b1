/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/lua/lua_code.h"

#include <stdio.h>
#include <string.h>

#include "agent/interpreter/lua/lua_lines.h"
#include "agent/interpreter/lua/lua_names.h"
#include "agent/interpreter/lua/lua_object.h"

/* The first character of the name of a chunk: a file, or another name; else it is a text of Lua. */
#define CHUNK_IS_FILE '@'
#define CHUNK_IS_NAME '='

/* Bytes of a text of Lua that are shown. */
#define MAX_STRING_BYTES 40

#define MAIN_CHUNK "main chunk"

/* Of a mark: the function has a name of a variable or a field. */
#define MARK_NAMED   1
#define MARK_NEVER_0 2

/* Writes text as UTF-8. Names and files have no control characters: freed memory may. */
static int put_text(const char *text, size_t size, size_t max_bytes, uint8_t *to,
		    uint32_t *ret_bytes)
{
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] < ' ')
			return -EBADMSG;
	*ret_bytes = (uint32_t)utf8_repair(text, size, (char *)to, max_bytes);
	return *ret_bytes > 0 ? 0 : -EBADMSG;
}

/* Reads the file of a Proto. "[string "..."]" has the first line of a text of Lua. */
static int read_file(const struct lua_memory *memory, const uint8_t *proto, uint8_t *to,
		     uint32_t *ret_bytes)
{
	const uint64_t source = word_at(proto, memory->layout->code.source);
	char text[CODE_FILE_BYTES], string[MAX_STRING_BYTES + sizeof("[string \"\"]")];
	size_t size = 0;
	int r;

	/* A stripped function of 5.4 has none. */
	*ret_bytes = 0;
	if (source == 0)
		return 0;
	r = lua_text_read(memory, source, sizeof(text), text, &size);
	if (r < 0)
		return r;
	if (text[0] == CHUNK_IS_FILE || text[0] == CHUNK_IS_NAME)
		return size > 1 ? put_text(text + 1, size - 1, CODE_FILE_BYTES, to, ret_bytes) : 0;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] < ' ')
			size = i;
	size = MIN(size, (size_t)MAX_STRING_BYTES);
	(void)snprintf(string, sizeof(string), "[string \"%.*s\"]", (int)size, text);
	return put_text(string, strlen(string), CODE_FILE_BYTES, to, ret_bytes);
}

/* Without the addresses of names: a function keeps the one that it was given first. */
static uint64_t mark_of(const struct lua_memory *memory, const uint8_t *proto)
{
	const struct lua_code_layout *layout = &memory->layout->code;
	const uint64_t parts[] = {
		word_at(proto, memory->layout->walk.code_instructions),
		word_at(proto, layout->source),
		word_at(proto, layout->lines),
		word_at(proto, layout->constants),
		(uint64_t)lua_proto_instructions(memory, proto) << 32 |
			half_at(proto, layout->first_line),
	};

	return (read_code_mark(parts, sizeof(parts)) | MARK_NEVER_0) & ~(uint64_t)MARK_NAMED;
}

/* "function <shop.lua:12>", as in tracebacks of Lua. */
static uint32_t put_place(const uint8_t *file, uint32_t file_bytes, uint32_t line, uint8_t *to)
{
	uint32_t start = file_bytes, size;

	while (start > 0 && file[start - 1] != '/')
		start--;
	size = MIN(file_bytes - start, (uint32_t)CODE_NAME_BYTES / 2);
	return (uint32_t)snprintf((char *)to, CODE_NAME_BYTES, "function <%.*s:%u>", (int)size,
				  (const char *)file + start, line);
}

/* Reads the name that the caller has for the function. 0 or a negative errno; no bytes: none. */
static int read_name(const struct lua_memory *memory, const struct lua_caller *caller, uint8_t *to,
		     uint32_t *ret_bytes)
{
	char name[CODE_NAME_BYTES];
	size_t size;
	int r = caller->code ? lua_name_read(memory, caller, sizeof(name), name, &size) : 0;

	*ret_bytes = 0;
	/* The caller may be gone: that says nothing about the function. */
	if (r == 1 && put_text(name, size, CODE_NAME_BYTES, to, ret_bytes) < 0)
		*ret_bytes = 0;
	return r == -ESRCH ? r : 0;
}

/* Writes both names, and the file, to @content. */
static int put_names(const struct lua_memory *memory, const uint8_t *proto, const uint8_t *name,
		     struct read_code *code, uint8_t *content)
{
	uint8_t file[CODE_FILE_BYTES];
	int r = read_file(memory, proto, file, &code->file_bytes);

	if (r < 0)
		return r;
	if (code->first_line == 0)
		code->function_bytes = read_code_put(MAIN_CHUNK, content);
	else if (code->function_bytes > 0)
		memcpy(content, name, code->function_bytes);
	else
		code->function_bytes = put_place(file, code->file_bytes, code->first_line, content);
	code->qualified_name_bytes = code->function_bytes;
	memcpy(content + code->function_bytes, content, code->function_bytes);
	memcpy(content + 2 * (size_t)code->function_bytes, file, code->file_bytes);
	return 0;
}

int lua_code_read(const struct lua_memory *memory, uint64_t address,
		  const struct lua_caller *caller, uint64_t known_mark, struct read_code *ret_code,
		  uint8_t *content)
{
	uint8_t proto[LUA_PROTO_BYTES], name[CODE_NAME_BYTES];
	struct read_code code = {};
	int r = lua_proto_read(memory, address, proto);

	if (r < 0)
		return r;
	code.first_line = half_at(proto, memory->layout->code.first_line);
	if (code.first_line > LUA_MAX_LINE)
		return -EBADMSG;
	code.mark = mark_of(memory, proto);
	if (known_mark == (code.mark | MARK_NAMED))
		return 0;
	if (code.first_line > 0)
		r = read_name(memory, caller, name, &code.function_bytes);
	if (r < 0)
		return r;
	if (code.function_bytes > 0)
		code.mark |= MARK_NAMED;
	if (code.mark == known_mark)
		return 0;
	r = put_names(memory, proto, name, &code, content);
	if (r < 0)
		return r;
	r = lua_lines_read(memory, proto,
			   content + 2 * (size_t)code.function_bytes + code.file_bytes,
			   MAX_LINE_TABLE_BYTES);
	if (r < 0)
		return r;
	code.line_table_bytes = (uint32_t)r;
	*ret_code = code;
	return 1;
}
