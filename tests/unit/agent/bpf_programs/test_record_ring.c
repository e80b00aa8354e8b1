/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/record_ring.h"

#include <linux/bpf.h>
#include <sys/mman.h>

#include "tests/support/unit.h"

#define DATA_BYTES 4096u

/* A file with the layout of a ring buffer's map, and the producer's side of it. */
struct fixture {
	int fd;
	uint8_t *memory;
	size_t page_bytes;
	uint64_t produced;
	struct record_ring *ring;
	uint8_t received[16][DATA_BYTES];
	size_t sizes[16];
	size_t n_received;
	int answer;
};

static int receive(void *arg, void *record, size_t size)
{
	struct fixture *fixture = arg;

	memcpy(fixture->received[fixture->n_received], record, size);
	fixture->sizes[fixture->n_received++] = size;
	return fixture->answer;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	size_t bytes;

	assert_non_null(fixture);
	fixture->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	bytes = 2 * fixture->page_bytes + DATA_BYTES;
	fixture->fd = memfd_create("ring", MFD_CLOEXEC);
	assert_true(fixture->fd >= 0);
	assert_int_equal(ftruncate(fixture->fd, (off_t)bytes), 0);
	fixture->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fixture->fd, 0);
	assert_true(fixture->memory != MAP_FAILED);
	assert_ok(record_ring_new(fixture->fd, DATA_BYTES, receive, fixture, &fixture->ring));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	record_ring_free(fixture->ring);
	munmap(fixture->memory, 2 * fixture->page_bytes + DATA_BYTES);
	close(fixture->fd);
	free(fixture);
	return 0;
}

static uint8_t *data_at(struct fixture *fixture, uint64_t position)
{
	return fixture->memory + 2 * fixture->page_bytes + position % DATA_BYTES;
}

/* Returns the address of the record's header. */
static uint32_t *produce(struct fixture *fixture, size_t size, uint32_t flags, uint8_t content)
{
	uint32_t *header = (uint32_t *)data_at(fixture, fixture->produced);

	*header = (uint32_t)size | flags;
	for (size_t i = 0; i < size; i++)
		*data_at(fixture, fixture->produced + BPF_RINGBUF_HDR_SZ + i) =
			(uint8_t)(content + i);
	fixture->produced += ROUND_UP(size + BPF_RINGBUF_HDR_SZ, 8);
	memcpy(fixture->memory + fixture->page_bytes, &fixture->produced,
	       sizeof(fixture->produced));
	return header;
}

static uint64_t consumed(const struct fixture *fixture)
{
	uint64_t position;

	memcpy(&position, fixture->memory, sizeof(position));
	return position;
}

static void expect_record(const struct fixture *fixture, size_t index, size_t size, uint8_t content)
{
	assert_int_equal(fixture->sizes[index], size);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(fixture->received[index][i], (uint8_t)(content + i));
}

static void records_are_read_in_order_and_their_space_is_released(void **state)
{
	struct fixture *fixture = *state;

	produce(fixture, 13, 0, 1);
	produce(fixture, 96, 0, 2);
	assert_int_equal(record_ring_read(fixture->ring), 2);
	expect_record(fixture, 0, 13, 1);
	expect_record(fixture, 1, 96, 2);
	assert_int_equal(consumed(fixture), fixture->produced);
	assert_int_equal(record_ring_read(fixture->ring), 0);
}

static void a_record_that_wraps_around_the_end_is_contiguous(void **state)
{
	struct fixture *fixture = *state;

	for (uint8_t round = 0; round < 5; round++) {
		produce(fixture, 3000, 0, round);
		assert_int_equal(record_ring_read(fixture->ring), 1);
		expect_record(fixture, round, 3000, round);
	}
	assert_int_equal(consumed(fixture), fixture->produced);
}

static void an_unfinished_record_blocks_those_after_it(void **state)
{
	struct fixture *fixture = *state;
	uint32_t *header;

	produce(fixture, 8, 0, 1);
	header = produce(fixture, 8, BPF_RINGBUF_BUSY_BIT, 2);
	produce(fixture, 8, 0, 3);
	assert_int_equal(record_ring_read(fixture->ring), 1);
	*header &= ~BPF_RINGBUF_BUSY_BIT;
	assert_int_equal(record_ring_read(fixture->ring), 2);
	expect_record(fixture, 1, 8, 2);
	expect_record(fixture, 2, 8, 3);
}

static void a_discarded_record_is_skipped(void **state)
{
	struct fixture *fixture = *state;

	produce(fixture, 40, BPF_RINGBUF_DISCARD_BIT, 1);
	produce(fixture, 8, 0, 2);
	(void)record_ring_read(fixture->ring);
	assert_int_equal(fixture->n_received, 1);
	expect_record(fixture, 0, 8, 2);
	assert_int_equal(consumed(fixture), fixture->produced);
}

static void a_stopped_reading_continues_with_the_next_record(void **state)
{
	struct fixture *fixture = *state;

	produce(fixture, 8, 0, 1);
	produce(fixture, 8, 0, 2);
	fixture->answer = -ENOMEM;
	assert_int_equal(record_ring_read(fixture->ring), -ENOMEM);
	fixture->answer = 0;
	assert_int_equal(record_ring_read(fixture->ring), 1);
	assert_int_equal(fixture->n_received, 2);
	expect_record(fixture, 1, 8, 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			records_are_read_in_order_and_their_space_is_released, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_record_that_wraps_around_the_end_is_contiguous,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_unfinished_record_blocks_those_after_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_discarded_record_is_skipped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_stopped_reading_continues_with_the_next_record,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
