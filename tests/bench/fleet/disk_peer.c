/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/disk_peer.h"

#include <fcntl.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/file.h"
#include "common/scoped.h"

int disk_peer_run(const char *folder, const struct bytes_view *bodies, size_t count,
		  uint64_t duration_ns, struct latencies *ret_latencies)
{
	uint64_t began_ns = clock_monotonic_ns(&system_clock), now_ns = began_ns;
	scoped_fd int fd = -1;
	char path[512];
	int r = 0;

	(void)snprintf(path, sizeof(path), "%s/disk-peer", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	(void)unlink(path);
	for (size_t i = 0; r == 0 && now_ns - began_ns < duration_ns; i = (i + 1) % count) {
		uint64_t before_ns = now_ns;

		r = write_all(fd, bodies[i].data, bodies[i].size);
		if (r == 0 && fdatasync(fd) < 0)
			r = -errno;
		now_ns = clock_monotonic_ns(&system_clock);
		if (r == 0)
			r = vec_push(ret_latencies, now_ns - before_ns);
	}
	return r;
}
