/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "bpf/host/host_unwind.h"
#include "common/frame.h"
#include "tests/host_bpf/host_maps.h"
#include "tests/support/unit.h"

/* Finds the mapping of a pc in runs with a stack of one frame: no memory can be read. */

#define MAPPING_BYTES UINT64_C(0x3000)
#define FIRST_START   UINT64_C(0x400000)
#define MAX_MAPPINGS  (ABI_MAPPINGS_PER_CHUNK * ABI_MAX_CHUNKS)

/* Searches during changes of the chunk. */
#define N_RACES 300000

/* Elements that a process has in succession. */
#define N_ENTRIES 10000

struct search {
	struct abi_mapping mappings[MAX_MAPPINGS];
	size_t n_mappings;
	struct host_maps maps;
	struct abi_config config;
	struct host_unwind_input input;
	struct host_unwind_output output;
};

static int read_nothing(void *argument, uint64_t address, void *buffer, size_t size)
{
	(void)argument;
	(void)address;
	(void)buffer;
	(void)size;
	return -1;
}

/* Every third mapping begins where the previous one ends. Each has a different bias. */
static struct search *search_new(size_t n_mappings)
{
	struct search *search = calloc(1, sizeof(*search));
	uint64_t start = FIRST_START;

	assert_non_null(search);
	search->n_mappings = n_mappings;
	for (size_t i = 0; i < n_mappings; i++) {
		search->mappings[i] = (struct abi_mapping){ .start = start,
							    .end = start + MAPPING_BYTES,
							    .bias = start - 0x1000 * (i + 1),
							    .executable = (uint32_t)i + 1,
							    .kind = FRAME_NATIVE };
		start += MAPPING_BYTES + (i % 3 == 0 ? 0 : 0x5000);
	}
	assert_ok(host_maps_set_mappings(&search->maps, search->mappings, n_mappings));
	host_maps_describe(&search->maps, &search->input);
	search->input.config = &search->config;
	search->input.read = read_nothing;
	return search;
}

static void search_free(struct search *search)
{
	host_maps_release(&search->maps);
	free(search);
}

static void run(struct search *search, uint64_t pc)
{
	search->input.registers.pc = pc;
	host_unwind_x86(&search->input, &search->output);
	assert_int_equal(search->output.header.n_user_frames, 1);
}

static void expect_mapping(struct search *search, uint64_t pc, const struct abi_mapping *mapping)
{
	run(search, pc);
	assert_int_equal(search->output.frames[0].executable, mapping->executable);
	assert_int_equal(search->output.frames[0].address, pc - mapping->bias);
	assert_int_equal(search->output.header.flags & (ABI_SAMPLE_UNKNOWN | ABI_SAMPLE_UNRESOLVED),
			 0);
}

static void expect_none(struct search *search, uint64_t pc)
{
	run(search, pc);
	assert_int_equal(search->output.frames[0].executable, 0);
	assert_int_equal(search->output.frames[0].address, pc);
	assert_int_equal(search->output.header.flags & ABI_SAMPLE_UNKNOWN, 0);
}

static void every_mapping_is_found_from_its_first_to_its_last_byte(void **state)
{
	static const size_t counts[] = {
		1, 2, 123, 124, 125, 126, 248, 249, 500, 3000, MAX_MAPPINGS
	};

	(void)state;
	for (size_t c = 0; c < ARRAY_SIZE(counts); c++) {
		struct search *search = search_new(counts[c]);

		for (size_t i = 0; i < search->n_mappings; i++) {
			const struct abi_mapping *mapping = &search->mappings[i];
			bool is_followed =
				i + 1 < search->n_mappings && mapping[1].start == mapping->end;

			expect_mapping(search, mapping->start, mapping);
			expect_mapping(search, mapping->start + MAPPING_BYTES / 2, mapping);
			expect_mapping(search, mapping->end - 1, mapping);
			if (is_followed)
				expect_mapping(search, mapping->end, mapping + 1);
			else
				expect_none(search, mapping->end);
		}
		expect_none(search, FIRST_START - 1);
		expect_none(search, 1);
		expect_none(search, UINT64_MAX - 1);
		search_free(search);
	}
}

static void a_process_without_mappings_is_unknown(void **state)
{
	struct search *search = search_new(1);

	(void)state;
	search->maps.process.set = 0;
	search->maps.process.n_chunks = 0;
	run(search, FIRST_START);
	assert_int_equal(search->output.frames[0].executable, 0);
	assert_int_equal(search->output.frames[0].address, FIRST_START);
	search_free(search);
}

static void a_chunk_of_another_set_is_not_used(void **state)
{
	struct search *search = search_new(3 * ABI_MAPPINGS_PER_CHUNK + 20);

	(void)state;
	search->maps.chunks.items[2].set = HOST_MAPS_SET + 1;
	expect_mapping(search, search->mappings[0].start, &search->mappings[0]);
	run(search, search->mappings[2 * ABI_MAPPINGS_PER_CHUNK].start);
	assert_int_equal(search->output.frames[0].executable, 0);
	assert_true(search->output.header.flags & ABI_SAMPLE_UNKNOWN);
	assert_int_equal(search->output.counters[ABI_COUNTER_UNKNOWN_PROCESS], 1);
	search_free(search);
}

static void without_the_directory_of_its_set_the_process_is_unknown(void **state)
{
	struct search *search = search_new(2 * ABI_MAPPINGS_PER_CHUNK);

	(void)state;
	for (int i = 0; i < 2; i++) {
		if (i == 0)
			search->maps.directory.set = HOST_MAPS_SET + 1;
		else
			search->input.process.directory = NULL;
		run(search, search->mappings[0].start);
		assert_int_equal(search->output.frames[0].executable, 0);
		assert_true(search->output.header.flags & ABI_SAMPLE_UNKNOWN);
	}
	search_free(search);
}

static void a_directory_with_an_impossible_count_finds_nothing_outside_itself(void **state)
{
	static const uint32_t counts[] = { ABI_MAX_CHUNKS + 1, 1000, UINT32_MAX };
	struct search *search = search_new(2 * ABI_MAPPINGS_PER_CHUNK);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		search->maps.process.n_chunks = counts[i];
		run(search, search->mappings[ABI_MAPPINGS_PER_CHUNK].start);
	}
	search_free(search);
}

static void a_removed_chunk_makes_the_process_unknown(void **state)
{
	struct search *search = search_new(3 * ABI_MAPPINGS_PER_CHUNK + 20);

	(void)state;
	search->input.process.n_chunks = 3;
	run(search, search->mappings[3 * ABI_MAPPINGS_PER_CHUNK].start);
	assert_int_equal(search->output.frames[0].executable, 0);
	assert_true(search->output.header.flags & ABI_SAMPLE_UNKNOWN);
	search_free(search);
}

static void a_chunk_with_an_impossible_count_finds_nothing_outside_itself(void **state)
{
	static const uint32_t counts[] = { ABI_MAPPINGS_PER_CHUNK + 1, 200, 1000, UINT32_MAX };
	struct search *search = search_new(2 * ABI_MAPPINGS_PER_CHUNK);

	(void)state;
	/* The memory after the chunk would match. */
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		search->maps.process.n_chunks = 1;
		search->maps.chunks.items[0].n_mappings = counts[i];
		run(search, search->mappings[ABI_MAPPINGS_PER_CHUNK + 5].start);
		assert_int_equal(search->output.frames[0].executable, 0);
	}
	search_free(search);
}

/*
 * Follows the kernel: takes the element out of its bucket (set 0), fills it in any order, and puts
 * it into another bucket. Each set has a different bias.
 */
static void reuse_chunk(struct abi_mapping_chunk *chunk, uint32_t set)
{
	__atomic_store_n(&chunk->set, 0, __ATOMIC_RELEASE);
	atomic_thread_fence(memory_order_seq_cst);
	for (size_t i = 0; i < ABI_MAPPINGS_PER_CHUNK; i++) {
		size_t at = (i * 29 + set) % ABI_MAPPINGS_PER_CHUNK;

		*(volatile __u64 *)&chunk->mappings[at].bias = (uint64_t)set << 12;
	}
	__atomic_store_n(&chunk->set, set, __ATOMIC_RELEASE);
}

struct reuse {
	struct abi_mapping_chunk *chunk;
	atomic_uint written; /* the last set with a complete chunk */
	atomic_bool stop;
};

/* The element belongs to one set after the other. No number is used twice. */
static void *reuse_element(void *argument)
{
	struct reuse *reuse = argument;

	for (uint32_t set = HOST_MAPS_SET; !atomic_load(&reuse->stop); set++) {
		reuse_chunk(reuse->chunk, set);
		atomic_store(&reuse->written, set);
		for (int i = 0; i < 100; i++)
			atomic_thread_fence(memory_order_seq_cst);
	}
	return NULL;
}

/*
 * Returns whether the frame was found. It must then be the frame of the set that the process had.
 */
static bool run_while_reused(struct search *search, const struct reuse *reuse,
			     const struct abi_mapping *mapping)
{
	search->maps.process.set = atomic_load(&reuse->written);
	run(search, mapping->start);
	if (search->output.header.flags & ABI_SAMPLE_UNKNOWN) {
		assert_int_equal(search->output.frames[0].executable, 0);
		assert_int_equal(search->output.frames[0].address, mapping->start);
		return false;
	}
	assert_int_equal(search->output.frames[0].executable, mapping->executable);
	assert_int_equal(search->output.frames[0].address,
			 mapping->start - ((uint64_t)search->maps.process.set << 12));
	return true;
}

static void a_chunk_reused_during_a_read_gives_no_wrong_frame(void **state)
{
	struct search *search = search_new(ABI_MAPPINGS_PER_CHUNK);
	struct reuse reuse = { .chunk = search->maps.chunks.items, .written = HOST_MAPS_SET };
	uint64_t n_known = 0, n_unknown = 0;
	pthread_t thread;

	(void)state;
	reuse_chunk(reuse.chunk, HOST_MAPS_SET);
	assert_int_equal(pthread_create(&thread, NULL, reuse_element, &reuse), 0);
	/* Continues until the other thread has run. */
	for (uint64_t i = 0; i < N_RACES || n_known == 0 || n_unknown == 0; i++) {
		if (run_while_reused(search, &reuse, &search->mappings[i % ABI_MAPPINGS_PER_CHUNK]))
			n_known++;
		else
			n_unknown++;
	}
	atomic_store(&reuse.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	print_message("%lu known, %lu unknown\n", (unsigned long)n_known, (unsigned long)n_unknown);
	search_free(search);
}

struct replacement {
	struct search *search;
	struct abi_process *entries; /* [N_ENTRIES] */
	atomic_uint n_runs;
	atomic_bool done;
};

/* Waits until the reader begins another run, and then for a time that differs in each call. */
static void wait_for_run(struct replacement *replacement, size_t turn)
{
	unsigned int before = atomic_load(&replacement->n_runs);

	while (atomic_load(&replacement->n_runs) == before)
		sched_yield();
	for (size_t i = 0; i < turn % 64; i++)
		atomic_thread_fence(memory_order_seq_cst);
}

/*
 * Gives an element of the process to another process. Its new content has the same start time and
 * image, so that only the check distinguishes it from the process's own entry: excluded by regex,
 * another set, replaced mappings.
 */
static void give_to_another(struct abi_process *entry)
{
	volatile struct abi_process *other = entry;

	other->replaced_start = 0;
	other->replaced_end = UINT64_MAX;
	other->set = HOST_MAPS_SET + 1;
	other->flags = ABI_PROCESS_WITHOUT_STACKS;
}

/*
 * The process gets one new element after the other. No element is used twice, because
 * map_reuse.bpf.h does not detect that.
 */
static void *replace_entries(void *argument)
{
	struct replacement *replacement = argument;
	const struct abi_process **current =
		(const struct abi_process **)&replacement->search->input.process.entry;

	for (size_t i = 1; i < N_ENTRIES; i++) {
		wait_for_run(replacement, i);
		__atomic_store_n(current, &replacement->entries[i], __ATOMIC_RELEASE);
		atomic_thread_fence(memory_order_seq_cst);
		give_to_another(&replacement->entries[i - 1]);
	}
	atomic_store(&replacement->done, true);
	return NULL;
}

static void a_process_entry_reused_during_a_read_is_not_used(void **state)
{
	struct search *search = search_new(1);
	struct replacement replacement = { .search = search,
					   .entries =
						   calloc(N_ENTRIES, sizeof(struct abi_process)) };
	const struct abi_mapping *mapping = &search->mappings[0];
	uint64_t n_known = 0, n_unknown = 0;
	pthread_t thread;

	(void)state;
	assert_non_null(replacement.entries);
	for (size_t i = 0; i < N_ENTRIES; i++)
		replacement.entries[i] = search->maps.process;
	search->input.process.entry = &replacement.entries[0];
	assert_int_equal(pthread_create(&thread, NULL, replace_entries, &replacement), 0);
	while (!atomic_load(&replacement.done) || n_known == 0) {
		if (atomic_fetch_add(&replacement.n_runs, 1) % 256 == 0)
			/* run the other thread, if there are fewer CPUs than threads */
			sched_yield();
		run(search, mapping->start);
		assert_int_equal(search->output.header.flags & ABI_SAMPLE_WITHOUT_STACK, 0);
		if (search->output.header.flags & ABI_SAMPLE_UNKNOWN) {
			n_unknown++;
			continue;
		}
		n_known++;
		assert_int_equal(search->output.frames[0].executable, mapping->executable);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	print_message("%lu known, %lu unknown\n", (unsigned long)n_known, (unsigned long)n_unknown);
	free(replacement.entries);
	search_free(search);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mapping_is_found_from_its_first_to_its_last_byte),
		cmocka_unit_test(a_process_without_mappings_is_unknown),
		cmocka_unit_test(a_chunk_of_another_set_is_not_used),
		cmocka_unit_test(without_the_directory_of_its_set_the_process_is_unknown),
		cmocka_unit_test(a_directory_with_an_impossible_count_finds_nothing_outside_itself),
		cmocka_unit_test(a_removed_chunk_makes_the_process_unknown),
		cmocka_unit_test(a_chunk_with_an_impossible_count_finds_nothing_outside_itself),
		cmocka_unit_test(a_chunk_reused_during_a_read_gives_no_wrong_frame),
		cmocka_unit_test(a_process_entry_reused_during_a_read_is_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
