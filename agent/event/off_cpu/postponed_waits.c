/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/event/off_cpu/postponed_waits.h"

#include "common/event_type.h"

/* Several thousand samples. Later ones are counted without their stack. */
#define POSTPONED_MAX_BYTES MIB

static_assert(sizeof(struct abi_sample) % 8 == 0 && sizeof(struct abi_wait) % 8 == 0,
	      "postponed samples follow each other, each aligned to 8 bytes");

void postponed_waits_init(struct postponed_waits *postponed, const struct collector *collector,
			  const struct bpf_record_functions *add)
{
	*postponed = (struct postponed_waits){
		.collector = collector,
		.add = add,
		.samples = BYTES_INIT(POSTPONED_MAX_BYTES),
	};
}

void postponed_waits_release(struct postponed_waits *postponed)
{
	bytes_release(&postponed->samples);
}

/* Size of a sample without frames. */
static size_t size_of(const struct abi_sample *sample)
{
	return sizeof(*sample) +
	       (sample->flags & ABI_SAMPLE_WITH_WAIT ? sizeof(struct abi_wait) : 0);
}

static bool is_known(const struct postponed_waits *postponed, const struct abi_sample *sample)
{
	const uint8_t needs_no_hash =
		ABI_SAMPLE_FULL | ABI_SAMPLE_COPIED | ABI_SAMPLE_WITHOUT_STACK;

	return sample->event_type != EVENT_OFF_CPU || sample->flags & needs_no_hash ||
	       collector_knows_stack(postponed->collector, sample->stack_hash);
}

static int on_sample(void *arg, const struct abi_sample *sample, const struct abi_frame *frames)
{
	struct postponed_waits *postponed = arg;
	size_t size = size_of(sample);

	if (is_known(postponed, sample) || postponed->samples.size + size > POSTPONED_MAX_BYTES)
		return postponed->add->sample(postponed->add->arg, sample, frames);
	return bytes_append(&postponed->samples, sample, size);
}

static int on_stack_copy(void *arg, const struct abi_stack_copy *copy)
{
	const struct postponed_waits *postponed = arg;

	return postponed->add->stack_copy(postponed->add->arg, copy);
}

struct bpf_record_functions postponed_waits_functions(struct postponed_waits *postponed)
{
	return (struct bpf_record_functions){
		.arg = postponed,
		.sample = on_sample,
		.stack_copy = on_stack_copy,
	};
}

int postponed_waits_add(struct postponed_waits *postponed)
{
	size_t offset = 0;
	int r = 0;

	while (offset < postponed->samples.size && r >= 0) {
		const struct abi_sample *sample =
			(const struct abi_sample *)(postponed->samples.data + offset);

		r = postponed->add->sample(postponed->add->arg, sample,
					   (const struct abi_frame *)(sample + 1));
		offset += size_of(sample);
	}
	bytes_clear(&postponed->samples);
	return r;
}
