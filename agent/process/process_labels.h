/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Labels from the cgroup path of a process: container ID, Kubernetes pod UID, systemd unit.
 * Examples:
 *
 *   kubepods .../pod<UID>/<64 hex>
 *   kubepods-...-pod<UID with _>.slice/cri-containerd-<64 hex>.scope
 *   kubepods .../pod<32 hex>/<64 hex>                             a static pod
 *   /docker/<64 hex>, /system.slice/docker-<64 hex>.scope, libpod-<64 hex>.scope
 *   /system.slice/nginx.service, /user.slice/.../app-x.scope
 */

#include "common/base.h"

struct cgroup_labels {
	char container_id[65]; /* "": none */
	char pod_uid[37];
	char unit[128]; /* with its suffix: "nginx.service" */
};

void cgroup_labels_parse(const char *path, struct cgroup_labels *ret_labels);
