# linkscore: the server and some extras, without the crawler side. See docs/reference/operations.md.
# Other extras (http, logs, postgres): docker build --build-arg EXTRAS="console learners logs" .
# With the demonstration and Scrapy, as deploy/compose.yaml uses it: docker build --target demo .
#
# An authority of a build network of your own: docker build --secret id=build_ca,src=ca.pem .
# The base is named by its tag, which gets the security fixes of Debian and Python; all that is installed on top is
# locked by hash. Pin it where builds have to be the same: docker build --build-arg BASE=python@sha256:... .
ARG BASE=docker.io/library/python:3.11-slim-bookworm
# Has cargo (1.83 or later) and a glibc no newer than that of the base. The reader of pages is compiled with it; its
# crates are locked by hash. Without one: docker build --build-arg READER=pure .
ARG RUST=docker.io/library/rust:1-slim-bookworm
FROM ${RUST} AS reader
ARG READER=native
WORKDIR /src
COPY native native
# What `make native` gives, without Python: the extension is of the stable ABI.
RUN --mount=type=secret,id=build_ca,required=false \
    mkdir /reader && if [ "$READER" = native ]; then \
        if [ -f /run/secrets/build_ca ]; then export CARGO_HTTP_CAINFO=/run/secrets/build_ca; fi \
        && PYO3_BUILD_EXTENSION_MODULE=1 PYO3_NO_PYTHON=1 \
            cargo build --quiet --release --locked --manifest-path native/Cargo.toml --target-dir /target \
        && cp -r native/python/linkscore_native /reader/ \
        && cp /target/release/lib_native.so /reader/linkscore_native/_native.abi3.so; \
    fi

FROM ${BASE} AS build

WORKDIR /src
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# For strip: wheels carry up to ten times their weight in symbols for debuggers.
RUN command -v strip || { apt-get update -q && apt-get install -y -q --no-install-recommends binutils; }
COPY requirements/build.lock requirements/server*.lock requirements/
RUN --mount=type=secret,id=build_ca,required=false \
    if [ -f /run/secrets/build_ca ]; then export PIP_CERT=/run/secrets/build_ca; fi \
    && python3 -m venv /opt/build \
    && /opt/build/bin/python -m pip install --quiet --require-hashes -r requirements/build.lock \
    && python3 -m venv --without-pip /opt/linkscore \
    && /opt/build/bin/python -m pip --python /opt/linkscore/bin/python install --quiet --no-compile \
        --only-binary :all: --require-hashes -r requirements/server.lock

COPY --from=reader /reader/ /opt/linkscore/lib/python3.11/site-packages/
COPY pyproject.toml README.md LICENSE ./
COPY clients/python clients/python
COPY scoring scoring
COPY server server
COPY frontier frontier
COPY cli cli
COPY console/linkscore_console console/linkscore_console
COPY lab lab
RUN /opt/build/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /dist . \
    && /opt/build/bin/python -m pip --python /opt/linkscore/bin/python install --quiet --no-compile \
        --no-deps --no-index /dist/linkscore-*.whl
COPY tools/slim_venv.py tools/

FROM build AS build-server
ARG EXTRAS="console learners"
RUN --mount=type=secret,id=build_ca,required=false \
    if [ -f /run/secrets/build_ca ]; then export PIP_CERT=/run/secrets/build_ca; fi \
    && for extra in $EXTRAS; do \
        /opt/build/bin/python -m pip --python /opt/linkscore/bin/python install --quiet --no-compile \
            --only-binary :all: --require-hashes -r requirements/server-$extra.lock || exit; \
    done \
    && /opt/linkscore/bin/python tools/slim_venv.py

# What the demonstration needs: Scrapy above all.
FROM build AS build-demo
RUN --mount=type=secret,id=build_ca,required=false \
    if [ -f /run/secrets/build_ca ]; then export PIP_CERT=/run/secrets/build_ca; fi \
    && /opt/build/bin/python -m pip --python /opt/linkscore/bin/python install --quiet --no-compile \
        --only-binary :all: --require-hashes -r requirements/server-lab.lock -r requirements/server-logs.lock \
    && /opt/linkscore/bin/python tools/slim_venv.py

FROM ${BASE} AS runtime

LABEL org.opencontainers.image.title="linkscore" \
      org.opencontainers.image.description="gRPC service that scores links for crawlers and learns while they crawl" \
      org.opencontainers.image.licenses="Apache-2.0"

RUN groupadd --gid 10001 linkscore \
    && useradd --no-log-init --uid 10001 --gid linkscore --home-dir /var/lib/linkscore --no-create-home \
        --shell /usr/sbin/nologin linkscore \
    && install -d -o linkscore -g linkscore -m 0750 /var/lib/linkscore

ENV PATH=/opt/linkscore/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    LINKSCORE_LISTEN=0.0.0.0:7411 \
    LINKSCORE_METRICS_LISTEN=0.0.0.0:9411 \
    LINKSCORE_DATA_DIR=/var/lib/linkscore
USER 10001:10001
WORKDIR /var/lib/linkscore
ENTRYPOINT ["linkscore"]

FROM runtime AS demo
COPY --from=build-demo /opt/linkscore /opt/linkscore
CMD ["demo"]

FROM runtime
COPY --from=build-server /opt/linkscore /opt/linkscore
VOLUME /var/lib/linkscore
EXPOSE 7411 9411
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["linkscore", "health"]
CMD ["serve"]
