# SPDX-License-Identifier: Apache-2.0
#
# An image with hearth-agent and its libraries, without a shell or a package manager. Build it in the root of the
# repository:
#
#   docker build -f deploy/container/agent.Dockerfile -t hearth-agent .
#
# The first stage is equal in both Dockerfiles, so that it is built only once. docs/kubernetes.md explains how to run the
# image.
ARG DEBIAN=debian:bookworm-slim
FROM ${DEBIAN} AS build
COPY deploy/packages.txt deploy/install-packages.sh /src/deploy/
RUN /src/deploy/install-packages.sh run build && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN cmake -S /src -B /build -DHEARTH_TESTS=OFF && \
    cmake --build /build --parallel "$(nproc)" --target hearth-agent hearth-symbolizer hearth
RUN /src/deploy/container/collect-root.sh /image /build/bin/hearth-agent

FROM scratch
COPY --from=build /image /
VOLUME /var/lib/hearth-agent
ENTRYPOINT ["/usr/bin/hearth-agent"]
