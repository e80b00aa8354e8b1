# SPDX-License-Identifier: Apache-2.0
#
# hearth-symbolizer and the hearth command with the libraries that they load; no shell, no package manager. In the root
# of the repository:
#
#   docker build -f deploy/container/symbolizer.Dockerfile -t hearth-symbolizer .
#
# The first stage is the same in both files, so that it is built once. docs/kubernetes.md says how to run it.
ARG DEBIAN=debian:bookworm-slim
FROM ${DEBIAN} AS build
COPY deploy/packages.txt deploy/install-packages.sh /src/deploy/
RUN /src/deploy/install-packages.sh run build && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN cmake -S /src -B /build -DHEARTH_TESTS=OFF && \
    cmake --build /build --parallel "$(nproc)" --target hearth-agent hearth-symbolizer hearth
RUN /src/deploy/container/collect-root.sh /image /build/bin/hearth-symbolizer /build/bin/hearth && \
    install -d -m 700 /state

FROM scratch
COPY --from=build /image /
# A folder that a copy creates gets the owner, one that is there keeps its own.
COPY --from=build --chown=10001:10001 /state /var/lib/hearth
USER 10001:10001
VOLUME /var/lib/hearth
EXPOSE 20416
ENTRYPOINT ["/usr/bin/hearth-symbolizer"]
