/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_paging hearth_bpf_host */
/*
 * The input is a table file from a hostile writer. Checksums are corrected, so that the data after
 * them is read. Each accepted record is loaded as in the agent, looked up as in the kernel, and
 * evicted.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/paging/paged_rows.h"
#include "agent/unwind/table/table_file.h"
#include "bpf/host/host_unwind.h"
#include "common/file.h"
#include "common/scoped.h"

#define EXECUTABLE        1u
#define PARTS             8
#define RECORD_HEAD_BYTES 16

static const struct hash128 key = {};

/* Corrects the checksum of the header and that of the following record. */
static void repair(uint8_t *file, size_t size)
{
	uint64_t checksum, file_bytes = size;
	size_t record = TABLE_FILE_HEADER_BYTES, record_bytes;
	uint32_t n_rules;

	memcpy(file, "HUNWIND2", 8);
	memset(file + 16, 0, sizeof(key));
	memcpy(file + 56, &file_bytes, sizeof(file_bytes));
	checksum = hash64_of(file + 16, TABLE_FILE_HEADER_BYTES - 16);
	memcpy(file + 8, &checksum, sizeof(checksum));
	if (size < record + RECORD_HEAD_BYTES + UNWIND_SLOT_BYTES)
		return;
	memcpy(&n_rules, file + record + 8, sizeof(n_rules));
	record_bytes = RECORD_HEAD_BYTES + UNWIND_SLOT_BYTES +
		       (size_t)n_rules * sizeof(struct abi_unwind_rule);
	if (record_bytes > size - record)
		return;
	checksum = hash64_of(file + record + 8, record_bytes - 8);
	memcpy(file + record, &checksum, sizeof(checksum));
}

static int add_part(void *arg, uint32_t part, struct abi_unwind_slot **ret_slots)
{
	(void)arg;
	(void)part;
	*ret_slots = calloc(UNWIND_SLOTS_PER_PART, sizeof(**ret_slots));
	return *ret_slots ? 0 : -ENOMEM;
}

static int put_region(void *arg, uint64_t region, uint32_t directory)
{
	(void)arg;
	(void)region;
	(void)directory;
	return 0;
}

static void remove_region(void *arg, uint64_t region)
{
	(void)arg;
	(void)region;
}

static const struct abi_unwind_info *find_table(void *arg, uint32_t executable)
{
	static const struct abi_unwind_info info = { .n_pages = 1 };

	(void)arg;
	(void)executable;
	return &info;
}

static const uint32_t *find_region(void *arg, uint64_t region)
{
	struct paged_rows *rows = arg;

	return directories_region(&rows->directories, region);
}

/* Reads the chunks that the index of the input refers to. */
static void use(const struct table_file *file, struct paged_rows *rows)
{
	const struct host_unwind_tables tables = {
		.find = find_table,
		.find_region = find_region,
		.argument = rows,
		.parts = rows->slots.parts,
		.n_parts = rows->slots.max_parts,
	};
	uint64_t step = MAX(file->n_pages / 64, UINT64_C(1));

	for (uint64_t page = 0; page < file->n_pages; page += step) {
		uint64_t elf_addr = (file->first_page + page) << UNWIND_PAGE_SHIFT;
		struct abi_unwind_rule rule;
		struct chunk_record record;

		if (!paged_rows_find(rows, EXECUTABLE, elf_addr) &&
		    table_file_read(file, elf_addr, &record) == 1)
			(void)paged_rows_load(rows, EXECUTABLE, &record);
		for (uint32_t offset = 0; offset <= UNWIND_PAGE_MASK; offset += 127) {
			(void)host_unwind_find_rule_x86(&tables, EXECUTABLE, elf_addr + offset,
							&rule);
			(void)host_unwind_find_rule_arm64(&tables, EXECUTABLE, elf_addr + offset,
							  &rule);
		}
	}
}

static void load(int fd)
{
	const struct paging_backend backend = { .add_part = add_part,
						.put_region = put_region,
						.remove_region = remove_region };
	struct paged_rows rows;
	struct table_file file;

	if (table_file_open(fd, &key, &file) < 0)
		return;
	if (paged_rows_init(&rows, &backend, PARTS, UNWIND_POOL_RULES) == 0) {
		use(&file, &rows);
		paged_rows_unload(&rows, EXECUTABLE);
		assert(rows.n_chunks == 0 && rows.n_rows == 0 && rule_pool_count(&rows.rules) == 2);
	}
	for (uint32_t i = 0; rows.slots.parts && i < rows.slots.max_parts; i++)
		free(rows.slots.parts[i]);
	paged_rows_release(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_fd int fd = memfd_create("table", MFD_CLOEXEC);
	scoped_free uint8_t *file = malloc(size);

	if (fd < 0 || !file || size < TABLE_FILE_HEADER_BYTES)
		return 0;
	memcpy(file, data, size);
	repair(file, size);
	if (write_all(fd, file, size) == 0)
		load(fd);
	return 0;
}
