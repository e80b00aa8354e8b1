#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests check_kubernetes with the manifests of the tree, each time with one fault."""

import pathlib
import shutil
import tempfile
import unittest

import check_kubernetes

ROOT = pathlib.Path(__file__).resolve().parents[2]

# (file, old text, new text, expected words of the finding)
FAULTS = [
    ("agent.yaml", "kind: DaemonSet", "kind: Daemonset", "unknown kind Daemonset"),
    ("agent.yaml", "apiVersion: apps/v1", "apiVersion: extensions/v1beta1", "apiVersion is not apps/v1"),
    ("agent.yaml", "      containers:", "      containers: [", "no YAML"),
    ("agent.yaml", "hostPID: true", "hostPid: true", "needs hostPID: true"),
    ("agent.yaml", "BPF, PERFMON", "BPF, SYS_ADMIN, PERFMON", "adds the capabilities"),
    ("agent.yaml", "BPF, PERFMON", "BPF", "adds the capabilities"),
    ("agent.yaml", "drop: [ALL]", "drop: []", "capabilities.drop is not ['ALL']"),
    ("agent.yaml", "mountPath: /etc/machine-id\n              readOnly: true", "mountPath: /etc/machine-id",
     "may write to /etc/machine-id of the host"),
    ("agent.yaml", "- name: token\n              mountPath", "- name: tokken\n              mountPath",
     "mounts tokken, which is no volume"),
    ("agent.yaml", "matchLabels:\n      app.kubernetes.io/name: hearth-agent",
     "matchLabels:\n      app.kubernetes.io/name: agent", "does not select its own pods"),
    ("agent.yaml", "resources: [nodes/pods]", "resources: [nodes/pods, nodes/proxy]", "allows ['get'] of nodes/proxy"),
    ("agent.yaml", "serviceAccountName: agent", "serviceAccountName: agents", "has no service account agents"),
    ("agent.yaml", "  kind: ClusterRole\n  name: hearth-agent", "  kind: ClusterRole\n  name: admin", "binds no role"),
    ("symbolizer.yaml", "runAsNonRoot: true", "runAsNonRoot: false", "may run as root"),
    ("symbolizer.yaml", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "readOnlyRootFilesystem is not"),
    ("symbolizer.yaml", "path: /readyz", "path: /ready", "readinessProbe does not request /readyz"),
    ("symbolizer.yaml", "targetPort: http", "targetPort: web", "targetPort web is no port of the pod"),
    ("symbolizer.yaml", "  serviceName: symbolizer\n", "", "needs spec.serviceName"),
    ("symbolizer.yaml", "              memory: 9Gi\n", "", "needs resources.limits.memory"),
    ("kustomization.yaml", "  - agent.yaml\n", "", "resources and files differ in agent.yaml"),
]


class CheckKubernetes(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="check-kubernetes-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.folder = self.root / check_kubernetes.FOLDER
        (self.root / "common").mkdir()
        shutil.copy(ROOT / "common/privileges.def", self.root / "common")

    def findings(self, file=None, old="", new=""):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(ROOT / check_kubernetes.FOLDER, self.folder)
        if file:
            text = (self.folder / file).read_text()
            self.assertIn(old, text)
            (self.folder / file).write_text(text.replace(old, new, 1))
        return check_kubernetes.Checker(self.root, None).run()

    def test_the_manifests_of_the_tree_have_no_findings(self):
        self.assertEqual(self.findings(), [])

    def test_each_fault_is_found(self):
        for file, old, new, words in FAULTS:
            with self.subTest(words=words):
                found = self.findings(file, old, new)
                self.assertTrue(any(words in finding for finding in found), found)


if __name__ == "__main__":
    unittest.main()
