/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/table/unwind_rule.h"

#include <elf.h>

#include "tests/unit/agent/unwind/frame_writer.h"

static struct cfi_state plain_state(const struct cfi_machine *machine)
{
	return (struct cfi_state){ .has_cfa = true,
				   .cfa_register = machine->sp,
				   .cfa_offset = 16,
				   .ra = { .where = CFI_AT_CFA, .value = -8 } };
}

static void rbx_is_followed_only_if_the_dialect_says_so(void **state)
{
	static const struct {
		struct cfi_rule kept;
		bool is_followed;
		int offset;
	} cases[] = {
		{ { .where = CFI_UNSPECIFIED }, false, UNWIND_RBX_LOST },
		{ { .where = CFI_AT_CFA, .value = -24 }, false, UNWIND_RBX_LOST },
		{ { .where = CFI_UNSPECIFIED }, true, 0 },
		{ { .where = CFI_SAME }, true, 0 },
		{ { .where = CFI_AT_CFA, .value = -24 }, true, -24 },
		{ { .where = CFI_AT_CFA, .value = -32768 }, true, UNWIND_RBX_LOST },
		{ { .where = CFI_AT_CFA, .value = -40000 }, true, UNWIND_RBX_LOST },
		{ { .where = CFI_UNDEFINED }, true, UNWIND_RBX_LOST },
		{ { .where = CFI_IN_REGISTER, .value = 8 }, true, UNWIND_RBX_LOST },
		{ { .where = CFI_AT_REGISTER, .base = 6, .value = -8 }, true, UNWIND_RBX_LOST },
	};
	struct unwind_dialect dialect = { .machine = cfi_machine_of(EM_X86_64) };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_state frame = plain_state(dialect.machine);
		struct abi_unwind_rule rule;

		frame.kept = cases[i].kept;
		dialect.follows_kept = cases[i].is_followed;
		rule = unwind_rule_of(&dialect, &frame, 16, false);
		assert_int_equal(rule.rbx_offset, cases[i].offset);
		assert_false(unwind_rule_needs_kept(&dialect, &rule));
		frame.cfa_register = 3;
		rule = unwind_rule_of(&dialect, &frame, 16, false);
		assert_true(unwind_rule_needs_kept(&dialect, &rule));
	}
}

/* A frame record below 64 KiB of variables. */
static void a_return_address_far_away_lies_beside_the_frame_pointer_or_is_unsupported(void **state)
{
	static const struct {
		int64_t fp, ra;
		const char *text;
	} cases[] = {
		{ -65552, -65544, "sp+16 c-65552 beside fp" },
		{ -65552, -65536, "unsupported" },
		{ -16, -8, "sp+16 c-16 c-8" },
		{ -16, -32768, "sp+16 c-16 c-32768" },
		{ -16, -32776, "unsupported" },
	};
	struct unwind_dialect dialect = { .machine = cfi_machine_of(EM_AARCH64) };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_state frame = plain_state(dialect.machine);
		struct abi_unwind_rule rule;
		char text[128];

		frame.fp = (struct cfi_rule){ .where = CFI_AT_CFA, .value = cases[i].fp };
		frame.ra = (struct cfi_rule){ .where = CFI_AT_CFA, .value = cases[i].ra };
		rule = unwind_rule_of(&dialect, &frame, 30, false);
		assert_string_equal(rule_text(&rule, text, sizeof(text)), cases[i].text);
	}
}

/* As in code without frame pointers. */
static void a_return_address_far_away_needs_no_frame_pointer_beside_it(void **state)
{
	static const enum cfi_where kinds[] = { CFI_UNSPECIFIED, CFI_SAME, CFI_UNDEFINED };
	struct unwind_dialect dialect = { .machine = cfi_machine_of(EM_AARCH64) };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct cfi_state frame = plain_state(dialect.machine);
		struct abi_unwind_rule rule;

		frame.fp = (struct cfi_rule){ .where = kinds[i] };
		frame.ra = (struct cfi_rule){ .where = CFI_AT_CFA, .value = -100008 };
		rule = unwind_rule_of(&dialect, &frame, 30, false);
		assert_int_equal(rule.ra, UNWIND_SAVED_BESIDE_FP);
		assert_int_equal(rule.fp_offset, -100016);
		assert_int_equal(rule.fp, kinds[i] == CFI_UNDEFINED ? UNWIND_SAVED_UNDEFINED
								    : UNWIND_SAVED_SAME);
		frame.fp = (struct cfi_rule){ .where = CFI_IN_REGISTER, .value = 19 };
		rule = unwind_rule_of(&dialect, &frame, 30, false);
		assert_int_equal(rule.cfa, UNWIND_CFA_UNSUPPORTED);
	}
}

/* A CIE may name an unusual column: it is a register then. */
static void an_unusual_return_address_column_is_a_register(void **state)
{
	struct unwind_dialect dialect = { .machine = cfi_machine_of(EM_X86_64) };
	struct cfi_state frame = plain_state(dialect.machine);
	struct abi_unwind_rule rule;
	char text[128];

	(void)state;
	frame.ra = (struct cfi_rule){};
	rule = unwind_rule_of(&dialect, &frame, 11, false);
	assert_string_equal(rule_text(&rule, text, sizeof(text)), "sp+16 same r11");
	rule = unwind_rule_of(&dialect, &frame, 16, false);
	assert_string_equal(rule_text(&rule, text, sizeof(text)), "unsupported");
	rule = unwind_rule_of(&dialect, &frame, UINT64_MAX, false);
	assert_string_equal(rule_text(&rule, text, sizeof(text)), "unsupported");
}

static void equal_rules_have_one_number(void **state)
{
	scoped(unwind_rule_set_release) struct unwind_rule_set set = {};
	uint16_t first, again;

	(void)state;
	assert_ok(unwind_rule_set_init(&set));
	for (int32_t i = 0; i < 30000; i++) {
		struct abi_unwind_rule rule = { .cfa = UNWIND_CFA_SP,
						.cfa_offset = 8 * i,
						.ra_offset = -8 };

		assert_ok(unwind_rule_set_intern(&set, &rule, &first));
		assert_int_equal(first, i + 2);
		assert_ok(unwind_rule_set_intern(&set, &rule, &again));
		assert_int_equal(first, again);
		assert_memory_equal(&set.rules.items[first], &rule, sizeof(rule));
	}
	for (int32_t i = 0; i < 30000; i++) {
		struct abi_unwind_rule rule = { .cfa = UNWIND_CFA_SP,
						.cfa_offset = 8 * i,
						.ra_offset = -8 };

		assert_ok(unwind_rule_set_intern(&set, &rule, &again));
		assert_int_equal(again, i + 2);
	}
}

static void rules_that_every_set_has_keep_their_numbers(void **state)
{
	scoped(unwind_rule_set_release) struct unwind_rule_set set = {};
	struct abi_unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	struct abi_unwind_rule unsupported = { .cfa = UNWIND_CFA_UNSUPPORTED };
	uint16_t number;

	(void)state;
	assert_ok(unwind_rule_set_init(&set));
	assert_ok(unwind_rule_set_intern(&set, &none, &number));
	assert_int_equal(number, UNWIND_RULE_NONE);
	assert_ok(unwind_rule_set_intern(&set, &unsupported, &number));
	assert_int_equal(number, UNWIND_RULE_UNSUPPORTED);
	assert_int_equal(set.rules.count, 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rbx_is_followed_only_if_the_dialect_says_so),
		cmocka_unit_test(
			a_return_address_far_away_lies_beside_the_frame_pointer_or_is_unsupported),
		cmocka_unit_test(a_return_address_far_away_needs_no_frame_pointer_beside_it),
		cmocka_unit_test(an_unusual_return_address_column_is_a_register),
		cmocka_unit_test(equal_rules_have_one_number),
		cmocka_unit_test(rules_that_every_set_has_keep_their_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
