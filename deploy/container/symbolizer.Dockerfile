# SPDX-License-Identifier: Apache-2.0
#
# An image with hearth-symbolizer, the hearth command and their libraries, without a shell or a package manager. Build it
# in the root of the repository:
#
#   docker build -f deploy/container/symbolizer.Dockerfile -t hearth-symbolizer .
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
RUN /src/deploy/container/collect-root.sh /image /build/bin/hearth-symbolizer /build/bin/hearth && \
    install -d -m 700 /state

FROM scratch
COPY --from=build /image /
# COPY --chown sets the owner of folders that it creates, but not of existing ones.
COPY --from=build --chown=10001:10001 /state /var/lib/hearth
USER 10001:10001
VOLUME /var/lib/hearth
EXPOSE 20416
ENTRYPOINT ["/usr/bin/hearth-symbolizer"]
