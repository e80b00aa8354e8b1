/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/unwind_maps.h"

#include <bpf/bpf.h>

#include "tests/support/unit.h"

static int make_map(enum bpf_map_type type, const char *name, uint32_t value_size,
		    uint32_t max_entries, int inner_fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, options,
		    .map_flags = type == BPF_MAP_TYPE_ARRAY ? BPF_F_MMAPABLE : 0);

	if (inner_fd >= 0)
		options.inner_map_fd = (uint32_t)inner_fd;
	return bpf_map_create(type, name, sizeof(uint32_t), value_size, max_entries, &options);
}

/* A lookup in the kernel finds what was written through the memory mapping. */
static void a_part_is_kernel_memory(void **state)
{
	struct unwind_parts parts = {};
	struct abi_unwind_slot *slots[2], found;
	scoped_fd int inner = -1;
	scoped_fd int pool = -1;

	(void)state;
	inner = make_map(BPF_MAP_TYPE_ARRAY, "inner", UNWIND_SLOT_BYTES, UNWIND_SLOTS_PER_PART, -1);
	if (inner == -EPERM)
		skip();
	assert_true(inner >= 0);
	pool = make_map(BPF_MAP_TYPE_ARRAY_OF_MAPS, "pool", sizeof(uint32_t), 8, inner);
	assert_true(pool >= 0);
	assert_int_equal(unwind_parts_bytes(&parts), 0);
	assert_ok(unwind_parts_add(&parts, pool, 0, &slots[0]));
	assert_ok(unwind_parts_add(&parts, pool, 7, &slots[1]));
	assert_errno(unwind_parts_add(&parts, pool, 8, &slots[1]), -E2BIG);
	assert_int_equal(unwind_parts_bytes(&parts), 2 * (UNWIND_PART_BYTES + 4096));
	for (uint32_t part = 0; part < 8; part += 7) {
		uint32_t last = UNWIND_SLOTS_PER_PART - 1, id;
		scoped_fd int fd = -1;

		slots[part / 7][last].cells[5] = 20416 + part;
		assert_int_equal(bpf_map_lookup_elem(pool, &part, &id), 0);
		fd = bpf_map_get_fd_by_id(id);
		assert_true(fd >= 0);
		assert_int_equal(bpf_map_lookup_elem(fd, &last, &found), 0);
		assert_int_equal(found.cells[5], 20416 + part);
		assert_int_equal(found.cells[4], 0);
	}
	unwind_parts_release(&parts);
}

static void a_budget_is_whole_parts_and_at_least_one(void **state)
{
	(void)state;
	assert_int_equal(unwind_parts_of_budget(0), 1);
	assert_int_equal(unwind_parts_of_budget(UNWIND_PART_BYTES), 1);
	assert_int_equal(unwind_parts_of_budget(2 * UNWIND_PART_BYTES - 1), 1);
	assert_int_equal(unwind_parts_of_budget(16 * MIB), 64);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_is_kernel_memory),
		cmocka_unit_test(a_budget_is_whole_parts_and_at_least_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
