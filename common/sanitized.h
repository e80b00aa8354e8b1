/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether gcc or clang compiled the program with AddressSanitizer, which reserves terabytes of
 * address space and makes additional system calls.
 */

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif
