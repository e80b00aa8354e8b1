/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The lock of a folder that only one process may use. Returns the descriptor of the folder, which
 * holds the lock until it is closed; -EBUSY if another process has the lock, or another negative
 * errno.
 */
int folder_lock(const char *folder);
