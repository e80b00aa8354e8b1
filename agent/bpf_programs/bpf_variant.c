/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/bpf_variant.h"

#include <bpf/libbpf.h>

#include "bpf/abi/absent_pages.h"
#include "bpf/abi/config.h"
#include "bpf/hearth_kernel_5.skel.h"
#include "bpf/hearth_kernel_7.skel.h"

void bpf_variant_choose(enum bpf_variant variant, struct bpf_object_skeleton *skeleton)
{
	const void *object = NULL;
	size_t size = 0;

	if (variant == BPF_VARIANT_KERNEL_7)
		object = hearth_kernel_7__elf_bytes(&size);
	else if (variant == BPF_VARIANT_KERNEL_5)
		object = hearth_kernel_5__elf_bytes(&size);
	if (!object)
		return;
	skeleton->data = (void *)object;
	skeleton->data_sz = size;
}
