# SPDX-License-Identifier: Apache-2.0
#
# hearth-agent with the libraries that it loads; no shell, no package manager. In the root of the repository:
#
#   docker build -f deploy/container/agent.Dockerfile -t hearth-agent .
#
# The first stage is the same in both files, so that it is built once. docs/kubernetes.md says how to run it.
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
