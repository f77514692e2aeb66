# The worker and every other command of recon, for production: `docker build -t wallet-recon .`

# The newest Node 24 when this was written, by its digest: nobody can change what a build begins with. A copy in a registry
# of your own will do too: --build-arg NODE_IMAGE=…
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

FROM ${NODE_IMAGE} AS package
WORKDIR /checkout
# Without the sources, so that a change of them installs nothing again.
COPY package.json package-lock.json .npmrc ./
COPY deploy/node deploy/node
RUN npm ci
COPY . .
RUN npm pack --pack-destination /tmp

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY deploy/node deploy/node
# The versions that were tested, without the embedded PostgreSQL. What only people and compilers read stays behind.
RUN npm ci --omit=dev --omit=optional
COPY --from=package /tmp/wallet-recon-*.tgz /tmp/
RUN tar -xzf /tmp/wallet-recon-*.tgz --strip-components=1 \
  && rm -r deploy .npmrc package-lock.json \
  && find . -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.md' \) -delete

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="wallet-recon" \
  org.opencontainers.image.description="Finds every difference between what a game provider reports and what the operator's own wallet ledger says." \
  org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app ./
# The help of all commands leaves them compiled in the image: the file system is read-only later.
RUN ln -s /app/bin/recon.js /usr/local/bin/recon && recon --help > /dev/null
# Where a tap keeps its journal: a volume takes its owner from here.
RUN mkdir /journal && chown 1000:1000 /journal
USER 1000:1000
EXPOSE 3000 3001
HEALTHCHECK --interval=30s --timeout=5s --start-period=90s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.OPS_PORT || 3000}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["recon"]
CMD ["worker"]
