/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_code/function_starts.h"

#include <elf.h>
#include <sys/mman.h>

#include "common/file.h"
#include "tests/support/unit.h"

/*
 * A file with one section of code at CODE, and two gaps: one far after, one before. All bytes are
 * 0x90, except one instruction.
 */
#define CODE         0x401000u
#define CODE_SIZE    192u
#define FIRST_GAP    0x400040u
#define FIRST_END    0x400100u
#define SECOND_GAP   0x1400400u
#define SECOND_END   0x1400800u
#define AFTER_STARTS 16 /* bytes that must follow the byte before an opcode */

struct file {
	struct elf_file elf;
	struct elf_section section;
	uint8_t code[CODE_SIZE];
	struct code_address_vec starts;
};

static const struct cfi_gap gap_items[] = { { .start = FIRST_GAP, .end = FIRST_END },
					    { .start = SECOND_GAP, .end = SECOND_END } };

/* The starts of a file of @type that has @instruction at @offset of its code. */
static void find(struct file *file, uint16_t type, size_t offset, const uint8_t *instruction,
		 size_t size)
{
	const struct cfi_gap_vec gaps = { .items = (struct cfi_gap *)gap_items,
					  .count = ARRAY_SIZE(gap_items) };
	scoped_fd int fd = memfd_create("code", MFD_CLOEXEC);

	memset(file->code, 0x90, sizeof(file->code));
	memcpy(file->code + offset, instruction, size);
	assert_ok(write_all(fd, file->code, sizeof(file->code)));
	file->section = (struct elf_section){ .name = ".text",
					      .type = SHT_PROGBITS,
					      .flags = SHF_EXECINSTR,
					      .vaddr = CODE,
					      .size = CODE_SIZE };
	file->elf = (struct elf_file){ .fd = fd,
				       .file_size = CODE_SIZE,
				       .type = type,
				       .machine = EM_X86_64,
				       .sections = &file->section,
				       .n_sections = 1 };
	vec_clear(&file->starts);
	assert_ok(function_starts_find(&file->elf, &gaps, &file->starts));
}

static bool finds(uint16_t type, size_t offset, const uint8_t *instruction, size_t size,
		  uint64_t expected)
{
	struct file file = {};
	bool found;

	find(&file, type, offset, instruction, size);
	found = file.starts.count == 1 && file.starts.items[0] == expected;
	assert_true(found || file.starts.count == 0);
	vec_release(&file.starts);
	return found;
}

/* Writes @opcode, then the distance of @target from the end of the instruction, at @offset. */
static size_t relative(uint8_t *instruction, const uint8_t *opcode, size_t n, size_t offset,
		       uint64_t target)
{
	int32_t distance = (int32_t)((int64_t)target - (int64_t)(CODE + offset + n + 4));

	memcpy(instruction, opcode, n);
	memcpy(instruction + n, &distance, sizeof(distance));
	return n + sizeof(distance);
}

static void calls_jumps_and_addresses_are_found_at_every_offset(void **state)
{
	static const struct {
		uint8_t opcode[3];
		size_t n;
		bool needs_alignment;
	} cases[] = {
		{ { 0xe8 }, 1, false },             /* call */
		{ { 0xe9 }, 1, true },              /* jmp */
		{ { 0x48, 0x8d, 0x3d }, 3, false }, /* lea N(%rip), %rdi */
		{ { 0x4c, 0x8d, 0x05 }, 3, false }, /* lea N(%rip), %r8 */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t offset = 1; offset + AFTER_STARTS <= CODE_SIZE; offset++) {
			const uint64_t targets[] = { FIRST_GAP, FIRST_END - 16, SECOND_GAP,
						     SECOND_END - 16 };
			const uint64_t others[] = { FIRST_GAP - 16, FIRST_END, SECOND_GAP - 16,
						    SECOND_END, CODE };
			uint8_t bytes[8];
			size_t size;

			for (size_t j = 0; j < ARRAY_SIZE(targets); j++) {
				size = relative(bytes, cases[i].opcode, cases[i].n, offset,
						targets[j]);
				assert_true(finds(ET_DYN, offset, bytes, size, targets[j]));
				size = relative(bytes, cases[i].opcode, cases[i].n, offset,
						targets[j] + 1);
				assert_int_equal(finds(ET_DYN, offset, bytes, size, targets[j] + 1),
						 !cases[i].needs_alignment);
			}
			for (size_t j = 0; j < ARRAY_SIZE(others); j++) {
				size = relative(bytes, cases[i].opcode, cases[i].n, offset,
						others[j]);
				assert_false(finds(ET_DYN, offset, bytes, size, others[j]));
			}
		}
	}
}

static void other_forms_of_lea_are_not_found(void **state)
{
	const uint8_t narrow[] = { 0x66, 0x8d, 0x3d }, of_register[] = { 0x48, 0x8d, 0xbd };
	uint8_t bytes[8];
	size_t size;

	(void)state;
	size = relative(bytes, narrow, sizeof(narrow), 40, SECOND_GAP);
	assert_false(finds(ET_DYN, 40, bytes, size, SECOND_GAP));
	size = relative(bytes, of_register, sizeof(of_register), 40, SECOND_GAP);
	assert_false(finds(ET_DYN, 40, bytes, size, SECOND_GAP));
}

static void numbers_lead_to_functions_where_code_is_linked_to_a_fixed_address(void **state)
{
	/* mov $N, %edi; movl $N, 8(%rsp); movq $N, 16(%rbx) */
	static const struct {
		uint8_t bytes[8];
		size_t n;
	} cases[] = { { { 0xbf }, 1 },
		      { { 0xc7, 0x44, 0x24, 0x08 }, 4 },
		      { { 0x48, 0xc7, 0x43, 0x10 }, 4 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t aligned = SECOND_GAP + 32, odd = SECOND_GAP + 33;
		uint8_t bytes[12];

		memcpy(bytes, cases[i].bytes, cases[i].n);
		memcpy(bytes + cases[i].n, &aligned, sizeof(aligned));
		assert_true(finds(ET_EXEC, 77, bytes, cases[i].n + 4, aligned));
		assert_false(finds(ET_DYN, 77, bytes, cases[i].n + 4, aligned));
		memcpy(bytes + cases[i].n, &odd, sizeof(odd));
		assert_false(finds(ET_EXEC, 77, bytes, cases[i].n + 4, odd));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_jumps_and_addresses_are_found_at_every_offset),
		cmocka_unit_test(other_forms_of_lea_are_not_found),
		cmocka_unit_test(numbers_lead_to_functions_where_code_is_linked_to_a_fixed_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
