/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names of Java methods as Java writes them, from the forms in class files. Pure functions of
 * bytes, which anybody may have written. Results that do not fit are cut; they are valid UTF-8.
 */

#include "common/bytes.h"

struct java_method {
	struct bytes_view class_name; /* "com/example/Shop$Item" */
	struct bytes_view name;       /* "price" */
	struct bytes_view descriptor; /* "(ILjava/lang/String;[J)V" */
};

/*
 * Writes "com.example.Shop$Item.price(int, String, long[])" to @to and returns its size, at most
 * @max_bytes. The number and address that a class of a lambda expression has in its name differ in
 * each process, and are left out.
 */
size_t java_name_write(const struct java_method *method, uint8_t *to, size_t max_bytes);

/* Copies a name, with '?' for each byte that is no valid UTF-8. Returns its size. */
size_t java_text_copy(struct bytes_view text, uint8_t *to, size_t max_bytes);

/* Size of the package part of the class name: that of "com/example/" for "com/example/Shop". */
size_t java_package_bytes(struct bytes_view class_name);
