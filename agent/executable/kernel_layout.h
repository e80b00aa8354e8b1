/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Address ranges of kernel code: the text of the image ([_text, _end) of /proc/kallsyms, read once
 * as a stream, never kept) and the modules (/proc/modules, /sys/module/NAME/notes and sections).
 * Addresses are kernel virtual.
 */

#include "common/bytes.h"
#include "common/executable_id.h"

struct kernel_module {
	char name[64];
	uint64_t start, end;
	struct executable_id id; /* kind NONE: the module has no build-ID note */
	/* inode of /sys/module/NAME, which changes each time the module is loaded; 0: no folder */
	uint64_t inode;
};

struct kernel_layout {
	struct executable_id id; /* from /sys/kernel/notes */
	uint64_t text_start;     /* _text */
	uint64_t text_end;       /* _end, or the last image symbol */
	/* range of __schedule(), the leaf of the kernel stack of every wait; 0: not found */
	uint64_t schedule_start;
	uint64_t schedule_end;
	struct kernel_module *modules;
	size_t n_modules;
};

/*
 * -EPERM: kallsyms shows only zeros (kptr_restrict). -ENOENT: kallsyms is absent or empty (hidden
 * by a mount). The caller logs it and continues without kernel addresses.
 */
int kernel_layout_read(struct kernel_layout *ret_layout);

/* The files that are read; tests pass their own. */
struct kernel_layout_paths {
	const char *kallsyms;
	const char *modules; /* need not exist */
	const char *notes;   /* need not exist */
	const char *folders; /* a folder with one folder for each module; NULL: /sys/module */
};

int kernel_layout_read_from(const struct kernel_layout_paths *paths,
			    struct kernel_layout *ret_layout);
void kernel_layout_release(struct kernel_layout *layout);

/*
 * Reads the list of modules again. 1: modules were loaded, unloaded or reloaded; 0: no change;
 * negative errno: @layout is unchanged. Costs one stat(2) per module: 0.3 ms with 100 modules.
 */
int kernel_layout_update_modules(struct kernel_layout *layout);
int kernel_layout_update_modules_from(const struct kernel_layout_paths *paths,
				      struct kernel_layout *layout);

/*
 * Builds the ELF file that the agent uploads for the kernel image: ET_EXEC, with the GNU build-ID
 * note, and a .symtab of the image's symbols in /proc/kallsyms. The symbols include _text, but not
 * those of modules. Their addresses are those of this boot.
 */
int kernel_symbols_elf(const struct kernel_layout *layout, struct bytes *out);

/* Builds such a file for one module, with addresses relative to the start of the module. */
int kernel_module_symbols_elf(const struct kernel_module *module, struct bytes *out);

/* These read another file instead of /proc/kallsyms (tests). */
int kernel_symbols_elf_from(const char *kallsyms_path, const struct kernel_layout *layout,
			    struct bytes *out);
int kernel_module_symbols_elf_from(const char *kallsyms_path, const struct kernel_module *module,
				   struct bytes *out);
