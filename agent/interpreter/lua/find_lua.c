/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/lua/find_lua.h"

#include <elf.h>
#include <string.h>

#include "agent/interpreter/lua/loop_code.h"
#include "agent/interpreter/lua/lua_layout.h"
#include "agent/interpreter/python/loop_parts.h"
#include "common/elf/elf_symbol.h"

/* "$LuaVersion: Lua 5.4.4  Copyright ...", in 5.1 "$Lua: Lua 5.1.5 ..." */
#define IDENT        "lua_ident"
#define IDENT_BYTES  48
#define VERSION_TEXT "Lua "

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* release << LUA_RELEASE_SHIFT | major << 8 | minor; 0: there is none. */
static uint32_t version_of(const struct elf_file *elf, uint64_t vaddr)
{
	char text[IDENT_BYTES + 1] = {};
	const char *version;
	uint32_t release = 0;

	if (!elf_read_data(elf, vaddr, text, IDENT_BYTES))
		return 0;
	version = strstr(text, VERSION_TEXT);
	if (!version)
		return 0;
	version += strlen(VERSION_TEXT);
	if (!is_digit(version[0]) || version[1] != '.' || !is_digit(version[2]))
		return 0;
	/* The first release of 5.1 is "5.1". */
	if (version[3] == '.' && is_digit(version[4]))
		release = (uint32_t)(version[4] - '0');
	return release << LUA_RELEASE_SHIFT | (uint32_t)(version[0] - '0') << 8 |
	       (uint32_t)(version[2] - '0');
}

/* 1; 0: it is not found; or a negative errno. */
static int find_loop(const struct elf_file *elf, const struct elf_symbol *symbol,
		     const struct lua_layout *layout, struct interpreter_facts *facts)
{
	int r = loop_parts_of_symbol(elf, symbol, facts->loop);

	if (r != 0)
		return r;
	r = loop_code_find(elf, layout, &facts->loop[0]);
	if (r != 1)
		return r;
	r = loop_parts_find(elf, &facts->loop[0], &facts->loop[1]);
	return r < 0 ? r : 1;
}

int find_lua(const struct elf_file *elf, struct interpreter_facts *ret_facts)
{
	struct elf_symbol symbols[] = {
		{ .name = IDENT },
		{ .name = "luaV_execute" },
	};
	struct interpreter_facts facts = { .runtime = INTERPRETER_LUA };
	const struct lua_layout *layout;
	int r = elf_symbol_is_exported(elf, IDENT);

	/* Where the registers of a caller are saved is known on x86-64 only. */
	if (r <= 0 || elf->machine != EM_X86_64)
		return r < 0 ? r : 0;
	r = elf_symbols_find(elf, symbols, ARRAY_SIZE(symbols));
	if (r < 0)
		return r;
	facts.version = version_of(elf, symbols[0].vaddr);
	if (facts.version == 0)
		return 0;
	layout = lua_layout_of(facts.version);
	r = layout ? find_loop(elf, &symbols[1], layout, &facts) : 1;
	if (r == 1)
		*ret_facts = facts;
	return r;
}
