/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BTF stores names as NUL-terminated strings, one after the other. The file is read in pieces; each
 * piece begins with the last bytes of the one before, so that a name across the border is found.
 */
#include "agent/bpf_programs/kernel_btf.h"

#include <bpf/btf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/scoped.h"

#define PIECE_BYTES ((size_t)64 * KIB)

/* Function names of the kernel are shorter: KSYM_NAME_LEN is 512. */
#define MAX_NAME_SIZE ((size_t)512)

bool kernel_btf_names(const char *name)
{
	scoped_fd int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	scoped_free char *piece = malloc(MAX_NAME_SIZE + PIECE_BYTES);
	char wanted[MAX_NAME_SIZE] = "";
	/* with the NULs on both sides */
	size_t wanted_size = strnlen(name, sizeof(wanted) - 2) + 2;
	size_t kept = 0;
	ssize_t n;

	if (fd < 0 || !piece || wanted_size >= sizeof(wanted))
		return false;
	memcpy(wanted + 1, name, wanted_size - 2);
	while ((n = read(fd, piece + kept, PIECE_BYTES)) > 0) {
		size_t size = kept + (size_t)n;

		if (memmem(piece, size, wanted, wanted_size))
			return true;
		kept = MIN(size, wanted_size - 1);
		memmove(piece, piece + size - kept, kept);
	}
	return false;
}

unsigned int kernel_btf_tracepoint_arguments(const char *name)
{
	const struct btf_type *type = NULL;
	unsigned int n_arguments = 0;
	char function[128];
	struct btf *btf;
	int32_t id;

	(void)snprintf(function, sizeof(function), "btf_trace_%s", name);
	btf = btf__load_vmlinux_btf();
	id = btf ? btf__find_by_name_kind(btf, function, BTF_KIND_TYPEDEF) : -ENOENT;
	if (id > 0)
		/* The typedef is of a pointer to the function's prototype. */
		type = btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type);
	if (type)
		type = btf__type_by_id(btf, type->type);
	/* The first parameter belongs to the tracepoint itself. */
	if (type && btf_is_func_proto(type) && btf_vlen(type) > 0)
		n_arguments = btf_vlen(type) - 1u;
	btf__free(btf);
	return n_arguments;
}
