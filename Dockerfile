# The gateway's image. The version is that of the Node that the tests run on (node-linux-* in package.json).

FROM node:26.10.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY spillway.ts .env.example LICENSE README.md ./
COPY shared ./shared
COPY producer ./producer
COPY worker ./worker
COPY setup ./setup
COPY scripts/build.mjs scripts/command.mjs ./scripts/
# The console shows its sections.
COPY docs/runbook.md ./docs/
# What `npm run build` does. The package that it makes has a lock of its own: what the bundle leaves out, and nothing else.
RUN node scripts/build.mjs && cd dist && npm ci --omit=dev --ignore-scripts

FROM node:26.10.0-bookworm-slim
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Spillway" \
      org.opencontainers.image.description="A Telegram gateway to Claude that cannot go silent." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

# The health server is reached from outside the container, so it cannot stay on the container's own loopback.
# A logged error names the place in the source. What is short-lived is collected in pieces of 4 MB, as by `npm start`: by
# Node's own choice a process at rest would keep 40 MB more, to save a twentieth of its processor time.
ENV NODE_ENV=production \
    NODE_OPTIONS="--enable-source-maps --max-semi-space-size=4" \
    HTTP_HOST=0.0.0.0 \
    HTTP_PORT=8080 \
    BLOB_URL=file:///data/blobs

WORKDIR /app
# Everything is owned by root and only read: the gateway keeps its state in Redis, and files only under /data.
COPY --from=build /app/dist ./dist
RUN ln -s /app/dist/command.mjs /usr/local/bin/spillway

# A new volume that is mounted here gets this owner.
RUN mkdir -p /data/blobs && chown node:node /data/blobs && chmod 700 /data/blobs

USER node
EXPOSE 8080

HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.HTTP_PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

# Node itself is process 1, or the only child of an init that hands signals on (`--init`): SIGTERM starts its drain. Roles:
# dist/producer.js and dist/worker.js. The command line is `spillway`.
ENTRYPOINT ["node"]
CMD ["dist/spillway.js"]
