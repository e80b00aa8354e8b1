# SPDX-License-Identifier: Apache-2.0
#
# Libraries that only symbolizer_http needs: zlib for gzip answers, threads for the worker pools.
find_package(ZLIB REQUIRED)
target_link_libraries(symbolizer_http PUBLIC ZLIB::ZLIB Threads::Threads)
