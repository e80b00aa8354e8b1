/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the kernel's code is: the image's text ([_text, _end) of /proc/kallsyms, read once as a
 * stream, never kept) and the modules (/proc/modules, /sys/module/NAME/notes and sections).
 * Addresses are kernel virtual.
 */

#include "common/bytes.h"
#include "common/executable_id.h"

struct kernel_module {
	char name[64];
	uint64_t start, end;
	struct executable_id id; /* NONE when it has no build-ID note */
	/* of its folder in /sys/module: another one each time that it is loaded; 0 none */
	uint64_t inode;
};

struct kernel_layout {
	struct executable_id id; /* from /sys/kernel/notes */
	uint64_t text_start;     /* _text */
	uint64_t text_end;       /* _end, or the last image symbol */
	uint64_t schedule_start; /* __schedule(), where every wait's stack begins; 0 not found */
	uint64_t schedule_end;
	struct kernel_module *modules;
	size_t n_modules;
};

/*
 * -EPERM when kallsyms shows only zeros (kptr_restrict), -ENOENT when it is absent or empty (a
 * mount above it): the caller goes on without kernel addresses and logs it.
 */
int kernel_layout_read(struct kernel_layout *ret_layout);

/* The same from other files (tests). */
struct kernel_layout_paths {
	const char *kallsyms;
	const char *modules; /* need not exist */
	const char *notes;   /* need not exist */
	const char *folders; /* one for each module; NULL: /sys/module */
};

int kernel_layout_read_from(const struct kernel_layout_paths *paths,
			    struct kernel_layout *ret_layout);
void kernel_layout_release(struct kernel_layout *layout);

/*
 * Reads anew which modules there are. 1: others than before, or the same loaded again; 0: nothing
 * has changed; negative errno, and @layout is as it was. Costs a look at each module's folder: 0.3
 * ms with 100 modules.
 */
int kernel_layout_update_modules(struct kernel_layout *layout);
int kernel_layout_update_modules_from(const struct kernel_layout_paths *paths,
				      struct kernel_layout *layout);

/*
 * The kernel's own symbols as an ELF file (ET_EXEC, GNU build-ID note, .symtab with absolute
 * addresses of this boot, _text among them, modules left out), made from /proc/kallsyms for the
 * upload.
 */
int kernel_symbols_elf(const struct kernel_layout *layout, struct bytes *out);

/* The same for one module: addresses relative to the module's start. */
int kernel_module_symbols_elf(const struct kernel_module *module, struct bytes *out);

/* The same from another file than /proc/kallsyms (tests). */
int kernel_symbols_elf_from(const char *kallsyms_path, const struct kernel_layout *layout,
			    struct bytes *out);
int kernel_module_symbols_elf_from(const char *kallsyms_path, const struct kernel_module *module,
				   struct bytes *out);
