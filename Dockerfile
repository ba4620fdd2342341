# Node and one bundle on an otherwise empty root: no shell, no package manager, no node_modules. How to use it: docs/docker.md.
FROM --platform=$BUILDPLATFORM node:24.21.0-bookworm-slim AS bundle
WORKDIR /src
COPY package.json package-lock.json tsconfig.json ./
RUN npm ci --ignore-scripts
COPY scripts scripts
COPY src src
RUN npm run build

FROM node:24.21.0-bookworm-slim AS root
# What `node` and `env` are linked with, their licences, and the three files in which the C library looks up users and names.
RUN set -eu; \
    mkdir -p /root-of-image/etc; cd /root-of-image; \
    for program in /usr/local/bin/node /usr/bin/env; do \
      cp --parents "$program" .; \
      ldd "$program" | grep -o '/[^ ]*' | xargs cp --parents --dereference --no-clobber --target-directory=.; \
    done; \
    cp --parents /usr/local/LICENSE /usr/share/doc/libc6/copyright /usr/share/doc/libgcc-s1/copyright \
      /usr/share/doc/libstdc++6/copyright /usr/share/doc/coreutils/copyright .; \
    echo 'heat2mqtt:x:10001:10001::/data:/nonexistent' >etc/passwd; \
    echo 'heat2mqtt:x:10001:' >etc/group; \
    echo 'hosts: files dns' >etc/nsswitch.conf; \
    install -d -m 1777 tmp; \
    install -d -m 0700 -o 10001 -g 10001 data; \
    ln -s /app/dist/heat2mqtt.js usr/local/bin/heat2mqtt

FROM scratch
COPY --from=root /root-of-image/ /
COPY LICENSE package.json config.example.yaml /app/
COPY --from=bundle /src/dist /app/dist
LABEL org.opencontainers.image.title="heat2mqtt" \
      org.opencontainers.image.description="Heat meter readings to MQTT, Home Assistant and Node-RED" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.url="https://github.com/heat2mqtt/heat2mqtt" \
      org.opencontainers.image.source="https://github.com/heat2mqtt/heat2mqtt" \
      org.opencontainers.image.documentation="https://github.com/heat2mqtt/heat2mqtt/blob/main/docs/docker.md"
# state_dir follows STATE_DIRECTORY unless the configuration names another one.
ENV PATH=/usr/local/bin:/usr/bin STATE_DIRECTORY=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
STOPSIGNAL SIGTERM
# Being asked costs a start of Node, and the answer changes in minutes.
HEALTHCHECK --interval=120s --timeout=10s --start-period=30s --retries=3 CMD ["heat2mqtt", "healthcheck"]
# Without flags for the heap: each makes the start slower, in CPU (--max-semi-space-size=4 by 15 ms, --max-old-space-size=64 by 30 ms).
ENTRYPOINT ["heat2mqtt"]
CMD ["run"]
