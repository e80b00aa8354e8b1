/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/perl/perl_code.h"

#include <string.h>

#include "agent/interpreter/runtime/words.h"
#include "common/hash.h"
#include "common/utf8.h"

/* struct sv: sv_any, the reference count, sv_flags, sv_u */
#define SV_BODY  0
#define SV_FLAGS 12
#define SV_VALUE 16
#define SV_BYTES 24

#define TYPE_BITS   0xff
#define TYPE_GLOB   9 /* SVt_PVGV */
#define TYPE_HASH   12
#define TYPE_SUB    13
#define TYPE_FORMAT 14
#define HAS_NAMES   0x02000000 /* SVf_OOK of a hash */

/* XPVCV */
#define SUB_STASH   32
#define SUB_START   40
#define SUB_GLOB    56
#define SUB_FILE    64
#define SUB_FLAGS   92
#define SUB_BYTES   96
#define SUB_IS_C    0x0008
#define SUB_NAMED   0x8000  /* a name instead of a glob */
#define SUB_LEXICAL 0x10000 /* "my sub" */

/* XPVGV */
#define GLOB_NAME  32
#define GLOB_STASH 40
#define GLOB_BYTES 48

/* XPVHV, struct xpvhv_aux */
#define HASH_MAX      24
#define HASH_NAMES    32
#define NAMES_NAME    0
#define NAMES_COUNT   28
#define NAMES_BYTES   32
#define MAX_HASH_SIZE (1ULL << 28)

/* struct hek: a hash, the length, the text */
#define NAME_LENGTH 4
#define NAME_TEXT   8

/* struct op, struct cop: the lowest 9 bits at COP_TYPE are the number of the instruction. */
#define COP_TYPE  32
#define COP_LINE  36
#define COP_FILE  48
#define COP_BYTES 56
#define TYPE_OP   0x1ff

#define PAGE_BYTES 4096
#define MAX_LINE   (1U << 30)

/* Texts that are not longer than this are names of Perl. */
#define MAX_NAME_BYTES (64 * KIB)

/* A glob with the name of a file has this before it. */
#define FILE_GLOB "_<"

/* A string eval has a number, which is different for each call. */
#define EVAL_FILE "(eval "

/* The name of a sub without a name. */
#define ANONYMOUS "__ANON__"

/* What the agent reads of a sub. */
struct sub {
	uint8_t bytes[SUB_BYTES];
	uint64_t body;
	uint64_t file; /* of its first statement, or else its own */
	bool file_is_glob;
	uint32_t first_line; /* 0: not known */
};

static int read_bytes(const struct perl_memory *memory, uint64_t address, void *to, size_t size)
{
	if (address % sizeof(uint64_t) != 0 || address < PAGE_BYTES)
		return -EBADMSG;
	return memory->read(memory->arg, address, to, size);
}

/* Reads the head of a value of type @type. 0; -EBADMSG: it is no such value. */
static int read_value(const struct perl_memory *memory, uint64_t address, uint32_t type,
		      uint8_t head[SV_BYTES])
{
	int r = read_bytes(memory, address, head, SV_BYTES);

	if (r < 0)
		return r;
	return (half_at(head, SV_FLAGS) & TYPE_BITS) == type ? 0 : -EBADMSG;
}

/* Writes text as UTF-8. Names and files have no control characters: freed memory may. */
static int put_text(char *text, size_t size, size_t max_bytes, uint8_t *to, uint32_t *ret_bytes)
{
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] < ' ')
			return -EBADMSG;
	*ret_bytes = (uint32_t)utf8_repair(text, size, (char *)to, max_bytes);
	return *ret_bytes > 0 ? 0 : -EBADMSG;
}

/* Reads a text with its length (HEK). 0 or a negative errno. */
static int read_name(const struct perl_memory *memory, uint64_t address, size_t max_bytes,
		     uint8_t *to, uint32_t *ret_bytes)
{
	uint8_t head[NAME_TEXT];
	char text[CODE_FILE_BYTES];
	size_t size;
	int r = address < PAGE_BYTES ? -EBADMSG
				     : memory->read(memory->arg, address, head, sizeof(head));

	static_assert(sizeof(text) >= CODE_NAME_BYTES, "room for all texts");
	if (r < 0)
		return r;
	size = half_at(head, NAME_LENGTH);
	if (size == 0 || size > MAX_NAME_BYTES)
		return -EBADMSG;
	size = MIN(size, max_bytes);
	r = memory->read(memory->arg, address + NAME_TEXT, text, size);
	return r < 0 ? r : put_text(text, size, max_bytes, to, ret_bytes);
}

/* Reads a text up to a NUL, page by page: the next one may not be mapped. 0 or a negative errno. */
static int read_string(const struct perl_memory *memory, uint64_t address, size_t max_bytes,
		       uint8_t *to, uint32_t *ret_bytes)
{
	char text[CODE_FILE_BYTES];
	size_t size = 0, end = 0;

	max_bytes = MIN(max_bytes, sizeof(text));
	if (address < PAGE_BYTES)
		return -EBADMSG;
	while (size < max_bytes && end == size) {
		size_t piece =
			MIN(PAGE_BYTES - (size_t)((address + size) % PAGE_BYTES), max_bytes - size);
		int r = memory->read(memory->arg, address + size, text + size, piece);

		if (r < 0)
			return r;
		end = size + strnlen(text + size, piece);
		size += piece;
	}
	return put_text(text, end, max_bytes, to, ret_bytes);
}

/* Reads the name of the glob (GV) of a file, without its prefix. */
static int read_file_glob(const struct perl_memory *memory, uint64_t address, uint8_t *to,
			  uint32_t *ret_bytes)
{
	uint8_t head[SV_BYTES], body[GLOB_BYTES];
	uint32_t size;
	int r = read_value(memory, address, TYPE_GLOB, head);

	if (r == 0)
		r = read_bytes(memory, word_at(head, SV_BODY), body, sizeof(body));
	if (r == 0)
		r = read_name(memory, word_at(body, GLOB_NAME), CODE_FILE_BYTES, to, &size);
	if (r < 0)
		return r;
	if (size <= strlen(FILE_GLOB) || memcmp(to, FILE_GLOB, strlen(FILE_GLOB)) != 0)
		return -EBADMSG;
	size -= (uint32_t)strlen(FILE_GLOB);
	memmove(to, to + strlen(FILE_GLOB), size);
	*ret_bytes = size;
	return 0;
}

/* "(eval)" for "(eval 12)": else each call would have frames that no other one has. */
static uint32_t without_number(uint8_t *file, uint32_t size)
{
	const size_t prefix = strlen(EVAL_FILE);

	if (size < prefix || memcmp(file, EVAL_FILE, prefix) != 0)
		return size;
	for (uint32_t i = (uint32_t)prefix; i < size; i++)
		if (file[i] == ')') {
			memmove(file + prefix - 1, file + i, size - i);
			return (uint32_t)prefix - 1 + size - i;
		}
	return size;
}

/* @is_glob: the address is that of a glob, else of a text. */
static int read_file(const struct perl_memory *memory, uint64_t address, bool is_glob, uint8_t *to,
		     uint32_t *ret_bytes)
{
	int r = is_glob ? read_file_glob(memory, address, to, ret_bytes)
			: read_string(memory, address, CODE_FILE_BYTES, to, ret_bytes);

	if (r == 0)
		*ret_bytes = without_number(to, *ret_bytes);
	return r;
}

/* ---- subs ---------------------------------------------------------------------------------- */

/*
 * Reads file and line of the first instruction of @sub, which is the beginning of a statement in
 * most subs. 0; -EBADMSG: it is not; or another errno.
 */
static int read_first_statement(const struct perl_memory *memory, uint64_t address, struct sub *sub)
{
	const uint32_t next_state = memory->layout->next_state;
	uint8_t cop[COP_BYTES];
	uint32_t type;
	int r = read_bytes(memory, address, cop, sizeof(cop));

	if (r < 0)
		return r;
	type = half_at(cop, COP_TYPE) & TYPE_OP;
	if (type != next_state && type != next_state + 1)
		return -EBADMSG;
	sub->file = word_at(cop, COP_FILE);
	sub->file_is_glob = !memory->has_threads;
	sub->first_line = half_at(cop, COP_LINE) < MAX_LINE ? half_at(cop, COP_LINE) : 0;
	return 0;
}

static int read_sub(const struct perl_memory *memory, uint64_t address, struct sub *ret_sub)
{
	uint8_t head[SV_BYTES];
	int r = read_value(memory, address, TYPE_SUB, head);

	if (r == -EBADMSG)
		r = read_value(memory, address, TYPE_FORMAT, head);
	if (r < 0)
		return r;
	*ret_sub = (struct sub){ .body = word_at(head, SV_BODY) };
	r = read_bytes(memory, ret_sub->body, ret_sub->bytes, sizeof(ret_sub->bytes));
	if (r < 0)
		return r;
	if (half_at(ret_sub->bytes, SUB_FLAGS) & SUB_IS_C)
		return -EBADMSG;
	ret_sub->file = word_at(ret_sub->bytes, SUB_FILE);
	(void)read_first_statement(memory, word_at(ret_sub->bytes, SUB_START), ret_sub);
	return 0;
}

static uint64_t mark_of(const struct sub *sub)
{
	const uint64_t parts[] = {
		sub->body,
		sub->file,
		word_at(sub->bytes, SUB_GLOB),
		word_at(sub->bytes, SUB_STASH),
		word_at(sub->bytes, SUB_START),
		(uint64_t)half_at(sub->bytes, SUB_FLAGS) << 32 | sub->first_line,
	};

	return read_code_mark(parts, sizeof(parts));
}

/* Finds the name of the package. 0; -EBADMSG: it has none. */
static int find_package_name(const struct perl_memory *memory, uint64_t stash, uint64_t *ret_name)
{
	uint8_t head[SV_BYTES], names[NAMES_BYTES];
	uint64_t max, address;
	int r = read_value(memory, stash, TYPE_HASH, head);

	if (r < 0)
		return r;
	if (!(half_at(head, SV_FLAGS) & HAS_NAMES))
		return -EBADMSG;
	address = word_at(head, SV_BODY) + HASH_NAMES;
	if (!memory->layout->stash_has_names) {
		r = read_bytes(memory, word_at(head, SV_BODY) + HASH_MAX, &max, sizeof(max));
		if (r < 0)
			return r;
		if (max >= MAX_HASH_SIZE)
			return -EBADMSG;
		address = word_at(head, SV_VALUE) + (max + 1) * sizeof(uint64_t);
	}
	r = read_bytes(memory, address, names, sizeof(names));
	if (r < 0)
		return r;
	*ret_name = word_at(names, NAMES_NAME);
	/* A package with further names has an array of them. */
	return half_at(names, NAMES_COUNT) == 0
		       ? 0
		       : read_bytes(memory, *ret_name, ret_name, sizeof(*ret_name));
}

/* Finds the names of @sub. *ret_stash is 0 if it belongs to no package. */
static int find_names(const struct perl_memory *memory, const struct sub *sub, uint64_t *ret_name,
		      uint64_t *ret_stash)
{
	const uint32_t flags = half_at(sub->bytes, SUB_FLAGS);
	const uint64_t glob = word_at(sub->bytes, SUB_GLOB);
	uint8_t head[SV_BYTES], body[GLOB_BYTES];
	int r;

	if (flags & SUB_NAMED) {
		*ret_name = glob;
		*ret_stash = flags & SUB_LEXICAL ? 0 : word_at(sub->bytes, SUB_STASH);
		return 0;
	}
	r = read_value(memory, glob, TYPE_GLOB, head);
	if (r == 0)
		r = read_bytes(memory, word_at(head, SV_BODY), body, sizeof(body));
	if (r < 0)
		return r;
	*ret_name = word_at(body, GLOB_NAME);
	*ret_stash = word_at(body, GLOB_STASH);
	return 0;
}

/* Reads "Package::" to @to. A package that was deleted has no name. */
static int read_package(const struct perl_memory *memory, uint64_t stash, uint8_t *to,
			uint32_t *ret_bytes)
{
	uint64_t name;
	int r = find_package_name(memory, stash, &name);

	if (r == 0)
		r = read_name(memory, name, CODE_NAME_BYTES - 2, to, ret_bytes);
	if (r == -EBADMSG) {
		*ret_bytes = 0;
		return 0;
	}
	if (r == 0)
		*ret_bytes += read_code_put("::", to + *ret_bytes);
	return r;
}

static int read_names(const struct perl_memory *memory, const struct sub *sub,
		      struct read_code *code, uint8_t *content)
{
	uint64_t name, stash;
	int r = find_names(memory, sub, &name, &stash);

	if (r == 0)
		r = read_name(memory, name, CODE_NAME_BYTES, content, &code->function_bytes);
	if (r < 0)
		return r;
	if (stash != 0)
		r = read_package(memory, stash, content + code->function_bytes,
				 &code->qualified_name_bytes);
	if (r < 0)
		return r;
	read_code_qualify(code, content);
	return 0;
}

static int read_closure(const struct perl_memory *memory, uint64_t address, uint64_t known_mark,
			struct read_code *ret_code, uint8_t *content)
{
	struct read_code code = {};
	struct sub sub = { .body = address };
	int r = read_first_statement(memory, address, &sub);

	if (r < 0)
		return r;
	code.mark = mark_of(&sub);
	if (code.mark == known_mark)
		return 0;
	code.first_line = sub.first_line;
	code.function_bytes = read_code_put(ANONYMOUS, content);
	content += code.function_bytes;
	code.qualified_name_bytes = read_code_put(ANONYMOUS, content);
	content += code.qualified_name_bytes;
	r = read_file(memory, sub.file, sub.file_is_glob, content, &code.file_bytes);
	if (r < 0)
		return r;
	*ret_code = code;
	return 1;
}

/* ---- code objects -------------------------------------------------------------------------- */

static const char *const code_names[] = {
	[ABI_PERL_MAIN] = "{main}",
	[ABI_PERL_EVAL] = "{eval}",
	[ABI_PERL_BLOCK] = "{block}",
};

/* Reads code that is no sub. @address: of its file; 0: it is not known. */
static int read_without_sub(const struct perl_memory *memory, uint64_t address, uint64_t known_mark,
			    const char *name, struct read_code *ret_code, uint8_t *content)
{
	const bool is_eval = name == code_names[ABI_PERL_EVAL];
	struct read_code code = { .function_bytes = read_code_put(name, content) };
	int r = 0;

	content += code.function_bytes;
	code.qualified_name_bytes = read_code_put(name, content);
	content += code.qualified_name_bytes;
	if (is_eval)
		code.file_bytes = read_code_put("(eval)", content);
	else if (address != 0)
		r = read_file(memory, address, !memory->has_threads, content, &code.file_bytes);
	if (r < 0)
		return r;
	code.mark = hash64_of(content, code.file_bytes) | 1;
	if (code.mark == known_mark)
		return 0;
	*ret_code = code;
	return 1;
}

int perl_code_read(const struct perl_memory *memory, uint64_t address, uint64_t known_mark,
		   struct read_code *ret_code, uint8_t *content)
{
	const uint64_t mark = address & ABI_PERL_MARKS;
	struct read_code code = {};
	struct sub sub;
	int r;

	if (mark == ABI_PERL_CLOSURE)
		return read_closure(memory, address - mark, known_mark, ret_code, content);
	if (mark >= ARRAY_SIZE(code_names))
		return -EBADMSG;
	if (mark != 0)
		return read_without_sub(memory, address - mark, known_mark, code_names[mark],
					ret_code, content);
	r = read_sub(memory, address, &sub);
	if (r < 0)
		return r;
	code.mark = mark_of(&sub);
	if (code.mark == known_mark)
		return 0;
	code.first_line = sub.first_line;
	r = read_names(memory, &sub, &code, content);
	if (r < 0)
		return r;
	content += code.function_bytes + code.qualified_name_bytes;
	r = read_file(memory, sub.file, sub.file_is_glob, content, &code.file_bytes);
	if (r < 0)
		return r;
	*ret_code = code;
	return 1;
}
