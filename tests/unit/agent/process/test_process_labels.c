/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process/process_labels.h"

#include "tests/support/unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void container_pod_and_unit_are_parsed_from_a_cgroup_path(void **state)
{
	static const struct {
		const char *path;
		const char *container_id;
		const char *pod_uid;
		const char *unit;
	} cases[] = {
		{ "/", "", "", "" },
		{ "/system.slice/nginx.service", "", "", "nginx.service" },
		{ "/user.slice/user-0.slice/session-3.scope", "", "", "session-3.scope" },
		{ "/docker/" ID, ID, "", "" },
		{ "/system.slice/docker-" ID ".scope", ID, "", "" },
		{ "/machine.slice/libpod-" ID ".scope/container", ID, "", "" },
		{ "/kubepods/burstable/pod11111111-2222-3333-4444-555555555555/" ID, ID,
		  "11111111-2222-3333-4444-555555555555", "" },
		{ "/kubepods.slice/kubepods-besteffort.slice/"
		  "kubepods-besteffort-pod11111111_2222_3333_4444_555555555555.slice/"
		  "cri-containerd-" ID ".scope",
		  ID, "11111111-2222-3333-4444-555555555555", "" },
		{ "/kubepods/burstable/pod5795d0c442cb997ff93c49feeb9f6386/" ID, ID,
		  "5795d0c442cb997ff93c49feeb9f6386", "" },
		{ "/kubepods.slice/kubepods-pod5795d0c442cb997ff93c49feeb9f6386.slice/"
		  "cri-containerd-" ID ".scope",
		  ID, "5795d0c442cb997ff93c49feeb9f6386", "" },
		/* similar to a container ID, but none */
		{ "/docker/0123", "", "", "" },
		{ "/podcast/x", "", "", "" },
		{ "/x" ID, "", "", "" },
		{ "/kubepods/podnot-a-uid-at-all-but-just-as-long-xx", "", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cgroup_labels labels;

		cgroup_labels_parse(cases[i].path, &labels);
		assert_string_equal(labels.container_id, cases[i].container_id);
		assert_string_equal(labels.pod_uid, cases[i].pod_uid);
		assert_string_equal(labels.unit, cases[i].unit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(container_pod_and_unit_are_parsed_from_a_cgroup_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
