/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the host's identity from the configuration, /etc/machine-id, the kernel's boot id and the
 * network interfaces.
 */
#include "agent/host_info.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/privilege_table.h"
#include "common/scoped.h"

/* Most addresses that are sent. A host of containers may have thousands of veth pairs. */
#define MAX_IPS 32

static void read_first_line(const char *path, char *ret_line, size_t size)
{
	struct bytes text = BYTES_INIT(4 * KIB);

	ret_line[0] = '\0';
	if (file_read(path, &text) == 0 && bytes_append_byte(&text, 0) == 0) {
		size_t length = MIN(strcspn((const char *)text.data, "\n"), size - 1);

		memcpy(ret_line, text.data, length);
		ret_line[length] = '\0';
	}
	bytes_release(&text);
}

static void scoped_freeifaddrs(struct ifaddrs **addresses)
{
	if (*addresses)
		freeifaddrs(*addresses);
}

static int add_ip(struct host_info *info, const struct sockaddr *address)
{
	char text[INET6_ADDRSTRLEN];
	const void *bytes;
	char *copy;
	int r;

	if (address->sa_family == AF_INET)
		bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
	else
		bytes = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
	if (!inet_ntop(address->sa_family, bytes, text, sizeof(text)))
		return 0;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	r = vec_push(&info->ips, copy);
	if (r < 0)
		free(copy);
	return r;
}

static int read_ips(struct host_info *info)
{
	scoped(scoped_freeifaddrs) struct ifaddrs *addresses = NULL;
	int r;

	if (getifaddrs(&addresses) < 0)
		return 0;
	for (const struct ifaddrs *at = addresses; at && info->ips.count < MAX_IPS;
	     at = at->ifa_next) {
		if (!at->ifa_addr || at->ifa_flags & IFF_LOOPBACK)
			continue;
		if (at->ifa_addr->sa_family != AF_INET && at->ifa_addr->sa_family != AF_INET6)
			continue;
		r = add_ip(info, at->ifa_addr);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Takes ownership of both texts. A text that is NULL counts as lack of memory. */
static int push_label_take(struct host_info *info, char *name, char *value)
{
	struct window_label label = { .name = name, .value = value };

	if (!label.name || !label.value || vec_push(&info->labels, label) < 0) {
		free((char *)label.name);
		free((char *)label.value);
		return -ENOMEM;
	}
	return 0;
}

static int add_label(struct host_info *info, const char *text, size_t length)
{
	const char *equals = memchr(text, '=', length);
	int r;

	if (!equals || equals == text)
		return log_error_errno(EINVAL, "host.labels: '%.*s' is not name=value", (int)length,
				       text);
	r = push_label_take(info, strndup(text, (size_t)(equals - text)),
			    strndup(equals + 1, length - (size_t)(equals - text) - 1));
	return r < 0 ? log_error_errno(r, "cannot add the label '%.*s' of host.labels: %m",
				       (int)length, text)
		     : 0;
}

/* To be called after the vector of labels has changed: it may have moved. */
static void refer_to_labels(struct host_info *info)
{
	info->host.labels = info->labels.items;
	info->host.n_labels = info->labels.count;
}

int host_info_add_label(struct host_info *info, const char *name, const char *value)
{
	int r = push_label_take(info, strdup(name), strdup(value));

	refer_to_labels(info);
	return r;
}

static int read_labels(struct host_info *info, const char *list)
{
	while (*list) {
		size_t length = strcspn(list, "\n");

		if (length > 0) {
			int r = add_label(info, list, length);

			if (r < 0)
				return r;
		}
		list += length;
		list += *list == '\n';
	}
	return 0;
}

static void make_agent_id(struct host_info *info)
{
	struct bytes identity = BYTES_INIT(64 * KIB);
	struct hash128 hash;

	(void)bytes_append_format(&identity, "%s\n%s\n%s", info->host.name, info->machine_id,
				  info->boot_id);
	hash = hash128_of(identity.data, identity.size);
	memcpy(info->agent_id, hash.bytes, sizeof(info->agent_id));
	bytes_release(&identity);
}

int host_info_sees_all_processes(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return -errno;
	return status.st_ino == INITIAL_PID_NAMESPACE;
}

static int read_host(struct host_info *info, const struct agent_config *config)
{
	if (uname(&info->system) < 0)
		return -errno;
	read_first_line("/etc/machine-id", info->machine_id, sizeof(info->machine_id));
	read_first_line("/proc/sys/kernel/random/boot_id", info->boot_id, sizeof(info->boot_id));
	info->name = strdup(config->host_name[0] ? config->host_name : info->system.nodename);
	return info->name ? read_ips(info) : -ENOMEM;
}

int host_info_init(struct host_info *info, const struct agent_config *config)
{
	int r;

	*info = (struct host_info){};
	r = read_host(info, config);
	if (r < 0)
		return log_error_errno(r,
				       "cannot read the name and addresses of this host: %m, not "
				       "starting; raise the limits of the service or container for "
				       "memory and open files");
	r = read_labels(info, config->host_labels);
	if (r < 0)
		return r;
	info->host = (struct window_host){
		.name = info->name,
		.machine_id = info->machine_id,
		.boot_id = info->boot_id,
		.kernel_release = info->system.release,
		.architecture = info->system.machine,
		.n_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.ips = (const char *const *)info->ips.items,
		.n_ips = info->ips.count,
		.labels = info->labels.items,
		.n_labels = info->labels.count,
	};
	make_agent_id(info);
	return 0;
}

static void label_release(struct window_label *label)
{
	free((char *)label->name);
	free((char *)label->value);
}

int host_info_set_label(struct host_info *info, const char *name, const char *value)
{
	int r = 0;

	for (size_t i = 0; i < info->labels.count; i++) {
		if (strcmp(info->labels.items[i].name, name) != 0)
			continue;
		label_release(&info->labels.items[i]);
		info->labels.items[i] = info->labels.items[--info->labels.count];
		break;
	}
	if (value[0])
		r = push_label_take(info, strdup(name), strdup(value));
	refer_to_labels(info);
	return r;
}

void host_info_release(struct host_info *info)
{
	for (size_t i = 0; i < info->ips.count; i++)
		free(info->ips.items[i]);
	for (size_t i = 0; i < info->labels.count; i++)
		label_release(&info->labels.items[i]);
	free(info->name);
	vec_release(&info->ips);
	vec_release(&info->labels);
}
