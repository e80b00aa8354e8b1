/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_kubernetes */
#include "agent/kubernetes/pod_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pod_list list;

	if (pod_list_init(&list) < 0)
		return 0;
	if (pod_list_add_json(&list, (struct bytes_view){ .data = data, .size = size }) == 0) {
		pod_list_sort(&list);
		for (size_t i = 0; i < list.pods.count; i++)
			assert(pod_list_find(&list, list.pods.items[i].uid));
	}
	pod_list_release(&list);
	return 0;
}
