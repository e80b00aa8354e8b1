/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/python/find_python.h"

#include "agent/interpreter/python/loop_parts.h"
#include "agent/interpreter/python/python_layout.h"
#include "agent/interpreter/python/unlinked_code.h"
#include "common/elf/elf_symbol.h"

/*
 * The state of the runtime, and its section from 3.10 on. Other files have neither, so that their
 * symbols are not read.
 */
#define RUNTIME         "_PyRuntime"
#define RUNTIME_SECTION ".PyRuntime"

/* 3.13 */
#define FIRST_FREE_THREADED 0x030d

/* The symbols that are needed, and others of which the first version that has them is known. */
enum {
	SYMBOL_RUNTIME,
	SYMBOL_LOOP,
	SYMBOL_VERSION, /* 3.11 */
	SYMBOL_3_10,
	SYMBOL_3_9,
	SYMBOL_3_8,
	N_SYMBOLS,
};

/* Reads Py_Version: 0x030b02f0 is 3.11.2. Returns 0x030b, 0 if it cannot be read. */
static uint32_t read_version(const struct elf_file *elf, uint64_t vaddr)
{
	uint32_t version;

	return elf_read_data(elf, vaddr, &version, sizeof(version)) ? version >> 16 : 0;
}

/*
 * Whether it is a build without the lock of the interpreter (3.13 and later), in which structures
 * have other offsets. _PyRuntime begins with "xdebugpy", the version, and this flag.
 */
static bool is_free_threaded(const struct elf_file *elf, const struct interpreter_facts *facts)
{
	uint64_t head[3];

	if (facts->version < FIRST_FREE_THREADED ||
	    !elf_read_data(elf, facts->runtime_addr, head, sizeof(head)))
		return false;
	return memcmp(head, "xdebugpy", sizeof(head[0])) == 0 && head[2] != 0;
}

static uint32_t version_of(const struct elf_file *elf, const struct elf_symbol *symbols)
{
	if (symbols[SYMBOL_VERSION].vaddr)
		return read_version(elf, symbols[SYMBOL_VERSION].vaddr);
	if (symbols[SYMBOL_3_10].vaddr)
		return 0x030a;
	if (symbols[SYMBOL_3_9].vaddr)
		return 0x0309;
	return symbols[SYMBOL_3_8].vaddr ? 0x0308 : 0;
}

/* 1; 0: the code of the loop is not understood; or a negative errno. */
static int find_loop(const struct elf_file *elf, const struct elf_symbol *symbol, bool links_frames,
		     struct interpreter_facts *facts)
{
	int r = loop_parts_of_symbol(elf, symbol, facts->loop);

	if (r != 1 || !links_frames)
		return r;
	return unlinked_code_find(elf, facts->version, facts->loop, facts->unlinked);
}

int find_python(const struct elf_file *elf, struct interpreter_facts *ret_facts)
{
	struct elf_symbol symbols[N_SYMBOLS] = {
		[SYMBOL_RUNTIME] = { .name = RUNTIME },
		[SYMBOL_LOOP] = { .name = "_PyEval_EvalFrameDefault" },
		[SYMBOL_VERSION] = { .name = "Py_Version" },
		[SYMBOL_3_10] = { .name = "Py_NewRef" },
		[SYMBOL_3_9] = { .name = "PyObject_CallNoArgs" },
		[SYMBOL_3_8] = { .name = "PyCode_NewWithPosOnlyArgs" },
	};
	struct interpreter_facts facts = { .runtime = INTERPRETER_PYTHON };
	const struct python_layout *layout;
	int r = elf_file_section(elf, RUNTIME_SECTION) ? 1 : elf_symbol_is_exported(elf, RUNTIME);

	if (r <= 0)
		return r;
	r = elf_symbols_find(elf, symbols, ARRAY_SIZE(symbols));
	if (r < 0)
		return r;
	facts.version = version_of(elf, symbols);
	facts.runtime_addr = symbols[SYMBOL_RUNTIME].vaddr;
	layout = python_layout_of(facts.version);
	if (!layout || facts.runtime_addr == 0 || is_free_threaded(elf, &facts))
		return 0;
	r = find_loop(elf, &symbols[SYMBOL_LOOP], layout->walk.index_bytes != 0, &facts);
	if (r == 1)
		*ret_facts = facts;
	return r;
}
