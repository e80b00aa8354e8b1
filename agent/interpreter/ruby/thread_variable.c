/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86-64 ELF TLS, 3.4.2 and 3.4.4. A library reads the variable with
 *
 *   lea index(%rip), %rdi; call __tls_get_addr; mov offset(%rax), %rax
 *
 * and a program with mov %fs:offset, %rax.
 */
#include "agent/interpreter/ruby/thread_variable.h"

#include "agent/unwind/file/elf_code.h"
#include "agent/unwind/x86_code/x86_encoding.h"
#include "agent/unwind/x86_code/x86_instruction.h"

/* The function has 36 to 40 bytes. */
#define MAX_CODE_BYTES 64

#define PREFIX_FS 0x64
#define RAX       0
#define RDI       7

enum progress {
	NOTHING,
	HAS_INDEX, /* the address of number and offset is in rdi */
	HAS_BLOCK, /* the address of the block is in rax */
};

static bool is_word_operation(const struct x86_encoding *encoding, uint8_t opcode)
{
	return encoding->map == X86_MAP_ONE_BYTE && !encoding->is_vector &&
	       encoding->opcode == opcode && encoding->rex & X86_REX_W && encoding->mode != 3;
}

static bool has_no_register(const struct x86_encoding *encoding)
{
	return encoding->base == X86_NO_REGISTER && encoding->index == X86_NO_REGISTER;
}

static int find_in_code(struct bytes_view code, uint64_t address, uint64_t *ret_index_addr,
			uint64_t *ret_offset)
{
	enum progress progress = NOTHING;
	struct x86_encoding encoding;
	uint64_t index_addr = 0;
	uint8_t length;

	for (size_t at = 0; at < code.size; at += length) {
		const struct bytes_view rest = { .data = code.data + at, .size = code.size - at };

		if (!x86_encoding_read(rest, &encoding, &length))
			return 0;
		if (is_word_operation(&encoding, 0x8d) && encoding.is_rip_relative &&
		    encoding.reg == RDI) {
			index_addr = address + at + length + (uint64_t)encoding.displacement;
			progress = HAS_INDEX;
		} else if (progress == HAS_INDEX && encoding.map == X86_MAP_ONE_BYTE &&
			   (encoding.opcode == 0xe8 || encoding.opcode == 0xff)) {
			progress = HAS_BLOCK;
		} else if (progress == HAS_BLOCK && is_word_operation(&encoding, 0x8b) &&
			   encoding.base == RAX && encoding.index == X86_NO_REGISTER) {
			*ret_index_addr = index_addr;
			*ret_offset = (uint64_t)encoding.displacement;
			return 1;
		} else if (rest.data[0] == PREFIX_FS && is_word_operation(&encoding, 0x8b) &&
			   has_no_register(&encoding) && !encoding.is_rip_relative) {
			*ret_index_addr = 0;
			*ret_offset = (uint64_t)encoding.displacement;
			return 1;
		}
	}
	return 0;
}

int thread_variable_find(const struct elf_file *elf, const struct elf_symbol *function,
			 uint64_t *ret_index_addr, uint64_t *ret_offset)
{
	uint8_t code[MAX_CODE_BYTES];
	const size_t size = (size_t)MIN(function->size, (uint64_t)sizeof(code));
	ssize_t n = elf_code_read(elf, function->vaddr, code, size);

	if (n <= 0)
		return (int)n;
	return find_in_code((struct bytes_view){ .data = code, .size = (size_t)n }, function->vaddr,
			    ret_index_addr, ret_offset);
}
