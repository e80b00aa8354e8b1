/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A recorded image: the registers, memory and mappings of a stopped program, and the stack that an
 * unwinder must find.
 *
 * The file consists of lines and is compressed with zstd. Numbers are hexadecimal, except those of
 * modules and registers. Modules are separate files that images share: ELF files with headers and
 * call frame information only; everything else is zeros.
 *
 *   hearth-image MACHINE            "x86-64" or "arm64"
 *   about TEXT                      what the image shows
 *   pc PC
 *   register NUMBER VALUE           by DWARF number
 *   pc-mask MASK                    arm64: bits of a return address that are not its signature
 *   module NUMBER FILE              the executable of this number, if a frame is in it; in
 *                                   modules/FILE.zst
 *   mapping START END BIAS NUMBER   executable memory; number 0: no file
 *   memory ADDRESS BYTES            at most 64, in rising order
 *   frame NUMBER ADDRESS FUNCTION   leaf first; found by another unwinder; "?": unknown function
 *   cut REASON                      the reason that the BPF unwinder must report, by its name
 */

#include "bpf/host/host_unwind.h"
#include "tests/host_bpf/host_maps.h"

struct image_module {
	uint32_t number;
	char file[96];
};

struct image_word {
	uint64_t address; /* of 8 bytes */
	uint64_t value;
};

struct image_frame {
	uint32_t module;
	uint64_t address;
	char function[64];
};

VEC_DEFINE(image_module_vec, struct image_module);
VEC_DEFINE(image_word_vec, struct image_word);
VEC_DEFINE(image_frame_vec, struct image_frame);

struct image {
	uint16_t machine; /* EM_X86_64, EM_AARCH64 */
	char about[128];
	struct host_unwind_registers registers;
	uint64_t pc_mask;
	struct image_module_vec modules;
	struct host_mapping_vec mappings;
	struct image_word_vec memory; /* by rising address, multiples of 8 */
	struct image_frame_vec frames;
	unsigned int cut; /* enum stack_cut */
};

void image_release(struct image *image);

/* Returns 0, -EBADMSG if the file is not an image, or an error of the file. */
int image_read(const char *path, struct image *ret_image);
int image_write(const struct image *image, const char *path);

/* A host_unwind_read; @argument is the image. */
int image_read_memory(void *argument, uint64_t address, void *buffer, size_t size);

/* Writes the parts of @elf that unwinding needs to @path. Returns 0 or a negative errno. */
int image_write_module(const struct elf_file *elf, const char *path);

/*
 * Fills the maps with the image's mappings and its modules, which are in @modules_folder. Returns 0
 * or a negative errno.
 */
int image_fill_maps(const struct image *image, const char *modules_folder, struct host_maps *maps);
