/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/python/find_python.h"

#include "agent/interpreter/python/loop_parts.h"
#include "agent/interpreter/python/python_layout.h"
#include "agent/unwind/file/elf_code.h"
#include "common/elf/elf_symbol.h"
#include "common/file.h"

/* The section of _PyRuntime. Only CPython has it, so that no other file's symbols are read. */
#define RUNTIME_SECTION ".PyRuntime"

/* 3.13 */
#define FIRST_FREE_THREADED 0x030d

/* Reads Py_Version: 0x030b02f0 is 3.11.2. Returns 0x030b, 0 if it cannot be read. */
static uint32_t read_version(const struct elf_file *elf, uint64_t vaddr)
{
	const struct load_segment *segment = elf_segment_at(elf, vaddr, 0);
	uint32_t version;

	if (!segment || segment->file_size - (vaddr - segment->vaddr) < sizeof(version) ||
	    pread_all(elf->fd, &version, sizeof(version),
		      segment->file_offset + (vaddr - segment->vaddr)) < 0)
		return 0;
	return version >> 16;
}

/*
 * Whether it is a build without the lock of the interpreter (3.13 and later), in which structures
 * have other offsets. _PyRuntime begins with "xdebugpy", the version, and this flag.
 */
static bool is_free_threaded(const struct elf_file *elf, const struct interpreter_facts *facts)
{
	const struct load_segment *segment = elf_segment_at(elf, facts->runtime_addr, 0);
	uint64_t head[3];
	uint64_t offset;

	if (facts->version < FIRST_FREE_THREADED || !segment)
		return false;
	offset = facts->runtime_addr - segment->vaddr;
	if (segment->file_size - offset < sizeof(head) ||
	    pread_all(elf->fd, head, sizeof(head), segment->file_offset + offset) < 0)
		return false;
	return memcmp(head, "xdebugpy", sizeof(head[0])) == 0 && head[2] != 0;
}

int find_python(const struct elf_file *elf, struct interpreter_facts *ret_facts)
{
	struct elf_symbol symbols[] = {
		{ .name = "_PyRuntime" },
		{ .name = "_PyEval_EvalFrameDefault" },
		{ .name = "Py_Version" },
	};
	struct interpreter_facts facts = { .runtime = INTERPRETER_PYTHON };
	int r;

	if (!elf_file_section(elf, RUNTIME_SECTION))
		return 0;
	r = elf_symbols_find(elf, symbols, ARRAY_SIZE(symbols));
	if (r < 0)
		return r;
	facts.version = read_version(elf, symbols[2].vaddr);
	if (symbols[0].vaddr == 0 || symbols[1].vaddr == 0 ||
	    symbols[1].size > UINT64_MAX - symbols[1].vaddr || !python_layout_of(facts.version))
		return 0;
	facts.runtime_addr = symbols[0].vaddr;
	if (is_free_threaded(elf, &facts))
		return 0;
	facts.loop[0].start = symbols[1].vaddr;
	facts.loop[0].end = symbols[1].vaddr + symbols[1].size;
	r = loop_parts_find(elf, &facts.loop[0], &facts.loop[1]);
	if (r < 0)
		return r;
	*ret_facts = facts;
	return 1;
}
