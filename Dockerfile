# Built in one stage, run in another: the image holds Node and the bundle, no node_modules.
FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json tsconfig.json ./
COPY scripts scripts
COPY src src
RUN npm ci

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="heat2mqtt" \
      org.opencontainers.image.description="Heat meter readings to MQTT, Home Assistant and Node-RED" \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /src/package.json /app/package.json
COPY --from=build /src/dist /app/dist
RUN install -d -o 10001 -g 10001 -m 0700 /data
USER 10001:10001
WORKDIR /data
ENV NODE_ENV=production HEAT2MQTT_STATE_DIR=/data
VOLUME /data
HEALTHCHECK --interval=60s --timeout=10s --start-period=30s \
  CMD ["node", "/app/dist/heat2mqtt.js", "healthcheck"]
ENTRYPOINT ["node", "/app/dist/heat2mqtt.js"]
CMD ["run"]
