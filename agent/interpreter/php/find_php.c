/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/php/find_php.h"

#include <elf.h>
#include <string.h>

#include "agent/interpreter/php/php_layout.h"
#include "agent/interpreter/python/loop_parts.h"
#include "common/elf/elf_symbol.h"

#define GLOBALS "executor_globals"
#define LOOP    "execute_ex"

/* Builds with thread safety have this symbol instead of GLOBALS. */
#define GLOBALS_OF_ZTS "executor_globals_offset"

/* The header of HTTP answers that every build contains; the version follows. */
#define VERSION_HEADER "X-Powered-By: PHP/"

/* The section with the constants of php8.2 has 2.4 MiB. */
#define MAX_CONSTANT_BYTES (16 * MIB)

/* ZEND_VM_KIND_HYBRID: the loop keeps its frame and its instruction in registers. */
#define VM_KIND_HYBRID 4

/* Reads "8.2.". 0: it is not a version. */
static uint32_t parse_version(const uint8_t *text, size_t size)
{
	if (size < 4 || text[0] < '1' || text[0] > '9' || text[1] != '.' || text[2] < '0' ||
	    text[2] > '9' || text[3] != '.')
		return 0;
	return (uint32_t)(text[0] - '0') << 8 | (uint32_t)(text[2] - '0');
}

/* *ret_version is 0 if the file does not show one. 0 or a negative errno. */
static int find_version(const struct elf_file *elf, uint32_t *ret_version)
{
	scoped(bytes_release) struct bytes constants = BYTES_INIT(MAX_CONSTANT_BYTES);
	const struct elf_section *section = elf_file_section(elf, ".rodata");
	const uint8_t *found;
	int r;

	*ret_version = 0;
	if (!section || section->type == SHT_NOBITS)
		return 0;
	r = elf_file_read_section(elf, section, &constants);
	if (r < 0)
		return r;
	found = memmem(constants.data, constants.size, VERSION_HEADER, strlen(VERSION_HEADER));
	if (found) {
		found += strlen(VERSION_HEADER);
		*ret_version =
			parse_version(found, constants.size - (size_t)(found - constants.data));
	}
	return 0;
}

/* The number that zend_vm_kind() returns; 0: its code is not understood. */
static uint32_t vm_kind(const struct elf_file *elf, const struct elf_symbol *symbol)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[16] = {};
	const uint8_t *at = code;
	uint32_t value;

	if (symbol->vaddr == 0 || !elf_read_data(elf, symbol->vaddr, code, sizeof(code)))
		return 0;
	if (elf->machine == EM_X86_64) {
		if (memcmp(at, endbr64, sizeof(endbr64)) == 0)
			at += sizeof(endbr64);
		/* mov $value, %eax; ret */
		memcpy(&value, at + 1, sizeof(value));
		return at[0] == 0xb8 && at[5] == 0xc3 ? value : 0;
	}
	memcpy(&value, at, sizeof(value));
	if (value == 0xd503245f) /* bti c */
		memcpy(&value, at + sizeof(value), sizeof(value));
	/* mov w0, #value */
	return (value & 0xffe0001f) == 0x52800000 ? value >> 5 & 0xffff : 0;
}

int find_php(const struct elf_file *elf, struct interpreter_facts *ret_facts)
{
	struct elf_symbol symbols[] = { { .name = GLOBALS },
					{ .name = LOOP },
					{ .name = "zend_vm_kind" } };
	struct interpreter_facts facts = { .runtime = INTERPRETER_PHP };
	bool is_zts;
	int r;

	if (elf_symbol_is_exported(elf, LOOP) <= 0)
		return 0;
	is_zts = elf_symbol_is_exported(elf, GLOBALS_OF_ZTS) > 0;
	if (!is_zts && elf_symbol_is_exported(elf, GLOBALS) <= 0)
		return 0;
	r = find_version(elf, &facts.version);
	if (r < 0)
		return r;
	if (is_zts)
		facts.version |= PHP_VERSION_ZTS;
	r = elf_symbols_find(elf, symbols, ARRAY_SIZE(symbols));
	if (r < 0)
		return r;
	facts.runtime_addr = symbols[0].vaddr;
	facts.has_loop_registers = vm_kind(elf, &symbols[2]) == VM_KIND_HYBRID;
	r = loop_parts_of_symbol(elf, &symbols[1], facts.loop);
	if (r == 1)
		*ret_facts = facts;
	return r;
}
