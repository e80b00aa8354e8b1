/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names PLT stubs, through which a program calls functions of other files. A stub has no symbol. It
 * jumps through a slot of the GOT, which a relocation fills with the address of a symbol: the stub
 * gets the name of that symbol with "@plt". The slot is found by decoding the stub's instructions,
 * because stubs cannot be matched with relocations by their order: there are several kinds of
 * stubs, and some have no relocation.
 */

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "common/search.h"
#include "symbolizer/symbols/elf/image_symbols.h"
#include "symbolizer/symbols/symbol_limits.h"
#include "symbolizer/symbols/table/symbol_file.h"

/* A slot of the GOT and the symbol that fills it. */
struct plt_slot {
	uint64_t elf_addr;
	const char *name;
};

VEC_DEFINE(plt_slot_vec, struct plt_slot);

/* A longer name is cut to this, so that "@plt" is kept. */
#define STUB_SYMBOL_NAME_MAX_BYTES 4000

/* The longest stub of x86-64 and arm64. */
#define STUB_BYTES 16

static int compare_slots(const void *left, const void *right)
{
	const struct plt_slot *a = left;
	const struct plt_slot *b = right;

	if (a->elf_addr != b->elf_addr)
		return a->elf_addr < b->elf_addr ? -1 : 1;
	return strcmp(a->name, b->name);
}

static bool fills_a_slot(uint16_t machine, uint32_t type)
{
	switch (machine) {
	case EM_X86_64:
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
	case EM_AARCH64:
		return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
	default:
		return false;
	}
}

static int read_slots_of(struct elf_image *image, const struct elf_image_section *relocations,
			 struct plt_slot_vec *slots)
{
	struct elf_image_relocation relocation;
	struct elf_image_symbol symbol;
	struct elf_image_section *table;
	uint32_t n_symbols;
	int r;

	if (relocations->link == 0 || relocations->link >= image->n_sections)
		return 0;
	table = &image->sections[relocations->link];
	r = elf_image_symbols(image, table, &n_symbols);
	for (uint32_t i = 0; r == 0 && elf_image_relocation(image, relocations, i, &relocation);
	     i++) {
		if (!fills_a_slot(image->machine, relocation.type) ||
		    relocation.symbol >= n_symbols ||
		    elf_image_symbol(image, table, relocation.symbol, &symbol) < 0 ||
		    symbol.name[0] == '\0')
			continue;
		if (slots->count >= SYMBOLS_MAX)
			return -EFBIG;
		r = vec_push(slots, (struct plt_slot){ .elf_addr = relocation.offset,
						       .name = symbol.name });
	}
	return r;
}

static int read_slots(struct elf_image *image, struct plt_slot_vec *slots)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < image->n_sections; i++) {
		const struct elf_image_section *section = &image->sections[i];

		if (section->type == SHT_RELA && (section->flags & SHF_ALLOC))
			r = read_slots_of(image, section, slots);
	}
	if (slots->count > 0)
		qsort(slots->items, slots->count, sizeof(*slots->items), compare_slots);
	return r;
}

static const char *slot_name(const struct plt_slot_vec *slots, uint64_t elf_addr)
{
	const size_t low = lower_bound(at, slots->count, slots->items[at].elf_addr < elf_addr);

	return low < slots->count && slots->items[low].elf_addr == elf_addr ? slots->items[low].name
									    : NULL;
}

/* x86-64: "jmp *slot(%rip)", optionally after endbr64 and with a bnd prefix. */
static bool decode_x86_64(const uint8_t *stub, uint64_t elf_addr, uint64_t *ret_slot)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = memcmp(stub, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;
	int32_t displacement;

	if (stub[at] == 0xf2)
		at++;
	if (stub[at] != 0xff || stub[at + 1] != 0x25)
		return false;
	memcpy(&displacement, stub + at + 2, sizeof(displacement));
	*ret_slot = elf_addr + at + 6 + (uint64_t)(int64_t)displacement;
	return true;
}

/* arm64: "adrp x16, page; ldr x17, [x16, offset]", optionally after bti. */
static bool decode_arm64(const uint8_t *stub, uint64_t elf_addr, uint64_t *ret_slot)
{
	uint32_t words[3];
	uint32_t adrp, load;
	uint64_t page;
	size_t at;

	memcpy(words, stub, sizeof(words));
	at = words[0] == 0xd503245f ? 1 : 0;
	adrp = words[at];
	load = words[at + 1];
	if ((adrp & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
		return false;
	page = (uint64_t)(adrp >> 29 & 3) | (uint64_t)(adrp >> 5 & 0x7ffff) << 2;
	if (page & (1u << 20))
		page |= ~UINT64_C(0) << 21;
	*ret_slot = ((elf_addr + at * 4) & ~UINT64_C(0xfff)) + (page << 12) +
		    (uint64_t)(load >> 10 & 0xfff) * 8;
	return true;
}

static bool decode(uint16_t machine, const uint8_t *stub, uint64_t elf_addr, uint64_t *ret_slot)
{
	switch (machine) {
	case EM_X86_64:
		return decode_x86_64(stub, elf_addr, ret_slot);
	case EM_AARCH64:
		return decode_arm64(stub, elf_addr, ret_slot);
	default:
		return false;
	}
}

static int add_stub(struct image_symbols *symbols, const struct elf_image_section *section,
		    uint64_t offset, uint64_t size, const char *name)
{
	char *stub_name =
		arena_format(symbols->names, "%.*s@plt", (int)STUB_SYMBOL_NAME_MAX_BYTES, name);

	if (!stub_name)
		return -ENOMEM;
	if (symbols->functions.count >= SYMBOLS_MAX)
		return -EFBIG;
	symbols->sources |= SYMBOL_SOURCE_PLT;
	return vec_push(&symbols->functions, (struct function_candidate){
						     .start = section->elf_addr + offset,
						     .size = size,
						     .limit = section->elf_addr + section->size,
						     .name = stub_name,
					     });
}

/* Distance between stubs. The section's entry size is not reliable: .plt.got has 8, also where its
 * stubs have 16 bytes because they begin with endbr64. */
static uint64_t stub_bytes(const struct elf_image *image, const struct elf_image_section *section)
{
	if (image->machine == EM_X86_64 && strcmp(section->name, ".plt.got") == 0)
		return section->entry_size == 8 && section->stored.size >= 4 &&
				       section->stored.data[0] != 0xf3
			       ? 8
			       : 16;
	return image->machine == EM_AARCH64 ? 4 : 16;
}

static int read_stubs(struct image_symbols *symbols, const struct elf_image *image,
		      const struct elf_image_section *section, const struct plt_slot_vec *slots)
{
	const uint64_t step = stub_bytes(image, section);
	const uint64_t size = MIN(section->stored.size, (size_t)section->size);
	/* On arm64 a stub may begin at any instruction: the first stub of .plt is longer. */
	const uint64_t length = image->machine == EM_AARCH64 ? 16 : step;
	uint8_t stub[STUB_BYTES];
	uint64_t slot;

	for (uint64_t offset = 0; offset < size; offset += step) {
		const uint64_t left = MIN(size - offset, (uint64_t)STUB_BYTES);
		const char *name = NULL;
		int r;

		memset(stub, 0, sizeof(stub));
		memcpy(stub, section->stored.data + offset, (size_t)left);
		if (decode(image->machine, stub, section->elf_addr + offset, &slot))
			name = slot_name(slots, slot);
		if (!name)
			continue;
		r = add_stub(symbols, section, offset, MIN(length, size - offset), name);
		if (r < 0)
			return r;
	}
	return 0;
}

int image_symbols_read_plt(struct image_symbols *symbols, struct elf_image *image)
{
	struct plt_slot_vec slots = {};
	int r;

	if (!image->is_64 || image->relocatable)
		return 0;
	r = read_slots(image, &slots);
	for (uint32_t i = 0; r == 0 && i < image->n_sections && slots.count > 0; i++) {
		const struct elf_image_section *section = &image->sections[i];

		if ((strcmp(section->name, ".plt") == 0 ||
		     strncmp(section->name, ".plt.", 5) == 0) &&
		    elf_image_is_code(image, section))
			r = read_stubs(symbols, image, section, &slots);
	}
	vec_release(&slots);
	return r;
}
