/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/unwind_maps.h"

#include <bpf/bpf.h>
#include <sys/mman.h>

#include "common/scoped.h"

/*
 * Kernel memory of a part besides its values: the map's header takes one page, because the values
 * can be memory-mapped.
 */
#define PART_HEAD_BYTES 4096

static int make_part(uint32_t part, int pool_fd, struct abi_unwind_slot **ret_slots)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	scoped_fd int fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_part", sizeof(uint32_t),
			       sizeof(struct abi_unwind_slot), UNWIND_SLOTS_PER_PART, &options);
	void *address;
	int r = 0;

	if (fd < 0)
		return fd;
	address = mmap(NULL, UNWIND_PART_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (address == MAP_FAILED)
		return -errno;
	/*
	 * The pool and the memory mapping keep the part alive after its file descriptor is closed.
	 */
	if (bpf_map_update_elem(pool_fd, &part, &fd, BPF_ANY) < 0) {
		r = -errno;
		(void)munmap(address, UNWIND_PART_BYTES);
		return r;
	}
	*ret_slots = address;
	return 0;
}

int unwind_parts_add(struct unwind_parts *parts, int pool_fd, uint32_t part,
		     struct abi_unwind_slot **ret_slots)
{
	struct abi_unwind_slot *slots;
	int r;

	r = vec_reserve(&parts->all, 1);
	if (r < 0)
		return r;
	r = make_part(part, pool_fd, &slots);
	if (r < 0)
		return r;
	parts->all.items[parts->all.count++] = slots;
	*ret_slots = slots;
	return 0;
}

void unwind_parts_remove(struct unwind_parts *parts, int pool_fd, uint32_t part,
			 struct abi_unwind_slot *slots)
{
	(void)bpf_map_delete_elem(pool_fd, &part);
	for (size_t i = 0; i < parts->all.count; i++) {
		if (parts->all.items[i] != slots)
			continue;
		(void)munmap(slots, UNWIND_PART_BYTES);
		parts->all.items[i] = parts->all.items[--parts->all.count];
		return;
	}
}

void unwind_parts_release(struct unwind_parts *parts)
{
	for (size_t i = 0; i < parts->all.count; i++)
		(void)munmap(parts->all.items[i], UNWIND_PART_BYTES);
	vec_release(&parts->all);
}

uint64_t unwind_parts_bytes(const struct unwind_parts *parts)
{
	return parts->all.count * (uint64_t)(UNWIND_PART_BYTES + PART_HEAD_BYTES);
}

uint32_t unwind_parts_of_budget(uint64_t unwind_bytes)
{
	return (uint32_t)MAX(unwind_bytes / UNWIND_PART_BYTES, UINT64_C(1));
}
