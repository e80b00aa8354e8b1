/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether memory of another process holds a copy of a file's bytes. Programs move their code to
 * anonymous memory, so that it lies in huge pages: the kernel then knows no file behind it.
 *
 * Memory that is backed by a file system or by another process (userfaultfd) may not answer:
 * helpers call this.
 */

#include "common/base.h"

/*
 * Compares [@start, @end) in process @pid with the bytes of @fd at @file_offset, as far as the file
 * reaches: all of them where they are few, else samples at equal distances. False also where either
 * cannot be read.
 */
bool memory_is_copy(uint32_t pid, uint64_t start, uint64_t end, int fd, uint64_t file_offset);
