/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes call frame information by hand, and prints rules as text, for the tests of agent/unwind.
 */

#include "agent/unwind/table/unwind_rule.h"
#include "tests/support/unit.h"

#define INSTRUCTIONS(...)                                                                          \
	{                                                                                          \
		{ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })                          \
	}

#define INSTRUCTIONS_NONE                                                                          \
	{                                                                                          \
		{}, 0                                                                              \
	}

struct instructions {
	uint8_t bytes[96];
	size_t size;
};

static inline struct bytes_view instructions_view(const struct instructions *instructions)
{
	return (struct bytes_view){ instructions->bytes, instructions->size };
}

static inline void write_fixed(struct bytes *out, uint64_t value, size_t size)
{
	assert_ok(bytes_append(out, &value, size));
}

/* The length of an entry is written when it ends. */
struct entry_writer {
	struct bytes *out;
	size_t start; /* of the bytes that the length counts */
	bool is_64_bit;
};

static inline struct entry_writer entry_begin(struct bytes *out, bool is_64_bit)
{
	if (is_64_bit)
		write_fixed(out, 0xffffffff, 4);
	write_fixed(out, 0, is_64_bit ? 8 : 4);
	return (struct entry_writer){ .out = out, .start = out->size, .is_64_bit = is_64_bit };
}

static inline void entry_end(struct entry_writer *entry)
{
	size_t size = entry->is_64_bit ? 8 : 4;
	uint64_t length;

	while (entry->out->size % 8 != 0)
		write_fixed(entry->out, 0, 1);
	length = entry->out->size - entry->start;
	memcpy(entry->out->data + entry->start - size, &length, size);
}

/* CFA = rsp + 8, return address at CFA - 8. */
static const struct instructions x86_initial = INSTRUCTIONS(0x0c, 7, 8, 0x80 | 16, 1);

/*
 * Writes a CIE of .eh_frame and returns its offset: "zR" with @encoding, or with @letters and @data
 * instead.
 */
static inline size_t write_cie(struct bytes *out, const char *letters,
			       const struct instructions *data)
{
	size_t offset = out->size;
	struct entry_writer entry = entry_begin(out, false);

	write_fixed(out, 0, 4);
	write_fixed(out, 1, 1);
	assert_ok(bytes_append(out, letters, strlen(letters) + 1));
	write_fixed(out, 1, 1);    /* code alignment */
	write_fixed(out, 0x78, 1); /* data alignment -8 */
	write_fixed(out, 16, 1);
	if (letters[0] == 'z')
		assert_ok(bytes_append_varint(out, data->size));
	assert_ok(bytes_append(out, data->bytes, data->size));
	assert_ok(bytes_append(out, x86_initial.bytes, x86_initial.size));
	entry_end(&entry);
	return offset;
}

/* Writes an FDE of .eh_frame with absolute addresses. */
static inline void write_fde(struct bytes *out, size_t cie, uint64_t start, uint64_t size,
			     const struct instructions *instructions)
{
	struct entry_writer entry = entry_begin(out, false);

	write_fixed(out, out->size - cie, 4);
	write_fixed(out, start, 8);
	write_fixed(out, size, 8);
	write_fixed(out, 0, 1); /* no augmentation data */
	assert_ok(bytes_append(out, instructions->bytes, instructions->size));
	entry_end(&entry);
}

/* "zR", absolute. */
static inline size_t write_plain_cie(struct bytes *out)
{
	static const struct instructions absolute = INSTRUCTIONS(0x00);

	return write_cie(out, "zR", &absolute);
}

static inline void saved_text(uint8_t where, int32_t offset, char *ret_text, size_t size)
{
	static const char *const formats[] = {
		[UNWIND_SAVED_SAME] = "same",         [UNWIND_SAVED_CFA] = "c%+d",
		[UNWIND_SAVED_REGISTER] = "r%d",      [UNWIND_SAVED_UNDEFINED] = "lost",
		[UNWIND_SAVED_FP_DEREF] = "*(fp%+d)", [UNWIND_SAVED_BESIDE_FP] = "beside fp",
	};

	assert_true(where < ARRAY_SIZE(formats));
	/* With a literal format, five calls would be needed. */
	if (strchr(formats[where], '%'))
		(void)snprintf(ret_text, size,
			       where == UNWIND_SAVED_CFA        ? "c%+d"
			       : where == UNWIND_SAVED_REGISTER ? "r%d"
								: "*(fp%+d)",
			       offset);
	else
		(void)snprintf(ret_text, size, "%s", formats[where]);
}

/* "sp+16 c-16 c-8": CFA, frame pointer, return address. */
static inline const char *rule_text(const struct abi_unwind_rule *rule, char *text, size_t size)
{
	char cfa[40], fp[24], ra[24];

	switch (rule->cfa) {
	case UNWIND_CFA_NONE:
		return "none";
	case UNWIND_CFA_END:
		return "end";
	case UNWIND_CFA_SIGNAL:
		return "signal";
	case UNWIND_CFA_UNSUPPORTED:
		return "unsupported";
	case UNWIND_CFA_SP:
		(void)snprintf(cfa, sizeof(cfa), "sp%+d", rule->cfa_offset);
		break;
	case UNWIND_CFA_FP:
		(void)snprintf(cfa, sizeof(cfa), "fp%+d", rule->cfa_offset);
		break;
	case UNWIND_CFA_REGISTER:
		(void)snprintf(cfa, sizeof(cfa), "r%u%+d", rule->cfa_register, rule->cfa_offset);
		break;
	case UNWIND_CFA_PLT:
		(void)snprintf(cfa, sizeof(cfa), "plt %d", rule->cfa_offset);
		break;
	case UNWIND_CFA_DEREF_INDEXED:
		(void)snprintf(cfa, sizeof(cfa), "*(sp%+d+8*r%u)+8", rule->cfa_offset,
			       rule->cfa_register);
		break;
	default:
		(void)snprintf(cfa, sizeof(cfa), "*(%s%+d)%+d",
			       rule->cfa == UNWIND_CFA_DEREF_SP ? "sp" : "fp", rule->cfa_offset,
			       rule->cfa_addend);
	}
	saved_text(rule->fp, rule->fp_offset, fp, sizeof(fp));
	saved_text(rule->ra, rule->ra_offset, ra, sizeof(ra));
	(void)snprintf(text, size, "%s %s %s", cfa, fp, ra);
	return text;
}
