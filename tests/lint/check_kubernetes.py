#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks deploy/kubernetes without a cluster and without schemas from the network: required fields
of each kind, references within the manifests, privileges of the pods, and that the programs accept
their flags and variables.

    check_kubernetes.py [--root DIR] [--bin DIR]

Prints one line per finding, `file: KIND/NAME: fault`, and exits with 1 if there is any. --bin is
the folder of the programs. Without it their flags are not checked, and a line of the output reports
that.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

FOLDER = "deploy/kubernetes"

# kind -> apiVersion, and the fields without which the API refuses the object.
KINDS = {
    "Namespace": ("v1", ["metadata.name"]),
    "Service": ("v1", ["metadata.name", "spec.selector", "spec.ports"]),
    "DaemonSet": ("apps/v1", ["metadata.name", "spec.selector.matchLabels", "spec.template.metadata.labels",
                              "spec.template.spec.containers"]),
    "StatefulSet": ("apps/v1", ["metadata.name", "spec.serviceName", "spec.selector.matchLabels",
                                "spec.template.metadata.labels", "spec.template.spec.containers"]),
    "ServiceAccount": ("v1", ["metadata.name"]),
    "ClusterRole": ("rbac.authorization.k8s.io/v1", ["metadata.name", "rules"]),
    "ClusterRoleBinding": ("rbac.authorization.k8s.io/v1", ["metadata.name", "roleRef.name", "subjects"]),
    "Kustomization": ("kustomize.config.k8s.io/v1beta1", ["resources"]),
}

# Fields that every container must have.
CONTAINER_FIELDS = ["name", "image", "args", "resources.requests.cpu", "resources.requests.memory",
                    "resources.limits.memory", "volumeMounts"]
SECURITY = [("allowPrivilegeEscalation", False), ("readOnlyRootFilesystem", True), ("capabilities.drop", ["ALL"])]

TOKENS = "tokens:\n  - {name: a, sha256: " + 64 * "0" + ", scopes: [read]}\n"


def field(tree, path):
    """The value at a dotted path, or None."""
    for name in path.split("."):
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


class Checker:
    def __init__(self, root, programs):
        self.root, self.programs = root, programs
        self.findings, self.objects, self.where = [], [], ""

    def report(self, what):
        self.findings.append(f"{self.where}: {what}")

    def require(self, tree, paths):
        for path in paths:
            if field(tree, path) in (None, "", [], {}):
                self.report(f"needs {path}")

    def load(self):
        for path in sorted((self.root / FOLDER).glob("*.yaml")):
            try:
                documents = list(yaml.safe_load_all(path.read_text()))
            except yaml.YAMLError as error:
                self.findings.append(f"{path.name}: no YAML: {' '.join(str(error).split())}")
                continue
            self.objects += [(path.name, document) for document in documents]

    def check_kind(self, tree):
        kind = tree.get("kind") if isinstance(tree, dict) else None
        if kind not in KINDS:
            self.report(f"unknown kind {kind}")
            return False
        version, required = KINDS[kind]
        if tree.get("apiVersion") != version:
            self.report(f"apiVersion is not {version}")
        before = len(self.findings)
        self.require(tree, required)
        return len(self.findings) == before

    def check_resources(self, file, tree):
        missing = {name for name, _ in self.objects} - {file} - set(tree["resources"])
        extra = set(tree["resources"]) - {name for name, _ in self.objects}
        for name in sorted(missing | extra):
            self.report(f"resources and files differ in {name}")

    def pods(self):
        return [tree for _, tree in self.objects if field(tree, "spec.template.spec.containers")]

    def check_service(self, tree):
        """A service must select a pod, and each target port must be a named port of that pod."""
        selector = tree["spec"]["selector"].items()
        chosen = [pod for pod in self.pods() if selector <= pod["spec"]["template"]["metadata"]["labels"].items()]
        if not chosen:
            self.report("selects no pod")
        for pod in chosen:
            names = {port["name"] for container in pod["spec"]["template"]["spec"]["containers"]
                     for port in container.get("ports", [])}
            for port in tree["spec"]["ports"]:
                if port.get("targetPort") not in names:
                    self.report(f"targetPort {port.get('targetPort')} is no port of the pod")

    def check_probes(self, container):
        ports = {port["name"] for port in container.get("ports", [])}
        paths = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
        for probe, path in paths.items():
            if not ports:
                continue
            if field(container, f"{probe}.httpGet.path") != path:
                self.report(f"{probe} does not request {path}")
            if field(container, f"{probe}.httpGet.port") not in ports:
                self.report(f"{probe} has no port of the container")

    def check_mounts(self, pod, container, claims):
        volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
        for mount in container.get("volumeMounts", []):
            name = mount["name"]
            if name not in volumes and name not in claims:
                self.report(f"mounts {name}, which is no volume")
            # The agent may write only to its folder on the host.
            host = field(volumes.get(name, {}), "hostPath.path")
            if host and host != "/var/lib/hearth-agent" and mount.get("readOnly") is not True:
                self.report(f"may write to {host} of the host")
            if "secret" in volumes.get(name, {}) and mount.get("readOnly") is not True:
                self.report(f"may write to the secret {name}")

    def check_container(self, container, is_agent):
        self.require(container, CONTAINER_FIELDS)
        security = container.get("securityContext", {})
        for path, wanted in SECURITY:
            if field(security, path) != wanted:
                self.report(f"securityContext.{path} is not {wanted}")
        if security.get("privileged"):
            self.report("is privileged")
        added = field(security, "capabilities.add") or []
        wanted = self.agent_capabilities() if is_agent else []
        if sorted(added) != sorted(wanted):
            self.report(f"adds the capabilities {added}, not {wanted}")

    def agent_capabilities(self):
        rows = (self.root / "common/privileges.def").read_text()
        return re.findall(r"^PRIVILEGE\((\w+), \w+, \w+, ALWAYS,", rows, re.MULTILINE)

    def names_of(self, kind):
        return {field(tree, "metadata.name") for _, tree in self.objects if field(tree, "kind") == kind}

    def check_binding(self, tree):
        if tree["roleRef"]["name"] not in self.names_of("ClusterRole"):
            self.report(f"binds no role of the manifests: {tree['roleRef']['name']}")
        for subject in tree["subjects"]:
            if subject.get("name") not in self.names_of("ServiceAccount"):
                self.report(f"binds no account of the manifests: {subject.get('name')}")

    def check_role(self, tree):
        """The agent may read lists of Pods. Everything else, such as nodes/proxy, allows running commands in Pods."""
        for rule in tree["rules"]:
            for resource in rule.get("resources", []):
                if resource != "nodes/pods" or rule.get("verbs") != ["get"]:
                    self.report(f"allows {rule.get('verbs')} of {resource}")

    def check_workload(self, tree):
        template = tree["spec"]["template"]
        pod = template["spec"]
        if not tree["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items():
            self.report("its selector does not select its own pods")
        is_agent = tree["kind"] == "DaemonSet"
        if is_agent and pod.get("hostPID") is not True:
            self.report("needs hostPID: true")
        if not is_agent and field(pod, "securityContext.runAsNonRoot") is not True:
            self.report("may run as root")
        account = pod.get("serviceAccountName")
        if account and account not in self.names_of("ServiceAccount"):
            self.report(f"has no service account {account}")
        claims = {claim["metadata"]["name"] for claim in tree["spec"].get("volumeClaimTemplates", [])}
        for container in pod["containers"]:
            self.check_container(container, is_agent)
            self.check_mounts(pod, container, claims)
            self.check_probes(container)
            self.check_flags(container)

    def check_flags(self, container):
        """The program must accept its flags, with temporary files instead of the secrets."""
        if not self.programs:
            return
        with tempfile.TemporaryDirectory(prefix="check-kubernetes-") as folder:
            pathlib.Path(folder, "token").write_text("hearth_0\n")
            pathlib.Path(folder, "tokens.yaml").write_text(TOKENS)
            program = self.programs / container["image"].split(":")[0]
            arguments = [argument.replace("/etc/hearth", folder) for argument in container.get("args", [])]
            variables = {row["name"]: row.get("value", "node-1") for row in container.get("env", [])}
            result = subprocess.run([program, "--config=/dev/null", "--check-config", *arguments], env=variables,
                                    capture_output=True, text=True, check=False, timeout=60)
        if result.returncode != 0:
            self.report(f"{program.name} refuses its flags: {result.stderr.strip()}")

    def run(self):
        self.load()
        if not self.objects:
            self.findings.append(f"{FOLDER}: no manifests")
        for file, tree in self.objects:
            name = field(tree, "metadata.name")
            self.where = f"{file}: {field(tree, 'kind')}/{name}"
            if not self.check_kind(tree):
                continue
            if tree["kind"] == "Kustomization":
                self.check_resources(file, tree)
            elif tree["kind"] == "Service":
                self.check_service(tree)
            elif tree["kind"] == "ClusterRoleBinding":
                self.check_binding(tree)
            elif tree["kind"] == "ClusterRole":
                self.check_role(tree)
            elif "template" in tree.get("spec", {}):
                self.check_workload(tree)
        return self.findings


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--bin", type=pathlib.Path)
    options = parser.parse_args()
    findings = Checker(options.root, options.bin and options.bin.resolve()).run()
    print("\n".join(findings) if findings else "the manifests are sound")
    if not options.bin:
        print("without --bin: the flags were not checked")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
