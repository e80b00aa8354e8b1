#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Processes in cgroups as the kubelet makes them, with a folder of logs and a server that answers like a kubelet. First the
# kubelet refuses: processes then have the names of their Pods from the folder. Once it answers, processes have the labels too:
# those that start then, and those that ran before, also in their earlier samples.
# An answer that is no list of Pods changes nothing.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq python3

cgroups=
for folder in /sys/fs/cgroup /sys/fs/cgroup/unified; do
	[ ! -e "$folder/cgroup.controllers" ] || cgroups=$folder
done
[ -n "$cgroups" ] || skip "needs cgroups of version 2"

# The first group of the UID is that of this test's process: another run of the test has other Pods.
uid=$(printf '%08x-ed0b-446d-9aab-3fdce8b4f9e2' $$) static_uid=$(printf '%08x42cb997ff93c49feeb9f6386' $$)
container=$(printf 'c%.0s' {1..64})
# pod_cgroup NAME: makes the cgroup of a Pod with a container, in $made.
pod_cgroup() {
	made=$cgroups/$1.slice/cri-containerd-$container.scope
	mkdir -p "$made" 2>/dev/null || skip "cgroups cannot be made here"
	at_exit+=("rmdir '$made' '${made%/*}'")
}
pod_cgroup "kubepods-burstable-pod${uid//-/_}"
group_web=$made
pod_cgroup "kubepods-burstable-pod$static_uid"
group_static=$made

mkdir -p "$work/pods/shop_web-0_$uid" "$work/pods/kube-system_etcd-e2e_$static_uid" "$work/pods/unrelated"
printf 'first-token\n' >"$work/token"

# The kubelet answers each request with the file `answer` (absent: 403), and notes the token.
cat >"$work/kubelet.py" <<'END'
import http.server, pathlib, sys
work = pathlib.Path(sys.argv[1])

class Kubelet(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        (work / "request.new").write_text(f"{self.path} {self.headers.get('Authorization')}")
        (work / "request.new").rename(work / "request")
        answer = work / "answer"
        self.send_response(200 if answer.exists() else 403)
        self.end_headers()
        self.wfile.write(answer.read_bytes() if answer.exists() else b"Forbidden")

    def log_message(self, *arguments):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Kubelet)
(work / "kubelet.port").write_text(str(server.server_port))
server.serve_forever()
END
start_background kubelet python3 "$work/kubelet.py" "$work"
expect_within 20s test -s "$work/kubelet.port"

for name in in_web in_static labelled_web labelled_static; do
	cp "$(command -v dash || command -v sh)" "$work/$name"
done
# shellcheck disable=SC2016 # the started shells expand the variables
readonly BURN='while :; do i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; sleep 0.02; done'
# in_group GROUP NAME: runs a shell of this name in the cgroup until the test ends.
in_group() {
	# shellcheck disable=SC2016
	start_background "$2" sh -c 'echo $$ >"$0/cgroup.procs"; exec "$1" -c "$2"' "$1" "$work/$2" "$BURN"
}

start_server
# The kubelet is asked again a second after it refused, and later after each further failure.
start_agent --host.labels pod_cluster=prod --kubernetes.pods_folder "$work/pods" --kubernetes.token_file "$work/token" \
	--kubernetes.pods_url "http://127.0.0.1:$(cat "$work/kubelet.port")/pods"
started=$(now_s)
in_group "$group_web" in_web
in_group "$group_static" in_static

# has_labels SERVICE FILTER: all samples of the last three full seconds meet the filter, and there are some.
has_labels() {
	local all part to=$(($(now_s) - 2))
	all=$(query_profile "$1" $((to - 2)) "$to" | jq '[.result[]? | select(.parent_node_id == "-1").total_value] | add // 0')
	part=$(query_profile "$1" $((to - 2)) "$to" "$(jq -nc --arg filter "$2" '{ tag_filter: $filter }')" |
		jq '[.result[]? | select(.parent_node_id == "-1").total_value] | add // 0')
	[ "$all" -gt 0 ] && [ "$all" = "$part" ]
}

# ---- names from the folder, without the kubelet
expect_within 30s has_labels in_web "pod = 'web-0' AND pod_ns = 'shop' AND pod_uid = '$uid' AND pod_cluster = 'prod' AND \
	k8s.label.app IS NULL"
expect_within 30s has_labels in_static "pod = 'etcd-e2e' AND pod_ns = 'kube-system' AND pod_uid = '$static_uid'"
expect_within 10s grep -q '^/pods Bearer first-token$' "$work/request"
expect_at_least "failed requests" "$(agent_metric 'pod_lists_total{outcome="failed"}')" 1

# ---- labels from the kubelet, with the token that the file has by then
printf second-token >"$work/token"
jq -n --arg uid "$uid" --arg static "$static_uid" '{ kind: "PodList", apiVersion: "v1", metadata: {}, items: [
	{ metadata: { name: "web-0", namespace: "shop", uid: $uid, labels: { app: "web", "app.kubernetes.io/version": "1.2" } },
	  spec: { nodeName: "node-7", containers: [{ name: "web", env: [{ name: "A", value: "{}]\"" }] }] }, status: {} },
	{ metadata: { name: "etcd-e2e", namespace: "kube-system", uid: $static, labels: { tier: "control-plane" } },
	  spec: { nodeName: "node-7" } }] }' >"$work/answer.new"
mv "$work/answer.new" "$work/answer"
has_list() { [ "$(agent_metric 'pod_lists_total{outcome="read"}')" -ge 1 ]; }
expect_within 60s has_list
in_group "$group_web" labelled_web
in_group "$group_static" labelled_static
expect_within 30s has_labels labelled_web "k8s.label.app = 'web' AND \`k8s.label.app.kubernetes.io/version\` = '1.2' AND \
	pod = 'web-0' AND pod_node = 'node-7'"
expect_within 30s has_labels labelled_static "k8s.label.tier = 'control-plane' AND pod_node = 'node-7'"
expect_equal "the last request" "$(cat "$work/request")" "/pods Bearer second-token"

# ---- a process that ran before the list was read has its labels in all samples
# all_have SERVICE FILTER: all samples since the service started meet the filter.
all_have() {
	local to all part
	to=$(($(now_s) - 2))
	all=$(query_profile "$1" "$started" "$to" | jq '[.result[]? | select(.parent_node_id == "-1").total_value] | add // 0')
	part=$(query_profile "$1" "$started" "$to" "$(jq -nc --arg filter "$2" '{ tag_filter: $filter }')" |
		jq '[.result[]? | select(.parent_node_id == "-1").total_value] | add // 0')
	[ "$all" -gt 0 ] && [ "$all" = "$part" ]
}
expect_within 60s all_have in_web "k8s.label.app = 'web' AND \`k8s.label.app.kubernetes.io/version\` = '1.2' AND pod = 'web-0'"
expect_within 60s all_have in_static "k8s.label.tier = 'control-plane' AND pod_node = 'node-7'"

# ---- one service of a Pod is one series for its label
request GET "/v1/groups?group_by=pod&last=20s&filter=k8s.label.tier%3D%27control-plane%27"
expect_equal "groups by Pod" "$(jq -r '[.groups[].name] | join(" ")' "$work/body")" etcd-e2e
