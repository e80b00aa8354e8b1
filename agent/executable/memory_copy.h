/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks whether memory of another process holds a copy of a file's bytes. Some programs move their
 * code to anonymous memory to have it in huge pages; then the kernel knows no file for it.
 *
 * Reading memory that is backed by a file system or by another process (userfaultfd) may block, so
 * helpers call this function.
 */

#include "common/base.h"

/*
 * Compares [@start, @end) in process @pid with the bytes of @fd from @file_offset up to the end of
 * the file: all bytes of a small range, else samples at equal distances. False also if either
 * cannot be read.
 */
bool memory_is_copy(uint32_t pid, uint64_t start, uint64_t end, int fd, uint64_t file_offset);
