# SPDX-License-Identifier: Apache-2.0
#
# What symbolizer_http needs beyond the libraries that the whole program shares: zlib for gzip answers.
find_package(ZLIB REQUIRED)
target_link_libraries(symbolizer_http PUBLIC ZLIB::ZLIB Threads::Threads)
