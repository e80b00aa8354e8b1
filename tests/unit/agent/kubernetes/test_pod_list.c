/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/kubernetes/pod_list.h"

#include <sys/stat.h>

#include "tests/support/unit.h"

#define UID_WEB    "42ad382b-ed0b-446d-9aab-3fdce8b4f9e2"
#define UID_OTHER  "0adffe8e-9849-4e05-b4cd-92d2d1e1f1c3"
#define UID_STATIC "5795d0c442cb997ff93c49feeb9f6386"

/* As a kubelet answers, shortened: a Pod of a Deployment, and a static Pod. */
static const char kubelet_pods[] =
	"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":[{\"metadata\":{"
	"\"name\":\"web-5456b4b8cd-99vxc\",\"generateName\":\"web-5456b4b8cd-\","
	"\"namespace\":\"shop\",\"uid\":\"" UID_WEB "\",\"resourceVersion\":\"6776162\","
	"\"labels\":{\"app\":\"web\",\"app.kubernetes.io/instance\":\"eu-1\",\"empty\":\"\"},"
	"\"annotations\":{\"kubernetes.io/config.source\":\"api\","
	"\"note\":\"a \\\"quoted\\\" text\"},\"ownerReferences\":[{\"uid\":\"" UID_OTHER "\"}]},"
	"\"spec\":{\"volumes\":[{\"name\":\"token\",\"secret\":{\"secretName\":\"x\","
	"\"defaultMode\":420}}],\"containers\":[{\"name\":\"server\",\"image\":\"web:1\"}],"
	"\"nodeName\":\"node-7\"},\"status\":{\"phase\":\"Running\"}},"
	"{\"metadata\":{\"name\":\"etcd-node-7\",\"namespace\":\"kube-system\","
	"\"uid\":\"" UID_STATIC
	"\",\"creationTimestamp\":null,\"labels\":{\"tier\":\"control-plane\"},"
	"\"annotations\":{\"kubernetes.io/config.hash\":\"" UID_STATIC "\"}},\"spec\":{},"
	"\"status\":{}}]}";

static int add_json(struct pod_list *list, const char *json)
{
	return pod_list_add_json(
		list, (struct bytes_view){ .data = (const uint8_t *)json, .size = strlen(json) });
}

static void pods_of_a_kubelet_are_found_by_uid(void **state)
{
	struct pod_list list;
	const struct pod *pod;

	(void)state;
	assert_ok(pod_list_init(&list));
	assert_ok(add_json(&list, kubelet_pods));
	pod_list_sort(&list);
	assert_int_equal(list.pods.count, 2);
	pod = pod_list_find(&list, UID_WEB);
	assert_non_null(pod);
	assert_string_equal(pod->name, "web-5456b4b8cd-99vxc");
	assert_string_equal(pod->name_space, "shop");
	assert_string_equal(pod->node, "node-7");
	assert_int_equal(pod->n_labels, 2); /* not the empty one */
	assert_string_equal(pod->labels[0].name, "k8s.label.app");
	assert_string_equal(pod->labels[0].value, "web");
	assert_string_equal(pod->labels[1].name, "k8s.label.app.kubernetes.io/instance");
	assert_string_equal(pod->labels[1].value, "eu-1");
	pod = pod_list_find(&list, UID_STATIC);
	assert_non_null(pod);
	assert_string_equal(pod->name, "etcd-node-7");
	assert_string_equal(pod->node, "");
	assert_null(pod_list_find(&list, UID_OTHER));
	pod_list_release(&list);
}

/* The API server has another UID for a static Pod than the kubelet. */
static void a_mirror_pod_has_the_uid_of_its_static_pod(void **state)
{
	struct pod_list list;

	(void)state;
	assert_ok(pod_list_init(&list));
	assert_ok(add_json(&list,
			   "{\"items\":[{\"metadata\":{\"name\":\"etcd\",\"uid\":\"" UID_OTHER
			   "\",\"annotations\":{\"kubernetes.io/config.mirror\":\"" UID_STATIC
			   "\"}}}]}"));
	pod_list_sort(&list);
	assert_non_null(pod_list_find(&list, UID_STATIC));
	assert_null(pod_list_find(&list, UID_OTHER));
	pod_list_release(&list);
}

static void other_answers_are_refused(void **state)
{
	static const struct {
		const char *json;
		int result;
	} cases[] = {
		{ "{\"items\":null}", 0 },
		{ "{\"items\":[]}", 0 },
		{ "{\"items\":[{}]}", 0 }, /* without a UID it is left out */
		{ "{\"items\":[{\"metadata\":{\"uid\":\"../../etc\"}}]}", 0 },
		{ "{\"items\":[{\"metadata\":{\"labels\":null}}]}", 0 },
		{ "", -EBADMSG },
		{ "Unauthorized", -EBADMSG },
		{ "[]", -EBADMSG },
		{ "{\"kind\":\"Status\",\"code\":403}", -EBADMSG },
		{ "{\"items\":{}}", -EBADMSG },
		{ "{\"items\":[7]}", -EBADMSG },
		{ "{\"items\":[{\"metadata\":{\"labels\":[]}}]}", -EBADMSG },
		{ "{\"items\":[", -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pod_list list;

		assert_ok(pod_list_init(&list));
		assert_errno(add_json(&list, cases[i].json), cases[i].result);
		assert_int_equal(list.pods.count, 0);
		pod_list_release(&list);
	}
}

static void labels_and_pods_are_bounded(void **state)
{
	scoped(bytes_release) struct bytes json = BYTES_INIT(MIB);
	struct pod_list list;
	char name[64];

	(void)state;
	assert_ok(bytes_append_text(&json, "{\"items\":[{\"metadata\":{\"uid\":\"" UID_WEB
					   "\",\"labels\":{\"k\":\"v\""));
	for (int i = 0; i < 1000; i++)
		assert_ok(bytes_append_format(&json, ",\"k%d\":\"v\"", i));
	assert_ok(bytes_append_text(&json, "}}}]}"));
	assert_ok(pod_list_init(&list));
	assert_ok(pod_list_add_json(&list, bytes_view_of(&json)));
	assert_int_equal(list.pods.items[0].n_labels, POD_MAX_LABELS);
	for (int i = 1; i < POD_LIST_MAX_PODS; i++) {
		(void)snprintf(name, sizeof(name), "ns_pod-%d_%032x", i, (unsigned int)i);
		assert_int_equal(pod_list_add_folder_name(&list, name), 1);
	}
	assert_errno(pod_list_add_folder_name(&list, name), -ENOSPC);
	pod_list_release(&list);
}

static void folders_of_logs_have_namespace_name_and_uid(void **state)
{
	static const char *const others[] = { ".",           "..",          "a_b",        "a_b_c",
					      "_b_" UID_WEB, "a__" UID_WEB, "a_" UID_WEB, UID_WEB };
	const char *folder = *state;
	const struct pod *pod;
	struct pod_list list;
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/shop_web-0_" UID_WEB, folder);
	assert_ok(mkdir(path, 0700));
	(void)snprintf(path, sizeof(path), "%s/not-a-pod", folder);
	assert_ok(mkdir(path, 0700));
	assert_ok(pod_list_init(&list));
	assert_ok(pod_list_add_folder(&list, folder));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(pod_list_add_folder_name(&list, others[i]), 0);
	pod_list_sort(&list);
	assert_int_equal(list.pods.count, 1);
	pod = pod_list_find(&list, UID_WEB);
	assert_non_null(pod);
	assert_string_equal(pod->name_space, "shop");
	assert_string_equal(pod->name, "web-0");
	assert_int_equal(pod->n_labels, 0);
	(void)snprintf(path, sizeof(path), "%s/absent", folder);
	assert_errno(pod_list_add_folder(&list, path), -ENOENT);
	pod_list_release(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_of_a_kubelet_are_found_by_uid),
		cmocka_unit_test(a_mirror_pod_has_the_uid_of_its_static_pod),
		cmocka_unit_test(other_answers_are_refused),
		cmocka_unit_test(labels_and_pods_are_bounded),
		in_folder(folders_of_logs_have_namespace_name_and_uid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
