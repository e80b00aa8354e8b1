/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/hotspot/hotspot_code.h"

#include <string.h>

#include "agent/interpreter/hotspot/java_name.h"
#include "agent/interpreter/runtime/words.h"
#include "common/hash.h"

/* A text of a class file has at most this size, but names are much shorter. */
#define MAX_SYMBOL_BYTES 2048

/* The first bytes of a ConstMethod, with its fields. */
#define CONST_METHOD_BYTES 128

/* ConstMethod._flags, bit 0: there is a line table after the byte code. */
#define HAS_LINE_TABLE 1

/* Size of one entry of a constant pool. */
#define POOL_ENTRY_BYTES 8

#define STUB_NAME_BYTES 64

struct symbol {
	size_t size;
	uint8_t bytes[MAX_SYMBOL_BYTES];
};

static struct bytes_view view_of(const struct symbol *symbol)
{
	return (struct bytes_view){ .data = symbol->bytes, .size = symbol->size };
}

static int read_bytes(const struct hotspot_memory *memory, uint64_t address, void *to, size_t size)
{
	return memory->read(memory->arg, address, to, size);
}

static int read_word(const struct hotspot_memory *memory, uint64_t address, uint64_t *ret_word)
{
	return read_bytes(memory, address, ret_word, sizeof(*ret_word));
}

static uint16_t short_at(const uint8_t *bytes, size_t offset)
{
	uint16_t value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

/* Reads the first MAX_SYMBOL_BYTES of a Symbol. */
static int read_symbol(const struct hotspot_memory *memory, uint64_t address,
		       struct symbol *ret_symbol)
{
	const uint16_t *offset = memory->layout->offset;
	uint16_t length;
	int r = read_bytes(memory, address + offset[HOTSPOT_SYMBOL_LENGTH], &length,
			   sizeof(length));

	if (r < 0)
		return r;
	ret_symbol->size = MIN((size_t)length, (size_t)MAX_SYMBOL_BYTES);
	return ret_symbol->size == 0 ? 0
				     : read_bytes(memory, address + offset[HOTSPOT_SYMBOL_BODY],
						  ret_symbol->bytes, ret_symbol->size);
}

/* A method whose structures are being read. */
struct method {
	uint64_t const_method, pool;
	uint8_t head[CONST_METHOD_BYTES];
	uint32_t pool_length;
};

/* Reads the symbol with number @index of the method's constant pool. */
static int read_pool_symbol(const struct hotspot_memory *memory, const struct method *method,
			    uint16_t index, struct symbol *ret_symbol)
{
	uint64_t symbol;
	int r;

	if (index == 0 || index >= method->pool_length)
		return -EBADMSG;
	r = read_word(memory,
		      method->pool + memory->layout->size[HOTSPOT_SIZE_CONSTANT_POOL] +
			      (uint64_t)index * POOL_ENTRY_BYTES,
		      &symbol);
	return r < 0 ? r : read_symbol(memory, symbol, ret_symbol);
}

static int read_method(const struct hotspot_memory *memory, uint64_t address,
		       struct method *ret_method)
{
	const uint16_t *offset = memory->layout->offset;
	int r = read_word(memory, address + offset[HOTSPOT_METHOD_CONST],
			  &ret_method->const_method);

	if (r == 0)
		r = read_bytes(memory, ret_method->const_method, ret_method->head,
			       sizeof(ret_method->head));
	if (r < 0)
		return r;
	ret_method->pool = word_at(ret_method->head, offset[HOTSPOT_CONST_POOL]);
	return read_bytes(memory, ret_method->pool + offset[HOTSPOT_POOL_LENGTH],
			  &ret_method->pool_length, sizeof(ret_method->pool_length));
}

static bool fields_are_in_head(const struct hotspot_layout *layout)
{
	static const enum hotspot_field of_head[] = {
		HOTSPOT_CONST_POOL, HOTSPOT_CONST_SIZE,      HOTSPOT_CONST_CODE_SIZE,
		HOTSPOT_CONST_NAME, HOTSPOT_CONST_SIGNATURE, HOTSPOT_CONST_FLAGS,
	};
	bool are_in = true;

	for (size_t i = 0; i < ARRAY_SIZE(of_head); i++)
		are_in &= layout->offset[of_head[i]] <= CONST_METHOD_BYTES - sizeof(uint64_t);
	return are_in;
}

static uint64_t mark_of(const struct hotspot_layout *layout, const struct method *method)
{
	const size_t size =
		MIN((size_t)layout->size[HOTSPOT_SIZE_CONST_METHOD], sizeof(method->head));
	const uint64_t parts[] = {
		method->const_method,
		method->pool,
		hash64_of(method->head, size),
	};

	return read_code_mark(parts, sizeof(parts));
}

/* Size of a compressed number at @bytes; @size + 1: it is cut. */
static size_t number_bytes(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < 5 && i < size; i++)
		if (bytes[i] < 192 || i == 4)
			return i + 1;
	return size + 1;
}

/* Size of the line table with its end mark; 0: it has no end within @size. */
static size_t line_table_bytes(const uint8_t *bytes, size_t size, bool without_zero)
{
	size_t at = 0;

	while (at < size) {
		uint8_t first = bytes[at++];

		if (first == 0)
			return at;
		for (int i = 0; i < 2 && first == 255 && !without_zero && at < size; i++)
			at += number_bytes(bytes + at, size - at);
	}
	return 0;
}

static int read_line_table(const struct hotspot_memory *memory, const struct method *method,
			   uint8_t *to, uint32_t *ret_bytes)
{
	const struct hotspot_layout *layout = memory->layout;
	const bool without_zero = layout->excludes_zero;
	uint32_t words;
	uint64_t start, end;
	size_t size;
	int r;

	*ret_bytes = 0;
	memcpy(&words, method->head + layout->offset[HOTSPOT_CONST_SIZE], sizeof(words));
	start = (uint64_t)layout->size[HOTSPOT_SIZE_CONST_METHOD] +
		short_at(method->head, layout->offset[HOTSPOT_CONST_CODE_SIZE]);
	end = (uint64_t)words * sizeof(uint64_t);
	if (!(method->head[layout->offset[HOTSPOT_CONST_FLAGS]] & HAS_LINE_TABLE) || start >= end)
		return 0;
	size = (size_t)MIN(end - start, (uint64_t)MAX_LINE_TABLE_BYTES - 1);
	r = read_bytes(memory, method->const_method + start, to + 1, size);
	if (r < 0)
		return r;
	size = line_table_bytes(to + 1, size, without_zero);
	to[0] = without_zero;
	*ret_bytes = size > 0 ? (uint32_t)size + 1 : 0;
	return 0;
}

/* The index of the source file's name in the constant pool; 0: the class has none. */
static int read_file_index(const struct hotspot_memory *memory, const struct method *method,
			   uint16_t *ret_index)
{
	const uint16_t *offset = memory->layout->offset;
	uint64_t address = method->pool + offset[HOTSPOT_POOL_FILE];
	int r;

	if (offset[HOTSPOT_POOL_FILE] == 0) {
		r = read_word(memory, method->pool + offset[HOTSPOT_POOL_HOLDER], &address);
		if (r < 0)
			return r;
		address += offset[HOTSPOT_CLASS_FILE];
	}
	return read_bytes(memory, address, ret_index, sizeof(*ret_index));
}

/* Writes the path of the source file: the folders of the package, and its name. */
static int read_file(const struct hotspot_memory *memory, const struct method *method,
		     struct bytes_view class_name, uint8_t *to, uint32_t *ret_bytes)
{
	struct symbol file = {};
	struct bytes_view package = { .data = class_name.data,
				      .size = java_package_bytes(class_name) };
	uint16_t index;
	size_t used;
	int r = read_file_index(memory, method, &index);

	*ret_bytes = 0;
	if (r < 0 || index == 0)
		return r;
	r = read_pool_symbol(memory, method, index, &file);
	if (r < 0)
		return r;
	used = java_text_copy(package, to, CODE_FILE_BYTES);
	*ret_bytes = (uint32_t)(used +
				java_text_copy(view_of(&file), to + used, CODE_FILE_BYTES - used));
	return 0;
}

static int read_class_name(const struct hotspot_memory *memory, const struct method *method,
			   struct symbol *ret_name)
{
	const uint16_t *offset = memory->layout->offset;
	uint64_t klass, name;
	int r = read_word(memory, method->pool + offset[HOTSPOT_POOL_HOLDER], &klass);

	if (r == 0)
		r = read_word(memory, klass + offset[HOTSPOT_KLASS_NAME], &name);
	return r < 0 ? r : read_symbol(memory, name, ret_name);
}

/* Reads the texts and the line table of @method one after the other to @content. */
static int read_content(const struct hotspot_memory *memory, const struct method *method,
			struct read_code *code, uint8_t *content)
{
	const uint16_t *offset = memory->layout->offset;
	struct symbol class_name, name, descriptor;
	struct java_method names;
	int r = read_class_name(memory, method, &class_name);

	if (r == 0)
		r = read_pool_symbol(memory, method,
				     short_at(method->head, offset[HOTSPOT_CONST_NAME]), &name);
	if (r == 0)
		r = read_pool_symbol(memory, method,
				     short_at(method->head, offset[HOTSPOT_CONST_SIGNATURE]),
				     &descriptor);
	if (r < 0)
		return r;
	names = (struct java_method){
		.class_name = view_of(&class_name),
		.name = view_of(&name),
		.descriptor = view_of(&descriptor),
	};
	code->function_bytes = (uint32_t)java_text_copy(names.name, content, CODE_NAME_BYTES);
	content += code->function_bytes;
	code->qualified_name_bytes = (uint32_t)java_name_write(&names, content, CODE_NAME_BYTES);
	content += code->qualified_name_bytes;
	r = read_file(memory, method, names.class_name, content, &code->file_bytes);
	if (r < 0)
		return r;
	content += code->file_bytes;
	return read_line_table(memory, method, content, &code->line_table_bytes);
}

/* Reads the name of a stub, such as "StubRoutines (2)", without the number. */
static int read_stub(const struct hotspot_memory *memory, uint64_t blob, uint64_t known_mark,
		     struct read_code *ret_code, uint8_t *content)
{
	struct read_code code = {};
	uint8_t text[STUB_NAME_BYTES];
	struct bytes_view name = { .data = text };
	uint64_t address;
	int r = read_word(memory, blob + memory->layout->offset[HOTSPOT_BLOB_NAME], &address);

	if (r < 0)
		return r;
	code.mark = address | 1;
	if (code.mark == known_mark)
		return 0;
	r = read_bytes(memory, address, text, sizeof(text));
	if (r < 0)
		return r;
	while (name.size < sizeof(text) && text[name.size] != '\0' &&
	       !(text[name.size] == ' ' && name.size + 1 < sizeof(text) &&
		 text[name.size + 1] == '('))
		name.size++;
	if (name.size == 0)
		return -EBADMSG;
	code.function_bytes = (uint32_t)java_text_copy(name, content, CODE_NAME_BYTES);
	*ret_code = code;
	return 1;
}

int hotspot_code_read(const struct hotspot_memory *memory, uint64_t address, uint64_t known_mark,
		      struct read_code *ret_code, uint8_t *content)
{
	struct read_code code = {};
	struct method method;
	int r;

	if (!fields_are_in_head(memory->layout))
		return -EBADMSG;
	if (address & ABI_HOTSPOT_STUB)
		return read_stub(memory, address & ~(uint64_t)ABI_HOTSPOT_MARKS, known_mark,
				 ret_code, content);
	r = read_method(memory, address, &method);
	if (r < 0)
		return r;
	code.mark = mark_of(memory->layout, &method);
	if (code.mark == known_mark)
		return 0;
	r = read_content(memory, &method, &code, content);
	if (r < 0)
		return r;
	*ret_code = code;
	return 1;
}
