/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_cpu */
#include "agent/cpu/cpu_watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t cpu;

	(void)cpu_uevent_parse((const char *)data, size, &cpu);
	return 0;
}
