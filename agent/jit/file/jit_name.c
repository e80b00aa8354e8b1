/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jit/file/jit_name.h"

#include <stdio.h>

#include "common/utf8.h"

/* Part of a text: [begin, end). */
struct span {
	const char *begin, *end;
};

static struct span span_of(const char *text)
{
	return (struct span){ text, text + strlen(text) };
}

static size_t length(struct span span)
{
	return (size_t)(span.end - span.begin);
}

static bool starts_with(struct span span, const char *prefix)
{
	return length(span) >= strlen(prefix) && memcmp(span.begin, prefix, strlen(prefix)) == 0;
}

static bool ends_with(struct span span, const char *suffix)
{
	return length(span) >= strlen(suffix) &&
	       memcmp(span.end - strlen(suffix), suffix, strlen(suffix)) == 0;
}

/* The first or last occurrence of @needle, or NULL. */
static const char *find(struct span span, const char *needle)
{
	return length(span) > 0 ? memmem(span.begin, length(span), needle, strlen(needle)) : NULL;
}

static const char *find_last(struct span span, char needle)
{
	return length(span) > 0 ? memrchr(span.begin, needle, length(span)) : NULL;
}

void jit_text_copy(struct bytes_view text, char *ret_copy)
{
	size_t size = utf8_repair((const char *)text.data, MIN(text.size, (size_t)JIT_TEXT_BYTES),
				  ret_copy, JIT_TEXT_BYTES - 1);

	ret_copy[size] = '\0';
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)ret_copy[i] < ' ' || ret_copy[i] == 0x7f)
			ret_copy[i] = '?';
}

static void copy(struct span span, char *ret_copy)
{
	size_t size = MIN(length(span), (size_t)JIT_TEXT_BYTES - 1);

	memcpy(ret_copy, span.begin, size);
	ret_copy[size] = '\0';
}

/* Removes ":NUMBER" from the end of @span. False: it does not end so. */
static bool take_number(struct span *span, uint32_t *ret_number)
{
	const char *colon = find_last(*span, ':');
	uint32_t number = 0;

	if (!colon || colon + 1 == span->end || span->end - colon > 9)
		return false;
	for (const char *at = colon + 1; at < span->end; at++) {
		if (*at < '0' || *at > '9')
			return false;
		number = number * 10 + (uint32_t)(*at - '0');
	}
	span->end = colon;
	*ret_number = number;
	return true;
}

/* ---- V8 ------------------------------------------------------------------------------------ */

/* Kinds of JavaScript code. The names of other code ("Builtin:...") are taken as they are. */
static const char *const script_kinds[] = {
	"LazyCompile:", "JS:", "Function:", "Script:", "Eval:", "InterpretedFunction:",
};

/* Kinds of code that V8 generates for itself. */
static const char *const builtin_kinds[] = {
	"Builtin:", "BytecodeHandler:", "Stub:", "RegExp:", "WasmToJS:", "JSToWasm:",
};

/* Before the name: interpreted, and compiled by TurboFan, Sparkplug and (two versions) Maglev. */
#define V8_TIERS "~*^+'"

/* Where the location begins in "NAME LOCATION": both may have spaces. NULL: there is none. */
static const char *find_location(struct span text)
{
	static const char *const beginnings[] = { " /", " file://", " node:", " http" };

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		const char *found = find(text, beginnings[i]);

		if (found)
			return found + 1;
	}
	if (find(text, " "))
		return find_last(text, ' ') + 1;
	return NULL;
}

/* "/app/x.js:12:3" -> file and line. The column may be absent. */
static void split_location(struct span location, struct jit_name *name)
{
	uint32_t last, before;

	if (take_number(&location, &last))
		name->first_line = take_number(&location, &before) ? before : last;
	if (starts_with(location, "file://"))
		location.begin += strlen("file://");
	copy(location, name->file);
}

/* @text: behind the kind. */
static void parse_script(struct span text, bool is_script, struct jit_name *name)
{
	const char *location;
	struct span function;

	if (length(text) > 0 && strchr(V8_TIERS, *text.begin))
		text.begin++;
	location = find_location(text);
	function = (struct span){ text.begin, location ? location - 1 : text.end };
	if (location)
		split_location((struct span){ location, text.end }, name);
	if (is_script && length(function) == 0)
		copy(span_of("(script)"), name->function);
	else if (length(function) == 0)
		copy(span_of("(anonymous)"), name->function);
	else
		copy(function, name->function);
}

static bool parse_v8(struct span text, struct jit_name *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(script_kinds); i++) {
		if (!starts_with(text, script_kinds[i]))
			continue;
		text.begin += strlen(script_kinds[i]);
		parse_script(text, strcmp(script_kinds[i], "Script:") == 0, name);
		name->language = "javascript";
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(builtin_kinds); i++) {
		if (!starts_with(text, builtin_kinds[i]))
			continue;
		copy(text, name->function);
		name->language = "javascript";
		return true;
	}
	return false;
}

/* ---- other runtimes ------------------------------------------------------------------------ */

/* "py::Shop.price:/app/shop.py" */
static bool parse_python(struct span text, struct jit_name *name)
{
	const char *colon;

	if (!starts_with(text, "py::"))
		return false;
	text.begin += strlen("py::");
	colon = find(text, ":");
	copy((struct span){ text.begin, colon ? colon : text.end }, name->function);
	if (colon)
		copy((struct span){ colon + 1, text.end }, name->file);
	name->language = "python";
	return true;
}

/* "int32 [shop] Shop::Price(int32)[OptimizedTier1]" */
static bool parse_dotnet(struct span text, struct jit_name *name)
{
	const char *tier = find(text, ")[");
	const char *module, *arguments;

	if (!tier || !ends_with(text, "]"))
		return false;
	text.end = tier + 1;
	module = find(text, "] ");
	if (module)
		text.begin = module + 2;
	arguments = find(text, "(");
	if (arguments && arguments > text.begin)
		text.end = arguments;
	copy(text, name->function);
	name->language = "dotnet";
	return true;
}

/* "Lcom/example/Shop;::price" -> "com.example.Shop.price" */
static bool parse_java_descriptor(struct span text, struct jit_name *name)
{
	const char *separator = find(text, ";::");
	size_t size;

	if (!starts_with(text, "L") || !separator || length(text) >= JIT_TEXT_BYTES)
		return false;
	size = (size_t)(separator - text.begin) - 1;
	memcpy(name->function, text.begin + 1, size);
	for (size_t i = 0; i < size; i++)
		if (name->function[i] == '/')
			name->function[i] = '.';
	(void)snprintf(name->function + size, sizeof(name->function) - size, ".%.*s",
		       (int)(text.end - separator - 3), separator + 3);
	name->language = "java";
	return true;
}

/* "int com.example.Shop.price(int, long)" -> "com.example.Shop.price" */
static bool parse_java_signature(struct span text, struct jit_name *name)
{
	const char *arguments = find(text, "(");
	const char *space;
	struct span method;

	if (!arguments || !ends_with(text, ")"))
		return false;
	method = (struct span){ text.begin, arguments };
	space = find_last(method, ' ');
	if (!space)
		return false;
	method.begin = space + 1;
	if (!find(method, ".") || find(method, "::"))
		return false;
	copy(method, name->function);
	name->language = "java";
	return true;
}

void jit_name_parse(struct bytes_view text, struct jit_name *ret_name)
{
	char repaired[JIT_TEXT_BYTES];
	struct span span;

	*ret_name = (struct jit_name){ .language = "jit" };
	jit_text_copy(text, repaired);
	span = span_of(repaired);
	if (parse_v8(span, ret_name) || parse_python(span, ret_name) ||
	    parse_dotnet(span, ret_name) || parse_java_descriptor(span, ret_name) ||
	    parse_java_signature(span, ret_name))
		return;
	copy(span, ret_name->function);
}
